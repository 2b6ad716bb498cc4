"""Sweep files: what they expand to, and errors that are all listed with their place and the nearest name."""

import json
import os
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steering.errors import SteeringError
from steering.sweeps.sweep_file import SweepError, parse_toml, read_sweep, saved, saved_plan, saved_sweep

GOOD = """
name = "good"
environments = ["deepsea:4", { name = "deepsea", n = [5, 6], reward = ["sparse", "dense"] }]
agents = ["psrl", { name = "psrl", eta = [0.1, 3] }]
steps = 40
seeds = { first = 10, count = 3 }
record = { points = 5, extra = ["value_gap"] }
"""


def texts(sweep, key):
    return [group.config[key] for group in sweep.plan.groups]


def test_grids_are_all_combinations():
    sweep = parse_toml(GOOD)
    assert sweep.name == "good"
    assert len(sweep.plan) == 5 * 3 * 3
    assert list(dict.fromkeys(texts(sweep, "agent"))) == ["psrl", "psrl:eta=0.1", "psrl:eta=3.0"]
    dense = "deepsea:6,reward=dense"
    assert list(dict.fromkeys(texts(sweep, "environment")))[1:] == [
        "deepsea:5",
        "deepsea:5,reward=dense",
        "deepsea:6",
        dense,
    ]
    assert [sweep.plan.locate(i)[1] for i in range(3)] == [10, 11, 12]


def test_python_and_toml_are_the_same_thing():
    data = {
        "environments": ["deepsea:4", {"name": "deepsea", "n": [5, 6], "reward": ["sparse", "dense"]}],
        "agents": ["psrl", {"name": "psrl", "eta": [0.1, 3]}],
        "steps": 40,
        "seeds": [10, 11, 12],
        "record": {"points": 5, "extra": ["value_gap"]},
    }
    assert list(read_sweep(data).plan.keys()) == list(parse_toml(GOOD).plan.keys())


def test_a_sweep_can_be_written_and_read_again():
    sweep = parse_toml(GOOD)
    again = read_sweep(json.loads(json.dumps(sweep.description)))
    assert list(again.plan.keys()) == list(sweep.plan.keys())


def test_blocks_take_what_they_do_not_say_from_the_top():
    sweep = parse_toml(
        """
agents = ["psrl"]
steps = 40
seeds = 2
[[blocks]]
environments = ["deepsea:4"]
[[blocks]]
environments = ["riverswim:3"]
agents = ["q_learning"]
steps = 70
"""
    )
    found = [(g.config["environment"], g.config["agent"], g.config["steps"], len(g.seeds)) for g in sweep.plan.groups]
    assert found == [("deepsea:4", "psrl", 40, 2), ("riverswim:3", "q_learning", 70, 2)]


def test_defaults():
    group = read_sweep({"environments": ["deepsea:4"], "agents": ["psrl"]}).plan.groups[0]
    assert (group.config["steps"], list(group.seeds)) == (5000, list(range(10)))
    assert group.config["record"] == {"points": 200, "windows": 10, "snapshots": 20, "extra": []}


def test_equal_cells_are_one_cell():
    data = {"environments": ["deepsea:4", "deepsea:n=4"], "agents": ["psrl", "psrl:eta=1", "psrl:eta=1.0"], "seeds": 2}
    assert len(read_sweep(data).plan) == 2
    blocks = {**data, "blocks": [{"seeds": [1, 5]}, {"seeds": [0, 1]}]}
    assert [read_sweep(blocks).plan.locate(i)[1] for i in range(3)] == [0, 1, 5]


def errors(text):
    with pytest.raises(SweepError) as caught:
        parse_toml(text, "my.toml")
    assert str(caught.value).startswith(f"my.toml has {len(caught.value.errors)} error")
    return caught.value.errors


def test_all_errors_are_listed_with_line_and_nearest_name():
    found = errors(
        """
environments = ["deepsea:4",
  "depsea:5", "deepsea:2"]
agents = ["psrll", { name = "psrl", etaa = 3 }, { name = "psrl", eta = [1, -1] }]
seeds = [1, 1]
[record]
extra = ["valuegap"]
"""
    )
    assert [error.partition(":")[0] for error in found] == [
        "line 3, environments[1]",
        "line 3, environments[2]",
        "line 4, agents[0]",
        "line 4, agents[1]",
        "line 4, agents[2]",
        "line 5, seeds",
        "line 7, record.extra",
    ]
    for word in ("'value_gap'", "twice", "'deepsea'", "at least 3", "'psrl'", "'eta'", "eta is -1"):
        assert any(word in error for error in found), word


