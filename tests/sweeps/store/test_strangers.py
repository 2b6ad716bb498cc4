"""Shards and MDP files from strangers: refused before they take memory, and their names are shown, never run."""

import io
import subprocess
import sys
import zipfile

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from store_helpers import shard

import steering
from steering._files import csv_bytes
from steering.errors import SteeringError
from steering.sweeps.store import schema
from steering.sweeps.store.directory import Store
from steering.sweeps.store.footer import read_claims
from steering.sweeps.store.load import ProblemWarning
from steering.sweeps.store.pages import unpacked_bytes
from steering.sweeps.summary import markdown_table, summarise

LIMIT = "import resource; resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30)); "


def replaced(rows, column, values):
    index = rows.column_names.index(column)
    return rows.set_column(index, column, pa.array(values, rows.schema.field(column).type))


def test_a_dictionary_that_stands_for_gigabytes_is_not_unpacked_at_once(tmp_path):
    """One text of a megabyte, referred to by every row: a few kilobytes of file, gigabytes of rows."""
    rows = schema.read_rows(shard(range(4000))[0])
    content = schema.to_bytes(replaced(rows, "version", ["x" * 1_000_000] * 4000))
    assert len(content) < 1_000_000
    store = Store(tmp_path / "a", create=True)
    store.write(content, 4000)
    line = (
        "from steering.sweeps.store import schema; import sys; c = open(sys.argv[1], 'rb').read(); "
        "print(max(t.nbytes for t in schema.read_pieces(c, ['key', 'version'])))"
    )
    (path,) = store.shards.iterdir()
    done = subprocess.run([sys.executable, "-c", LIMIT + line, str(path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-500:]
    assert int(done.stdout) <= schema.PIECE_BYTES + 2_000_000


def test_pages_of_small_shards_are_held_against_the_footer():
    content, _ = shard(range(10))
    chunk = read_claims(content).chunks[schema.SCHEMA.names.index("curve_reward")]
    assert unpacked_bytes(content, chunk, is_text=False) >= chunk.unpacked
    with pytest.raises(ValueError, match="hold more than its footer claims"):
        unpacked_bytes(content, chunk._replace(unpacked=chunk.unpacked // 2), is_text=False)


def test_reading_looks_at_the_pages_of_small_shards(monkeypatch):
    content, _ = shard(range(10))
    real = schema.read_claims

    def lying(given):
        claims = real(given)
        chunks = [one._replace(unpacked=one.unpacked // 2) for one in claims.chunks]
        return type(claims)(claims.rows, claims.columns, claims.metadata, claims.groups, chunks)

    monkeypatch.setattr(schema, "read_claims", lying)
    with pytest.raises(schema.BadShard, match="hold more than its footer claims"):
        schema.read_rows(content)


@pytest.mark.parametrize("column", ["environment", "agent", "steps"])
def test_rows_that_are_not_what_their_configuration_says_are_refused(column, tmp_path):
    wanted = {"environments": ["deepsea:4"], "agents": ["psrl"], "steps": 20, "seeds": 3}
    steering.sweep(wanted, tmp_path / "a", workers=0)
    store = Store(tmp_path / "a")
    (path,) = store.shards.iterdir()
    rows = schema.read_rows(path.read_bytes())
    path.unlink()
    forged = [21] * 3 if column == "steps" else ["better"] * 3
    store.write(schema.to_bytes(replaced(rows, column, forged)), 3)
    found = store.scan()
    assert found.keys == set()
    assert f"it has a row of {column}" in found.problems[0][1]
    with pytest.warns(ProblemWarning, match="its configuration says another"):
        assert steering.load(tmp_path / "a").finals.empty
    report = steering.sweep(wanted, tmp_path / "a", workers=0)
    assert (report.computed, report.done) == (3, 3)


def test_names_from_files_are_shown_and_never_run(tmp_path):
    name = '=HYPERLINK("http://x")|[a](b)<img src=x>`c`\x1b[2J'
    rows = schema.read_rows(shard(range(3))[0])
    store = Store(tmp_path / "a", create=True)
    store.write(schema.to_bytes(replaced(rows, "agent", [name] * 3)), 3)
    results = steering.load(tmp_path / "a")
    for path in results.write(tmp_path / "csv", format="csv"):
        for column in pd.read_csv(path).select_dtypes(include=["object", "string"]):
            for value in pd.read_csv(path)[column].dropna().astype(str):
                assert not value.startswith(("=", "+", "-", "@")), (path, column)
    text = summarise(results).markdown()
    assert "<img" not in text
    assert "\x1b" not in text
    assert "\\|\\[a\\]" in text
    shown = subprocess.run(
        [sys.executable, "-m", "steering", "summary", str(tmp_path / "a")], capture_output=True, text=True, check=True
    )
    assert "\x1b" not in shown.stdout


def test_plain_tables_are_written_as_before():
    table = pd.DataFrame({"agent": ["q_learning", "psrl"], "value": [-1.0, 2.0], "kind": pd.Categorical(["a", "-b"])})
    assert csv_bytes(table).decode().splitlines() == ["agent,value,kind", "q_learning,-1.0,a", "psrl,2.0,'-b"]
    assert "q_learning" in markdown_table(table)


def test_a_small_zip_that_unpacks_to_gigabytes_is_refused_before_memory_is_taken(tmp_path, monkeypatch):
    """The bound is lowered, so that the test need not pack gigabytes."""
    monkeypatch.setattr("steering.mdp.io.MAX_UNPACKED", 2**24)
    size = 2**22
    path = tmp_path / "bomb.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ("P", "reward_mean"):
            header = io.BytesIO()
            np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (size,)})
            with archive.open(f"{name}.npy", "w") as stream:
                stream.write(header.getvalue())
                for _ in range(8 * size >> 20):
                    stream.write(bytes(1 << 20))
        for name in ("schema", "version", "reward_std", "mask", "start", "state_names", "action_names"):
            buffer = io.BytesIO()
            np.save(buffer, np.zeros(1))
            archive.writestr(f"{name}.npy", buffer.getvalue())
    assert path.stat().st_size < 500_000
    with pytest.raises(SteeringError, match="unpack to"):
        steering.make_env(f"file:{path}")
