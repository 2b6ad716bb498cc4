"""The lab in a real Chromium: how soon the picture moves, frames a second, and how long a scrub takes.

CPU seconds are those of the command; the browser is open already, as a reader's is. A frame is counted when the page
had its turn to draw (`requestAnimationFrame`) while it plays so fast that every frame differs; *busy* is the part of a
frame in which scripts of the page ran.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))
from browser import Browser

AGENTS = ("--agent", "steering", "--agent", "psrl")
LARGE = ("--agent", "steering", "--agent", "q_learning")
"""PSRL draws 400 million numbers for each plan in 10,000 states: the page does not wait for it, but this would."""
MAPS = "[...document.querySelectorAll('#maps canvas')].map((c) => c.toDataURL()).join()"
WATCH = """(() => { if (window.busy) return; window.busy = []; window.changes = 0; let shown = null;
  const ask = window.requestAnimationFrame.bind(window);
  window.requestAnimationFrame = (work) => ask((now) => { if (work.name !== 'frame') return work(now);
    const begin = performance.now(); work(now);
    busy.push(performance.now() - begin);
    const t = document.getElementById('now').textContent; if (t !== shown) { shown = t; changes++; } }); })()"""
COUNT = """new Promise((done) => { const from = busy.length, shown = changes, begin = performance.now();
  setTimeout(() => { const spent = (performance.now() - begin) / 1000;
    done([(busy.length - from) / spent, (changes - shown) / spent, busy.slice(from)]); }, 4000); })"""
SCRUB = """((t) => new Promise((done) => { const s = document.getElementById('time'), begin = performance.now();
  s.value = t; s.dispatchEvent(new Event('input'));
  const wait = (n) => requestAnimationFrame(() => n > 1 || busy.length < 2 ? wait(n - 1)
    : done([performance.now() - begin, busy.at(-1) + busy.at(-2)]));
  wait(2);
  }))(%d)"""
SPEED = "(() => { const s = document.getElementById('speed'); s.value = %d; s.dispatchEvent(new Event('input')); })()"
PAUSE = "document.getElementById('play').textContent.includes('pause') && document.getElementById('play').click()"
PLAY = "document.getElementById('play').textContent.includes('play') && document.getElementById('play').click()"


@contextmanager
def served(*arguments: str) -> Iterator[tuple[str, int, float]]:
    """Address and process of `steering lab`, and when it was started."""
    command = [sys.executable, "-m", "steering.cli", "lab", *arguments, "--port", "0", "--no-browser"]
    begin = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        address = next(word for word in process.stdout.readline().split() if word.startswith("http")).rstrip(";")
        try:
            yield address, process.pid, begin
        finally:
            process.terminate()


def cpu(process: int) -> float:
    """CPU seconds of a process so far (Linux)."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def row(case: str, number: float, unit: str, target: str = "", more: str = "") -> dict[str, Any]:
    return {
        "case": case,
        "measured": f"{number:.3g} {unit}",
        "more": more,
        "load": os.getloadavg()[0],
        "target": target,
    }


def start(browser: Browser) -> list[dict[str, Any]]:
    """From the command to a picture that has changed, three times, with functions that were compiled before."""
    rows = []
    for number in range(4):
        with served("deepsea:8", *AGENTS) as (address, process, begin):
            told = time.perf_counter() - begin
            browser.call("Page.navigate", url=address)
            seen: set[str] = set()
            while len(seen) < 3:  # nothing, the first picture, the next one
                seen.add(browser.run(MAPS))
                time.sleep(0.01)
            spent, used = time.perf_counter() - begin, cpu(process)
        if number:  # the first one may compile
            more = f"address after {told:.2g} s; {used:.2g} s of CPU"
            rows.append(row("from the command to a moving picture", spent, "s", verdict(spent < 5, "under 5 s"), more))
    return rows


def play(browser: Browser, address: str, case: str, least: float) -> list[dict[str, Any]]:
    """Frames a second while it plays, with arrows and with the colour that costs most."""
    browser.open(address)
    browser.run(SPEED % 60)
    browser.until("Number(document.getElementById('now').textContent) > 0")
    browser.run(WATCH)
    browser.run(PLAY)
    rate, changed, busy = browser.run(COUNT)
    middle, worst = np.median(busy), np.quantile(busy, 0.99)
    more = f"{changed:.0f} differ; busy {middle:.2g} ms, 99 % below {worst:.2g} ms"
    # A screen of 60 Hz gives 59.9 or so.
    return [row(f"{case}, frames", rate, "a second", verdict(min(rate, changed) > 0.97 * least, f"{least:g}"), more)]


def scrub(browser: Browser, address: str, case: str, steps: int) -> list[dict[str, Any]]:
    """Time from moving the slider, far forth and back, to the picture."""
    browser.open(address)
    browser.run(WATCH)
    browser.run(PAUSE)
    browser.run(SCRUB % 1)
    times = np.random.default_rng(0).integers(0, steps, 60)
    found = np.array([browser.run(SCRUB % t) for t in times])
    more = f"worst {found[:, 0].max():.0f} ms; busy {np.median(found[:, 1]):.2g} ms, worst {found[:, 1].max():.2g} ms"
    middle = float(np.median(found[:, 0]))
    return [row(f"{case}, a scrub over {steps} steps", middle, "ms", verdict(middle < 100, "under 100 ms"), more)]


def verdict(met: bool, words: str) -> str:
    return f"{words}: {'met' if met else 'MISSED'}"


def main() -> list[dict[str, Any]]:
    """All rows of the table."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        browser = Browser(Path(folder) / "profile")
        try:
            rows += start(browser)
            for world, agents, states, least in (("maze:10", AGENTS, 100, 60.0), ("maze:100", LARGE, 10_000, 15.0)):
                with served(world, *agents) as (address, _, _):
                    rows += play(browser, address, f"{states} states, live", least)
                page = Path(folder) / "page.html"
                command = [sys.executable, "-m", "steering.cli", "lab", world, *agents, "--export", str(page)]
                subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
                size = page.stat().st_size / 1e6
                rows.append(row(f"{states} states, size of the page", size, "MB", verdict(size < 3, "under 3 MB")))
                rows += play(browser, page.as_uri(), f"{states} states, exported", least)
                rows += scrub(browser, page.as_uri(), f"{states} states, exported", 5000)
        finally:
            browser.close()
    return rows
