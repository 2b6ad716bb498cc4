"""Any Gymnasium environment with `Discrete` spaces as an `Environment`.

If the environment exposes its table (``env.unwrapped.P``, as FrozenLake, CliffWalking and Taxi do), the MDP is exact.
If not, agents can step it live (`steering.envs.live`), or ``estimate=N`` estimates the table from N random steps.
`steering.envs.tables` says how termination is read. Time limits are not part of a table.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import math
import sys
import warnings
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np

from steering import _checks, spec
from steering._types import Floats
from steering.envs.base import GYM_OBJECT, Environment, changed_settings, discrete_sizes
from steering.envs.guard import Guard, state_of
from steering.envs.gym_env import TabularEnv
from steering.envs.live import LiveGym, space_starts
from steering.envs.tables import OutcomeCounts, mdp_from_outcomes, read_table
from steering.errors import InvalidOption, SteeringError, UnsupportedEnvironment
from steering.mdp.sparse import require_rows
from steering.mdp.tabular import TabularMDP

START_RESETS = 1000
"""Resets used to estimate the start distribution of an environment that does not state it."""

Maker = Callable[[], gymnasium.Env[Any, Any]]

# Wrappers that change neither observations nor rewards nor dynamics: the table of the inner environment
# still holds.
_TRANSPARENT = ("OrderEnforcing", "PassiveEnvChecker", "RecordEpisodeStatistics", "TimeLimit", "Autoreset")


def from_gym(
    env: gymnasium.Env[Any, Any] | str,
    *,
    horizon: int | None = None,
    estimate: int | None = None,
    discount: float | None = None,
    replan_every: int | None = None,
    max_iterations: int | None = None,
    **kwargs: Any,
) -> Environment:
    """Make an `Environment` of a Gymnasium environment or id.

    Parameters
    ----------
    env
        Environment, or an id for ``gymnasium.make``.
    horizon
        Steps of an episode; None for the continuing setting.
    estimate
        Number of random steps from which to estimate the table; only for environments that do not expose one.
    discount, replan_every, max_iterations
        As in `Environment`.
    **kwargs
        Given to ``gymnasium.make`` with an id.

    Examples
    --------
    >>> from_gym("FrozenLake-v1").mdp
    TabularMDP(n_states=16, n_actions=4)
    """
    settings: dict[str, Any] = {
        "horizon": horizon,
        "discount": discount,
        "replan_every": replan_every,
        "max_iterations": max_iterations,
    }
    maker, name_options = _maker(env, kwargs)
    instance = maker()
    try:
        discrete_sizes(instance)
        mdp = exact_mdp(instance, episodic=horizon is not None)
    finally:
        instance.close()
    if estimate is not None:
        if mdp is not None:
            raise InvalidOption("estimate is not needed: this environment states its table; leave it out.")
        estimate = _checks.whole("estimate", estimate, 1)
        mdp = estimate_mdp(maker, samples=estimate, episodic=horizon is not None)
        name_options = {**name_options, "estimate": estimate} if name_options is not None else None
    usual = Environment(name="gym", mdp=mdp, make_gym=maker)
    actual = usual.replace(**settings)
    return actual.replace(name=_name(env, instance, name_options, changed_settings(usual, actual)))


def exact_mdp(env: gymnasium.Env[Any, Any], *, episodic: bool = False) -> TabularMDP | None:
    """Return the MDP of an environment that states it, else None.

    The start distribution is ``initial_state_distrib`` where there is one, else the frequencies in `START_RESETS`
    resets seeded with 0 (exact if every reset gives the same state).
    """
    n_states, n_actions = discrete_sizes(env)
    if not _is_transparent(env):
        return None
    inner = env.unwrapped
    if isinstance(inner, TabularEnv):
        return inner.mdp
    table = getattr(inner, "P", None)
    if table is None:
        return None
    outcomes = read_table(table, n_states, n_actions, space_starts(env))
    if outcomes is None:
        return None
    start, exact = _start(env, n_states)
    return mdp_from_outcomes(outcomes, start, n_states, n_actions, episodic=episodic, all_starts=exact)


def estimate_mdp(
    env: gymnasium.Env[Any, Any] | Maker, samples: int = 100_000, seed: int = 0, *, episodic: bool = False
) -> TabularMDP:
    """Estimate an MDP from uniformly random actions.

    Probabilities are relative frequencies; rewards have the mean and the (maximum likelihood) standard deviation of
    those seen on each (s, a, s'). A pair (s, a) that was never tried stays where it is with reward 0. The start
    distribution is that of the resets seen.

    Parameters
    ----------
    env
        Environment (a copy of it is stepped), or a function that makes one.
    samples
        Number of steps, at least 1.
    seed
        Fixes the environment's randomness and the actions.
    episodic
        Whether terminal states are absorbing (else they lead to the start).
    """
    samples = _checks.whole("samples", samples, 1)
    seed = _checks.whole("seed", seed, 0)
    maker = functools.partial(copy.deepcopy, env) if isinstance(env, gymnasium.Env) else env
    # Actions have a stream of their own: environments that are seeded with the same number must not share it.
    rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(0xE57,))))
    with LiveGym(maker, seed) as live:
        require_rows("the pairs of the environment", 0, live.n_states, live.n_actions)
        counts = OutcomeCounts(live.n_states, live.n_actions)
        starts = np.zeros(live.n_states)
        starts[live.reset()] += 1
        for action in rng.integers(live.n_actions, size=samples).tolist():
            state = live.state
            next_state, reward, restarted = live.step(action)
            ended = live.terminated
            counts.add(state, action, next_state, reward, ended)
            if ended:
                live.reset()
            if ended or restarted:
                starts[live.state] += 1
    shape = (live.n_states, live.n_actions)
    return mdp_from_outcomes(counts.outcomes(), starts / starts.sum(), *shape, episodic=episodic)


def _maker(env: gymnasium.Env[Any, Any] | str, kwargs: dict[str, Any]) -> tuple[Maker, dict[str, Any] | None]:
    if isinstance(env, str):
        return functools.partial(_make, env, kwargs), {"id": env, **kwargs}
    if not isinstance(env, gymnasium.Env):
        raise UnsupportedEnvironment(f"{type(env).__name__} is neither a Gymnasium environment nor an id.")
    if kwargs:
        raise InvalidOption(
            f"option '{next(iter(kwargs))}' cannot be given with an environment object; give it to gymnasium.make."
        )
    return functools.partial(copy.deepcopy, env), _id_options(env)


def _id_options(env: gymnasium.Env[Any, Any]) -> dict[str, Any] | None:
    """Return the id and options that make an equal environment again; None where that cannot be shown."""
    if env.spec is None or not _is_transparent(env):
        return None
    try:
        again = _make(env.spec.id, env.spec.kwargs)
    except SteeringError:
        return None
    mdp, other = exact_mdp(env), exact_mdp(again)
    again.close()
    same = mdp is not None and other is not None and mdp.same_as(other)
    # What the id was registered with follows from the id: the object gets the name that its text has.
    registered = gymnasium.registry[env.spec.id].kwargs if env.spec.id in gymnasium.registry else {}
    given = {k: v for k, v in env.spec.kwargs.items() if k not in registered or bool(registered[k] != v)}
    return {"id": env.spec.id, **given} if same else None


def _make(env_id: str, kwargs: dict[str, Any]) -> gymnasium.Env[Any, Any]:
    try:
        with warnings.catch_warnings():
            # Gymnasium warns of old versions before it refuses them; the refusal says it in one sentence.
            warnings.simplefilter("ignore", DeprecationWarning)
            with contextlib.redirect_stdout(sys.stderr):  # standard output belongs to results
                return gymnasium.make(env_id, **kwargs)
    except (SteeringError, MemoryError):
        raise
    except (Exception, SystemExit) as error:  # whatever a constructor raises for a wrong option
        reason = " ".join(str(error).split()).rstrip(".?!")
        raise UnsupportedEnvironment(f"Gymnasium cannot make '{env_id}': {reason}.") from None


def _is_transparent(env: gymnasium.Env[Any, Any]) -> bool:
    while isinstance(env, gymnasium.Wrapper):
        if type(env).__name__ not in _TRANSPARENT:
            return False
        env = env.env
    return True


def _start(env: gymnasium.Env[Any, Any], n_states: int) -> tuple[Floats, bool]:
    """Return the start distribution and whether it is exact."""
    given = getattr(env.unwrapped, "initial_state_distrib", None)
    if given is not None and np.shape(given) == (n_states,):
        start = np.array(given, dtype=np.float64)
        return start / start.sum(), True
    start = np.zeros(n_states)
    first, _ = space_starts(env)
    guard = Guard(type(env.unwrapped).__name__)
    for attempt in range(START_RESETS):
        observation = guard.parts("reset", 2, env.reset, seed=0 if attempt == 0 else None)[0]
        start[state_of(guard.name, observation, first, n_states)] += 1
    return start / start.sum(), False


def _name(
    env: object, instance: gymnasium.Env[Any, Any], options: dict[str, Any] | None, settings: dict[str, Any]
) -> str:
    """Text that makes the environment again where its options can be written as text, else its class."""
    if options is not None:
        rest = {key: value for key, value in options.items() if key != "id"} | settings
        text = spec.describe("gym", [options["id"]], rest)
        try:
            if _reads_as(spec.parse(text), ("gym", [options["id"]], rest)):
                return text
        except InvalidOption:
            pass
    return spec.describe(GYM_OBJECT, [type(instance.unwrapped).__name__], settings)


def _reads_as(read: Any, given: Any) -> bool:
    """Whether a text was read as what was given; a number that is none (nan) is itself, although it equals nothing."""
    if isinstance(given, dict):
        return list(read) == list(given) and _reads_as(list(read.values()), list(given.values()))
    if isinstance(given, tuple | list):
        return type(read) is type(given) and len(read) == len(given) and all(map(_reads_as, read, given))
    if isinstance(read, float) and isinstance(given, float) and math.isnan(read):
        return math.isnan(given)
    try:
        return bool(read == given)
    except ValueError:  # an array, which no text describes
        return False
