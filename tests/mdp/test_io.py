"""Files of MDPs: exact round trips, whole or nothing on disk, and nothing but a clear error from a bad file."""

from __future__ import annotations

import contextlib
import io as stdio
import json
import os
import resource
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from steering.errors import InvalidMDP, SteeringError
from steering.mdp import io
from steering.mdp.tabular import TabularMDP

FORMATS = ["npz", "json"]
any_name = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8)


@st.composite
def mdps(draw: st.DrawFn) -> TabularMDP:
    S, A = draw(st.integers(1, 5)), draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    mask = rng.random((S, A)) < 0.7
    mask[np.arange(S), rng.integers(A, size=S)] = True
    scale = 10.0 ** rng.integers(-300, 300, size=(S, A, S))
    return TabularMDP(
        P=rng.dirichlet(np.ones(S), (S, A)),
        reward_mean=rng.normal(size=(S, A, S)) * scale,
        reward_std=rng.random((S, A)),
        mask=mask,
        start=rng.dirichlet(np.ones(S)),
        state_names=draw(st.one_of(st.just([]), st.lists(any_name, min_size=S, max_size=S, unique=True))),
        action_names=draw(st.one_of(st.just([]), st.lists(any_name, min_size=A, max_size=A, unique=True))),
    )


def small() -> TabularMDP:
    return TabularMDP(
        P=[[[0.1, 0.9], [1, 0]], [[0.25, 0.75], [0, 1]]],
        reward_mean=[[0.1, 1 / 3], [1e-300, -1e300]],
        mask=[[1, 1], [1, 0]],
        action_names=["stay", "gehe nach rechts →"],
    )


