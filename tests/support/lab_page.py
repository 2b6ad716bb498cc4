"""What tests of the lab's page share: pressing, reading and scrubbing it, and serving it on a free port."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn
from browser import Browser

from steering.lab.journal import SessionLab
from steering.lab.server import Lab, application, bound

EVIL = "<img src=x onerror=alert(1)></script><script>alert(2)</script>"
SETTLE = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 20))))"
WIDE = """[...document.querySelectorAll("main *")].filter((e) =>
  !e.closest(".wide") && e.getBoundingClientRect().right > innerWidth + 1).length"""


def click(browser: Browser, name: str) -> None:
    browser.run(f"document.getElementById('{name}').click()")
    browser.run(SETTLE)


def text(browser: Browser, name: str) -> str:
    return str(browser.run(f"document.getElementById('{name}').textContent"))


def scrub(browser: Browser, t: int) -> None:
    slider = "document.getElementById('time')"
    browser.run(f"{slider}.value = {t}; {slider}.dispatchEvent(new Event('input'))")
    browser.run(SETTLE)


def pause(browser: Browser) -> None:
    if "pause" in text(browser, "play"):
        click(browser, "play")


def pick(browser: Browser, name: str) -> None:
    """Look at a state, by its name or number."""
    field = "((w, n) => { w.value = n; w.dispatchEvent(new Event('change')); })"
    browser.run(f"{field}(document.getElementById('which'), {json.dumps(name)})")
    browser.run(SETTLE)


def fits(browser: Browser, width: int) -> bool:
    """Whether nothing is wider than the window."""
    return bool(browser.run("document.documentElement.scrollWidth") <= width and browser.run(WIDE) == 0)


@contextmanager
def serving(lab: Lab | SessionLab) -> Iterator[str]:
    """Address of a lab that answers in a thread."""
    listening = bound(0)
    server = uvicorn.Server(uvicorn.Config(application(lab, 50.0), log_level="error", lifespan="off"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{listening.getsockname()[1]}/"
    server.should_exit = True
    thread.join(10)
    lab.stop()