def test_wrong_shapes_and_wrong_names_are_listed_together():
    found = errors(
        """
environments = ["depsea:4"]
agents = []
stepz = 3
steps = "a"
seeds = [1, "x"]
[record]
pts = 3
[[blocks]]
steps = 0
sedes = 3
"""
    )
    joined = "\n".join(found)
    for part in (
        "line 4, stepz: unknown key: did you mean 'steps'?",
        "line 5, steps: it should be a valid integer",
        "line 6, seeds[1]: it should be a valid integer",
        "line 8, record.pts: unknown key: did you mean 'points'?",
        "line 10, blocks[0].steps: it should be greater than or equal to 1",
        "line 11, blocks[0].sedes: unknown key: did you mean 'seeds'?",
        "line 2, environments[0]: unknown environment 'depsea': did you mean 'deepsea'?",
        "line 3, agents:",
    ):
        assert part in joined, part


def test_an_error_of_shape_hides_no_other():
    found = errors(
        """
environments = [
  "deepsea:4",   # a comment, with [ and "
  3,
  { name = "deepsea", n = [5, 6] },
  { name = "depsea", n = 3 },
]
agents = ["psrl"]
seeds = [1, 1]
stepz = 5
[record]
points = "x"
extra = ["valuegap"]
[[blocks]]
agents = ["psrrl"]
[[blocks]]
environments = ["riverswm:6"]
steps = "a"
"""
    )
    assert [error.partition(":")[0] for error in found] == [
        "line 4, environments[1]",
        "line 6, environments[3]",
        "line 9, seeds",
        "line 10, stepz",
        "line 12, record.points",
        "line 13, record.extra",
        "line 15, blocks[0].agents[0]",
        "line 17, blocks[1].environments[0]",
        "line 18, blocks[1].steps",
    ]


def test_an_option_that_is_a_list_is_explained_once():
    table = '{ name = "%s", normal_gamma = %s }'
    found = errors(
        f"""
environments = [{table % ("priormdp:3,2", "[0, 1, 4, 4]")}]
agents = ["q_learning",
  {table % ("psrl", "[0, 4, 3, 3]")},
  {table % ("psrl", "3")},
  {table % ("psrl", "[[0, 4, 3, 3], [0, 1, 4, 4]]")},
]
"""
    )
    says = "a value of normal_gamma is itself a list; write a list in a list: normal_gamma ="
    assert found == [
        f"line 2, environments[0].normal_gamma: {says} [[0, 1, 4, 4]]",
        f"line 4, agents[1].normal_gamma: {says} [[0, 4, 3, 3]]",
        f"line 5, agents[2].normal_gamma: {says} [[0, 4, 3, 3]]",
    ]


@pytest.mark.parametrize("wrong", [None, 3, ["deepsea:4"]])
def test_what_is_no_sweep_at_all_is_refused(wrong):
    with pytest.raises(SteeringError, match=f"of type {type(wrong).__name__}; give the path of a TOML file"):
        read_sweep(wrong)


def test_what_was_taken_out_is_not_called_missing():
    assert [error.partition(":")[0] for error in errors('environments = 3\nagents = ["psrl"]')] == [
        "line 1, environments"
    ]
    assert [error.partition(":")[0] for error in errors("agents = [1]\nblocks = [2]")] == [
        "line 1, agents[0]",
        "line 2, blocks[0]",
    ]
    with pytest.raises(SweepError, match=r"agents\[0\]: it should be a text or a table, not None"):
        read_sweep({"environments": ["deepsea:4"], "agents": [None]})


def test_a_pipe_or_a_device_is_no_sweep_file(tmp_path):
    os.mkfifo(tmp_path / "pipe.toml")
    for path in (tmp_path / "pipe.toml", "/dev/zero", tmp_path):
        with pytest.raises(SteeringError, match="not a regular file"):
            read_sweep(path)


