"""The documentation site builds without a warning, its links lead somewhere, and a reader's browser fetches nothing."""

from __future__ import annotations

import importlib
import inspect
import os
import re
import runpy
import subprocess
import sys
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urldefrag

import pytest

ROOT = Path(__file__).parents[2]
TOOLS = ROOT / "docs" / "_site"
PACKAGES = ["steering"] + [
    f"steering.{name}" for name in ("agents", "beliefs", "envs", "mdp", "paper", "runs", "session", "stein", "sweeps")
]
# Attributes with which a page makes a browser fetch something at once.
FETCHES = {("script", "src"), ("img", "src"), ("iframe", "src"), ("link", "href"), ("source", "src")}


@dataclass
class PageReader(HTMLParser):
    """What a page links to, fetches and can be linked at, and its text outside code."""

    ids: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)
    fetched: list[str] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    text: list[str] = field(default_factory=list)
    inside: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag in ("code", "pre", "script", "style"):
            self.inside.append(tag)
        for name, value in attrs:
            if name == "id" and value:
                self.ids.add(value)
            elif (tag, name) in FETCHES and value:
                self.fetched.append(value)
            elif (tag, name) == ("a", "href") and value:
                self.links.append(value)

    def handle_endtag(self, tag: str) -> None:
        if self.inside and self.inside[-1] == tag:
            self.inside.pop()

    def handle_data(self, data: str) -> None:
        if not self.inside:
            self.text.append(data)


def read_pages(site: Path) -> dict[Path, PageReader]:
    pages = {}
    for path in sorted(site.rglob("*.html")):
        reader = PageReader()
        reader.feed(path.read_text(encoding="utf-8"))
        pages[path.resolve()] = reader
    return pages


