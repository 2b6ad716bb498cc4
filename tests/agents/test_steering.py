"""STEERING: what it plans for, what its presets are, what is selected, and what does not change it."""

import copy
import dataclasses
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import steering
from helpers import masked_mdp, problem_of
from steering.agents import describe_agent, make_agent
from steering.agents.large import RepairedPlan
from steering.agents.steering import Steering
from steering.agents.steering_options import SteeringOptions
from steering.beliefs.normal_gamma import prior_spread
from steering.envs import Environment, make_env
from steering.errors import InvalidOption, SteeringError
from steering.mdp import TabularMDP, backward_induction, evaluate, evaluate_finite, linear_program
from steering.runs import run
from steering.stein import ValueKernel, get_operator, posterior_information
from steering.stein.operators import OPERATORS


def trained(spec: str, env: Environment, n: int = 40, seed: int = 0, **options) -> Steering:
    agent = make_agent(spec, **options)
    assert isinstance(agent, Steering)
    agent.start(problem_of(env), np.random.default_rng(seed + 1), np.random.default_rng(seed + 2))
    rng = np.random.default_rng(seed)
    s, a = np.divmod(rng.choice(np.flatnonzero(env.mask), size=n), env.n_actions)
    y = (env.table.P[s, a].cumsum(axis=1) > rng.random((n, 1)) * (1 - 1e-12)).argmax(axis=1)
    agent.belief.observe_many((s, a, rng.normal(env.table.reward_mean[s, a, y], 0.3), y))
    return agent


def assert_optimal(agent: Steering, env: Environment, P: np.ndarray, r: np.ndarray) -> None:
    """The policy in force is optimal for a model, by the linear program or by backward induction."""
    model = TabularMDP(P, r, mask=env.mask)
    if env.horizon is None:
        value = evaluate(model, agent.policy[0], env.discount)
        np.testing.assert_allclose(value, linear_program(model, env.discount).V, rtol=1e-7, atol=1e-7)
    else:
        np.testing.assert_array_equal(agent.policy, backward_induction(model, env.horizon).policy)


# The regularised objective -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("horizon", [None, 3])
@pytest.mark.parametrize("planning", ["data", "mean"])
@pytest.mark.parametrize("seed", range(3))
def test_plans_solve_the_model_with_information_added(planning: str, horizon: int | None, seed: int) -> None:
    env = make_env(masked_mdp(seed), horizon=horizon)
    agent = trained("steering:preset=v1", env, seed=seed, planning=planning, info_weight=2.0, novelty=0, reward_noise=0)
    agent.plan()
    b = agent.belief
    S = env.n_states
    if planning == "data":
        e = min(b.eta, 1 / S)
        P = (b.counts + e) / (b.totals + S * e)[..., None]
    else:
        P = b.alpha / b.alpha.sum(axis=-1, keepdims=True)
    D = posterior_information(b.alpha)
    np.testing.assert_allclose(agent.D, D, rtol=1e-3)
    assert_optimal(agent, env, P, (P * b.mu).sum(axis=-1) + 2.0 * agent.D)


@pytest.mark.parametrize(("eta", "worth"), [(1e-3, 4e-3), (0.1, 0.4), (0.25, 1.0), (1.0, 1.0), (1e3, 1.0)])
def test_the_model_of_the_data_has_a_prior_worth_one_observation_at_most(eta: float, worth: float) -> None:
    """After n visits to one outcome of 4, its probability is (n + worth / 4) / (n + worth)."""
    env = make_env(masked_mdp(0))
    agent = make_agent("steering", eta=eta, concentration="fixed")
    agent.start(problem_of(env), np.random.default_rng(0), np.random.default_rng(1))
    for n in range(4):
        P, _ = agent.model()
        expected = (n + worth / 4) / (n + worth)
        assert P[0, 0, 2] == pytest.approx(expected)
        np.testing.assert_allclose(P.sum(axis=-1), 1.0)
        agent.belief.observe(0, 0, 0.0, 2)


