"""Sessions of many states: knowledge by outcomes seen against the tables, and a process of 10,000 states."""

import json
import math

import numpy as np
import pytest
from cli_tools import call
from hypothesis import given, settings
from hypothesis import strategies as st

from steering.agents import Problem
from steering.beliefs import SparseBelief
from steering.errors import TooLarge
from steering.session import NothingAllowed, Session
from steering.session.knowledge import DENSE_ENTRIES, DenseKnowledge, SparseKnowledge, knowledge_of

MANY = 10_000


def two_forms(seed, S, A, rows, discount=0.9, mask=None, **options):
    """The same belief as tables and by outcomes seen."""
    rng = np.random.default_rng(seed)
    belief = SparseBelief(S, A, **options)
    s, a = rng.integers(S, size=rows), rng.integers(A, size=rows)
    y = (s + rng.integers(3, size=rows)) % S
    belief.observe_many((s, a, rng.normal(y, 0.5), y))
    belief.refresh()
    problem = Problem(S, A, np.ones((S, A), dtype=bool) if mask is None else mask, discount)
    return DenseKnowledge(belief.to_dense(), problem), SparseKnowledge(belief, problem)


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    S=st.integers(1, 9),
    A=st.integers(1, 3),
    rows=st.integers(0, 60),
    learned=st.booleans(),
    discount=st.sampled_from([0.5, 0.9, 0.99]),
)
def test_both_forms_say_the_same(seed, S, A, rows, learned, discount):
    options = {"concentration": "learned", "reward_scale": "learned"} if learned else {"eta": 0.3}
    tables, support = two_forms(seed, S, A, rows, discount, **options)
    scale = float(np.abs(tables.V).max()) + 1.0
    assert pytest.approx(tables.V, abs=1e-5 * scale) == support.V
    assert pytest.approx(tables.Q, abs=1e-5 * scale) == support.Q
    assert support.local_variance() == pytest.approx(tables.local_variance(), rel=1e-4)
    for floor in (-0.5, 3.0):
        assert support.below_everywhere(floor) == pytest.approx(tables.below_everywhere(floor))
    gaps = np.sort(tables.Q, axis=1)
    clear = A == 1 or bool((gaps[:, -1] - gaps[:, -2] > 1e-4 * scale).all())
    for state in range(S):
        assert support.information(state) == pytest.approx(tables.information(state), abs=1e-9)
        assert support.novelty(state) == pytest.approx(tables.novelty(state))
        assert support.below(state, 0.2) == pytest.approx(tables.below(state, 0.2))
        if clear:  # else the policies may differ, and with them the spread
            assert support.spread(state) == pytest.approx(tables.spread(state), rel=1e-4)


@pytest.mark.parametrize("only_seen", [True, False])
@pytest.mark.parametrize("state", [None, 2])
def test_both_forms_have_the_same_table(only_seen, state):
    mask = np.ones((6, 3), dtype=bool)
    mask[2, 1] = mask[4, 0] = False
    tables, support = two_forms(1, 6, 3, 40, mask=mask)
    names = [f"s{i}" for i in range(6)], ["x", "y", "z"]
    one, other = (known.table(*names, 0.9, only_seen, state) for known in (tables, support))
    assert len(one) > 0
    keys = ["state", "action", "next_state", "visits"]
    assert one[keys].to_numpy().tolist() == other[keys].to_numpy().tolist()
    assert other.drop(columns=keys).to_numpy() == pytest.approx(one.drop(columns=keys).to_numpy())


def test_both_forms_keep_within_what_is_allowed():
    tables, support = two_forms(2, 7, 3, 80)
    risks = tables.below_everywhere(1.0)
    safe = risks <= np.median(risks)
    assert 0 < safe.sum() < safe.size
    before = tables.V.copy()
    for known in (tables, support):
        known.keep_within(safe)
    assert support.policy.tolist() == tables.policy.tolist()
    assert pytest.approx(support.Q, abs=1e-4) == tables.Q
    assert (before + 1e-9 >= tables.V).all()
    for s in np.flatnonzero(safe.any(axis=1)):
        assert safe[s, tables.policy[s]]


