"""Own agents and environments in sweeps: keys notice code, workers import it, older cells are told apart."""

import importlib
import json
import os
import subprocess
import sys
import warnings

import pytest
from engine_helpers import PATH

import steering
from steering import _code
from steering._modules import import_all
from steering.errors import InvalidOption, SteeringError
from steering.sweeps.codes import CodeWarning
from steering.sweeps.status import status_of
from steering.sweeps.summary import summarise
from steering.sweeps.sweep_file import SweepError, read_sweep

MINE = """
import numpy as np
import steering
import helper_of_mine

@steering.register_agent("lazy")
class Lazy(steering.Agent):
    def act(self, state, step=0):
        return ACTION

    def observe(self, state, action, reward, next_state, step=0):
        pass

@steering.register_env("pair")
def pair(prize: float = 1.0):
    P = np.zeros((2, 2, 2))
    P[:, 0, 0] = P[:, 1, 1] = 1.0
    return steering.TabularMDP(P, helper_of_mine.scale * prize * np.array([[0.0, 1.0], [0.0, 1.0]]))

if __name__ == "__main__":
    steering.sweep({"environments": ["pair"], "agents": [Lazy], "steps": 5, "seeds": 2}, "out", workers=1)
"""
SWEEP = {"environments": ["pair", "deepsea:3"], "agents": ["lazy", "psrl"], "steps": 10, "seeds": 3}
TOML = """environments = ["pair", "deepsea:3"]
agents = ["lazy", "psrl", "lazy_too"]
steps = 10
seeds = 5
"""


@pytest.fixture
def folder(own_code, monkeypatch):
    monkeypatch.chdir(own_code)
    write(own_code)
    return own_code


def write(folder, action=0, scale=1, name="own_mine"):
    (folder / f"{name}.py").write_text(MINE.replace("ACTION", str(action)))
    (folder / "helper_of_mine.py").write_text(f"scale = {scale}\n")


def fresh(*names):
    """Forget modules, as a new process would, and import the first again."""
    for name in (*names, "helper_of_mine"):
        sys.modules.pop(name, None)
    importlib.invalidate_caches()
    import_all(names[:1])


def keys(description=SWEEP):
    groups = read_sweep(description).plan.groups
    return {(g.config["environment"], g.config["agent"]): g.key(0) for g in groups}


def test_keys_change_with_the_code_of_what_is_not_built_in_and_with_nothing_else(folder):
    fresh("own_mine")
    before = keys()
    assert keys() == before
    write(folder, action=1)
    fresh("own_mine")
    assert {what for what, key in keys().items() if key != before[what]} == set(before) - {("deepsea:3", "psrl")}
    write(folder)
    fresh("own_mine")
    assert keys() == before
    write(folder, scale=2)  # a file beside it that it imports
    fresh("own_mine")
    assert keys()["pair:1.0", "psrl"] != before["pair:1.0", "psrl"]
    (folder / "other.py").write_text("")  # one that it does not import
    after = keys()
    (folder / "other.py").write_text("x = 1")
    fresh("own_mine")
    assert keys() == after


def test_a_declared_version_counts(folder):
    fresh("own_mine")
    before = keys()
    sys.modules["own_mine"].Lazy.version = 2
    steering.register_agent("lazy", sys.modules["own_mine"].Lazy)
    changed = {what for what, key in keys().items() if key != before[what]}
    assert changed == {("pair:1.0", "lazy"), ("deepsea:3", "lazy")}
    with pytest.raises(InvalidOption, match="version is 'a b'"):
        steering.register_agent("lazy", sys.modules["own_mine"].Lazy, version="a b")


def test_built_in_names_have_no_code_in_their_configuration(folder):
    for group in read_sweep(
        {**SWEEP, "environments": ["deepsea:3", "gym:FrozenLake-v1"], "agents": ["psrl"]}
    ).plan.groups:
        assert "code" not in group.config


def test_edited_code_is_computed_anew_and_told_apart(folder):
    out = folder / "out"
    fresh("own_mine")
    first = steering.sweep(SWEEP, out, workers=0)
    assert (first.computed, first.anew) == (12, [])
    assert json.loads((out / "sweep.json").read_text())["imports"] == ["own_mine"]
    write(folder, action=1)
    assert status_of(out)["edited"] == [
        "the code of environment 'pair' has changed since; start the sweep again to compute its cells anew",
        "the code of agent 'lazy' has changed since; start the sweep again to compute its cells anew",
    ]
    fresh("own_mine")
    again = steering.sweep(SWEEP, out, workers=0)
    assert (again.done, again.computed) == (12, 9)
    assert set(again.anew) == {
        "3 cells are computed anew: the code of environment 'pair' and the code of agent 'lazy' changed",
        "3 cells are computed anew: the code of environment 'pair' changed",
        "3 cells are computed anew: the code of agent 'lazy' changed",
    }
    state = status_of(out)
    assert (state["cells"], state["done"], state["older"], state["edited"]) == (12, 12, 9, [])
    results = steering.load(out)
    lazy = results.finals.query("environment == 'pair:1.0' and agent == 'lazy'")
    assert lazy.groupby("code")["reward"].mean().tolist() in ([0.0, 10.0], [10.0, 0.0])
    assert set(results.finals.query("environment == 'deepsea:3' and agent == 'psrl'")["code"]) == {""}
    summary = summarise(results)
    row = summary.by_environment.query("environment == 'pair:1.0' and agent == 'lazy'").iloc[0]
    assert (row["seeds"], row["mean"]) == (3, 0.0)  # the new code, which always takes the prize
    assert "9 cell(s) of older code are left out" in summary.notes[0]
    assert steering.sweep(SWEEP, out, workers=0).computed == 0