def test_reward_terms_are_as_stated() -> None:
    """novelty times the spread from unseen outcomes, reward_noise times that from seen ones times a normal draw."""
    env = make_env(masked_mdp(5))
    agent = trained("steering:preset=v1", env, seed=5, info_weight=0.3, novelty=1.7, reward_noise=0.9)
    twin = trained("steering:preset=v1", env, seed=5)
    agent.plan()
    b = agent.belief
    e = min(b.eta, 1 / env.n_states)
    P = (b.counts + e) / (b.totals + env.n_states * e)[..., None]
    variance = P**2 * b.rate / ((b.prior[1] + b.counts) * (b.shape - 1))
    new = np.sqrt(np.where(b.counts == 0, variance, 0).sum(axis=-1))
    seen = np.sqrt(np.where(b.counts > 0, variance, 0).sum(axis=-1))
    z = twin.planning_rng.standard_normal(new.shape)
    r = (P * b.mu).sum(axis=-1) + 0.3 * agent.D + 1.7 * new + 0.9 * seen * z
    assert new.max() > 0
    assert seen.max() > 0
    assert_optimal(agent, env, P, r)


@pytest.mark.parametrize("horizon", [None, 3])
@pytest.mark.parametrize("seed", range(3))
def test_the_default_plans_for_value_the_unseen_and_noise(seed: int, horizon: int | None) -> None:
    """Two rounds: the spread of q'f with the values of the round before, f = r + gamma V, from V = 0 on.

    Rows are related with those values, too (what that means is in tests/beliefs/test_related.py).
    """
    env = make_env(masked_mdp(seed), horizon=horizon)
    agent = trained("steering:excursions=0,far=10", env, seed=seed)
    twin = trained("steering", env, seed=seed)
    agent._steps = int(agent.belief.totals.sum())  # `trained` shows the data to the belief alone
    agent.plan()
    b, S = agent.belief, env.n_states
    discount = env.discount if horizon else 1 - 1 / (10 * S)
    e = min(b.eta, 1 / S)
    P = (b.counts + e) / (b.totals + S * e)[..., None]
    variance = P**2 * b.rate / ((b.prior[1] + b.counts) * (b.shape - 1))
    seen = np.sqrt(np.where(b.counts > 0, variance, 0).sum(axis=-1))
    unseen = np.where(b.counts == 0, P, 0).sum(axis=-1)
    z = twin.planning_rng.standard_normal(seen.shape)
    tried = b.totals > 0
    paid = np.where(tried, (b.counts * b.mu).sum(axis=-1) / np.maximum(b.totals, 1), b.prior[0])
    steps = b.totals.sum()
    # One more than 3 times the mean number of visits moves in steps of a factor 1.2.
    grown = 1.2 ** np.round(np.log(1 + 3 * steps / env.mask.sum()) / np.log(1.2)) - 1
    worth = np.where(tried, b.row_promise, b.promise) * np.sqrt(
        1 + grown * np.minimum(1, 2 / (1 + b.totals)) / (1 + b.totals) ** 2
    )
    assert grown > 0
    assert (unseen[tried] > 0).any()
    r = np.where(b.counts > 0, P * b.mu, 0).sum(axis=-1) + unseen * paid + 0.5 * unseen * worth + 0.6 * seen * z
    assert agent.discount == pytest.approx(discount)

    def bonus(V: np.ndarray) -> np.ndarray:
        kernels = b.mu + discount * V
        spread = [[posterior_information(b.alpha[s, a], operator="gibbs", kernel=ValueKernel(kernels[s, a]))
                   for a in range(env.n_actions)] for s in range(S)]  # fmt: skip
        return 0.3 * np.sqrt(np.array(spread))

    b.data_model()
    assert not np.allclose(b.related_rows(np.arange(S, dtype=float)), P)
    if horizon is None:
        V = np.zeros(S)
        for _ in range(2):
            model = TabularMDP(b.related_rows(V), r + bonus(V), mask=env.mask)
            V = linear_program(model, discount).V
        np.testing.assert_allclose(evaluate(model, agent.policy[0], discount), V, rtol=1e-7, atol=1e-7)
        np.testing.assert_allclose(agent._values, V, rtol=1e-7, atol=1e-7)
        return
    V = np.zeros(S)
    for h in reversed(range(horizon)):
        Q = np.where(env.mask, r + bonus(V) + discount * b.related_rows(V) @ V, -np.inf)
        V = Q.max(axis=1)
        np.testing.assert_array_equal(agent.policy[h], Q.argmax(axis=1))