def test_checking_keeps_no_mdp():
    """30 MDPs of 150 states with two actions are 11 MB; their names and settings are not 1."""
    sweep = {"environments": [{"name": "deepsea", "n": [150], "discount": [0.9 + i / 1000 for i in range(30)]}]}
    tracemalloc.start()
    read_sweep({**sweep, "agents": ["psrl"]})
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 5e6


def test_a_saved_plan_has_the_same_keys_and_makes_no_environment():
    sweep = read_sweep({"environments": ["deepsea:4"], "agents": ["psrl"], "seeds": [4, 2]})
    data = json.loads(json.dumps(saved(sweep)))
    assert list(saved_plan(data).keys()) == list(sweep.plan.keys())
    assert list(saved_sweep(data).plan.keys()) == list(sweep.plan.keys())
    description = {key: value for key, value in data.items() if key != "plan"}
    assert list(saved_plan(description).keys()) == list(sweep.plan.keys())
    elsewhere = {**data, "environments": ["gym:Nowhere-v0"]}
    assert list(saved_plan(elsewhere).keys()) == list(sweep.plan.keys())


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("a = ", "not valid TOML"),
        ("x" * 5000, "more than 4000 characters"),
        ("a = " + "[" * 1500, "nested too deeply"),
        ("steps = 3", "environments: missing"),
        ('seeds = "x"', "integer, or it should be a valid list, or it should be a table"),
        ('environments = ["deepsea:4"]\nagents = ["psrl"]\nseeds = 99999999999', "less than or equal to"),
        ('environments = ["deepsea:4"]\nagents = [{ eta = 3 }]', "a table needs a name"),
        ('environments = ["deepsea:4"]\nagents = [{ name = "psrl", eta = [] }]', "leaves nothing to run"),
        ('environments = ["deepsea:4"]\nagents = [{ name = "psrl", eta = { a = 1 } }]', "not a value of an option"),
        ('environments = ["gym:os:system"]\nagents = ["psrl"]', "import a module"),
        ('environments = ["priormdp:99999,2"]\nagents = ["psrl"]', "make it smaller"),
        ('environments = ["deepsea:4", "deepsea:5"]\nagents = ["psrl"]\nseeds = 9000000', "too large"),
        (
            'environments = ["deepsea:4,discount=0.9999999999"]\nagents = ["psrl"]',
            "environments[0]: discount is",
        ),
        ('environments = ["gym:Blackjack-v1"]\nagents = ["psrl"]', "Discrete"),
    ],
)
def test_bad_files_give_a_sentence(text, part):
    assert part in "\n".join(errors(text))


def test_grids_have_a_limit():
    many = ", ".join(str(i) for i in range(1, 400))
    agent = f'{{ name = "psrl", eta = [{many}],\n max = [{many}] }}'
    assert "combinations" in "\n".join(errors(f'environments = ["deepsea:4"]\nagents = [{agent.replace(chr(10), "")}]'))


@pytest.mark.parametrize("content", [b"\xff\xfe", b"a" * 300_000])
def test_files_that_are_no_sweep(content, tmp_path):
    path = tmp_path / "a.toml"
    path.write_bytes(content)
    with pytest.raises(SteeringError):
        read_sweep(path)
    with pytest.raises(SteeringError, match="cannot be read"):
        read_sweep(tmp_path / "none.toml")


@given(
    seeds=st.lists(st.integers(0, 2**40), min_size=1, max_size=5, unique=True),
    steps=st.integers(1, 10**6),
    eta=st.floats(1e-3, 1e3),
)
def test_keys_are_unique_and_stable(seeds, steps, eta):
    data = {"environments": ["deepsea:4", "riverswim:3"], "agents": [{"name": "psrl", "eta": eta}], "steps": steps}
    plan = read_sweep({**data, "seeds": seeds}).plan
    keys = list(plan.keys())
    assert len(set(keys)) == len(keys) == 2 * len(seeds)
    assert [plan.key(i) for i in range(len(plan))] == keys
    reordered = read_sweep({**data, "seeds": seeds[::-1], "environments": data["environments"][::-1]}).plan
    assert set(reordered.keys()) == set(keys)
    other = read_sweep({**data, "seeds": seeds, "steps": steps + 1}).plan
    assert not set(other.keys()) & set(keys)