def test_code_of_another_default_is_older_too(folder):
    """The text of an environment may change with its code; summaries still count the code at hand only."""
    fresh("own_mine")
    steering.sweep(SWEEP, "out", workers=0)
    text = (folder / "own_mine.py").read_text()
    (folder / "own_mine.py").write_text(text.replace("prize: float = 1.0", "prize: float = 2.0"))
    fresh("own_mine")
    steering.sweep(SWEEP, "out", workers=0)
    assert set(summarise(steering.load("out")).by_environment["environment"]) == {"pair:2.0", "deepsea:3"}


def test_code_that_changed_after_its_import_is_not_run_under_the_new_key(folder):
    fresh("own_mine")
    write(folder, action=1)
    with pytest.raises(SweepError, match=r"agent 'lazy' \(module own_mine\) changed on the disk after it was imported"):
        read_sweep(SWEEP)
    importlib.reload(sys.modules["own_mine"])
    assert read_sweep(SWEEP)


@pytest.mark.parametrize("place", [{"workers": 2}, {"scheduler": "local", "workers": 1}], ids=["local", "dask"])
def test_workers_import_the_module_and_give_the_same_numbers(folder, place):
    fresh("own_mine")
    here = steering.sweep(SWEEP, "a", workers=0)
    there = steering.sweep(SWEEP, "b", **place)
    assert (here.computed, there.computed, there.failed) == (12, 12, {})
    finals = [steering.load(name).finals for name in ("a", "b")]
    assert finals[0].equals(finals[1])


def test_workers_refuse_other_code(folder):
    fresh("own_mine")
    wanted = read_sweep(SWEEP)
    write(folder, action=1)  # between reading the sweep and the start of workers
    with pytest.raises(SteeringError, match=r"the code of .* is not the one that the sweep was started with"):
        steering.sweep(wanted, "a", workers=1)


def test_a_gymnasium_environment_of_ones_own_is_keyed_by_its_code(own_code, monkeypatch):
    monkeypatch.chdir(own_code)
    text = """
import gymnasium

class Coin(gymnasium.Env):
    observation_space = action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return 0, {}

    def step(self, action):
        return 1, PAYS, False, False, {}

if "OwnCoin-v0" not in gymnasium.registry:
    gymnasium.register("OwnCoin-v0", entry_point="own_coin:Coin")
"""
    wanted = {"environments": ["gym:OwnCoin-v0"], "agents": ["psrl"], "steps": 10, "seeds": 2}
    found = []
    for pays in ("1.0", "2.0"):
        (own_code / "own_coin.py").write_text(text.replace("PAYS", pays))
        fresh("own_coin")
        found.append(keys(wanted)["gym:OwnCoin-v0", "psrl"])
    assert found[0] != found[1]


def test_what_cannot_be_hashed_is_said_once(folder):
    source = MINE.replace("import helper_of_mine\n", "").replace("helper_of_mine.scale", "1").replace("ACTION", "0")
    exec(compile(source, "<a session>", "exec"), {"__name__": "no_such_file"})
    with pytest.warns(CodeWarning, match="edits of agent 'lazy' are not noticed") as told:
        read_sweep({**SWEEP, "environments": ["deepsea:3"]})
    assert len(told) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read_sweep({**SWEEP, "environments": ["deepsea:3"]})


def test_packages_are_hashed_whole_and_compiled_parts_are_noticed(tmp_path):
    package = tmp_path / "pack"
    (package / "inner").mkdir(parents=True)
    (package / "__init__.py").write_text("import beside")
    (package / "inner" / "deep.py").write_text("x = 1\r\n")
    (tmp_path / "beside.py").write_text("import pack")
    first, whole = _code.source_of([("pack", tmp_path)])
    assert whole
    (package / "inner" / "deep.py").write_text("x = 1\n")  # another system's line ends
    assert _code.source_of([("pack", tmp_path)]) == (first, True)
    (package / "inner" / "deep.py").write_text("x = 2\n")
    second, _ = _code.source_of([("pack", tmp_path)])
    (tmp_path / "beside.py").write_text("import pack  # edited")
    third, _ = _code.source_of([("pack", tmp_path)])
    assert len({first, second, third}) == 3
    (package / "fast.so").write_bytes(b"")
    assert _code.source_of([("pack", tmp_path)]) == (third, False)
    (tmp_path / "alone.so").write_bytes(b"")
    assert _code.source_of([("alone", tmp_path)]) == (None, False)