@pytest.mark.parametrize(("belief", "horizon"), [("dense", None), ("sparse", None), ("dense", 200), ("sparse", 200)])
def test_values_do_not_feed_on_their_own_spread(
    belief: str, horizon: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Without a limit they grow with every plan, or with every step of an episode, and overflow.
    weight, largest = 100.0, [0.0]
    env = make_env("maze:6", horizon=horizon)

    def note(values: np.ndarray) -> None:
        assert np.isfinite(values).all()
        largest[0] = max(largest[0], float(np.abs(values).max()))

    value_bonus, update = Steering._value_bonus, RepairedPlan.update

    def bonus(self: Steering, V: np.ndarray, *rest: float) -> np.ndarray:
        note(V)
        return value_bonus(self, V, *rest)

    def updated(self: RepairedPlan, *given: Any) -> None:
        update(self, *given)
        note(self.V)

    monkeypatch.setattr(Steering, "_value_bonus", bonus)
    monkeypatch.setattr(RepairedPlan, "update", updated)
    run(env, f"steering:value_weight={weight}", steps=1000, seeds=1, belief=belief)
    # A reward and a promise are below 4 here, together, plans look 200 steps ahead, and every step may have its bonus.
    assert 1e3 < largest[0] <= 4.0 * 200.0 * (1.0 + weight * 10.0 * 200.0)


@pytest.mark.parametrize("belief", ["dense", "sparse"])
@pytest.mark.parametrize("horizon", [None, 2, 40])
def test_the_limit_of_the_spread_of_values_does_nothing_by_default(
    belief: str, horizon: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Rewards that cancel within rows: all there is to gain is in the spread, and mean rewards of pairs are 0.
    rng = np.random.default_rng(1)
    P = rng.dirichlet([2.0, 2.0], size=(2, 2))
    R = np.tile([1.0, -1.0], (2, 2, 1))
    R -= (P * R).sum(axis=-1, keepdims=True)
    for world in (make_env(TabularMDP(P, R), horizon=horizon), make_env("maze:4", horizon=horizon)):
        kept = [run(world, "steering:novelty=0,reward_noise=0", steps=500, seeds=2, belief=belief).rewards]
        with monkeypatch.context() as patch:
            patch.setattr("steering.agents.steering.MOST", np.inf)
            kept.append(run(world, "steering:novelty=0,reward_noise=0", steps=500, seeds=2, belief=belief).rewards)
        np.testing.assert_array_equal(*kept)


def test_a_sampled_model_has_information_and_no_reward_terms() -> None:
    env = make_env(masked_mdp(6))
    agent = trained("steering", env, planning="sampled", info_weight=0.5, novelty=5.0, reward_noise=5.0)
    twin = trained("steering", env, planning="sampled")
    agent.plan()
    twin.belief.refresh()
    P, r = twin.belief.draw_model(twin.planning_rng)
    assert_optimal(agent, env, P, r + 0.5 * agent.D)


def test_episodic_policies_depend_on_the_step() -> None:
    env = make_env("griddeepsea:4")
    for spec in ("steering", "steering:objective=ratio"):
        agent = trained(spec, env, n=200)
        agent.plan()
        assert agent.policy.shape == (4, 16)
    mdp = masked_mdp(4)
    agent = trained("steering", make_env(mdp, horizon=4), n=100_000, reward_noise=0.0)
    agent.plan()
    np.testing.assert_allclose(evaluate_finite(mdp, agent.policy, 4, 1.0), backward_induction(mdp, 4).V, atol=0.05)
    assert len(np.unique(agent.policy, axis=0)) > 1  # a stationary policy would not do


@pytest.mark.parametrize("spec", ["steering", "steering:objective=ratio", "steering:preset=paper-sound"])
@pytest.mark.parametrize("horizon", [None, 4])
def test_with_much_data_the_policy_is_optimal(spec: str, horizon: int | None) -> None:
    env = make_env(masked_mdp(4), horizon=horizon)
    agent = trained(spec, env, n=200_000)
    agent.plan()
    if horizon is None:
        value = evaluate(env.table, agent.policy[0], env.discount)
        np.testing.assert_allclose(value, linear_program(env.table, env.discount).V, atol=0.02)
    else:
        np.testing.assert_array_equal(agent.policy, backward_induction(env.table, horizon).policy)


# Presets and options -------------------------------------------------------------------------------------------------


def test_presets_are_what_they_say() -> None:
    paper = make_agent("steering:preset=paper").options
    assert (paper.objective, paper.info_weight, paper.planning) == ("regularised", 0.5, "sampled")
    assert (paper.operator, paper.reference, paper.expectation) == ("difference", "empirical", "model")
    assert paper.selection == "posterior"
    assert (paper.concentration, paper.reward_scale, paper.eta) == ("fixed", "fixed", 1.0)
    sound = make_agent("steering:preset=paper-sound").options
    assert (sound.objective, sound.info_weight, sound.planning) == ("regularised", 0.5, "mean")
    assert sound.operator == "barker"
    assert (sound.novelty, sound.reward_noise) == (0.0, 0.0)
    assert (sound.concentration, sound.reward_scale) == ("fixed", "fixed")
    default = make_agent("steering").options
    assert (default.concentration, default.reward_scale, default.replan) == ("learned", "open", "learned")
    before = make_agent("steering:preset=v1").options
    assert (before.replan, before.reward_scale, before.info_weight) == ("every", "learned", 0.3)
    for plain in (paper, sound, before):
        assert (plain.replan, plain.value_weight, plain.far, plain.excursions) == ("every", 0.0, 0.0, 0.0)
        assert (plain.unseen, plain.persistence) == ("independent", 0.0)
        assert (plain.rows, plain.evenness) == ("independent", "none")
    assert default == make_agent("steering:preset=default").options


@pytest.mark.parametrize("preset", ["paper", "paper-sound", "v1", "default"])
def test_options_made_directly_apply_the_preset_too(preset: str) -> None:
    assert SteeringOptions(preset=preset) == make_agent(f"steering:preset={preset}").options
    assert SteeringOptions(preset=preset, info_weight=0.2).info_weight == 0.2
    with pytest.raises(TypeError, match="no option 'infoweight'"):
        SteeringOptions(infoweight=0.2)


@pytest.mark.parametrize("preset", ["paper", "paper-sound"])
def test_the_presets_of_the_paper_use_lambda_as_it_is(preset: str) -> None:
    agent = trained(f"steering:preset={preset}", make_env(masked_mdp(0)), normal_gamma=(0.0, 4.0, 3.0, 300.0))
    agent.plan()
    assert agent.info_weight == 0.5


@pytest.mark.parametrize("preset", ["paper", "paper-sound"])
def test_a_preset_is_a_name_only(preset: str) -> None:
    """Put on finished options, it changes nothing that the agent does, and the text tells every other option."""
    plain = SteeringOptions(normal_gamma=(0.0, 4.0, 3.0, 300.0))
    named = dataclasses.replace(plain, preset=preset)
    assert make_agent(describe_agent(Steering(named))).options == named
    env = make_env(masked_mdp(0))
    one, other = (
        run(env, Steering(options), steps=200, seeds=2, record=("diagnostics",)) for options in (plain, named)
    )
    np.testing.assert_array_equal(one.visits, other.visits)
    np.testing.assert_array_equal(one.diagnostics.info_weight, other.diagnostics.info_weight)


def test_options_beside_a_preset_win() -> None:
    options = make_agent("steering:preset=paper,info_weight=0.1", operator="barker").options
    assert (options.info_weight, options.operator, options.planning) == (0.1, "barker", "sampled")


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ("steering", "steering"),
        ("steering:preset=default", "steering"),
        ("steering:preset=paper", "steering:preset=paper"),
        ("steering:preset=paper,info_weight=0.1", "steering:preset=paper,info_weight=0.1"),
        ("steering:info_weight=0.1,preset=paper-sound", "steering:preset=paper-sound,info_weight=0.1"),
        ("steering:preset=paper,planning=mean,operator=barker", "steering:preset=paper,planning=mean,operator=barker"),
        ("steering:preset=paper,operator=difference", "steering:preset=paper"),
        ("steering:objective=ratio,selection=none", "steering:objective=ratio"),
        ("steering:preset=paper,selection=none", "steering:preset=paper,selection=none"),
    ],
)
def test_descriptions_with_presets_build_the_same_agent(spec: str, text: str) -> None:
    agent = make_agent(spec)
    assert describe_agent(agent) == text
    assert make_agent(text).options == agent.options


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"preset": "papr"}, "preset"),
        ({"weight_unit": "rewards"}, "weight_unit"),
        ({"objective": "x"}, "objective"),
        ({"planning": "x"}, "planning"),
        ({"reference": "x"}, "reference"),
        ({"expectation": "x"}, "expectation"),
        ({"selection": "x"}, "selection"),
        ({"operator": "x"}, "operator"),
        ({"kernel": "x"}, "kernel"),
        ({"info_weight": -1}, "info_weight"),
        ({"info_weight": float("nan")}, "info_weight"),
        ({"novelty": -1}, "novelty"),
        ({"reward_noise": float("inf")}, "reward_noise"),
        ({"draws": 0}, "draws"),
        ({"draws": 1, "expectation": "draws"}, "draws"),
        ({"operator": "difference"}, "infinite posterior expectation"),
        ({"operator": "sqrt", "expectation": "draws"}, "infinite posterior expectation"),
        ({"reference": "draw", "expectation": "model"}, "reference=draw"),
        ({"normal_gamma": (0, 4, 1, 3)}, "alpha above 1"),
        ({"eta": 0}, "eta"),
    ],
)
def test_options_out_of_range_are_named_in_one_sentence(options, word: str) -> None:
    with pytest.raises(SteeringError, match=word) as caught:
        make_agent("steering", **options)
    assert "\n" not in str(caught.value)


