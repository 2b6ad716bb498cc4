"""PriorMDP: an MDP drawn from the prior that a Bayesian agent holds, without any special structure.

For every state s and action a, independently::

    P(. | s, a)  ~  Dirichlet(kappa, ..., kappa)
    tau          ~  Gamma(alpha, rate beta)            for every s'
    m            ~  N(mu, 1 / (lambda tau))            for every s'
    reward of (s, a, s')  ~  N(m, 1 / tau)

with Normal-Gamma parameters (mu, lambda, alpha, beta). The paper prints (0, 1, 1, 4); the code that it used
has (0, 1, 4, 4), which is the default here.
"""

from __future__ import annotations

import numpy as np

from steering import _checks
from steering._types import Floats
from steering.errors import InvalidOption
from steering.mdp.sparse import require_dense
from steering.mdp.tabular import TabularMDP

NORMAL_GAMMA = (0.0, 1.0, 4.0, 4.0)
"""(mu, lambda, alpha, beta) of the code that the paper used; its text prints (0, 1, 1, 4)."""

STREAM = 0x9D21
"""Keeps the draws of `prior_mdp` apart from other uses of the same seed."""


def prior_mdp(
    n_states: int,
    n_actions: int,
    *,
    seed: int = 0,
    kappa: float = 1.0,
    normal_gamma: tuple[float, float, float, float] = NORMAL_GAMMA,
) -> TabularMDP:
    """MDP whose rows and rewards are drawn from a Dirichlet and Normal-Gamma prior; the seed fixes it.

    Parameters
    ----------
    n_states, n_actions
        Sizes S and A, each at least 1.
    seed
        Whole number >= 0; the same seed gives the same MDP, to the bit.
    kappa
        Concentration of the Dirichlet rows, greater than 0.
    normal_gamma
        (mu, lambda, alpha, beta) of the prior of rewards; the last three greater than 0.
    """
    seed = _checks.whole("seed of priormdp", seed, 0)
    rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(STREAM,))))
    return sample_prior_mdp(rng, n_states, n_actions, kappa, normal_gamma)


def sample_prior_mdp(
    rng: np.random.Generator,
    n_states: int,
    n_actions: int,
    kappa: float = 1.0,
    normal_gamma: tuple[float, float, float, float] = NORMAL_GAMMA,
) -> TabularMDP:
    """Draw one MDP from the prior, for example to average regret over MDPs (Bayesian regret).

    Parameters
    ----------
    rng
        Source of randomness; advanced by the call.
    n_states, n_actions, kappa, normal_gamma
        As in `prior_mdp`.
    """
    n_states = _checks.whole("n_states of priormdp", n_states, 1)
    n_actions = _checks.whole("n_actions of priormdp", n_actions, 1)
    kappa = _checks.number("kappa of priormdp", kappa, above=0.0)
    mu, lam, alpha, beta = _checked_normal_gamma(normal_gamma)
    require_dense("priormdp", n_states, n_actions)
    P = _dirichlet_rows(rng, kappa, (n_states, n_actions, n_states))
    tau = rng.gamma(alpha, size=P.shape) / beta
    # A precision can underflow to 0 when alpha is tiny; the smallest normal number keeps the rewards finite.
    tau = np.maximum(tau, np.finfo(np.float64).tiny)
    std = tau**-0.5
    mean = mu + rng.standard_normal(P.shape) * (std / np.sqrt(lam))
    return TabularMDP(P=P, reward_mean=mean, reward_std=std)


def _dirichlet_rows(rng: np.random.Generator, kappa: float, shape: tuple[int, int, int]) -> Floats:
    """Rows of Dirichlet(kappa) along the last axis, by normalised gamma draws; safe for tiny kappa.

    ``log Gamma(kappa) draw = log Gamma(kappa + 1) draw + log(U) / kappa`` cannot underflow, and only the
    ratios matter.
    """
    logs = np.log(rng.gamma(kappa + 1.0, size=shape)) + np.log1p(-rng.random(shape)) / kappa
    rows = np.exp(logs - logs.max(axis=-1, keepdims=True))
    return np.asarray(rows / rows.sum(axis=-1, keepdims=True))


def _checked_normal_gamma(values: object) -> tuple[float, float, float, float]:
    if not isinstance(values, (tuple, list, np.ndarray)) or len(values) != 4:
        raise InvalidOption(f"normal_gamma of priormdp is {values!r}; give the four numbers (mu, lambda, alpha, beta).")
    mu = _checks.number("mu in normal_gamma", values[0])
    lam, alpha, beta = (
        _checks.number(f"{name} in normal_gamma", value, above=0.0)
        for name, value in zip(("lambda", "alpha", "beta"), values[1:], strict=True)
    )
    return mu, lam, alpha, beta
