"""A session in the lab: its map, what was asked, suggested and told, and what was believed, from its journal.

The truth about a real process is not known, so there is no regret: the curve is the reward so far. *Time* is the number
of rows that were learned (`steering.session.replay`); beliefs are kept at some times, more of them at the beginning.
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steering._types import Floats
from steering.agents.steering import KERNEL
from steering.agents.stein_information import InformationChoice, SteinInformation
from steering.envs.layout import Layout, cells_by_name, graph_or_cells
from steering.errors import InvalidOption, NotAvailable, SteeringError
from steering.lab.chart import chart, colour
from steering.lab.packing import pack, rounded, small_unsigned
from steering.lab.recorder import Frame, believed, frames_of, information_of
from steering.lab.world import LARGEST
from steering.session.errors import JournalDamaged
from steering.session.knowledge import knowledge_of
from steering.session.replay import Replay

MOST_ASKS = 20_000
"""Suggestions whose reasons are sent, the last ones; of the others only the time is."""
COUNTS = 5
"""What a page says it has: steps, asks, frames, policies, news."""


class SessionLab:
    """A session that is shown, and followed where it goes on.

    Parameters
    ----------
    directory
        Of the session; it is only read.
    """

    def __init__(self, directory: str | Path) -> None:
        self.replay = Replay(directory)
        self.name = self.replay.directory.resolve().name
        self.number = 0
        self.error: str | None = None
        self._lock = threading.Lock()
        self._begin()

    def _begin(self) -> None:
        """What depends on how many states and actions there are."""
        state = self.replay.state
        S, A = state.mask.shape
        if S > LARGEST:
            raise InvalidOption(f"the session has {S} states; the lab shows at most {LARGEST}.")
        self.number += 1
        self._shape, self._frames, self._policies = (S, A), [], []
        last = self.replay.time
        wanted = frames_of(self.replay.learner(0), S, A)
        for time in sorted({round(last * (k / wanted) ** 1.5) for k in range(wanted + 1)}):
            self._look(time)

    _frames: list[Frame]
    _policies: list[tuple[int, NDArray[Any]]]

    def _look(self, time: int) -> None:
        """Keep what is believed at a time, and the best known policy."""
        belief, learner = self.replay.belief(time), self.replay.learner(time)
        if belief is None:
            return
        known = knowledge_of(belief, learner.problem, self.replay.state.risk)
        spread = known.spread_everywhere()
        information = SteinInformation(InformationChoice("barker", KERNEL, "mean", "exact", 1))
        nothing: Floats = np.full(self._shape, np.nan)
        q = np.where(learner.problem.mask, known.Q, np.nan)
        left = information_of(belief, information, np.random.default_rng(0))
        wide = nothing if spread is None else spread
        frame = Frame(time, rounded(q), rounded(wide), rounded(left), *believed(learner, belief))
        self._frames.append(frame)
        policy = small_unsigned(known.policy[None], self._shape[1])
        if not self._policies or not np.array_equal(self._policies[-1][1], policy):
            self._policies.append((time, policy))

    def _advance(self) -> None:
        try:
            new = self.replay.advance()
        except JournalDamaged as error:
            self.error = str(error)
            return
        if self.replay.state.mask.shape != self._shape:
            self._begin()
        elif new and self._frames and self.replay.time > self._frames[-1].time:
            self._look(self.replay.time)

    # What the page asks for ------------------------------------------------------------------------------------------

    @property
    def world(self) -> bytes:
        """The map, as far as it is known by now."""
        with self._lock:
            return self._world(live=True)

    def chart(self) -> dict[str, Any]:
        """The chart of the reward, for Bokeh's script."""
        return chart([self._agent], live=False, label="reward so far")

    @property
    def _agent(self) -> str:
        return str(self.replay.header["agent"]).partition(":")[0]

    def _world(self, *, live: bool) -> bytes:
        state, header, place = self.replay.state, self.replay.header, self._layout()
        S, A = self._shape
        about: dict[str, Any] = {
            "session": True,
            "environment": self.name,
            "agents": [self._agent],
            "steps": self.replay.time,
            "seed": header["seed"],
            "states": S,
            "actions": A,
            "stateNames": [str(name) for name in state.states.names],
            "actionNames": [str(name) for name in state.actions.names],
            "horizon": None,
            "discount": header["discount"],
            "layout": {"kind": place.kind, "width": place.width, "height": place.height},
            "chart": None if live else self.chart(),
            "colours": [colour(0), colour(1)],
            "live": live,
            "run": self.number,
            "agentInFull": str(header["agent"]),
            "notes": self.replay.notes,
        }
        arrays: dict[str, NDArray[Any]] = {
            "x": place.x.astype(np.float32),
            "y": place.y.astype(np.float32),
            "walls": place.walls.astype(np.uint16),
            "allowed": state.mask.astype(np.uint8),
        }
        return pack(about, arrays)

    def _layout(self) -> Layout:
        names = [str(name) for name in self.replay.state.states.names]
        return cells_by_name(names) or graph_or_cells(len(names), *self.replay.edges())

    def news(self, seen: str) -> bytes:
        """What is new since the page had so many steps, asks, frames, policies and news: ``1,2,3,4,5``."""
        try:
            counts = [max(int(part), 0) for part in seen.split(",")]
        except ValueError:
            counts = []
        if len(counts) != COUNTS:
            raise InvalidOption("the page asks about another run; load it again.")
        with self._lock:
            self._advance()
            return self._news(*counts, finished=False)

    def _news(self, steps: int, asks: int, frames: int, policies: int, news: int, *, finished: bool) -> bytes:
        replay, (S, A) = self.replay, self._shape
        new, kept = self._frames[frames:], self._policies[policies:]
        first = max(news, self._first_news())
        header = {
            "from": steps,
            "finished": finished,
            "error": self.error,
            "eta": [frame.eta for frame in new],
            "prior": [frame.prior for frame in new],
            "newsTo": len(replay.news),
            "news": [{**_told(one.event), "t": one.time} for one in replay.news[first:]],
        }
        states, actions, rewards, to = replay.rows(min(steps, replay.time), replay.time)
        arrays: dict[str, Any] = {
            "states": small_unsigned(states, S),
            "actions": small_unsigned(actions, A),
            "successors": small_unsigned(to, S),
            "rewards": rewards,
            "plans": np.array(replay.asks[asks:], dtype=np.uint32),
            "frames": np.array([frame.time for frame in new], dtype=np.uint32),
            "policyTimes": np.array([time for time, _ in kept], dtype=np.uint32),
            "policies": np.array([policy for _, policy in kept]) if kept else np.zeros((0, 1, 1), np.uint8),
        }
        for name in ("q", "spread", "information"):
            arrays[name] = np.array([getattr(frame, name) for frame in new], dtype=np.float32).reshape(len(new), S, A)
        own = {f"0.{name}": array for name, array in arrays.items()}
        return pack({"tracks": [header], "run": self.number}, own)

    def _first_news(self) -> int:
        """Where the news of the last `MOST_ASKS` suggestions begin."""
        extra = len(self.replay.asks) - MOST_ASKS
        if extra <= 0:
            return 0
        made = 0
        for place, one in enumerate(self.replay.news):
            made += one.event["event"] == "ask"
            if made > extra:
                return place
        return 0

    def packs(self) -> list[bytes]:
        """All of it, for a page that replays it offline."""
        with self._lock:
            return [self._world(live=False), self._news(0, 0, 0, 0, 0, finished=True)]

    def begin(self, given: dict[str, Any]) -> None:
        """Refused: a real process does not begin anew."""
        raise NotAvailable("a session is only looked at here; ask and tell it with `steering ask` and `steering tell`.")

    def act(self, action: Any) -> dict[str, Any]:
        """Refused: the page does not act in a real process."""
        raise NotAvailable("a session is only looked at here; ask and tell it with `steering ask` and `steering tell`.")

    def stop(self) -> None:
        """Let the journal go."""
        self.replay.close()


def _told(event: dict[str, Any]) -> dict[str, Any]:
    """What the page needs of an event, with every name as text."""
    found: dict[str, Any] = {
        key: event[key] for key in ("event", "id", "reward", "done", "why", "time", "plan") if key in event
    }
    for key in ("state", "action", "next", "unit"):
        if event.get(key) is not None:
            found[key] = str(event[key])
    if "allowed" in event:
        found["allowed"] = [str(name) for name in event["allowed"]]
    if isinstance(found.get("why"), dict):
        actions = found["why"].get("actions", [])
        found["why"] = {**found["why"], "actions": [{**one, "action": str(one.get("action"))} for one in actions]}
    return found


def is_session(text: str) -> bool:
    """Whether a text names a directory that holds a session; refused where it names a directory that holds none."""
    from steering.session.journal import FILE

    place = Path(text)
    try:
        if (place / FILE).is_file():
            return True
        named = place.is_dir() and (place.is_absolute() or len(place.parts) > 1 or text.endswith("/"))
    except (OSError, ValueError):
        return False
    if named:
        raise SteeringError(f"{text} holds no session; make one with `steering session new`, or name an environment.")
    return False