def test_an_infinite_expectation_says_what_to_do() -> None:
    with pytest.raises(InvalidOption, match="use expectation=model, or operator=barker"):
        make_agent("steering:operator=difference")


def test_a_registered_operator_is_judged_by_what_it_says_of_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """Heavy tails of an operator of one's own are refused at once, not in the middle of a run."""
    mine = copy.copy(get_operator("sqrt"))
    object.__setattr__(mine, "name", "mine")
    monkeypatch.setitem(OPERATORS, "mine", mine)
    with pytest.raises(InvalidOption, match="operator 'mine' has an infinite posterior expectation"):
        make_agent("steering:operator=mine")
    assert make_agent("steering:operator=mine,expectation=model").options.operator == "mine"


# What must not matter ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("spec", ["steering", "steering:objective=ratio", "steering:planning=mean,concentration=fixed"])
@pytest.mark.parametrize("unit", [0.25, 1024.0])
def test_units_of_reward_do_not_matter(spec: str, unit: float) -> None:
    """Rewards and prior times a power of two: the same trajectory, to the bit."""
    mdp = masked_mdp(8)
    prior = (0.5, 4.0, 3.0, 3.0)
    scaled = TabularMDP(mdp.P, mdp.reward_mean * unit, mdp.reward_std * unit, mdp.mask, mdp.start)
    one = run(mdp, spec, steps=400, seeds=2, normal_gamma=prior)
    other = run(scaled, spec, steps=400, seeds=2, normal_gamma=(0.5 * unit, 4.0, 3.0, 3.0 * unit**2))
    np.testing.assert_array_equal(one.visits, other.visits)
    np.testing.assert_array_equal(one.rewards * unit, other.rewards)


