"""Code in the README and in the pages runs, commands in them work, links lead somewhere, and so do the examples."""

from __future__ import annotations

import doctest
import os
import re
import runpy
import shlex
from pathlib import Path

import pytest

from steering.cli import main

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / name
    for name in (
        "README.md",
        "docs/index.md",
        "docs/quickstart.md",
        "docs/agents.md",
        "docs/architecture.md",
        "docs/method.md",
        "docs/planning.md",
        "docs/reproduction.md",
        "docs/add_an_agent.md",
        "docs/add_an_environment.md",
        "docs/session.md",
        "docs/tutorial_maintenance.md",
    )
]
ALL_PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]
EXAMPLES = sorted(path for path in (ROOT / "examples").glob("*.py") if not path.name.startswith("stein_"))
WITHOUT_CODE = {"index.md"}


def blocks(page: Path) -> list[tuple[str, str]]:
    """Language and text of every fenced block, in order."""
    return [(language, text) for language, _, text in titled_blocks(page)]


def titled_blocks(page: Path) -> list[tuple[str, str, str]]:
    """Language, title (the name of a file) and text of every fenced block, in order."""
    fenced = r"^```(\w+)(?: title=\"([\w.]+)\")?\n(.*?)^```"
    return re.findall(fenced, page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_code_of_a_page_runs(
    page: Path, own_code: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(own_code)
    names: dict[str, object] = {"__name__": "__main__"}
    ran = 0
    for language, title, text in titled_blocks(page):
        if title:
            (own_code / title).write_text(text, encoding="utf-8")
        elif language == "sh":
            for line in text.splitlines():
                run_command(line)
                ran += 1
        elif language == "python":
            run_python(text, names, page.name)
            ran += 1
    assert (ran == 0) == (page.name in WITHOUT_CODE)


def run_command(line: str) -> None:
    program, *arguments = shlex.split(line)
    assert program == "steering", line
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 0, line


def run_python(text: str, names: dict[str, object], page: str) -> None:
    if ">>>" not in text:
        exec(compile(text, page, "exec"), names)
        return
    test = doctest.DocTestParser().get_doctest(text, names, page, page, 0)
    report: list[str] = []
    result = doctest.DocTestRunner().run(test, out=report.append, clear_globs=False)
    assert result.failed == 0, "".join(report)
    assert result.attempted > 0
    names.update(test.globs)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs(
    example: Path, own_code: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(own_code)
    runpy.run_path(str(example), run_name="__main__")
    assert capsys.readouterr().out.strip()


def test_there_are_examples() -> None:
    assert len(EXAMPLES) >= 4


@pytest.mark.parametrize("page", ALL_PAGES, ids=lambda page: page.name)
def test_links_lead_to_files(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#\s]+)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_the_guides_are_as_short_as_they_say() -> None:
    """A complete own agent and its sweep; the same for an environment."""
    for page, lines in (("add_an_agent", 25), ("add_an_environment", 35)):
        files = [text for _, title, text in titled_blocks(ROOT / f"docs/{page}.md") if title]
        assert len(files) == 2
        assert sum(bool(line.strip()) for text in files for line in text.splitlines()) <= lines


def test_examples_can_be_imported_by_their_commands(
    own_code: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("own_agent", "own_environment"):
        (own_code / f"{name}.py").write_text((ROOT / f"examples/{name}.py").read_text())
    monkeypatch.chdir(own_code)
    run_command("steering agents --import own_agent")
    assert "count_bonus" in capsys.readouterr().out
    run_command("steering agents count_bonus --import own_agent")
    shown = capsys.readouterr().out
    assert shown.startswith("count_bonus: The belief, acting and observing are inherited; only the plan is new.")
    assert "Reward of trying a pair for the first time." in shown
    options = "-t 20 -k 1 --import own_agent --import own_environment"
    run_command(f"steering run machine:4 -a count_bonus:bonus=0.2 {options}")


def test_the_readme_shows_what_the_makefile_runs() -> None:
    readme, makefile = ((ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "Makefile"))
    command = re.search(r"steering run deepsea:8(.*?)--out", makefile, flags=re.DOTALL)
    assert command is not None
    agents = re.findall(r"--agent (\S+)", command.group(1))
    table = next(text for language, text in blocks(ROOT / "README.md") if language == "text")
    shown = re.findall(r"^│ (\S+)", table, flags=re.MULTILINE)
    assert shown == agents
    assert os.path.getsize(ROOT / "docs" / "figures" / "deepsea8.png") < 100_000
    assert "make run" in readme
    assert "make test" in readme


def test_cluster_jobs_run_every_part() -> None:
    """Ids of the array, completions and the number of parts agree, and a step of SLURM gets the cores of its job."""
    codes = blocks(ROOT / "docs/clusters.md")
    (slurm,) = (code for _, code in codes if "#SBATCH" in code)
    (pods,) = (code for language, code in codes if language == "yaml")
    (last,) = re.findall(r"#SBATCH --array=0-(\d+)\n", slurm)
    assert re.findall(r"--part auto/(\d+)", slurm) == [str(int(last) + 1)]
    assert 'srun --cpus-per-task="$SLURM_CPUS_PER_TASK"' in slurm  # not inherited from the job since SLURM 22.05
    assert re.findall(r"--part, auto/(\d+)", pods) == re.findall(r"completions: (\d+)\n", pods) != []