def broken_links(pages: dict[Path, PageReader]) -> list[str]:
    """Links and fetched files within the site that lead nowhere."""
    broken = []
    for path, reader in pages.items():
        if path.name == "404.html":  # written for the root of a server
            continue
        for target in reader.links + reader.fetched:
            if re.match(r"\w+:", target):
                continue
            address, anchor = urldefrag(target)
            goal = (path.parent / unquote(address)).resolve() if address else path
            missing = not goal.is_file() or (anchor and goal in pages and unquote(anchor) not in pages[goal].ids)
            if missing:
                broken.append(f"{path.name}: {target}")
    return broken


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The site and what the builder said; whatever asked for the network would meet a closed door."""
    site = tmp_path_factory.mktemp("site")
    closed = dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), "http://127.0.0.1:9")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(site)],
        cwd=ROOT,
        env={**os.environ, **closed},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    return site, said


@pytest.fixture(scope="module")
def pages(built: tuple[Path, str]) -> dict[Path, PageReader]:
    return read_pages(built[0])


def test_builds_without_a_warning(built: tuple[Path, str]) -> None:
    site, said = built
    assert not re.search("warning|error", said, flags=re.IGNORECASE)
    for page in ROOT.glob("docs/**/*.md"):
        assert (site / page.relative_to(ROOT / "docs")).with_suffix(".html").is_file()


def test_links_within_the_site_lead_somewhere(pages: dict[Path, PageReader]) -> None:
    assert sum(len(reader.links) for reader in pages.values()) > 500
    assert broken_links(pages) == []


def test_a_broken_link_would_be_seen(tmp_path: Path) -> None:
    (tmp_path / "one.html").write_text('<a href="two.html#there">x</a> <a href="two.html#gone">x</a> <a id="own">x</a>')
    (tmp_path / "two.html").write_text(
        '<b id="there"></b><a href="none.html">x</a><img src="no.png"><a href="#own">x</a>'
    )
    assert broken_links(read_pages(tmp_path)) == [
        "one.html: two.html#gone",
        "two.html: none.html",
        "two.html: #own",
        "two.html: no.png",
    ]


def test_nothing_is_fetched_from_elsewhere(built: tuple[Path, str], pages: dict[Path, PageReader]) -> None:
    elsewhere = re.compile(r"(\w+:)?//")
    for path, reader in pages.items():
        assert [target for target in reader.fetched if elsewhere.match(target)] == [], path.name
    for sheet in built[0].rglob("*.css"):
        text = sheet.read_text(encoding="utf-8")
        assert not re.search(r"(url\(|@import)\s*[\"']?(https?:)?//", text), sheet.name


def test_formulas_are_drawn_by_the_browser_itself(pages: dict[Path, PageReader]) -> None:
    drawn = {path.name: reader.tags.count("math") for path, reader in pages.items()}
    assert drawn["method.html"] > 60
    assert drawn["mdp.html"] > 30
    for path, reader in pages.items():
        text = " ".join(reader.text)
        left = re.findall(r"\\[a-zA-Z(\[]\w*|\$\$|:math:|\.\. math|(?:\w|^)::$", text, flags=re.MULTILINE)
        assert left == [], f"{path.name} shows {left[0]}"


def test_every_page_has_one_title(pages: dict[Path, PageReader]) -> None:
    for path, reader in pages.items():
        if path.name != "404.html":
            assert reader.tags.count("h1") == 1, path.name


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_name_is_in_the_reference(package: str, pages: dict[Path, PageReader]) -> None:
    documented = set().union(*(reader.ids for path, reader in pages.items() if path.parent.name == "api"))
    module = importlib.import_module(package)
    names = [
        name for name in module.__all__ if inspect.isclass(getattr(module, name)) or callable(getattr(module, name))
    ]
    assert names
    missing = [name for name in names if f"{getattr(module, name).__module__}.{name}" not in documented]
    assert missing == []


def test_every_agent_and_its_options_are_in_the_reference(pages: dict[Path, PageReader]) -> None:
    from steering.agents.registry import AGENTS

    documented = set().union(*(reader.ids for reader in pages.values()))
    for entry in AGENTS.values():
        for kind in (entry.kind, entry.options):
            assert f"{kind.__module__}.{kind.__name__}" in documented


def test_pages_that_were_written_are_found_from_the_first_page(built: tuple[Path, str]) -> None:
    pages = read_pages(built[0])
    start = (built[0] / "index.html").resolve()
    reached, waiting = {start}, [start]
    while waiting:
        path = waiting.pop()
        for target in pages[path].links:
            goal = (path.parent / urldefrag(target)[0]).resolve()
            if goal in pages and goal not in reached:
                reached.add(goal)
                waiting.append(goal)
    assert {path.name for path in pages.keys() - reached} == {"404.html"}


def test_the_architecture_page_names_every_folder() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    folders = {path.parent.name for path in (ROOT / "src" / "steering").glob("*/__init__.py")}
    assert len(folders) >= 9
    assert [name for name in sorted(folders) if f"`{name}/`" not in text] == []


def test_the_architecture_page_draws_the_layers_that_are_checked() -> None:
    rules = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]
    drawn = [f"    {layer.replace('steering.', '')}\n" for layer in rules[0]["layers"]]
    assert "".join(drawn) in (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")


def test_no_page_waits_for_its_numbers() -> None:
    for page in [ROOT / "README.md", *ROOT.glob("docs/**/*.md")]:
        left = re.findall(
            r"^[A-Z_]{4,}$|\b(?:TODO|TBD|FIXME|XXX)\b", page.read_text(encoding="utf-8"), flags=re.MULTILINE
        )
        assert left == [], f"{page.name} still says {left[0]}"


# The tools that build it ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def to_mathml() -> Callable[[str], str]:
    hooks = runpy.run_path(str(TOOLS / "hooks.py"))

    class File:
        src_uri = "page.md"

    class Page:
        file = File

    def convert(content: str) -> str:
        text: str = hooks["on_page_content"](content, page=Page, config=None, files=None)
        return text

    return convert


def test_a_formula_becomes_mathml(to_mathml: Callable[[str], str]) -> None:
    inline = to_mathml(r'<p>so <span class="arithmatex">\(a &lt; \frac{1}{2}\)</span> holds</p>')
    assert inline.startswith("<p>so <math")
    assert "<mfrac>" in inline
    assert inline.endswith("</math> holds</p>")
    block = to_mathml('<div class="arithmatex">\\[\nx^2\n\\]</div>')
    assert '<div class="formula"><math' in block
    assert 'display="block"' in block


def test_a_misspelt_command_stops_the_build(to_mathml: Callable[[str], str]) -> None:
    from mkdocs.exceptions import PluginError

    with pytest.raises(PluginError, match=r"page\.md: the formula .*\\farc"):
        to_mathml(r'<span class="arithmatex">\(\farc{1}{2}\)</span>')


def test_marks_in_docstrings_become_markdown() -> None:
    convert: Any = runpy.run_path(str(TOOLS / "docstrings.py"))["to_markdown"]
    assert convert("with :math:`V =\n  L V` and `code`") == "with $V = L V$ and `code`"
    assert convert("One.\n\n.. math:: a \\le\n    b,\n\nso") == "One.\n\n$$\na \\le b,\n$$\n\nso"
    assert convert("As follows::\n\n    x") == "As follows:\n\n    x"
    table = "===  ===\na    b\n===  ===\n1    2\n===  ==="
    assert convert(f"Table:\n\n{table}\n\nend").splitlines()[2:7] == ["    " + line for line in table.splitlines()]
