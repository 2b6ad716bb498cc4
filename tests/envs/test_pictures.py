"""Pictures of every environment: what they show, where arrows point, and figures of MDPs."""

from __future__ import annotations

from pathlib import Path

import gymnasium
import numpy as np
import pytest
from matplotlib.figure import Figure

import steering
from steering import TabularMDP, make_env
from steering.envs.drawing import centres_of, picture
from steering.envs.layout import layout_of, layout_of_mdp
from steering.envs.names import GYM_NAMES
from steering.envs.plotting import likely_moves
from steering.envs.registration import register_all
from steering.errors import InvalidOption, NotAvailable
from steering.mdp import solve

ORANGE = (230, 120, 0)


def marked(image: np.ndarray) -> np.ndarray:
    """Rows and columns of the mark."""
    return np.argwhere((image == ORANGE).all(axis=2))


@pytest.mark.parametrize("env_id", register_all())
def test_every_environment_renders_where_the_agent_is(env_id: str) -> None:
    env = gymnasium.make(env_id, render_mode="rgb_array", disable_env_checker=True)
    assert "rgb_array" in env.metadata["render_modes"]
    env.reset(seed=0)
    first = env.render()
    assert first.dtype == np.uint8
    assert first.ndim == 3
    assert first.shape[2] == 3
    tabular = env.unwrapped
    places = {}
    rng = np.random.default_rng(0)
    for _ in range(60):
        action = rng.choice(np.flatnonzero(tabular.mdp.mask[tabular._state]))
        env.step(int(action))
        image = env.render()
        assert image.shape == first.shape
        place = tuple(marked(image).mean(axis=0))
        assert places.setdefault(tabular._state, place) == place, "a state has one place"
    assert len(set(places.values())) == len(places), "and no two states share one"


def test_the_mark_is_in_the_cell_of_the_state() -> None:
    for text in ("deepsea:5", "rooms:6", "priormdp:6,2", "gym:FrozenLake-v1"):
        env = make_env(text)
        for state in (0, env.n_states - 2):
            image = env.render(state=state, cell=20)
            centre = centres_of(layout_of(env), env.n_states, 20)[state]
            assert np.abs(marked(image).mean(axis=0) + 0.5 - centre).max() <= 1.0


def test_shapes_of_maps() -> None:
    assert make_env("deepsea:8").render(cell=10).shape == (10, 80, 3)
    assert make_env("deepsea:20").render(cell=10).shape == (20, 160, 3)
    assert make_env("gym:FrozenLake-v1").render(cell=10).shape == (40, 40, 3)
    assert make_env("garnet:400,2,3").render(cell=10).shape == (200, 200, 3)
    side = make_env("priormdp:4,2").render(cell=10).shape
    assert side[0] == side[1] >= 100


def test_colours_of_a_chain_say_where_it_starts_and_pays() -> None:
    image = make_env("deepsea:4").render(cell=10)
    assert tuple(image[4, 4]) == (40, 90, 200)
    assert tuple(image[4, 34]) == (0, 150, 80)
    shaded = make_env("deepsea:4").render([0.0, 1.0, 2.0, 3.0], cell=10)
    assert (np.diff(shaded[4, 4::10].sum(axis=1).astype(int)) < 0).all()


def test_arrows_point_to_the_likely_successor() -> None:
    mdp = make_env("deepsea:5").table
    assert likely_moves(mdp, np.ones(5)).tolist() == [1, 2, 3, 4, 0]
    assert likely_moves(mdp, [-1, 0, 0, 1, -1]).tolist() == [-1, 0, 1, 4, -1]
    np.testing.assert_array_equal(likely_moves(mdp, np.eye(2)[[1] * 5]), likely_moves(mdp, np.ones(5)))
    place = layout_of_mdp(mdp)
    for target, side in ((2, 1), (0, -1)):
        moves = np.array([-1, target, -1, -1, -1])
        points = marked(picture(mdp, np.zeros(5), cell=40, layout=place, moves=moves))
        assert (points[:, 1] // 40 == 1).all(), "it stays in its own cell"
        spread = [np.ptp(points[points[:, 1] == column, 0]) for column in np.unique(points[:, 1])]
        widest = np.unique(points[:, 1])[int(np.argmax(spread))]
        assert np.sign(widest - 60) == side or abs(widest - 60) < 4, "the head is on the side it points to"
    assert len(marked(picture(mdp, np.zeros(5), cell=40, layout=place, moves=np.arange(5)))) == 0


@pytest.mark.parametrize("policy", [[0, 1], [0.5] * 5, [2] * 5, [-2] * 5, np.zeros((5, 3)), "left"])
def test_policies_that_are_none_are_refused(policy: object) -> None:
    with pytest.raises(steering.SteeringError, match="policy"):
        make_env("deepsea:5").table.plot(policy=policy)


@pytest.mark.parametrize("text", ["deepsea:8", "rooms:6", "priormdp:6,2", "garnet:200,2,3"])
def test_an_mdp_plots_itself(text: str, tmp_path: Path) -> None:
    env = make_env(text)
    solution = solve(env.table, env.discount)
    plain = env.table.plot()
    assert isinstance(plain, Figure)
    assert f"{env.n_states} states" in plain.axes[0].get_title()
    target = tmp_path / "map.png"
    figure = env.table.plot(solution.V, policy=solution.policy, path=target)
    assert target.stat().st_size > 1000
    assert len(figure.axes) == 2, "a bar says what the shades are"
    low, high = figure.axes[1].get_ylim()
    assert (low, high) == pytest.approx((solution.V.min(), solution.V.max()))


def test_names_from_files_are_shown_as_they_are() -> None:
    evil = "<b>$x^{2}$"
    P = np.eye(2)[[[1], [0]]]
    mdp = TabularMDP(P, np.zeros((2, 1)), np.zeros((2, 1)), state_names=[evil, "b"])
    texts = [text.get_text() for text in mdp.plot().axes[0].texts]
    assert any("<b>" in text for text in texts)


def test_refusals() -> None:
    mdp = make_env("deepsea:4").table
    with pytest.raises(InvalidOption, match=r"file to write, use plot\(path='map.png'\)"):
        mdp.plot("map.png")
    with pytest.raises(InvalidOption, match=r"policy\[2\] is 5, which is no action; give an action \(0 to 1"):
        mdp.plot(policy=[0, 1, 5, 0])
    with pytest.raises(InvalidOption, match="cell"):
        make_env("deepsea:4").render(cell=1)
    with pytest.raises(InvalidOption, match="state"):
        make_env("deepsea:4").render(state=4)
    with pytest.raises(NotAvailable, match="one for each of 4 states"):
        make_env("deepsea:4").render([1.0])
    assert len(GYM_NAMES) >= 10
