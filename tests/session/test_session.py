"""Asking and telling, as docs/session.md says."""

import numpy as np
import pandas as pd
import pytest
from session_tools import ACTIONS, STATES, make

import steering
from steering.errors import InvalidOption, NotAvailable, SteeringError
from steering.session import Conflict, NothingAllowed, Session


@pytest.fixture
def session(tmp_path):
    with make(tmp_path / "s", sync=False) as made:
        yield made


def test_a_session_is_a_public_name():
    assert steering.Session is Session


def test_ask_tell_and_what_is_known(session):
    found = session.ask("good")
    assert (found.id, found.state) == (1, "good")
    assert found.action in ACTIONS
    assert found.action in str(found.why)
    assert found.why.kind in ("best known", "exploration")
    session.tell(found.id, reward=-1.5, next_state="worn")
    row = session.history().iloc[0]
    assert list(row[["state", "action", "reward", "next_state", "id"]]) == ["good", found.action, -1.5, "worn", 1]
    belief = session.belief("good")
    seen = belief[(belief["action"] == found.action) & (belief["next_state"] == "worn")].iloc[0]
    assert seen["visits"] == 1
    assert seen["probability_low"] < seen["probability"] < seen["probability_high"]
    assert seen["reward_low"] < seen["reward"] < seen["reward_high"]
    assert session.belief().groupby(["state", "action"])["probability"].sum().to_numpy() == pytest.approx(1.0)
    assert set(session.recommend()) == set(STATES)
    assert session.recommend("worn") in ACTIONS
    forecast = session.forecast("good", 5)
    assert len(forecast) == 5
    assert (forecast["total_low"] < forecast["total"]).all()
    assert (forecast["total"] < forecast["total_high"]).all()
    assert forecast["total"].to_numpy() == pytest.approx(forecast["reward"].cumsum().to_numpy())


def test_asking_again_gives_the_same_until_it_is_told(session):
    first = session.ask("good")
    assert session.ask("good") == first
    assert session.ask("worn").id == 2
    session.tell(first.id, next_state="bad")  # the outcome: the step is over, its reward is not known yet
    assert session.ask("good").id == 3
    session.tell(first.id, reward=1.0)
    assert len(session.history()) == 1
    assert session.ask("good").id == 3


def test_units_and_questions_are_told_apart(session):
    one, other = session.ask("good", unit="press 1"), session.ask("good", unit="press 2")
    assert (one.id, other.id) == (1, 2)
    assert session.ask("good", unit="press 1") == one
    assert session.ask("good", allowed=["service"]).id == 3
    assert session.ask("good", allowed=["service"]).action == "service"
    session.tell(2, reward=0.0, next_state="good")
    assert list(session.history()["unit"]) == ["press 2"]


def test_telling_twice_is_harmless_and_telling_something_else_is_refused(session):
    found = session.ask("good")
    other = next(name for name in ACTIONS if name != found.action)
    session.tell(found.id, reward=1.0, next_state="bad", action=other)
    events = session.summary()["events"]
    session.tell(found.id, reward=1.0, next_state="bad")
    session.tell(str(found.id), reward=1.0, next_state="bad", action=other)
    assert session.summary()["events"] == events
    assert session.history()["action"].tolist() == [other]
    assert session.history()["suggested"].tolist() == [found.action]
    for wrong in (
        {"reward": 2.0},
        {"next_state": "good"},
        {"reward": 1.0, "done": True},
        {"reward": 1.0, "action": found.action},
    ):
        with pytest.raises(Conflict):
            session.tell(found.id, **wrong)
    assert session.summary()["events"] == events


def test_parts_that_were_told_stand(session):
    found = session.ask("good")
    session.tell(found.id, reward=1.0)
    assert session.ask("good").id == found.id  # the outcome is still to come
    with pytest.raises(Conflict, match="another reward"):
        session.tell(found.id, reward=2.0, next_state="bad")
    session.tell(found.id, next_state="bad")
    assert session.history()["reward"].tolist() == [1.0]


