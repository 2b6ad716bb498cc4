"""Changes of a session: actions forbidden, new states and actions, histories from files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from steering.errors import InvalidOption
from steering.session.base import Opened
from steering.session.journal import Event
from steering.session.labels import Label, Labels, checked_label, checked_names
from steering.session.log import CHUNK, ImportReport, Log, chunks_of, survey
from steering.session.state import checked_risk


class Changes(Opened):
    """What its owner may change while it runs."""

    def forbid(self, action: Any, state: Any = None) -> None:
        """Never suggest an action again, in one state or in all."""
        with self._lock:
            s = self._state
            what = s.actions.number(action)
            where = slice(None) if state is None else s.states.number(state)
            if not s.mask[where, what].any():
                return
            mask = s.mask.copy()
            mask[where, what] = False
            if not mask.any(axis=1).all():
                name = s.states.names[int(mask.any(axis=1).argmin())]
                raise InvalidOption(f"'{action}' is the last action allowed in the state '{name}'; keep it there.")
            event: Event = {"event": "forbid", "action": s.actions.names[what]}
            self._record(event if state is None else {**event, "state": s.states.names[s.states.number(state)]})

    def set_risk(self, risk: tuple[float, float] | None) -> None:
        """Set the limit on risk, (floor, probability), from now on; None takes it away."""
        with self._lock:
            limit = checked_risk(risk)
            self._record({"event": "risk", "risk": None if limit is None else list(limit)})

    def add_states(self, names: Sequence[Label]) -> None:
        """Add new states, in which all actions are allowed."""
        self._grow("states", self._state.states, names)

    def add_actions(self, names: Sequence[Label]) -> None:
        """Add new actions, allowed in every state."""
        self._grow("actions", self._state.actions, names)

    def _grow(self, kind: str, labels: Labels, names: Sequence[Label]) -> None:
        with self._lock:
            new = checked_names(labels.what, [names] if isinstance(names, str) else names)
            Labels(labels.what, labels.names).extend(new)  # refused here, before anything is written
            self._record({"event": kind, "names": [checked_label(labels.what, name) for name in new]})

    def import_log(
        self,
        path: str | Path,
        *,
        columns: Mapping[str, str] | None = None,
        delimiter: str | None = None,
        new: bool = False,
        chunk: int = CHUNK,
    ) -> ImportReport:
        """Take what happened from a CSV file.

        The same file is taken once: an import that was interrupted goes on where it stopped.

        Parameters
        ----------
        path
            CSV file with a header.
        columns
            Names of its columns where they differ from state, action, reward, next_state, done.
        delimiter
            Comma, semicolon or tab, as the header shows, if left out.
        new
            Whether states and actions that are not known are added; else such rows are skipped.
        chunk
            Rows of one event.
        """
        with self._lock:
            log, report = Log(path, columns, delimiter), ImportReport(str(path))
            s = self._state
            after = s.imports.get(log.digest(), 0)
            if after < 0:
                report.already = True
                return report
            if new:
                states, actions, _ = survey(log)
                report.new_states = [name for name in states if name not in s.states]
                report.new_actions = [name for name in actions if name not in s.actions]
                if report.new_states:
                    self.add_states(report.new_states)
                if report.new_actions:
                    self.add_actions(report.new_actions)
            for event in chunks_of(log, s.states, s.actions, report, after, max(1, int(chunk))):
                self._record(event)
            return report
