"""The local variance of value that agents plan with is Stein information with a kernel that sees value."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import steering.stein as stein
from steering.beliefs import ModelBelief, SparseBelief

S, A = 4, 2
TRANSITIONS = st.lists(
    st.tuples(st.integers(0, S - 1), st.integers(0, A - 1), st.floats(-9, 9), st.integers(0, S - 1)), max_size=40
)


@pytest.mark.parametrize("Form", [ModelBelief, SparseBelief])
@given(TRANSITIONS, st.sampled_from([1e-3, 0.2, 1.0, 30.0]), st.sampled_from([0.0, 0.9, 1.0]), st.integers(0, 99))
@settings(max_examples=40)
def test_local_moments_are_gibbs_information_about_value(Form, data, eta: float, discount: float, seed: int) -> None:
    """Var(sum P (mu + discount V)) = E DSD(m, P), gibbs, kernel f f' with f = mu + discount V; row by row."""
    belief = Form(S, A, eta=eta, concentration="learned", reward_scale="learned")
    for transition in data:
        belief.observe(*transition)
    belief.refresh()
    belief.mean_model()
    values = np.random.default_rng(seed).normal(3.0, 2.0, S)
    spread = belief.local_moments(values, discount)[0]
    alpha, mu = np.asarray(belief.alpha), np.asarray(belief.mu)
    assert spread.shape == (S, A)
    for s, a in np.ndindex(S, A):
        kernel = stein.ValueKernel(mu[s, a] + discount * values)
        information = stein.posterior_information(alpha[s, a], operator="gibbs", kernel=kernel)
        assert spread[s, a] == pytest.approx(information, rel=1e-9, abs=1e-14)
