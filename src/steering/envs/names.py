"""Names of the environments, without the code behind them, so that they can be registered at no cost."""

from __future__ import annotations

TYPE_CHECKING = False  # as in the package itself, which loads this
if TYPE_CHECKING:
    from collections.abc import Mapping

GYM_NAMES: dict[str, tuple[str, Mapping[str, int]]] = {
    "deepsea": ("DeepSea", {"n": 8}),
    "widenarrow": ("WideNarrow", {"n": 1, "w": 12}),
    "priormdp": ("PriorMDP", {"n_states": 4, "n_actions": 2}),
    "riverswim": ("RiverSwim", {"n": 6}),
    "griddeepsea": ("GridDeepSea", {"n": 10}),
    "chain": ("Chain", {"n": 5}),
    "loop": ("Loop", {"l": 2}),
    "lazychain": ("LazyChain", {"c": 10}),
    "lock": ("Lock", {"n": 6, "a": 5}),
    "maze": ("Maze", {"k": 6}),
    "rooms": ("Rooms", {"k": 10}),
    "garnet": ("Garnet", {"n_states": 20, "n_actions": 3, "branches": 3}),
    "inventory": ("Inventory", {"n": 20}),
    "maintenance": ("Maintenance", {"n": 12}),
    "queue": ("Queue", {"n": 15}),
    "patience": ("Patience", {"n": 15}),
    "admission": ("Admission", {"n": 6}),
    "selling": ("Selling", {"n": 10}),
    "rental": ("Rental", {"n": 5}),
    "harvest": ("Harvest", {"n": 20}),
    "reservoir": ("Reservoir", {"n": 20}),
    "seats": ("Seats", {"n": 4}),
    "jobs": ("Jobs", {"n": 8}),
}
"""Name -> name in Gymnasium (``steering/<name>-v0``) and values of the required parameters for an example."""


def gym_name(name: str) -> str:
    """Name in Gymnasium of an environment that was registered: ``my_maze`` is ``MyMaze``."""
    return "".join(part[:1].upper() + part[1:] for part in name.split("_"))