def test_the_unit_follows_the_prior() -> None:
    assert prior_spread((0.0, 4.0, 3.0, 3.0)) == pytest.approx(np.sqrt(3 / 8))
    env = make_env(masked_mdp(0))
    agent = trained("steering", env, normal_gamma=(0.0, 4.0, 3.0, 300.0), info_weight=0.2)
    agent.plan()
    assert agent.info_weight == pytest.approx(0.2 * 10.0)


@given(st.integers(0, 1000))
@settings(max_examples=15)
def test_renaming_states_and_actions_renames_the_plan(seed: int) -> None:
    """Without reward noise a plan is a function of the data; names of states and actions are not part of it."""
    mdp = masked_mdp(seed)
    rng = np.random.default_rng(seed)
    states, actions = rng.permutation(4), rng.permutation(3)
    back_s, back_a = np.argsort(states), np.argsort(actions)
    index = np.ix_(back_s, back_a, back_s)
    renamed = TabularMDP(
        mdp.P[index], mdp.reward_mean[index], mdp.reward_std[index], mdp.mask[back_s][:, back_a], mdp.start[back_s]
    )
    n = 60
    s, a = np.divmod(rng.choice(np.flatnonzero(mdp.mask), size=n), 3)
    y, r = rng.integers(4, size=n), rng.normal(size=n)
    plans = []
    for env, data in ((make_env(mdp), (s, a, r, y)), (make_env(renamed), (states[s], actions[a], r, states[y]))):
        agent = make_agent("steering", reward_noise=0.0)
        agent.start(problem_of(env), np.random.default_rng(0), np.random.default_rng(1))
        agent.belief.observe_many(data)
        agent.plan()
        plans.append((agent.policy[0].copy(), agent.D.copy()))
    np.testing.assert_allclose(plans[1][1], plans[0][1][back_s][:, back_a], rtol=1e-9)
    np.testing.assert_array_equal(plans[1][0], actions[plans[0][0]][back_s])


