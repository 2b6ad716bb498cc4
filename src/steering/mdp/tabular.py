"""A finite Markov decision process as validated, read-only arrays, dense or sparse behind one interface.

With S states and A actions, ``P[s, a, s']`` is the probability of moving to s'. The reward of that move is drawn from a
normal distribution with mean ``reward_mean[s, a, s']`` and standard deviation ``reward_std[s, a, s']``. ``mask[s, a]``
says which actions are allowed; whatever is given for the others is ignored and kept as zero.

**Two forms.** What is given decides: (S, A, S) arrays stay dense, and transitions (a scipy sparse matrix, columns, a
function of labelled states) stay sparse; `is_sparse` tells. Environments that are built from few transitions choose
by size. Neither form is turned into the other in silence: `to_dense` and `to_sparse` do it when asked, and `P`,
`reward_mean` and `reward_std` of a large sparse MDP are refused. What both have: `n_states`, `n_actions`, `mask`,
`start`, `rewards` (S, A), `row(s, a)` and `transitions`, the rows in sparse form (made once for a dense MDP).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import FrozenInstanceError
from functools import cached_property
from typing import Any, NoReturn, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steering import _html
from steering._types import Bools, Floats
from steering.errors import InvalidMDP, TooLarge
from steering.mdp import _arrays, build, columns
from steering.mdp.sparse import SparseTable, from_dense, require_dense

SMALL_ENTRIES = 2**22
"""Entries S A S up to which a sparse MDP gives dense arrays when asked for `P`: 32 MB each."""

DENSE_ENTRIES = 2**13
"""Entries S A S up to which an environment built from transitions is kept dense: it costs nothing there."""

DENSE_PLANNING = 2**15
"""Entries S A S up to which a sparse MDP is planned with dense arrays, with the bits that they always gave."""

_ARRAYS = ("P", "reward_mean", "reward_std")
_SHARED = ("mask", "start", "state_names", "action_names")


class TabularMDP:
    """A finite MDP: checked once, then read-only.

    Parameters
    ----------
    P
        Transition probabilities, shape (S, A, S); or a scipy sparse matrix of shape (S A, S) with row s A + a for
        (s, a), or a list of A scipy sparse matrices of shape (S, S). Of sparse ones an empty row means that the
        action is not allowed.
    reward_mean
        Mean reward; shape (S, A, S), or (S, A) or (S,) when it does not depend on the rest, or one number. With a
        sparse P also a sparse matrix of its shape.
    reward_std
        Standard deviation of the reward, given in the same way; 0 (the default) means no noise.
    mask
        Allowed actions, shape (S, A); all allowed by default.
    start
        Distribution of the first state, shape (S,), or the number of a state; state 0 by default.
    state_names, action_names
        Optional names, used in tables and figures.

    Examples
    --------
    >>> mdp = TabularMDP(P=[[[0.1, 0.9]], [[1.0, 0.0]]], reward_mean=[[0.0], [1.0]])
    >>> mdp.n_states, mdp.n_actions
    (2, 1)
    """

    mask: Bools
    start: Floats
    state_names: tuple[str, ...]
    action_names: tuple[str, ...]
    _dense: dict[str, Floats] | None
    _sparse: SparseTable | None

    def __init__(
        self,
        P: Any,
        reward_mean: Any,
        reward_std: Any = 0.0,
        mask: ArrayLike | None = None,
        start: ArrayLike = 0,
        state_names: Sequence[str] = (),
        action_names: Sequence[str] = (),
    ) -> None:
        if build.is_sparse(P):
            table, allowed = build.from_matrices(P, reward_mean, reward_std, mask)
            self._finish(None, table, allowed, start, state_names, action_names)
            return
        shape = np.shape(P) if isinstance(P, np.ndarray) else ()
        if len(shape) == 3:
            require_dense("an MDP", shape[0], shape[1])
        rows = _arrays.numbers("P", P)
        if rows.ndim != 3 or rows.shape[0] != rows.shape[2] or 0 in rows.shape:
            raise InvalidMDP(f"P has shape {rows.shape}; it must be (S, A, S) with S and A at least 1.")
        allowed = _arrays.checked_mask(mask, *rows.shape[:2])
        rows = _arrays.checked_rows(rows, allowed, (state_names, action_names))
        mean = _arrays.checked_rewards("reward_mean", reward_mean, rows.shape, allowed)
        std = _arrays.checked_rewards("reward_std", reward_std, rows.shape, allowed)
        _arrays.refuse_negative("reward_std", std, "a standard deviation")
        dense = {"P": rows, "reward_mean": mean, "reward_std": std}
        self._finish(dense, None, allowed, start, state_names, action_names)

    @classmethod
    def from_transitions(
        cls,
        states: Any,
        actions: ArrayLike | None = None,
        next_states: ArrayLike | None = None,
        probabilities: ArrayLike | None = None,
        rewards: ArrayLike | None = None,
        n_states: int | None = None,
        n_actions: int | None = None,
        start: Any = 0,
        *,
        reward_std: ArrayLike | None = None,
        mask: ArrayLike | None = None,
        state_names: Sequence[str] = (),
        action_names: Sequence[str] = (),
    ) -> TabularMDP:
        """Build a sparse MDP from columns of transitions (s, a, s', probability, reward), in any order.

        Transitions given more than once are merged (`steering.mdp.sparse`): probabilities add up, the reward is the
        probability-weighted mixture. A pair (s, a) without transitions is an action that is not allowed there.

        Parameters
        ----------
        states, actions, next_states, probabilities
            Columns of equal length; or as `states` alone a pandas table or the path of a CSV file (commas or tabs) with
            columns ``state, action, next_state, probability, reward`` and perhaps ``reward_std``. States and actions
            are numbers from 0, or text labels, numbered in the order in which they appear and kept as names.
        rewards, reward_std
            A column, an array (S, A) or one number; 0 by default.
        n_states, n_actions
            Sizes, by default one more than the largest number that appears.
        start
            Number or label of the first state, or its distribution (S,).
        mask
            Allowed actions (S, A); transitions of others are ignored.

        Examples
        --------
        >>> mdp = TabularMDP.from_transitions([0, 0, 1], [0, 0, 0], [0, 1, 0], [0.1, 0.9, 1.0], [0.0, 0.0, 1.0])
        >>> mdp.is_sparse, mdp.n_states, mdp.rewards.ravel().tolist()
        (True, 2, [0.0, 1.0])
        """
        given = columns.read_columns(states, actions, next_states, probabilities, rewards, reward_std)
        return cls._of(**build.from_columns(given, n_states, n_actions, start, mask, state_names, action_names))

    @classmethod
    def from_function(
        cls,
        function: Callable[[Any, Any], Iterable[Sequence[Any]]],
        start: Hashable | Mapping[Any, float],
        actions: Sequence[Hashable] | Callable[[Any], Iterable[Hashable]],
        *,
        max_states: int = 10_000_000,
    ) -> TabularMDP:
        """Build a sparse MDP from a function of (state, action), over all states that the start leads to.

        States are found breadth first, so numbers follow the distance from the start; their labels (anything
        hashable) become `state_names`.

        Parameters
        ----------
        function
            ``function(state, action)`` gives outcomes ``(probability, next_state, reward)`` or ``(probability,
            next_state, reward, reward_std)``; none means that the action is not allowed there.
        start
            Label of the first state, or a dict from labels to probabilities.
        actions
            Labels of the actions, or a function from a state to those that are allowed there.
        max_states
            Refuse to find more states than this.

        Examples
        --------
        >>> TabularMDP.from_function(lambda x, step: [(1.0, (x + step) % 4, 0.0)], start=0, actions=[-1, 1]).n_states
        4
        """
        return cls._of(**build.explore(function, start, actions, max_states))

    @classmethod
    def _of(
        cls,
        table: SparseTable,
        mask: Bools,
        start: ArrayLike,
        state_names: Sequence[str],
        action_names: Sequence[str],
    ) -> TabularMDP:
        """An MDP of sparse rows that have been checked."""
        mdp = cls.__new__(cls)
        mdp._finish(None, table, mask, start, state_names, action_names)
        return mdp

    def _finish(
        self,
        dense: dict[str, Floats] | None,
        table: SparseTable | None,
        mask: Bools,
        start: ArrayLike,
        state_names: Sequence[str],
        action_names: Sequence[str],
    ) -> None:
        S, A = mask.shape
        values = {
            "_dense": dense,
            "_sparse": table,
            "mask": mask,
            "start": _arrays.checked_start(start, S),
            "state_names": _arrays.checked_names("state_names", state_names, S),
            "action_names": _arrays.checked_names("action_names", action_names, A),
        }
        self.__setstate__(values)

    def __getstate__(self) -> dict[str, Any]:
        return {key: self.__dict__[key] for key in ("_dense", "_sparse", *_SHARED)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        # Also called when a copy is unpickled in another process: arrays stay read-only there.
        for key, value in state.items():
            kept = {k: _arrays.locked(part) for k, part in value.items()} if isinstance(value, dict) else value
            for part in kept.arrays() if isinstance(kept, SparseTable) else (kept,):
                if isinstance(part, np.ndarray):
                    part.flags.writeable = False
            self.__dict__[key] = kept

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise FrozenInstanceError(f"cannot assign to field '{name}'")

    def __delattr__(self, name: str) -> NoReturn:
        raise FrozenInstanceError(f"cannot delete field '{name}'")

    @property
    def is_sparse(self) -> bool:
        """Whether the transitions are stored as sparse rows."""
        return self._sparse is not None

    @property
    def n_states(self) -> int:
        """Number of states S."""
        return int(self.mask.shape[0])

    @property
    def n_actions(self) -> int:
        """Number of actions A."""
        return int(self.mask.shape[1])

    @property
    def n_transitions(self) -> int:
        """Number of (s, a, s') with positive probability."""
        if self._dense is not None and "transitions" not in self.__dict__:
            return int(np.count_nonzero(self._dense["P"]))
        return self.transitions.size

    @property
    def entries(self) -> int:
        """Size S A S of a dense table, stored or not."""
        return self.n_states * self.n_actions * self.n_states

    @property
    def allowed(self) -> Bools:
        """Allowed actions, shape (S, A); the same as `mask`."""
        return self.mask

    @property
    def start_distribution(self) -> Floats:
        """Distribution of the first state, shape (S,); the same as `start`."""
        return self.start

    @property
    def P(self) -> Floats:
        """Transition probabilities as a dense array (S, A, S); refused when sparse and large."""
        return self._array("P")

    @property
    def reward_mean(self) -> Floats:
        """Mean rewards as a dense array (S, A, S), as `P`; zero where a sparse MDP has no transition."""
        return self._array("reward_mean")

    @property
    def reward_std(self) -> Floats:
        """Standard deviations of rewards as a dense array (S, A, S), as `P`."""
        return self._array("reward_std")

    def _array(self, name: str) -> Floats:
        if self._dense is not None:
            return self._dense[name]
        if self.entries > SMALL_ENTRIES:
            raise TooLarge(
                f"{name} of a sparse MDP of {self.n_states} states would be a dense table of {self.entries:.1e} "
                "entries; use row(s, a) or transitions, or to_dense() if you are sure."
            )
        return self._small_arrays[name]

    @cached_property
    def _small_arrays(self) -> dict[str, Floats]:
        dense = self.to_dense()._dense
        assert dense is not None
        return dense

    @cached_property
    def transitions(self) -> SparseTable:
        """The rows of P with their rewards in sparse form, whichever form the MDP has."""
        if self._sparse is not None:
            return self._sparse
        assert self._dense is not None
        table = from_dense(*(self._dense[name] for name in _ARRAYS))
        for array in table.arrays():
            array.flags.writeable = False
        return table

    def row(self, state: int, action: int) -> tuple[NDArray[np.int32], Floats, Floats, Floats]:
        """Outcomes of (s, a): successors (increasing), probabilities, means and deviations of their rewards."""
        S, A = self.mask.shape
        if not (0 <= state < S and 0 <= action < A):
            raise InvalidMDP(f"there is no pair ({state}, {action}); states go to {S - 1}, actions to {A - 1}.")
        table, row = self.transitions, int(state) * A + int(action)
        part = slice(int(table.offsets[row]), int(table.offsets[row + 1]))
        rewards = (table.of_row(values, row) for values in (table.mean, table.std))
        return (table.successors[part], table.probabilities[part], *cast(tuple[Floats, Floats], tuple(rewards)))

    @cached_property
    def rewards(self) -> Floats:
        """Expected reward r(s, a) = sum over s' of P(s'|s, a) reward_mean(s, a, s'), shape (S, A)."""
        if self._sparse is not None and self.entries > DENSE_PLANNING:
            r = self._sparse.expected_rewards()
        else:
            r = np.einsum("ijk,ijk->ij", self.P, self.reward_mean)
        r.flags.writeable = False
        return r

    def to_dense(self) -> TabularMDP:
        """The same MDP with dense arrays (`SparseTable.dense`); refused when they do not fit into memory."""
        if self._sparse is None:
            return self
        require_dense("an MDP", self.n_states, self.n_actions)
        return self._with(dict(zip(_ARRAYS, map(self._sparse.dense, self._sparse.arrays()[2:]), strict=True)), None)

    def to_sparse(self) -> TabularMDP:
        """The same MDP with sparse rows; rewards of transitions that cannot happen are forgotten."""
        return self if self._sparse is not None else self._with(None, self.transitions)

    def by_size(self) -> TabularMDP:
        """The form that suits the size: dense while a dense table is small, sparse beyond (`DENSE_ENTRIES`)."""
        return self.to_dense() if self.entries <= DENSE_ENTRIES else self.to_sparse()

    def scaled(self, factor: float) -> TabularMDP:
        """The same MDP with rewards, their means and deviations, times a positive factor."""
        return self._with(*build.scaled(self._dense, self._sparse, factor))

    def _with(self, dense: dict[str, Floats] | None, table: SparseTable | None) -> TabularMDP:
        mdp = type(self).__new__(type(self))
        mdp.__setstate__({**self.__getstate__(), "_dense": dense, "_sparse": table})
        return mdp

    def replace(self, **changes: Any) -> TabularMDP:
        """A copy in the same form with some of mask, start, names or (dense only) arrays changed, checked again."""
        given = {key: getattr(self, key) for key in _SHARED}
        if self._dense is not None:
            return type(self)(**{**self._dense, **given, **changes})
        if unknown := sorted(set(changes) - {"start", "state_names", "action_names"}):
            raise InvalidMDP(f"{unknown[0]} of a sparse MDP cannot be replaced; build it again from its transitions.")
        return type(self)._of(table=self.transitions, **{**given, **changes})

    def same_as(self, other: TabularMDP) -> bool:
        """Whether every array and name is equal to that of the other MDP, to the bit, and the form is the same."""
        own, theirs = ((one.state_names, one.action_names, one.is_sparse) for one in (self, other))
        return own == theirs and all(map(np.array_equal, self.arrays(), other.arrays()))

    def arrays(self, *, dense: bool = False) -> tuple[NDArray[Any], ...]:
        """All arrays of the stored form (or of the dense one), for comparing and hashing."""
        own = self.transitions.arrays() if self.is_sparse and not dense else (self.P, self.reward_mean, self.reward_std)
        return (*own, self.mask, self.start)

    def stored_rewards(self) -> dict[str, Floats]:
        """Means and deviations of rewards in whatever shape they are stored."""
        if self._dense is not None:
            return {name: self._dense[name] for name in _ARRAYS[1:]}
        return {"reward_mean": self.transitions.mean, "reward_std": self.transitions.std}

    def plot(self, values: Any = None, *, policy: Any = None, path: Any = None) -> Any:
        """Draw the map, with values as shades and a policy as arrows; see `steering.envs.plotting.plot`."""
        from steering.envs.plotting import plot

        return plot(self, values, policy=policy, path=path)

    def __repr__(self) -> str:
        form = f", n_transitions={self.n_transitions}, sparse" if self.is_sparse else ""
        return f"TabularMDP(n_states={self.n_states}, n_actions={self.n_actions}{form})"

    def _repr_html_(self) -> str:
        rewards = self.rewards[self.mask]
        values = {"states": self.n_states, "actions": self.n_actions, "pairs allowed": int(self.mask.sum())}
        form = f"sparse, {self.n_transitions} transitions" if self.is_sparse else "dense"
        spread = f"{rewards.min():.6g} to {rewards.max():.6g}"
        return _html.table("TabularMDP", {**values, "form": form, "expected rewards": spread})
