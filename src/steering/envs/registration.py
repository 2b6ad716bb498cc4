"""Gymnasium ids of this package's environments: ``steering/DeepSea-v0`` and so on.

Importing this module is cheap: neither Gymnasium nor any environment is loaded before one is made.
"""

from __future__ import annotations

import sys

from steering.envs.names import GYM_NAMES, gym_name

TYPE_CHECKING = False  # as in the package itself, which loads this
if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Any

    from steering.envs.gym_env import TabularEnv


def register_all() -> list[str]:
    """Register every environment of the package and of installed plug-ins with Gymnasium, and return the ids."""
    from steering import _plugins

    own = (name for name in _plugins.names_of("steering.envs") if name.isidentifier())
    return [register_name(name) for name in (*GYM_NAMES, *own)]


def register_name(name: str) -> str:
    """Register one environment with Gymnasium, by its name alone, and return its id."""
    import gymnasium

    known, example = GYM_NAMES.get(name) or (gym_name(name), {})
    env_id = f"steering/{known}-v0"
    if env_id not in gymnasium.registry:
        entry_point = "steering.envs.registration:tabular_env"
        gymnasium.register(env_id, entry_point=entry_point, kwargs={"name": name, **example})
    return env_id


def register_on_import() -> None:
    """Register now if Gymnasium is loaded, else as soon as it is; so nobody pays for it who does not use it."""
    if "gymnasium" in sys.modules:
        register_all()
    # By name: a package that is imported a second time (coverage does it) has another class of the same name, and two
    # finders would ask each other for ever.
    elif not any(type(finder).__name__ == _RegisterAfterImport.__name__ for finder in sys.meta_path):
        sys.meta_path.insert(0, _RegisterAfterImport())


def tabular_env(name: str, *, disallowed: str = "stay", render_mode: str | None = None, **options: Any) -> TabularEnv:
    """Make the Gymnasium environment of a registered name; the options are those of `make_env`."""
    from steering.envs.gym_env import TabularEnv
    from steering.envs.registry import make_env

    env = make_env(name, **options)
    return TabularEnv(env.table, horizon=env.horizon, disallowed=disallowed, render_mode=render_mode)


class _RegisterAfterImport:
    """Lets the usual finders load Gymnasium, then registers the ids and is gone.

    A finder by what it does: the class of all finders in `importlib.abc` would take longer to load than all of this.
    """

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != "gymnasium":
            return None
        others = [finder for finder in sys.meta_path if finder is not self]
        spec = next(filter(None, (finder.find_spec(fullname, path, target) for finder in others)), None)
        if spec is not None and spec.loader is not None:
            load = spec.loader.exec_module

            def load_and_register(module: ModuleType) -> None:
                # Only now: somebody may ask for the spec just to see whether Gymnasium is installed.
                if self in sys.meta_path:
                    sys.meta_path.remove(self)
                load(module)
                register_all()

            spec.loader.exec_module = load_and_register  # type: ignore[method-assign]
        return spec
