"""A `TabularMDP` as a Gymnasium environment, and the registration of all environments of this package.

After ``import steering``: ``gymnasium.make("steering/DeepSea-v0", n=15)``. Observations are state numbers; ``info`` has
``"action_mask"`` (int8, as ``action_space.sample`` takes it). In the continuing setting an episode never ends; with a
horizon H it is truncated after H steps.

Gymnasium cannot declare that an action is not allowed in some state, and its tools sample all actions. So an action
that is not allowed leaves the state as it is, pays 0 and sets ``info["disallowed"]``; with ``disallowed="error"`` it is
refused. Agents of this package use the mask and never take one.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np

from steering import _checks
from steering.envs.drawing import picture
from steering.envs.layout import Layout, layout_of_mdp
from steering.errors import InvalidOption
from steering.mdp.tabular import TabularMDP


class TabularEnv(gymnasium.Env[Any, Any]):
    """Simulate an MDP: s' ~ P(. | s, a), reward ~ N(reward_mean, reward_std^2) of (s, a, s').

    Parameters
    ----------
    mdp
        The MDP.
    horizon
        Steps after which an episode is truncated; None for never.
    disallowed
        What an action outside the mask does: ``"stay"`` (state unchanged, reward 0) or ``"error"``.
    render_mode
        None, or ``"rgb_array"``: `render` then gives a picture with the current state.
    """

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"], "render_fps": 10}  # noqa: RUF012

    def __init__(
        self,
        mdp: TabularMDP,
        *,
        horizon: int | None = None,
        disallowed: str = "stay",
        render_mode: str | None = None,
    ) -> None:
        if render_mode is not None:
            _checks.choice("render_mode", render_mode, ("rgb_array",))
        self._layout: Layout | None = None
        self.render_mode = render_mode
        self.mdp = mdp
        self.horizon = None if horizon is None else _checks.whole("horizon", horizon, 1)
        self.disallowed = _checks.choice("disallowed", disallowed, ("stay", "error"))
        self.observation_space = gymnasium.spaces.Discrete(mdp.n_states)
        self.action_space = gymnasium.spaces.Discrete(mdp.n_actions)
        self._start = np.cumsum(mdp.start)
        self._state = 0
        self._time = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[int, dict[str, Any]]:
        """Draw the first state of an episode."""
        super().reset(seed=seed)
        self._state, self._time = self._draw(self._start), 0
        return self._state, self._info()

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        """Take an action; `terminated` is always False."""
        a = _checks.whole("action", action, 0, self.mdp.n_actions - 1)
        s = self._state
        allowed = bool(self.mdp.mask[s, a])
        reward = 0.0
        if allowed:
            successors, probabilities, mean, std = self.mdp.row(s, a)
            k = self._draw(np.cumsum(probabilities))
            self._state = int(successors[k])
            reward = float(mean[k] + std[k] * self.np_random.standard_normal())
        elif self.disallowed == "error":
            names = ", ".join(str(i) for i in np.flatnonzero(self.mdp.mask[s]))
            raise InvalidOption(f"action {a} is not allowed in state {s}; allowed: {names}.")
        self._time += 1
        info = self._info()
        if not allowed:
            info["disallowed"] = True
        return self._state, reward, False, self.horizon is not None and self._time >= self.horizon, info

    def render(self) -> Any:
        """Picture of the map with the current state, shape (height, width, 3); None without a render mode."""
        if self.render_mode is None:
            return None
        if self._layout is None:  # where states stand is found once
            self._layout = layout_of_mdp(self.mdp)
        return picture(self.mdp, state=self._state, cell=16, layout=self._layout)

    def _draw(self, cumulative: np.ndarray[Any, np.dtype[np.float64]]) -> int:
        # Scaled by the last sum, which may differ from 1 in the last digit; the index found always has mass.
        u = self.np_random.random() * cumulative[-1]
        return int(np.searchsorted(cumulative, u, side="right"))

    def _info(self) -> dict[str, Any]:
        return {"action_mask": self.mdp.mask[self._state].astype(np.int8)}
