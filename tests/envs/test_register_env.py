"""Environments of somebody's own: parameters from the signature, canonical text, Gymnasium, and what is refused."""

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import steering
from steering.envs import entries, list_envs, make_env, register_env
from steering.errors import InvalidMDP, InvalidOption, SteeringError, UnsupportedEnvironment

pytestmark = pytest.mark.usefixtures("own_code")


def ring(n: int = 4, slip: float = 0.1, *, clockwise: bool = True, start: int | None = None) -> steering.TabularMDP:
    """A ring of n states.

    Parameters
    ----------
    n
        States.
    """
    P = np.zeros((n, 2, n))
    for s in range(n):
        P[s, 0, s] = 1.0
        P[s, 1, (s + (1 if clockwise else -1)) % n] += 1 - slip
        P[s, 1, s] += slip
    return steering.TabularMDP(P, np.arange(n) == n - 1)


@pytest.fixture(autouse=True)
def _registered():
    steering.register_env("my_ring", ring)


def test_text_keywords_and_defaults_give_one_canonical_name():
    assert make_env("my_ring").name == make_env("my_ring:n=4").name == "my_ring:4,0.1"
    assert make_env("my_ring:5,0").name == make_env("my_ring", n=np.int64(5), slip=0.0).name == "my_ring:5,0.0"
    text = "my_ring:3,0.5,clockwise=false,start=2,discount=0.5"
    assert make_env(text).name == text
    assert make_env(text) == make_env(make_env(text).name)
    assert make_env(make_env("my_ring"), slip=0.2, horizon=3).name == "my_ring:4,0.2,horizon=3"
    assert steering.run("my_ring", "psrl", steps=20, seeds=1).environment == "my_ring:4,0.1"


def test_the_function_stands_for_its_name():
    ring = entries.ENTRIES["my_ring"].build
    assert make_env(ring, n=5, horizon=3).name == "my_ring:5,0.1,horizon=3"
    with pytest.raises(SteeringError, match="register it first"):
        make_env(lambda: None)


def test_it_is_listed_with_its_parameters():
    (info,) = (info for info in list_envs() if info.name == "my_ring")
    assert info.parameters == "n=4, slip=0.1, clockwise=true, start=none"
    assert info.summary == "A ring of n states."


def test_gymnasium_has_it():
    made = gymnasium.make("steering/MyRing-v0", n=6, horizon=5)
    assert made.observation_space.n == 6
    check_env(made.unwrapped, skip_render_check=True)
    assert make_env("gym:steering/MyRing-v0").n_states == 4


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("my_ring:n=2.5", "n of environment 'my_ring' is 2.5; it must be a whole number"),
        ("my_ring:slip=much", "must be a number"),
        ("my_ring:clockwise=3", "must be true or false"),
        ("my_ring:start=a", "must be a whole number or none"),
        ("my_ring:slipp=1", "did you mean 'slip'"),
        ("my_ring:1,2,3", "takes 2 plain value"),
        ("my_ring:n=0", "environment 'my_ring'"),
        ("my_rimg", "did you mean 'my_ring'"),
    ],
)
def test_mistakes_get_one_sentence(text, says):
    with pytest.raises(SteeringError, match=says) as caught:
        make_env(text)
    assert "\n" not in str(caught.value)


def test_functions_that_fail_are_told_in_a_sentence():
    @register_env("fails")
    def fails(n: int):
        return {}[n]

    @register_env("gives_none")
    def gives_none():
        pass

    @register_env("not_an_mdp")
    def not_an_mdp():
        return steering.TabularMDP([[[0.5]]], 0.0)

    with pytest.raises(InvalidOption, match="environment 'fails' cannot be made: KeyError: 3"):
        make_env("fails:3")
    with pytest.raises(InvalidOption, match=r"fails needs n; write for example fails:n=\.\.\."):
        make_env("fails")
    with pytest.raises(UnsupportedEnvironment, match="gives an object of type NoneType"):
        make_env("gives_none")
    with pytest.raises(InvalidMDP, match="environment 'not_an_mdp': P"):
        make_env("not_an_mdp")


def many(*sizes):
    pass


def settings(horizon: int = 3):
    pass


def wrong(n: int = "a"):
    pass


@pytest.mark.parametrize(
    ("name", "function", "says"),
    [
        ("deepsea", ring, "'deepsea' is an environment of the package"),
        ("gym", ring, "'gym' is an environment of the package"),
        ("a:b", ring, "cannot be the name of an environment"),
        ("x", 3, "register a function that returns a TabularMDP"),
        ("x", many, "its parameter sizes has no name of its own"),
        ("x", settings, "horizon is a setting of every environment"),
        ("x", wrong, "default of n of environment 'x' is 'a'"),
        ("my_ring", wrong, "environment 'my_ring' is already"),
        ("myRing", ring, "would share a Gymnasium id"),
    ],
)
def test_what_cannot_be_registered_is_refused_in_a_sentence(name, function, says):
    with pytest.raises(InvalidOption, match=says) as caught:
        register_env(name, function)
    assert "\n" not in str(caught.value)
    assert register_env("my_ring", ring) is ring  # the same again is fine