def test_cancel(session):
    first = session.ask("good")
    session.cancel(first.id)
    session.cancel(first.id)
    assert session.ask("good").id == 2
    with pytest.raises(Conflict, match="was cancelled"):
        session.tell(first.id, reward=0.0, next_state="good")
    session.tell(2, reward=0.0, next_state="good")
    with pytest.raises(SteeringError, match="cannot be cancelled"):
        session.cancel(2)


def test_an_episode_leads_to_the_start_of_the_next(session):
    session.start("good")
    found = session.ask("good")
    session.tell(found.id, reward=1.0, done=True)
    assert session.belief(only_seen=True).empty  # where it led is not known yet
    session.ask("worn")
    table = session.belief(only_seen=True)
    assert table[["state", "next_state", "visits"]].values.tolist() == [["good", "worn", 1]]
    session.add("bad", "run", -1.0, "broken", done=True, unit="b")
    session.add("good", "run", -1.0, "good", unit="b")
    assert session.belief("bad", only_seen=True)["next_state"].tolist() == ["good"]
    assert session.history()["next_state"].tolist() == [None, "broken", "good"]


def test_adding_with_a_key_counts_once(session):
    for _ in range(2):
        session.add("good", "run", 1.0, "worn", key="monday")
    session.add("good", "run", 1.0, "worn")
    assert len(session.history()) == 2
    with pytest.raises(Conflict, match="monday"):
        session.add("good", "run", 2.0, "worn", key="monday")


def test_allowed_now_and_forbidden_for_ever(tmp_path):
    allowed = {"broken": ["replace"]}
    with make(tmp_path / "s", allowed=allowed, sync=False) as session:
        assert session.ask("broken").action == "replace"
        assert session.recommend("broken") == "replace"
        for name in ACTIONS:
            assert session.ask("good", allowed=[name]).action == name
        session.forbid("run", "good")
        session.forbid("run", "good")
        assert session.ask("good").action != "run"
        session.forbid("replace", "good")
        assert session.ask("good", allowed=["service", "run"]).action == "service"
        with pytest.raises(NothingAllowed):
            session.ask("good", allowed=["run"])
        with pytest.raises(SteeringError, match="last action allowed in the state 'broken'"):
            session.forbid("replace")
        assert set(session.recommend().values()) <= set(ACTIONS)
        assert session.recommend("good") == "service"


@pytest.mark.parametrize("agent", ["steering", "psrl", "ube", "mm", "ids", "q_learning", "bayesian_q"])
def test_every_agent_can_be_asked_and_obeys(tmp_path, agent):
    with Session.create(tmp_path / "s", STATES, ACTIONS, agent=agent, sync=False) as session:
        for step in range(12):
            state = STATES[step % 4]
            only = [ACTIONS[step % 3], ACTIONS[(step + 1) % 3]]
            found = session.ask(state, allowed=only if step % 2 else None)
            assert not step % 2 or found.action in only
            assert str(found.why)
            session.tell(found.id, reward=float(step), next_state=STATES[(step + 1) % 4])
        assert len(session.recommend()) == 4
        if agent in ("q_learning", "bayesian_q"):
            for look in (session.belief, lambda: session.forecast("good", 3)):
                with pytest.raises(NotAvailable, match="no belief"):
                    look()
            with pytest.raises(NotAvailable, match="risk is not available"):
                session.ask("good", risk=(0.0, 0.5))


@pytest.mark.parametrize("belief", ["dense", "sparse"])
def test_an_excursion_obeys_what_is_allowed_now(tmp_path, belief):
    """A belief by support planned it with the actions that were allowed before, and the session stopped."""
    rng = np.random.default_rng(0)
    names = [f"s{number}" for number in range(40)]
    excursions = here = 0
    with Session.create(tmp_path / "s", names, ["a", "b", "c"], belief=belief, sync=False) as session:
        for _ in range(80):
            allowed = [str(name) for name in rng.choice(["a", "b", "c"], size=2, replace=False)]
            found = session.ask(names[here], allowed=allowed)
            assert found.action in allowed
            excursions += found.why.kind == "exploration"
            step = {"a": -1, "b": 1, "c": 2}[found.action]
            here = min(max(here + step, 0), 39)
            session.tell(found.id, reward=0.0, next_state=names[here])
    assert excursions


