"""Environments by name: text and keywords alike, canonical names, refusals."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path

import gymnasium
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import steering.envs
from steering.envs import Environment, deep_sea, list_envs, make_env
from steering.envs.registry import ENTRIES
from steering.errors import InvalidMDP, InvalidOption, SteeringError, UnknownName, UnsupportedEnvironment
from steering.mdp import io
from steering.mdp.tabular import TabularMDP

CANONICAL = [
    ("deepsea:15", "deepsea:15"),
    ("deepsea:n=15", "deepsea:15"),
    ("deepsea:8,reward=sparse", "deepsea:8"),
    ("deepsea:8,reward=dense", "deepsea:8,reward=dense"),
    ("deepsea:8,delta=0.5,discount=0.9", "deepsea:8,delta=0.5"),
    ("deepsea:8,horizon=20", "deepsea:8,horizon=20"),
    ("deepsea:8,horizon=20,discount=1", "deepsea:8,horizon=20"),
    ("deepsea:8,horizon=20,discount=0.9", "deepsea:8,discount=0.9,horizon=20"),
    ("deepsea:8,replan_every=9", "deepsea:8"),
    ("deepsea:8,replan_every=1,max_iterations=3", "deepsea:8,replan_every=1,max_iterations=3"),
    ("widenarrow:1,12", "widenarrow:1,12"),
    ("widenarrow:1,12,odd=one-low,mu_n=0", "widenarrow:1,12,mu_n=0,odd=one-low"),
    ("priormdp:4,2", "priormdp:4,2,seed=0"),
    ("priormdp:4,n_actions=2,seed=7", "priormdp:4,2,seed=7"),
    ("priormdp:4,2,normal_gamma=(0,1,1,4)", "priormdp:4,2,seed=0,normal_gamma=(0,1,1,4)"),
    ("riverswim", "riverswim:6"),
    ("riverswim:6,variant=strehl", "riverswim:6,variant=strehl"),
    ("griddeepsea:4", "griddeepsea:4"),
    ("griddeepsea:4,horizon=4", "griddeepsea:4"),
    ("griddeepsea:4,horizon=none", "griddeepsea:4,horizon=none"),
    ("griddeepsea:4,mapping_seed=none,stochastic=true", "griddeepsea:4,stochastic=true,mapping_seed=none"),
    ("chain", "chain:5"),
    ("loop:3,near=0", "loop:3,near=0"),
    ("lazychain:10,p_error=0.2", "lazychain:10,p_error=0.2"),
    ("lazychain:10,discount=0.999", "lazychain:10"),
    ("lazychain:10,discount=0.9", "lazychain:10,discount=0.9"),
    ("lock:6,5,slip=0.1,lure=0.05,seed=0", "lock:6,5,slip=0.1,lure=0.05"),
    ("gym:FrozenLake-v1", "gym:FrozenLake-v1"),
    ("gym:FrozenLake-v1,is_slippery=false,horizon=100", "gym:FrozenLake-v1,is_slippery=false,horizon=100"),
]


@pytest.mark.parametrize(("text", "name"), CANONICAL)
def test_names_are_canonical_and_give_an_equal_environment(text: str, name: str) -> None:
    env = make_env(text)
    assert env.name == name
    assert make_env(env.name) == env


def test_text_and_keywords_are_the_same() -> None:
    assert make_env("deepsea", n=8, reward="dense", horizon=5) == make_env("deepsea:8,reward=dense,horizon=5")
    assert make_env("priormdp:4,2", normal_gamma=[0, 1, 1, 4]) == make_env("priormdp:4,2,normal_gamma=(0,1,1,4)")
    assert make_env("gym:FrozenLake-v1", is_slippery=False) == make_env("gym:FrozenLake-v1,is_slippery=false")
    assert make_env("deepsea:8", discount=None) == make_env("deepsea:8")


@settings(max_examples=25)
@given(st.data())
def test_every_setting_survives_its_name(data: st.DataObject) -> None:
    base = data.draw(
        st.sampled_from(["deepsea:4", "widenarrow:1,2", "riverswim", "griddeepsea:2", "priormdp:2,1", "lazychain:2"])
    )
    horizon = data.draw(st.one_of(st.none(), st.integers(1, 5)))
    options = {
        "horizon": horizon,
        "discount": data.draw(st.one_of(st.none(), st.floats(0, 1 - 1e-6 if horizon is None else 1))),
        "replan_every": data.draw(st.one_of(st.none(), st.integers(1, 9))),
        "max_iterations": data.draw(st.one_of(st.none(), st.integers(1, 9))),
    }
    env = make_env(base, **options)
    assert env.horizon == horizon
    assert make_env(env.name) == env


REFUSED = [
    ("deepsea:abc", InvalidOption, "n of deepsea is 'abc'; it must be a whole number"),
    ("deepsea:1.5", InvalidOption, "n of deepsea is 1.5"),
    ("deepsea:1", InvalidOption, "n of deepsea is 1; it must be at least 3"),
    ("deepsea:none", InvalidOption, "n of deepsea is None"),
    ("deepsea", InvalidOption, "deepsea needs n; write for example deepsea:8"),
    ("widenarrow:1", InvalidOption, "widenarrow needs w; write for example widenarrow:1,12"),
    ("deepsea:8,9", InvalidOption, r"takes 1 plain value\(s\) \(n\), 2 were given"),
    ("deepsea:8,n=9", InvalidOption, "n of deepsea is given twice"),
    ("deepsea:8,rewrd=dense", UnknownName, "unknown option of deepsea 'rewrd': did you mean 'reward'"),
    ("deepsea:8,discont=0.5", UnknownName, "did you mean 'discount'"),
    ("deepsee:8", UnknownName, "unknown environment 'deepsee': did you mean 'deepsea'"),
    (
        "qqqq",
        UnknownName,
        "known: admission, chain, deepsea, file, garnet, griddeepsea, gym, harvest, inventory, jobs, lazychain, lock",
    ),
    ("priormdp:4,2,seed=-1", InvalidOption, "seed of priormdp is -1"),
    ("deepsea:8,discount=1", InvalidOption, "discount is 1"),
    ("gym", InvalidOption, "does not name one Gymnasium id"),
    ("gym:3", InvalidOption, "does not name one Gymnasium id"),
    ("gym:os:FrozenLake-v1", InvalidOption, "would import a module"),
    ("gym:FrozenLake-v1,map_name=a:b", InvalidOption, "would import a module"),
    ("gym:NoSuch-v0", UnsupportedEnvironment, "Gymnasium cannot make 'NoSuch-v0'"),
    ("gym:FrozenLake-v1,colour=3", UnsupportedEnvironment, "unexpected keyword argument 'colour'"),
    ("mdp:3x2-abc", UnknownName, "given as an object; save it and write file:PATH"),
    ("file:", InvalidOption, "has no path"),
    ("file:none.npz", InvalidMDP, "there is no file 'none.npz'"),
    ("", InvalidOption, "no name"),
]


@pytest.mark.parametrize(("text", "kind", "says"), REFUSED, ids=[text for text, _, _ in REFUSED])
def test_refuses(text: str, kind: type[SteeringError], says: str) -> None:
    with pytest.raises(kind, match=says) as caught:
        make_env(text)
    assert "\n" not in str(caught.value)


def test_an_option_in_text_and_keyword_is_refused() -> None:
    with pytest.raises(InvalidOption, match="option 'reward' of 'deepsea:8,reward=dense' is given twice"):
        make_env("deepsea:8,reward=dense", reward="sparse")


def test_other_objects_are_refused() -> None:
    with pytest.raises(UnsupportedEnvironment, match="cannot be made from an object of type int"):
        make_env(3)  # type: ignore[arg-type]


def test_own_mdp() -> None:
    mdp = deep_sea(4)
    env = make_env(mdp, horizon=3)
    assert env.mdp is mdp
    assert env.horizon == 3
    assert env.name.startswith("mdp:4x2-")
    assert env.name.endswith(",horizon=3")
    assert make_env(mdp).name != make_env(deep_sea(4, reward="dense")).name
    assert make_env(mdp).name == make_env(deep_sea(4)).name
    named = TabularMDP(P=mdp.P, reward_mean=mdp.reward_mean, reward_std=mdp.reward_std, state_names=list("abcd"))
    assert make_env(named).name != make_env(mdp).name
    with pytest.raises(UnknownName, match="unknown option of an MDP 'n'"):
        make_env(mdp, n=4)


@pytest.mark.parametrize("name", ["m.npz", "m.json", "a,b=c.npz", "x,horizon.json"])
def test_files(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    io.save(deep_sea(4), path)
    env = make_env(f"file:{path}")
    assert env.name == f"file:{path}"
    assert env.table.same_as(deep_sea(4))
    other = make_env(f"file:{path},horizon=3,discount=0.5")
    assert (other.horizon, other.discount) == (3, 0.5)
    assert make_env(other.name) == other
    assert make_env(env, horizon=3, discount=0.5) == other
    with pytest.raises(UnknownName, match="unknown option of a file 'n'"):
        make_env(f"file:{path}", n=3)
    with pytest.raises(InvalidOption, match=r"option 'horizon' .* given twice"):
        make_env(f"file:{path},horizon=3,horizon=4")


def test_an_environment_with_other_options() -> None:
    env = make_env("deepsea:8")
    assert make_env(env) is env
    assert make_env(env, horizon=5) == make_env("deepsea:8,horizon=5")
    assert make_env(env, reward="dense") == make_env("deepsea:8,reward=dense")
    assert make_env(make_env("deepsea:8,horizon=5"), horizon=None) == env
    assert make_env(make_env("deepsea:8,discount=0.5"), horizon=5).discount == 0.5
    mine = make_env(deep_sea(4), discount=0.5)
    assert make_env(mine, horizon=3) == make_env(deep_sea(4), discount=0.5, horizon=3)
    own = Environment(name="my own", mdp=deep_sea(4))
    changed = make_env(own, horizon=3)
    assert (changed.name, changed.horizon, changed.discount) == ("my own", 3, 1.0)
    with pytest.raises(UnknownName, match="unknown option of 'my own' 'reward'"):
        make_env(own, reward="dense")


def test_a_table_made_for_one_setting_is_made_again_for_the_other() -> None:
    """Terminal states lead to the start when continuing and are absorbing when episodic."""
    env = make_env("gym:FrozenLake-v1")
    episodic = make_env(env, horizon=9)
    assert episodic == make_env("gym:FrozenLake-v1,horizon=9")
    assert (env.table.P[5, 0, 0], episodic.table.P[5, 0, 5]) == (1.0, 1.0)
    wrapped = gymnasium.wrappers.RecordEpisodeStatistics(gymnasium.make("FrozenLake-v1", desc=["SF", "FG"]))
    table = make_env(wrapped)
    assert table.name == "gym-object:FrozenLakeEnv"
    with pytest.raises(InvalidOption, match="was made for its horizon"):
        make_env(table, horizon=3)


def test_an_object_has_the_name_of_its_id() -> None:
    """What an id was registered with is not repeated; options of its own are."""
    for env_id in ("steering/DeepSea-v0", "FrozenLake-v1"):
        assert make_env(gymnasium.make(env_id)).name == make_env(f"gym:{env_id}").name == f"gym:{env_id}"
    own = make_env(gymnasium.make("steering/DeepSea-v0", n=5))
    assert own.name == "gym:steering/DeepSea-v0,n=5"
    assert make_env(own.name) == own


def test_list_envs_names_everything() -> None:
    infos = {info.name: info for info in list_envs()}
    assert set(infos) == {*ENTRIES, "gym", "file"}
    assert infos["deepsea"].parameters == "n, reward=sparse, delta=none"
    assert all(info.summary.endswith(".") and "\n" not in info.summary for info in infos.values())


small_numbers = st.text(alphabet="depsawinrou:,=().0123456789-_ ", max_size=30).filter(
    lambda text: not re.search(r"[0-9_]{2}", text)  # thousands of states are valid, and slow
)


@settings(max_examples=200)
@given(small_numbers)
def test_any_text_makes_an_environment_or_one_sentence(text: str) -> None:
    for name in ENTRIES:
        with contextlib.suppress(SteeringError):  # nothing else may be raised
            make_env(f"{name}:{text}")


def test_public_names_are_loaded_on_first_use() -> None:
    assert dir(steering.envs) == sorted(steering.envs.__all__)
    assert all(getattr(steering.envs, name) is not None for name in steering.envs.__all__)
    with pytest.raises(AttributeError, match="no attribute 'deepsea_'"):
        _ = steering.envs.deepsea_