@pytest.mark.parametrize("spec", ["steering", "steering:objective=ratio", "steering:preset=paper"])
def test_runs_repeat_themselves_and_seeds_are_independent_of_each_other(spec: str) -> None:
    both = run("deepsea:5", spec, steps=300, seeds=[3, 4])
    alone = run("deepsea:5", spec, steps=300, seeds=[4])
    np.testing.assert_array_equal(both.rewards[1], alone.rewards[0])
    assert (both.rewards[0] != both.rewards[1]).any()


# Selection -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("batch", [1, 2, 3])
def test_selection_takes_one_of_every_batch(batch: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """320 steps in 40 blocks of 8: ceil(8 / batch) a block go to the dictionary."""
    monkeypatch.setattr("steering.agents.steering.BATCH", batch)
    results = {}
    for selection in ("dictionary", "posterior"):
        agent = make_agent("steering:preset=v1", selection=selection, reference="empirical", expectation="draws")
        run("deepsea:7", agent, steps=320, seeds=1)
        agent.plan()
        assert agent.dictionary is not None
        results[selection] = (len(agent.dictionary), agent.belief.totals.sum(), agent)
    kept = 40 * -(-8 // batch)
    assert results["dictionary"][:2] == (kept, 320)
    assert results["posterior"][:2] == (kept, kept)
    literal = results["posterior"][2]
    np.testing.assert_array_equal(literal.belief.counts, literal.dictionary.counts)


def test_the_dictionary_is_the_empirical_reference() -> None:
    """D is measured from what was selected, row by row; measured from all data it would be another."""
    agent = make_agent("steering:preset=v1,selection=dictionary,reference=empirical")
    run("deepsea:5", agent, steps=240, seeds=1)
    agent.plan()
    assert agent.dictionary is not None
    belief = agent.belief
    expected, other = (
        posterior_information(
            belief.alpha, np.asarray(counts, dtype=float), operator="barker", reference="empirical", empty="mean"
        )
        for counts in (agent.dictionary.counts, belief.counts)
    )
    np.testing.assert_allclose(agent.D, expected, rtol=1e-6)
    assert np.abs(expected - other).max() > 0.05 * other.max()


@pytest.mark.parametrize("junk", [np.nan, 0.0, -5.0])
def test_samples_before_the_first_plan_are_selected_in_the_mean_of_the_prior(junk: float) -> None:
    counts = []
    for fill in (None, junk):
        agent = trained("steering:preset=paper-sound", make_env(masked_mdp(1)), n=0)
        if fill is not None:
            agent.belief.P[:] = fill  # a buffer that anybody may have written into
        for k in range(6):
            agent.observe(k % 4, 0, 0.0, (k * 3) % 4)
        agent.plan(0)
        assert agent.dictionary is not None
        counts.append(agent.dictionary.counts)
    np.testing.assert_array_equal(*counts)


def test_a_batch_of_one_keeps_everything_and_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("steering.agents.steering.BATCH", 1)
    plain = run("deepsea:6", "steering", steps=600, seeds=2)
    for selection in ("dictionary", "posterior"):
        same = run("deepsea:6", f"steering:selection={selection}", steps=600, seeds=2)
        np.testing.assert_array_equal(plain.rewards, same.rewards)


def test_the_selected_sample_has_the_least_self_similarity_plus_twice_its_similarity() -> None:
    """By the Stein kernel of the planning model, summed over the dictionary sample by sample."""
    env = make_env(masked_mdp(9))
    agent = trained("steering:preset=paper-sound", env, n=0)
    agent.plan()
    kernel_s, kernel_a = (lambda i, j: 1.0 if i == j else np.exp(-1)), (lambda i, j: 1.0 if i == j else np.exp(-1))
    rng = np.random.default_rng(0)
    kept: list[tuple[int, int, int]] = []
    for _ in range(6):
        q = agent.belief.alpha / agent.belief.alpha.sum(axis=-1, keepdims=True)
        L = steering.stein.get_kernel("exp-hamming").gram(4)
        T = {(s, a): steering.stein.get_operator("barker").generator(q[s, a]) for s in range(4) for a in range(3)}

        def similarity(x, y, T=T, L=L) -> float:
            inner = T[x[:2]][x[2]] @ L @ T[y[:2]][y[2]]
            return float(kernel_s(x[0], y[0]) * kernel_a(x[1], y[1]) * inner)

        batch = [(int(rng.integers(4)), int(rng.integers(3)), int(rng.integers(4))) for _ in range(2)]
        score = [similarity(x, x) + 2 * sum(similarity(x, k) for k in kept) for x in batch]
        before = agent.dictionary.counts.copy() if agent.dictionary is not None else np.zeros((4, 3, 4))
        for s, a, y in batch:
            agent.observe(s, a, 0.0, y)
        agent.plan()
        assert agent.dictionary is not None
        new = tuple(int(i) for i in np.argwhere(agent.dictionary.counts - before)[0])
        assert new == batch[int(np.argmin(score))]
        kept.append(new)


def test_what_is_selected_is_what_the_posterior_learns_from_and_that_biases_it() -> None:
    """Rows visited at least 100 times, 2 seeds: the literal choice looks at s', so its rows are further off."""
    errors = {}
    for selection in ("dictionary", "posterior"):
        total = []
        for seed in range(2):
            agent = make_agent("steering", selection=selection)
            run("deepsea:8", agent, steps=3000, seeds=[seed])
            agent.plan()
            b = agent.belief
            rows = b.totals >= 100
            learned = b.counts[rows] / b.totals[rows][:, None]
            total.append(np.abs(learned - make_env("deepsea:8").table.P[rows]).sum(axis=-1).mean() / 2)
        errors[selection] = np.mean(total)
    assert errors["dictionary"] < 0.04
    assert errors["posterior"] > 2 * errors["dictionary"]


@pytest.mark.parametrize("env", ["maze:5,seed=0", "maze:5,seed=0,horizon=12"])
@pytest.mark.parametrize("options", ["objective=ratio", "planning=mean", "planning=sampled"])
def test_related_rows_play_no_part_elsewhere(options: str, env: str) -> None:
    """Worlds large enough that excursions differ, if they were planned with related rows."""
    runs = [
        steering.run(env, f"steering:{options},rows={rows}", steps=500, seeds=3) for rows in ("related", "independent")
    ]
    np.testing.assert_array_equal(runs[0].visits, runs[1].visits)


@pytest.mark.parametrize("form", ["dense", "sparse"])
@pytest.mark.parametrize("objective", ["regularised", "ratio"])
def test_the_agent_evens_chances_unless_told_otherwise(form: str, objective: str) -> None:
    """On FrozenLake every move has three outcomes alike: after some hundred steps all rows together say so."""
    found = {}
    for evenness in ("learned", "none"):
        env = make_env("gym:FrozenLake-v1")
        agent = steering.make_agent(f"steering:objective={objective},evenness={evenness},replan=every,belief={form}")
        found[evenness] = agent, steering.run(env, agent, steps=900, seeds=[1])
    assert not np.array_equal(found["learned"][1].visits, found["none"][1].visits)