@pytest.mark.parametrize(("rows", "eta"), [(600, 0.1), (40, 1.0)])
def test_both_forms_forecast_the_same(rows, eta):
    """Means of 400 draws each. The group of unseen outcomes is spread evenly in one of them, which matters little."""
    tables, support = two_forms(3, 12, 2, rows, eta=eta)
    dense = tables.forecast(tables.policy, 3, 40, 0.9, np.random.default_rng(0))
    grouped = support.forecast(tables.policy, 3, 40, 0.9, np.random.default_rng(1))
    width = float((dense["total_high"] - dense["total_low"]).iloc[-1])
    for column in ("total", "total_low", "total_high"):
        assert grouped[column].iloc[-1] == pytest.approx(dense[column].iloc[-1], abs=0.12 * width)
    # The standard error of a mean of 400 draws is a twentieth of a standard deviation; five of them.
    single = (dense["reward_high"] - dense["reward_low"]) / 3.29
    assert (np.abs(grouped["reward"] - dense["reward"]) < 5 * math.sqrt(2) * single / 20 + 1e-6).all()


def test_which_form_is_taken():
    belief = SparseBelief(40, 4)
    assert isinstance(knowledge_of(belief, Problem(40, 4, np.ones((40, 4), bool), 0.9)), DenseKnowledge)
    S = math.isqrt(DENSE_ENTRIES // 4) + 2
    assert isinstance(knowledge_of(SparseBelief(S, 4), Problem(S, 4, np.ones((S, 4), bool), 0.9)), SparseKnowledge)


@pytest.mark.parametrize("seed", range(4))
def test_dense_and_sparse_beliefs_suggest_the_same(tmp_path, seed):
    """The agent's own plan in both forms, with the same random numbers: 40 steps of a process of 15 states."""
    chosen = []
    for form in ("dense", "sparse"):
        rng = np.random.default_rng(seed)
        place = tmp_path / form
        with Session.create(place, 15, 3, agent=f"steering:belief={form}", seed=seed, sync=False) as session:
            state, actions = 0, []
            for _ in range(40):
                found = session.ask(state, why=False)
                actions.append(found.action)
                state = int((state + int(found.action) + rng.integers(2)) % 15)
                session.tell(found.id, reward=round(float(rng.normal(state == 7)), 3), next_state=state)
            chosen.append((actions, session.recommend()))
    assert chosen[0] == chosen[1]


def write_many(path, rows=5000):
    """A log of a walk on a ring of named states; every 97th pays."""
    rng = np.random.default_rng(0)
    lines, s = ["state,action,reward,next_state"], 0
    for _ in range(rows):
        a = int(rng.integers(4))
        y = (s + (1, -1, 100, -100)[a] + int(rng.integers(2))) % MANY
        lines.append(f"place {s},{'NSEW'[a]},{rng.normal(5.0 * (y % 97 == 0) - 1, 0.3):.3f},place {y}")
        s = y
    path.write_text("\n".join(lines) + "\n")
    return path


def test_ten_thousand_states(tmp_path):
    log = write_many(tmp_path / "log.csv")
    names = [f"place {i}" for i in range(MANY)]
    with Session.create(tmp_path / "s", names, list("NSEW"), log=log, sync=False) as session:
        assert session.log_report.rows == 5000
        first = session.ask("place 0")
        assert first == session.ask("place 0")
        assert len(first.why.actions) == 4
        assert all(np.isfinite(one["spread"]) for one in first.why.actions)
        session.tell(first.id, reward=4.0, next_state="place 97")
        visits = sum(one["visits"] for one in session.explain("place 0").actions)
        history = session.history()
        assert visits == (history["state"] == "place 0").sum()
        policy = session.recommend()
        assert len(policy) == MANY
        assert policy["place 5"] == session.recommend("place 5")
        table = session.belief()
        assert table["visits"].sum() == len(history) == 5001
        assert "never seen are left out" in table.attrs["left_out"]
        here = session.belief("place 0")
        assert len(here) == 4 * MANY
        assert here.groupby("action")["probability"].sum().to_numpy() == pytest.approx(1.0)
        ahead = session.forecast("place 0", 20)
        assert (ahead["total_low"] < ahead["total"]).all()
        assert (ahead["total"] < ahead["total_high"]).all()
        following = session.ask("place 97")
        known = session._known("a test")
        assert isinstance(known, SparseKnowledge)
    with Session.open(tmp_path / "s") as again:
        assert again.ask("place 97") == following
        assert again.recommend() == policy
        again.tell(following.id, reward=0.0, next_state="place 98")
        again.add_states(["elsewhere"])
        again.forbid("N", "elsewhere")
        assert again.ask("elsewhere").action != "N"


def test_ten_thousand_states_on_the_command_line(tmp_path, capsys):
    place, log = str(tmp_path / "s"), write_many(tmp_path / "log.csv", 300)
    names = tmp_path / "names.txt"
    names.write_text("\n".join(f"place {i}" for i in range(MANY)) + "\n")
    assert call(capsys, "session", "new", place, "--states", f"@{names}", "--actions", "N,S,E,W").code == 0
    assert "300 rows" in call(capsys, "session", "import", place, str(log)).out
    found = json.loads(call(capsys, "ask", place, "place 7", "--json").out)
    assert call(capsys, "tell", place, str(found["id"]), "--reward", "1", "--next", "place 8").code == 0
    assert len(json.loads(call(capsys, "explain", place, "place 7", "--json").out)["actions"]) == 4
    assert len(json.loads(call(capsys, "recommend", place, "--json").out)) == MANY
    assert "and 9800 more rows" in call(capsys, "recommend", place).out
    belief = json.loads(call(capsys, "session", "belief", place, "--json").out)
    assert sum(row["visits"] for row in belief["rows"]) == 301
    assert "left out" in belief["left_out"]
    assert len(json.loads(call(capsys, "session", "forecast", place, "place 7", "--steps", "5", "--json").out)) == 5


def test_what_does_not_fit_is_refused_in_a_sentence(tmp_path, monkeypatch):
    monkeypatch.setattr("steering._memory.available", lambda: 10**9)
    with Session.create(tmp_path / "s", MANY, 4, agent="psrl", sync=False) as session:
        with pytest.raises(TooLarge, match="use concentration=learned"):
            session.ask(0)
        with pytest.raises(TooLarge, match="leave out those never seen"):
            session.belief(only_seen=False)
        assert len(session.belief()) == 0
    with (
        Session.create(tmp_path / "d", MANY, 4, agent="steering:belief=dense", sync=False) as session,
        pytest.raises(TooLarge, match="belief=sparse"),
    ):
        session.ask(0)


def test_a_limit_on_risk_holds_in_the_whole_policy(tmp_path):
    with Session.create(tmp_path / "s", ["a", "b"], ["safe", "wild", "new"], rewards="about -10 to 10") as session:
        for _ in range(20):
            session.add("a", "safe", 1.0, "a")
            session.add("a", "wild", 9.0, "a")
        for _ in range(7):
            session.add("a", "wild", -9.0, "a")
        assert session.recommend()["a"] == session.recommend("a") == "wild"
        session.set_risk((-5.0, 0.1))
        assert session.recommend() == {"a": "safe", "b": None}
        assert session.recommend("a") == "safe"
        assert session.explain("a").sentence.startswith("Take 'safe'")
        with pytest.raises(NothingAllowed):
            session.recommend("b")
        why = session.explain("b")
        assert why.kind == "nothing allowed"
        assert "every action has a reward below -5" in str(why)
        assert len(why.actions) == 3
        assert not any(one["suggested"] for one in why.actions)


def test_the_spread_of_all_states_at_once():
    tables, support = two_forms(4, 7, 3, 90)
    for state in range(7):
        assert tables.spread_everywhere()[state] == pytest.approx(tables.spread(state))
    assert support.spread_everywhere() is None


def test_many_new_names_of_a_log_are_one_event(tmp_path):
    """Each would be a line of the journal, flushed to the disk, and a new table of what is allowed."""
    log = write_many(tmp_path / "log.csv", 3000)
    with Session.create(tmp_path / "s", ["place 0"], ["N"], sync=False) as session:
        report = session.import_log(log, new=True)
        kinds = [event["event"] for event in session.events()]
        assert kinds == ["states", "actions", "import"]
        assert (report.rows, report.n_skipped) == (3000, 0)
        assert session.states == ["place 0", *report.new_states]
        assert sorted(session.actions) == sorted("NSEW")
        assert len(report.new_states) > 1000
        assert session.import_log(log, new=True).already
