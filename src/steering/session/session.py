"""`Session`: ask what to do, tell what happened.

Everything that changes a session is an event: checked, written to the journal, and then applied to the state. What is
asked about a session (`recommend`, `explain`, ...) is in `steering.session.views`.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from steering._checks import truth
from steering.errors import InvalidOption
from steering.session.changes import Changes
from steering.session.columns import CANCELLED, TOLD
from steering.session.errors import Conflict
from steering.session.header import Settings, numbers_of
from steering.session.journal import Event, create_journal, refuse_second
from steering.session.labels import Label, Labels, checked_label, checked_names
from steering.session.log import ImportReport, Log, chunks_of, survey
from steering.session.state import Open, checked_risk, usable_reward
from steering.session.suggestion import Suggestion
from steering.session.views import Views
from steering.session.why import Why


class Session(Views, Changes):
    """A real process with named states and actions, and an agent that learns from it; kept in a directory.

    Made by `Session.create`, found again by `Session.open`. Use it as a context manager or call `close`.

    Examples
    --------
    >>> import tempfile
    >>> place = tempfile.mkdtemp() + "/press"
    >>> session = Session.create(place, states=["good", "worn"], actions=["run", "repair"], rewards="about -10 to 5")
    >>> suggestion = session.ask("good")
    >>> session.tell(suggestion.id, reward=4.0, next_state="worn")
    >>> session.close()
    >>> len(Session.open(place, read_only=True).history())
    1
    """

    @classmethod
    def create(
        cls,
        directory: str | Path,
        states: Sequence[Label] | int | None = None,
        actions: Sequence[Label] | int | None = None,
        *,
        allowed: Any = None,
        agent: Any = "steering",
        discount: float = 0.95,
        seed: int = 0,
        rewards: Any = None,
        risk: tuple[float, float] | None = None,
        log: str | Path | None = None,
        columns: Mapping[str, str] | None = None,
        replan_every: int = 1,
        import_modules: Sequence[str] = (),
        sync: bool = True,
        **options: Any,
    ) -> Session:
        """Begin a session in a directory that has none.

        Parameters
        ----------
        directory
            Where it is kept; made if it does not exist.
        states, actions
            Names, or how many there are; taken from the log if left out.
        allowed
            Actions allowed in each state for ever: a dict from states to lists of actions (all actions in states that
            are not named), or a table of true and false.
        agent
            Text such as "steering" or "psrl:eta=0.5", or an agent.
        discount
            How much a reward counts that comes a step later, below 1.
        seed
            Of all random choices.
        rewards
            Range of usual rewards, such as "about -25 to 0" or (-25, 0); from the log if left out.
        risk
            (floor, probability): never suggest an action whose reward is below the floor with more than this
            probability, as far as is known.
        log, columns
            CSV file with what happened before, and names of its columns where they differ from state, action, reward,
            next_state, done.
        replan_every
            Steps after which a new plan is made at the latest: 1 uses all that is known at every step, more lets an
            agent follow one plan for longer.
        import_modules
            Modules that register an agent of your own.
        sync
            Whether every event is flushed to the disk before a call returns (see `Session.open`).
        options
            Options of the agent, such as eta=0.5.
        """
        place = Path(directory)
        refuse_second(place)
        history = None if log is None else Log(log, columns)
        found = None if history is None else survey(history)
        if (states is None or actions is None) and found is None:
            raise InvalidOption("states and actions are needed: give their names, how many there are, or a log.")
        if found is not None and not found[2].size and (states is None or actions is None):
            raise InvalidOption(f"{log} has no row that can be used; give the states and actions by name.")
        state_names = checked_names("state", states if states is not None else found[0] if found else [])
        action_names = checked_names("action", actions if actions is not None else found[1] if found else [])
        settings = Settings(
            state_names,
            action_names,
            allowed,
            agent,
            discount,
            seed,
            rewards,
            risk,
            replan_every,
            import_modules,
            options,
        )
        header = settings.header(None if found is None else found[2])
        events, report = [header], None
        if history is not None:
            report = ImportReport(str(log))
            labels = Labels("state", header["states"]), Labels("action", header["actions"])
            now = round(time.time(), 3)
            events += [{**event, "time": now} for event in chunks_of(history, *labels, report)]
        create_journal(place, events)
        session = cls(place, sync=sync)
        session.log_report = report
        return session

    @classmethod
    def open(cls, directory: str | Path, *, read_only: bool = False, sync: bool = True, wait: float = 0.0) -> Session:
        """Open a session as it was left.

        Parameters
        ----------
        directory
            Where it is.
        read_only
            Look only; works while another process writes.
        sync
            Whether every event is flushed to the disk before a call returns. Without it a power cut (not a crash of
            the process) may lose the last events.
        wait
            Seconds to wait for another process that has it open.
        """
        return cls(directory, read_only=read_only, sync=sync, wait=wait)

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Asking and telling ----------------------------------------------------------------------------------------------

    def _began(self, unit: Any, state: int) -> list[Event]:
        """The event that an episode begins, where the one before it has ended."""
        if not self._state.waiting.get(self._state.unit(unit)):
            return []
        return [_with_unit({"event": "start", "state": self._state.states.names[state]}, unit)]

    def start(self, state: Any, *, unit: Any = None) -> None:
        """An episode begins in a state; `ask` and `add` after the end of one say so by themselves."""
        with self._lock:
            here = self._state.states.number(state)
            unit = None if unit is None else checked_label("unit", unit)
            self._record(_with_unit({"event": "start", "state": self._state.states.names[here]}, unit))

    def ask(
        self,
        state: Any,
        allowed: Sequence[Label] | None = None,
        *,
        risk: tuple[float, float] | None = None,
        unit: Any = None,
        why: bool = True,
    ) -> Suggestion:
        """What to do in a state; the same until the outcome is told or the suggestion is cancelled.

        Parameters
        ----------
        state
            Where the process is.
        allowed
            Actions that are possible right now; all that the session allows if left out.
        risk
            (floor, probability), in place of the session's own.
        unit
            Name of the machine, patient or customer; several in one state are told apart by it.
        why
            Whether to work out the reasons.
        """
        with self._lock:
            self._refuse_closed()
            s = self._state
            here = s.states.number(state)
            only = None if allowed is None else tuple(numbers_of(s.actions, allowed, "allowed"))
            limit = checked_risk(risk)
            unit = None if unit is None else checked_label("unit", unit)
            known = s.questions.get((s.unit(unit), here, only, limit))
            if known is not None and self._may(here, only, limit)[0][s.open[known].action]:
                return self._suggestion(s.open[known])  # unless it was forbidden meanwhile
            if begun := self._began(unit, here):
                self._record(*begun)
            options, floor = self._may(here, only, limit)
            action, planned = self._mind.decide(s, here, options)
            event = {"event": "ask", "id": len(s.asks) + 1, "state": s.states.names[here]}
            event = _with_unit({**event, "action": s.actions.names[action]}, unit)
            if only is not None:
                event["allowed"] = [s.actions.names[a] for a in only]
            if limit is not None:
                event["risk"] = list(limit)
            if planned:
                event["plan"] = True
            if why:
                event["why"] = self._reasons(here, options, action, floor).to_dict()
            self._record(event)
            return self._suggestion(s.open[len(s.asks)])

    def _suggestion(self, one: Open) -> Suggestion:
        s = self._state
        why = Why("unknown", "No reasons were worked out.") if one.why is None else Why.from_dict(one.why)
        unit = None if one.unit < 0 else s.units.names[one.unit]
        return Suggestion(one.id, s.states.names[one.state], s.actions.names[one.action], why, unit)

    def tell(
        self, id: Any, reward: float | None = None, next_state: Any = None, done: bool = False, action: Any = None
    ) -> None:
        """What happened after a suggestion.

        Outcome and reward may come in two calls, in any order; the agent learns when both are known. Telling the same
        again is harmless, telling something else is refused.

        Parameters
        ----------
        id
            Of the suggestion.
        reward
            Of this step; None if it is not known yet.
        next_state
            Where the process is now; needed unless an episode has ended.
        done
            Whether an episode has ended.
        action
            What was done, if it was not what was suggested.
        """
        with self._lock:
            self._refuse_closed()
            s = self._state
            ask = self._ask_number(id)
            told: dict[str, Any] = {}
            if action is not None:
                told["action"] = s.actions.number(action)
            if reward is not None:
                told["reward"] = usable_reward(reward)
            if next_state is not None:
                told["next"] = s.states.number(next_state)
            if truth("done", done):
                told["done"] = True
            if "reward" not in told and "next" not in told and not done:
                raise InvalidOption(
                    f"nothing is told about suggestion {ask}: give its reward, its next state, or both."
                )
            new = {name: value for name, value in told.items() if self._is_new(ask, name, value)}
            one = s.open.get(ask)
            if one is None or not new:
                return
            event = {"event": "tell", "id": ask, **new}
            for name, labels in (("action", s.actions), ("next", s.states)):
                if name in new:
                    event[name] = labels.names[new[name]]
            self._record(event)

    def _is_new(self, ask: int, name: str, value: Any) -> bool:
        """Whether something was not told yet; refused if something else was."""
        s = self._state
        one = s.open.get(ask)
        before: Any
        if one is not None:
            before = {"action": one.told, "reward": one.reward, "next": one.next, "done": one.done}[name]
            if name == "action" and before is None and one.happened:
                before = one.action
        else:
            before = s.rows.array[s.asks.array[ask - 1]["row"]][name].item()
            before = None if name == "next" and before < 0 else before
        if (one is None and before is None) or (before is not None and before != value):
            raise Conflict(
                f"suggestion {ask} was told with another {_WORDS[name]}; it stands, and nothing was changed."
            )
        return before is None

    def _ask_number(self, id: Any) -> int:
        """The number of a suggestion that was made and not cancelled."""
        try:
            ask = int(id) if not isinstance(id, (bool, float)) else 0
        except (TypeError, ValueError, OverflowError):
            ask = 0
        if not 1 <= ask <= len(self._state.asks):
            shown = str(id)[:50]
            raise InvalidOption(f"there is no suggestion {shown}; the last one is number {len(self._state.asks)}.")
        if self._state.asks.array[ask - 1]["status"] == CANCELLED:
            raise Conflict(f"suggestion {ask} was cancelled; add what happened with `add`.")
        return ask

    def cancel(self, id: Any) -> None:
        """Forget a suggestion that will not be told."""
        with self._lock:
            self._refuse_closed()
            with contextlib.suppress(Conflict):  # cancelled before
                ask = self._ask_number(id)
                if self._state.asks.array[ask - 1]["status"] == TOLD:
                    raise InvalidOption(f"suggestion {ask} was told; what happened cannot be cancelled.")
                self._record({"event": "cancel", "id": ask})

    def add(
        self,
        state: Any,
        action: Any,
        reward: float,
        next_state: Any = None,
        done: bool = False,
        *,
        unit: Any = None,
        key: str | None = None,
    ) -> None:
        """What happened without being asked for.

        With a `key` of your own (an order number, a date) the same call can be repeated after a crash: what was added
        under a key before is not added again.
        """
        with self._lock:
            self._refuse_closed()
            s = self._state
            here, what = s.states.number(state), s.actions.number(action)
            event: Event = {"event": "add", "state": s.states.names[here], "action": s.actions.names[what]}
            event["reward"] = usable_reward(reward)
            if next_state is not None:
                event["next"] = s.states.names[s.states.number(next_state)]
            elif not done:
                raise InvalidOption("next_state is missing; it is needed unless an episode has ended (done=True).")
            if truth("done", done):
                event["done"] = True
            unit = None if unit is None else checked_label("unit", unit)
            if key is not None:
                key = str(checked_label("key", key))
                if self._added(key, event, unit):
                    return
                event["key"] = key
            self._record(*self._began(unit, here), _with_unit(event, unit))

    def _added(self, key: str, event: Event, unit: Any) -> bool:
        s = self._state
        if key not in s.keys:
            return False
        row = s.rows.array[s.keys[key]]
        follows = s.states.number(event["next"]) if "next" in event else -1
        same = (
            s.states.names[row["state"]] == event["state"]
            and s.actions.names[row["action"]] == event["action"]
            and float(row["reward"]) == event["reward"]
            and int(row["next"]) == follows
            and bool(row["done"]) == event.get("done", False)
            and int(row["unit"]) == s.unit(unit)
        )
        if not same:
            raise Conflict(f"something else was added under the key '{key}'; it stands, and nothing was changed.")
        return True


_WORDS = {"action": "action", "reward": "reward", "next": "next state", "done": "end of the episode"}


def _with_unit(event: Event, unit: Any) -> Event:
    return event if unit is None else {**event, "unit": unit}