def test_objects_stand_for_their_texts(folder):
    fresh("own_mine")
    mine = sys.modules["own_mine"]
    objects = {
        "environments": [mine.pair, steering.make_env("pair:2"), {"name": mine.pair, "prize": [3, 4]}],
        "agents": [mine.Lazy, mine.Lazy(), steering.make_agent("psrl", eta=2), {"name": mine.Lazy}],
    }
    texts = {"environments": ["pair", "pair:2", "pair:3", "pair:4"], "agents": ["lazy", "psrl:eta=2"]}
    assert keys({**SWEEP, **objects}) == keys({**SWEEP, **texts})


def test_objects_without_a_name_are_refused_with_what_to_do(folder):
    fresh("own_mine")
    mine = sys.modules["own_mine"]
    mdp = steering.make_env("deepsea:3").table
    unknown = type("Unknown", (mine.Lazy,), {})
    wrong = {"environments": [mdp, steering.make_env(mdp), len], "agents": [unknown, unknown(), "psrl"]}
    with pytest.raises(SweepError) as caught:
        read_sweep({**SWEEP, **wrong})
    errors = caught.value.errors
    assert [error.partition(":")[0] for error in errors] == [
        *(f"environments[{i}]" for i in range(3)),
        *(f"agents[{i}]" for i in range(2)),
    ]
    assert "save the MDP (steering.mdp.io.save) and write 'file:PATH', or register a function" in errors[0]
    assert "register it: steering.register_agent('a_name', Unknown)" in errors[3]


# Modules


def test_modules_of_the_current_folder_are_found_and_a_hint_says_where_others_are(own_code, monkeypatch):
    (own_code / "sub").mkdir()
    (own_code / "sub" / "own_far.py").write_text("")
    (own_code / "own_near.py").write_text("")
    monkeypatch.chdir(own_code)
    import_all(["own_near"])
    for name, says in (
        ("own_far", "it is in ./sub: run there, or add that folder to PYTHONPATH"),
        ("own_none", "the current folder has no own_none.py"),
        ("own_near.py", "write --import own_near"),
        ("sub/own_far.py", "write --import own_far in the folder sub"),
        ("a-b", "'a-b' is not the name of a module"),
    ):
        with pytest.raises(InvalidOption, match=says) as caught:
            import_all([name])
        assert "\n" not in str(caught.value)
    monkeypatch.chdir(own_code / "sub")
    sys.path.remove(str(own_code))
    del sys.modules["own_near"]
    with pytest.raises(InvalidOption, match=r"it is in \.\.: run there"):
        import_all(["own_near"])


def test_a_module_that_python_finds_elsewhere_is_not_taken_for_ours(own_code, monkeypatch):
    (own_code / "colorsys.py").write_text("")
    monkeypatch.chdir(own_code)
    with pytest.raises(InvalidOption, match=r"which Python finds before colorsys\.py of this folder"):
        import_all(["colorsys"])


def test_a_module_that_starts_a_sweep_is_told_to_wait(folder):
    text = MINE.replace("ACTION", "0").replace('if __name__ == "__main__":', "if True:")
    (folder / "own_eager.py").write_text(text)
    with pytest.raises(InvalidOption, match="starts a sweep when it is imported; put that under: if __name__"):
        import_all(["own_eager"])


# The real thing


def run(folder, *arguments, code=0):
    environment = {**os.environ, "PYTHONPATH": PATH}
    done = subprocess.run(
        arguments, cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_a_stranger_edits_the_formula_and_gets_new_numbers(own_code):
    write(own_code)
    with (own_code / "own_mine.py").open("a") as file:
        file.write('\n@steering.register_agent("lazy_too")\nclass LazyToo(Lazy):\n    pass\n')
    (own_code / "sweep.toml").write_text(TOML)
    tool = (sys.executable, "-m", "steering")
    sweep = (*tool, "sweep", "sweep.toml", "--out", "out", "--import", "own_mine", "--workers", "2")
    assert "lazy" in run(
        own_code, *tool, "run", "pair", "--agent", "lazy", "-t", "10", "-k", "2", "--import", "own_mine"
    )
    assert "30 of 30 cells done (30 now)" in run(own_code, *sweep)
    before = steering.load(own_code / "out").finals
    write(own_code, action=1)
    with (own_code / "own_mine.py").open("a") as file:
        file.write('\n@steering.register_agent("lazy_too")\nclass LazyToo(Lazy):\n    pass\n')
    assert "has changed since" in run(own_code, *tool, "status", "out")
    shown = run(own_code, *sweep)
    assert "30 of 30 cells done (25 now)" in shown
    assert "5 cells are computed anew: the code of agent 'lazy' changed." in shown
    assert "older code: 25 cells" in run(own_code, *tool, "status", "out")
    after = steering.load(own_code / "out").finals
    assert len(after) == len(before) + 25
    assert "30 of 30 cells done (0 now)" in run(own_code, *tool, "retry", "out")  # needs no flag
    assert "25 cell(s) of older code are left out" in run(own_code, *tool, "summary", "out")


def test_a_script_sweeps_its_own_agent_with_workers(own_code):
    write(own_code)
    run(own_code, sys.executable, "own_mine.py")
    assert len(steering.load(own_code / "out").finals) == 2
