"""`steering reproduce` as a command: names, sizes, what it prints, what it refuses."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from steering.cli import main
from steering.cli.reproduce import _complete


def call(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    printed = capsys.readouterr()
    return int(stop.value.code or 0), printed.out, printed.err


def test_it_ends_with_the_answer_and_the_path_of_the_report(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, err = call(capsys, "reproduce", "schematics", "concept", "--quick", "--out", "here")
    assert code == 0
    lines = out.strip().splitlines()
    assert lines[-1] == "report: here/report.html"
    # Three answers where Figure 3 was run, and two lines of counts.
    assert lines[-4].endswith("this directory has no runs of Figure 3 (steering reproduce fig3).")
    assert lines[-3].startswith("0 claims about STEERING (quick: 4 to 6 seeds")
    assert lines[-2] == "0 claims about other algorithms"
    assert (tmp_path / "here" / "report.html").exists()
    assert "schematics: 2 figure(s)" in err


def test_json(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, out, _ = call(capsys, "reproduce", "schematics", "--out", str(tmp_path), "--json")
    assert code == 0
    said = json.loads(out)
    assert said["report"] == str(tmp_path / "report.html")
    assert len(said["summary"]) == 3
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


@pytest.mark.parametrize("place", ["file", "file/inside"])
def test_a_directory_that_cannot_be_is_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path, place: str) -> None:
    (tmp_path / "file").write_text("not a directory", encoding="utf-8")
    code, out, err = call(capsys, "reproduce", "schematics", "--out", str(tmp_path / place))
    assert (code, out) == (2, "")
    assert re.fullmatch(r"error: the directory .+ cannot be made \(.+\); give another directory\.\n", err)


def test_each_size_has_its_own_directory(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for size in ("quick", "full"):
        code, out, _ = call(capsys, "reproduce", "schematics", f"--{size}")
        assert code == 0
        assert out.endswith(f"report: results/reproduction-{size}/report.html\n")
    code, _, err = call(capsys, "reproduce", "schematics", "--quick", "--out", "results/reproduction-full")
    assert code == 2
    assert "another size or version (full" in err


def test_ctrl_c_keeps_what_is_finished(tmp_path: Path) -> None:
    """A real process and a real signal: code 130, and the second start computes the rest only."""
    command = [sys.executable, "-m", "steering.cli", "reproduce", "psrl_sparsity", "--out", str(tmp_path / "out")]
    process = subprocess.Popen([*command, "--workers", "1"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    shards = tmp_path / "out" / "runs" / "shards"
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and not any(shards.glob("cells-*")):  # whole ones, not one that is being written
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    if process.returncode != 0:  # it may have been just finished
        assert process.returncode == 130
        assert "Start again to continue" in err
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    computed = int(re.search(r"48 runs ready \((\d+) computed now\)", done.stderr)[1])
    assert computed < 48
    assert "2 claims about other algorithms" in done.stdout


def test_names_of_the_paper_and_verdicts_again(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, out, _ = call(capsys, "reproduce", "fig4", "fig1", "--out", str(tmp_path))
    assert code == 0
    assert {path.stem for path in (tmp_path / "figures").iterdir()} == {
        "schematics_deepsea",
        "schematics_widenarrow",
        "concept",
    }
    code, again, _ = call(capsys, "reproduce", "--verdicts", str(tmp_path))
    assert code == 0
    assert again.splitlines()[:3] == out.splitlines()[1:4]
    assert again.endswith(f"judged again from {tmp_path / 'data'}: all as in numbers.json\n")
    code, out, _ = call(capsys, "reproduce", "--verdicts", str(tmp_path), "--json")
    assert json.loads(out)["verdicts"] == {}
    code, _, err = call(capsys, "reproduce", "--verdicts", str(tmp_path / "nowhere"))
    assert code == 2
    assert "give the directory of a finished reproduction" in err


def test_names_are_completed() -> None:
    assert _complete("ps") == ["psrl_sparsity"]
    assert _complete("a") == ["all"]
    assert _complete("fig2") == ["fig2", "fig20", "fig21", "fig22", "fig2a", "fig2b", "fig2c"]


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