def test_risk_leaves_out_what_may_cost_too_much_and_says_when_nothing_is_left(tmp_path):
    with make(tmp_path / "s", risk=(-20.0, 0.05), sync=False) as session:
        for _ in range(30):
            session.add("good", "run", -1.0, "good")
            session.add("good", "service", -50.0, "good")
            session.add("good", "replace", -1.5, "good")
        risks = {one["action"]: one["risk"] for one in session.explain("good").actions}
        assert set(risks) == {"run", "replace"}
        assert max(risks.values()) < 0.05
        assert session.ask("good", allowed=["run", "service"]).action == "run"
        with pytest.raises(NothingAllowed, match="least risky is 'service' with"):
            session.ask("good", allowed=["service"])
        assert session.ask("good", allowed=["service"], risk=(-100.0, 0.5)).action == "service"
        assert session.recommend("good") in ("run", "replace")
        session.set_risk((-0.5, 0.01))
        with pytest.raises(NothingAllowed, match=r"every action has a reward below -0\.5"):
            session.ask("worn")
        session.set_risk(None)
        assert session.ask("worn").action in ACTIONS


def test_states_and_actions_can_be_added(session):
    found = session.ask("good")
    session.tell(found.id, reward=1.0, next_state="worn")
    before = session.belief("good", only_seen=True)
    session.add_states(["rusty"])
    session.add_actions(["paint"])
    pd.testing.assert_frame_equal(
        before[["state", "action", "next_state", "visits"]],
        session.belief("good", only_seen=True)[["state", "action", "next_state", "visits"]],
    )
    assert session.ask("rusty", allowed=["paint"]).action == "paint"
    session.tell(2, reward=3.0, next_state="rusty")
    assert session.recommend()["rusty"] in [*ACTIONS, "paint"]
    with pytest.raises(SteeringError, match="given twice"):
        session.add_states(["good"])


def test_numbers_for_states_and_actions(tmp_path):
    with Session.create(tmp_path / "s", states=3, actions=2, sync=False) as session:
        found = session.ask(2)
        assert (found.state, type(found.action)) == (2, int)
        assert session.ask("2") == found
        assert session.ask(np.int64(2)) == found
        session.tell(found.id, reward=1, next_state=0)
        assert session.history()["next_state"].tolist() == [0]
        for wrong in (3, -1, 1.0, True, None, "x"):
            with pytest.raises(SteeringError):
                session.ask(wrong)


BAD = [
    ({"states": []}, "empty"),
    ({"states": ["a", "a"]}, "given twice"),
    ({"states": "abc"}, "list of names"),
    ({"states": None}, "states and actions are needed"),
    ({"states": ["a\nb"]}, "cannot be the name"),
    ({"actions": 0}, "from 1"),
    ({"discount": 1.0}, "below 1"),
    ({"seed": -1}, "seed is -1"),
    ({"agent": "stearing"}, "did you mean 'steering'"),
    ({"eta": -1.0}, "eta"),
    ({"rewards": "about five"}, "about -25 to 0"),
    ({"rewards": "about 5 to 5"}, "about -25 to 0"),
    ({"rewards": (0, float("inf"))}, "about -25 to 0"),
    ({"agent": "q_learning"}, "no prior of rewards"),
    ({"normal_gamma": (1.0, 4.0, 3.0, 3.0)}, "keep one of them"),
    ({"allowed": {"good": []}}, "list is empty"),
    ({"allowed": [[True]]}, "allowed must be"),
    ({"risk": (1.0, 2.0)}, "risk is"),
    ({"replan_every": 0}, "replan_every is 0"),
    ({"import_modules": ["no_such_module_here"]}, "cannot be imported"),
]


@pytest.mark.parametrize(("change", "sentence"), BAD, ids=[str(change) for change, _ in BAD])
def test_a_wrong_beginning_is_refused_and_leaves_nothing(tmp_path, change, sentence):
    with pytest.raises(SteeringError, match=sentence):
        make(tmp_path / "s", **change)
    assert not (tmp_path / "s" / "journal.jsonl").exists()