@pytest.mark.parametrize("ending", FORMATS)
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(mdp=mdps())
def test_round_trip_to_the_bit(mdp: TabularMDP, ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"m.{ending}"
    io.save(mdp, path)
    again = io.load(path)
    assert again.same_as(mdp)
    assert again.reward_mean.tobytes() == mdp.reward_mean.tobytes()
    assert [p.name for p in tmp_path.iterdir()] == [path.name]  # no temporary file is left


def test_ending_in_capitals_and_text_paths(tmp_path: Path) -> None:
    io.save(small(), str(tmp_path / "M.NPZ"))
    assert io.load(str(tmp_path / "M.NPZ")).same_as(small())


def test_files_of_the_same_mdp_are_identical(tmp_path: Path) -> None:
    for ending in FORMATS:
        paths = [tmp_path / f"{i}.{ending}" for i in range(2)]
        for path in paths:
            io.save(small(), path)
        assert paths[0].read_bytes() == paths[1].read_bytes()


def test_npz_holds_no_pickle_and_opens_without_this_package(tmp_path: Path) -> None:
    io.save(small(), tmp_path / "m.npz")
    with np.load(tmp_path / "m.npz", allow_pickle=False) as arrays:
        assert arrays["P"].tolist() == small().P.tolist()
        assert arrays["action_names"].dtype.kind == "U"


def test_json_by_hand_may_leave_out_what_has_a_default(tmp_path: Path) -> None:
    path = tmp_path / "hand.json"
    text = '{"schema": "steering-mdp", "version": 1, "P": [[[0, 1]], [[1, 0]]], "reward_mean": [0, 1], "start": 1}'
    path.write_text("\ufeff" + text, encoding="utf-8")  # as some editors write it
    mdp = io.load(path)
    assert mdp.start.tolist() == [0.0, 1.0]
    assert mdp.rewards.tolist() == [[0.0], [1.0]]


@contextlib.contextmanager
def largest_file(size: int) -> Iterator[None]:
    """Limit how large a file this process may write, as a disk without space does."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("ending", FORMATS)
def test_a_failed_write_leaves_the_old_file(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"m.{ending}"
    io.save(small(), path)
    before = path.read_bytes()
    rows = np.random.default_rng(0).dirichlet(np.ones(20), (20, 3))
    with largest_file(4096), pytest.raises(InvalidMDP, match=r"cannot write .*File too large"):
        io.save(TabularMDP(P=rows, reward_mean=0.0), path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_what_cannot_be_saved(tmp_path: Path) -> None:
    with pytest.raises(InvalidMDP, match=r"ends in '\.pkl'; an MDP file ends in \.npz or \.json"):
        io.save(small(), tmp_path / "m.pkl")
    with pytest.raises(InvalidMDP, match="type dict"):
        io.save({}, tmp_path / "m.npz")  # type: ignore[arg-type]
    with pytest.raises(InvalidMDP, match="cannot write"):
        io.save(small(), tmp_path / "nowhere" / "m.npz")


def test_json_has_a_size_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    io.save(small(), tmp_path / "m.json")
    monkeypatch.setattr(io, "MAX_JSON_BYTES", 300)
    with pytest.raises(InvalidMDP, match=r"too large for JSON; save it as \.npz"):
        io.save(small(), tmp_path / "n.json")
    with pytest.raises(InvalidMDP, match="more than 300 bytes"):
        io.load(tmp_path / "m.json")
    monkeypatch.setattr(io, "MAX_JSON_BYTES", 30)
    with pytest.raises(InvalidMDP, match=r"8 transitions is too large .* save it as \.npz"):
        io.save(small(), tmp_path / "n.json")
    assert not (tmp_path / "n.json").exists()


def test_missing_and_foreign_paths(tmp_path: Path) -> None:
    (tmp_path / "d.npz").mkdir()
    for name in ("none.npz", "none.json", "d.npz"):
        with pytest.raises(InvalidMDP, match="there is no file"):
            io.load(tmp_path / name)
    with pytest.raises(InvalidMDP, match=r"ends in '\.csv'"):
        io.load(tmp_path / "a.csv")
    os.mkfifo(tmp_path / "pipe.json")  # reading it would wait for ever
    with pytest.raises(InvalidMDP, match="there is no file"):
        io.load(tmp_path / "pipe.json")


def test_unreadable_file(tmp_path: Path) -> None:
    (tmp_path / "m.json").symlink_to("/proc/self/mem")  # a regular file whose first page cannot be read
    with pytest.raises(InvalidMDP, match=r"cannot read .*Input/output error"):
        io.load(tmp_path / "m.json")


JSON_HEAD = '{"schema": "steering-mdp", "version": 1, "P": [[[1]]], "reward_mean": 0'
BAD_JSON = [
    ("", "damaged or of another kind"),
    ("[1, 2]", "does not hold an object"),
    ("{}", "its schema is not"),
    ('{"schema": "other"}', "its schema is not"),
    ('{"schema": "steering-mdp", "version": 3}', "format version 3; this package reads 1 and 2"),
    ('{"schema": "steering-mdp", "version": 1}', "it has no 'P'"),
    ('{"schema": "steering-mdp", "version": 1, "P": [[[1]]]}', "it has no 'reward_mean'"),
    (JSON_HEAD, "damaged"),
    (JSON_HEAD + ', "extra": 1}', "unknown key 'extra'"),
    (JSON_HEAD + ', "P": [[[1]]]}', "key twice"),
    (JSON_HEAD + ', "state_names": "a"}', "'state_names' is not a list of texts"),
    (JSON_HEAD + ', "state_names": [1]}', "'state_names' is not a list of texts"),
    (JSON_HEAD + ', "reward_std": -1}', r"does not hold a valid MDP: reward_std\[0, 0, 0\] is -1"),
    (JSON_HEAD + ', "reward_std": NaN}', r"reward_std\[0, 0, 0\] is nan"),
    (JSON_HEAD + ', "reward_std": 1e999}', r"reward_std\[0, 0, 0\] is inf"),
    (JSON_HEAD + ', "reward_std": {"a": 1}}', "reward_std is not an array of numbers"),
    (JSON_HEAD + ', "start": ' + "9" * 5000 + "}", "damaged"),
    (JSON_HEAD + ', "start": ' + "[" * 100000, "damaged"),
    (JSON_HEAD + ', "mask": null, "start": null}', "start is not an array of numbers"),
]


@pytest.mark.parametrize(("text", "says"), BAD_JSON, ids=range(len(BAD_JSON)))
def test_bad_json(text: str, says: str, tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    path.write_text(text)
    with pytest.raises(InvalidMDP, match=says):
        io.load(path)


def members(**changes: object) -> dict[str, object]:
    m = small()
    arrays: dict[str, object] = {key: getattr(m, key) for key in ("P", "reward_mean", "reward_std", "mask", "start")}
    names = {"state_names": np.array([], dtype="U1"), "action_names": np.array(m.action_names)}
    return {"schema": np.array("steering-mdp"), "version": np.array(1), **arrays, **names, **changes}


BAD_NPZ = [
    ({"schema": np.array("other")}, "its schema is not"),
    ({"schema": np.array(3)}, "array 'schema' has type int64"),
    ({"version": np.array(7)}, "format version 7"),
    ({"version": np.array("1")}, "array 'version' has type"),
    ({"P": np.array([[["a"]]])}, "array 'P' has type"),
    ({"P": np.ones((2, 2, 2), dtype=np.float32)}, "array 'P' has type float32"),
    ({"P": np.asfortranarray(small().P)}, "array 'P' has type"),
    ({"start": np.array([0.5, 0.6])}, "does not hold a valid MDP: start sums to 1.1"),
    ({"extra": np.array(1)}, "does not have the arrays of one"),
]


@pytest.mark.parametrize(("changes", "says"), BAD_NPZ, ids=range(len(BAD_NPZ)))
def test_bad_npz(changes: dict[str, object], says: str, tmp_path: Path) -> None:
    np.savez(tmp_path / "m.npz", **members(**changes))  # type: ignore[arg-type]
    with pytest.raises(InvalidMDP, match=says):
        io.load(tmp_path / "m.npz")


def test_a_pickle_is_never_loaded(tmp_path: Path) -> None:
    class Bomb:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return os.mkdir, (str(tmp_path / "exploded"),)

    np.savez(tmp_path / "m.npz", **members(start=np.array([Bomb(), Bomb()])))  # type: ignore[arg-type]
    with pytest.raises(InvalidMDP, match="array 'start' has type object"):
        io.load(tmp_path / "m.npz")
    assert not (tmp_path / "exploded").exists()


def header_only(shape: str, dtype: str = "<f8") -> bytes:
    text = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text


def replace_member(path: Path, key: str, data: bytes) -> None:
    buffer = stdio.BytesIO()
    np.savez(buffer, **members())  # type: ignore[arg-type]
    with zipfile.ZipFile(buffer) as old, zipfile.ZipFile(path, "w") as new:
        for name in old.namelist():
            new.writestr(name, data if name == f"{key}.npy" else old.read(name))


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (header_only("(99999999, 99999999, 99999999)"), "cannot have shape"),
        (header_only("(1000, 1000, 1000)"), "cannot have shape"),
        (header_only("(-1, 2, 2)"), "cannot have shape"),
        (header_only("(2, 2, 2)") + b"\0" * 63, "damaged"),
        (header_only("(2, 2, 2)") + b"\0" * 65, "data after its end"),
        (header_only("(" * 3000 + ")" * 3000), "damaged"),
        (header_only("(2, 2, 2)", "O") + b"\0" * 64, "has type object"),
        (b"\x93NUMPY\x02\x00\0\0\0\0", "unknown header"),
        (b"", "damaged"),
    ],
    ids=range(9),
)
def test_hostile_array_headers_are_refused_before_allocating(data: bytes, says: str, tmp_path: Path) -> None:
    replace_member(tmp_path / "m.npz", "P", data)
    with pytest.raises(InvalidMDP, match=says):
        io.load(tmp_path / "m.npz")


def test_a_mask_byte_that_is_not_zero_is_true(tmp_path: Path) -> None:
    replace_member(tmp_path / "m.npz", "mask", header_only("(2, 2)", "|b1") + b"\x02\x01\xff\x00")
    assert io.load(tmp_path / "m.npz").mask.tolist() == [[True, True], [True, False]]


@pytest.mark.parametrize("ending", FORMATS)
def test_damaged_files_give_an_error_or_a_valid_mdp(ending: str, tmp_path: Path) -> None:
    """600 truncations and random changes of each format: nothing but SteeringError comes out."""
    path = tmp_path / f"m.{ending}"
    io.save(small(), path)
    whole = path.read_bytes()
    rng = np.random.default_rng(1)
    refused = 0
    for attempt in range(600):
        data = bytearray(whole)
        if attempt % 3 == 0:
            data = data[: rng.integers(len(data))]
        else:
            for _ in range(rng.integers(1, 5)):
                data[rng.integers(len(data))] = rng.integers(256)
        path.write_bytes(data)
        with contextlib.suppress(SteeringError):
            refused += 1
            io.load(path)
            refused -= 1
    assert refused > 400


def test_json_is_plain_and_readable(tmp_path: Path) -> None:
    io.save(small(), tmp_path / "m.json")
    parts = json.loads((tmp_path / "m.json").read_text())
    assert parts["schema"] == "steering-mdp"
    assert parts["P"] == small().P.tolist()
    assert parts["mask"] == [[True, True], [True, False]]
