"""`steering reproduce` as a command: names, sizes, what it prints, what it refuses."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from steering.cli import main


def call(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    printed = capsys.readouterr()
    return int(stop.value.code or 0), printed.out, printed.err


def test_it_ends_with_five_lines_and_the_path_of_the_report(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, err = call(capsys, "reproduce", "schematics", "concept", "--quick", "--out", "here")
    assert code == 0
    lines = out.strip().splitlines()
    assert lines[-1] == "report: here/report.html"
    assert lines[-6].startswith("0 claims tested (quick: 6 seeds")
    assert [line.split(":")[0] for line in lines[-5:-1]] == [
        "holds",
        "holds with the sound operator",
        "does not hold",
        "not testable",
    ]
    assert (tmp_path / "here" / "report.html").exists()
    assert "schematics: 1 figure(s)" in err


def test_json(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, out, _ = call(capsys, "reproduce", "schematics", "--out", str(tmp_path), "--json")
    assert code == 0
    said = json.loads(out)
    assert said["report"] == str(tmp_path / "report.html")
    assert len(said["summary"]) == 5
    assert said["verdicts"] == {}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["regrets"], "unknown figure 'regrets': did you mean 'regret'?"),
        (["--quick", "--full"], "--quick and --full exclude each other"),
        (["schematics", "--workers", "-1"], "workers"),
    ],
)
def test_bad_input_is_one_sentence_and_writes_nothing(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, arguments: list[str], message: str
) -> None:
    target = tmp_path / "out"
    code, out, err = call(capsys, "reproduce", *arguments, "--out", str(target))
    assert code == 2
    assert out == ""
    assert message in err
    assert len(err.strip().splitlines()) == 1
    assert not target.exists()


def test_help_names_every_figure_and_loads_nothing_heavy() -> None:
    code = (
        "import sys\nfrom steering.cli import main\n"
        "try:\n    main(['reproduce', '--help'])\nexcept SystemExit:\n    pass\n"
        "print(sorted(set(sys.modules) & {'numba', 'matplotlib', 'pandas'}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.strip().endswith("[]")
    for word in ("dense_sparse", "bayesian", "--full", "steering reproduce all --quick"):
        assert word in done.stdout