def test_wrong_use_is_refused_and_changes_nothing(session):
    found = session.ask("good")
    events = session.summary()["events"]
    wrong = [
        lambda: session.ask("goood"),
        lambda: session.ask("good", allowed=[]),
        lambda: session.ask("good", allowed="run"),
        lambda: session.ask("good", risk=1.0),
        lambda: session.tell(found.id),
        lambda: session.tell(99, reward=1.0),
        lambda: session.tell("x", reward=1.0),
        lambda: session.tell(True, reward=1.0),
        lambda: session.tell(found.id, reward=float("nan")),
        lambda: session.tell(found.id, reward="1"),
        lambda: session.tell(found.id, reward=1.0, next_state="nowhere"),
        lambda: session.tell(found.id, reward=1.0, done=1),
        lambda: session.add("good", "run", 1.0),
        lambda: session.add("good", "fly", 1.0, "good"),
        lambda: session.add("good", "run", float("inf"), "good"),
        lambda: session.forecast("good", 0),
        lambda: session.belief(level=2.0),
    ]
    for call in wrong:
        with pytest.raises(SteeringError) as error:
            call()
        assert str(error.value).count("\n") == 0
    assert session.summary()["events"] == events


def test_the_scale_of_rewards_from_a_sentence():
    from steering.session.priors import prior_of_range, range_of_log, reward_range

    assert reward_range("about -25 to 0") == reward_range("between 0 and -25") == reward_range((-25, 0)) == (-25, 0)
    assert reward_range("1.5e2 .. 200") == (150, 200)
    mu, lam, alpha, beta = prior_of_range(-25.0, 0.0)
    assert (mu, lam, alpha) == (-12.5, 4.0, 3.0)
    assert np.sqrt(beta / (lam * (alpha - 1))) == pytest.approx(25 / 4)
    assert range_of_log(np.zeros(0)) is None
    assert range_of_log(np.zeros(9)) is None
    assert range_of_log(np.full(9, -3.0)) == (-3.0, 0.0)
    low, high = range_of_log(np.arange(1001.0))
    assert (low, high) == (10.0, 990.0)


@pytest.mark.parametrize("reward", [1e101, -1e300])
def test_rewards_beyond_all_measure_are_refused(tmp_path, reward):
    """Their squares are no numbers any more, and the journal would keep them for ever."""
    with make(tmp_path / "s", sync=False) as session:
        found = session.ask("good")
        with pytest.raises(InvalidOption, match="it must be at most"):
            session.tell(found.id, reward=reward, next_state="worn")
        with pytest.raises(InvalidOption, match="it must be at most"):
            session.add("good", "run", reward, "worn")
        log = tmp_path / "log.csv"
        log.write_text(f"state,action,reward,next_state\ngood,run,{reward},worn\ngood,run,1e100,worn\n")
        report = session.import_log(log)
        assert (report.rows, report.n_skipped) == (1, 1)
        assert "which is larger than" in report.skipped[0][1]
        assert all(np.isfinite(one["value"]) for one in session.explain("good").actions)
    with pytest.raises(InvalidOption, match="rewards is"):
        make(tmp_path / "t", rewards=(0, abs(reward)))


def test_short_texts_for_prompts_and_notebooks(tmp_path):
    with make(tmp_path / "s", states=["<b>good</b>", "worn"], agent="psrl") as session:
        found = session.ask("worn")
        assert repr(session).startswith("Session ")
        assert "2 states, 3 actions, 0 steps, 1 under way, agent psrl" in repr(session)
        assert repr(found) == f"Suggestion 1: {found.action!r} in 'worn' ({found.why.kind})"
        assert str(found) == f"1: {found.action}. {found.why}"
        assert "<table>" in session._repr_html_()
        assert "<b>good" not in session._repr_html_()


@pytest.mark.parametrize(("selection", "visits"), [("dictionary", 6), ("posterior", 3)])
def test_agents_that_select_what_they_learn_from_are_looked_at_after_their_choice(tmp_path, selection, visits):
    with make(tmp_path / "s", agent=f"steering:selection={selection}", sync=False) as session:
        for _ in range(6):
            session.add("good", "run", 1.0, "worn")
        assert session.explain("good").actions[0]["visits"] == visits
        assert session.belief(only_seen=True)["visits"].tolist() == [visits]
        assert session.explain("good") == session.explain("good")
