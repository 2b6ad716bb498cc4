"""`results.animate()`: where an agent was and what it did most, window by window, as a GIF or a page.

A frame is the map of the environment. The darker a state, the more visits it had in the window; an arrow points where
the action that was taken most often there most likely leads.
"""

from __future__ import annotations

import base64
import html
import io
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from steering._checks import whole
from steering._files import refusing_places, write_atomically
from steering.envs import make_env
from steering.envs.drawing import picture
from steering.envs.layout import layout_of
from steering.envs.plotting import likely_moves
from steering.errors import NotAvailable

if TYPE_CHECKING:
    from steering.runs.comparison import Comparison
    from steering.runs.results import RunResults

WIDE, MOST_CELL, LEAST_CELL = 480, 40, 4
"""Pixels of a frame across, about, and of a cell."""
LINE = 22
"""Pixels of the line of text below the map."""
FORMATS = (".gif", ".html")
GAP = 24
"""Pixels between the maps of two agents."""


@dataclass(frozen=True)
class Animation:
    """Frames with a line of text each; shows itself in a notebook."""

    title: str
    frames: tuple[NDArray[np.uint8], ...]
    lines: tuple[str, ...]
    milliseconds: int = 400

    def __repr__(self) -> str:
        height, width = self.frames[0].shape[:2]
        return f"Animation: {self.title}, {len(self.frames)} frames of {width} x {height} pixels; save('run.gif')"

    def gif(self) -> bytes:
        """The file: the last frame stays longer, then it begins again."""
        from PIL import Image, ImageDraw

        made = []
        for frame, line in zip(self.frames, self.lines, strict=True):
            height, width = frame.shape[:2]
            image = Image.new("RGB", (max(width, 7 * len(line) + 12), height + LINE), "white")
            image.paste(Image.fromarray(frame), (0, 0))
            ImageDraw.Draw(image).text((6, height + 5), line, fill=(30, 30, 30))
            made.append(image.quantize(64))
        times = [self.milliseconds] * (len(made) - 1) + [4 * self.milliseconds]
        content = io.BytesIO()
        made[0].save(content, "GIF", save_all=True, append_images=made[1:], duration=times, loop=0)
        return content.getvalue()

    def _repr_html_(self) -> str:
        data = base64.b64encode(self.gif()).decode()
        return f'<img alt="{html.escape(self.title)}" src="data:image/gif;base64,{data}">'

    def save(self, path: str | Path) -> Path:
        """Write a .gif, or a .html page that holds it."""
        target = Path(path)
        kind = target.suffix.lower()
        if kind not in FORMATS:
            raise NotAvailable(f"animations cannot be written as '{target.suffix}'; use .gif or .html.")
        head = f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{html.escape(self.title)}</title>'
        page = f"{head}<h1>{html.escape(self.title)}</h1>{self._repr_html_()}</html>" if kind == ".html" else ""
        content = page.encode() if page else self.gif()
        with refusing_places(target):
            write_atomically(target, content)
        return target


def animate(results: RunResults, *, seed: int | None = None, milliseconds: int = 400) -> Animation:
    """Frames of one seed of a run; see `RunResults.animate`."""
    chosen = results.seeds[0] if seed is None else seed
    if chosen not in results.seeds:
        known = ", ".join(str(one) for one in results.seeds[:10])
        raise NotAvailable(f"seed {chosen} is not among these runs; there are: {known}.")
    environment = make_env(results.environment)
    mdp, place = environment.table, layout_of(environment)
    visits = np.asarray(results.visits[results.seeds.index(chosen)])
    across = place.width if place.kind != "graph" else 3 * np.sqrt(mdp.n_states)
    cell = int(np.clip(WIDE / across, LEAST_CELL, MOST_CELL))
    frames, lines = [], []
    for window, counts in enumerate(visits):
        policy = np.where(counts.sum(axis=1) > 0, counts.argmax(axis=1), -1)
        moves = likely_moves(mdp, policy)
        frames.append(picture(mdp, counts.sum(axis=1), cell=cell, layout=place, moves=moves))
        begin, end = int(results.windows[window]) + 1, int(results.windows[window + 1])
        reward = float(results.rewards[results.seeds.index(chosen), begin - 1 : end].mean())
        lines.append(f"steps {begin} to {end}, mean reward {reward:.3g}")
    title = f"{results.agent} on {results.environment}, seed {chosen}"
    return Animation(title, tuple(frames), tuple(lines), whole("milliseconds", milliseconds, 20))


def animate_together(results: Comparison, *, seed: int | None = None, milliseconds: int = 400) -> Animation:
    """Frames of several agents side by side under one seed; see `Comparison.animate`."""
    seeds = [one.seeds for one in results]
    shared = [s for s in seeds[0] if all(s in other for other in seeds)]
    if not shared or (seed is not None and seed not in shared):
        known = ", ".join(map(str, shared[:10])) or "none; animate one agent, as in results[0].animate()"
        which = "a seed" if seed is None else f"seed {seed}"
        raise NotAvailable(f"{which} that all agents have is needed; there are: {known}.")
    if len({tuple(one.windows) for one in results}) > 1:
        raise NotAvailable("these runs have different windows; animate one agent, as in results[0].animate().")
    chosen = shared[0] if seed is None else seed
    made = [animate(one, seed=chosen, milliseconds=milliseconds) for one in results]
    gap = np.full((made[0].frames[0].shape[0], GAP, 3), 255, dtype=np.uint8)
    frames, lines = [], []
    for number, all_of in enumerate(zip(*(one.frames for one in made), strict=True)):
        parts = [part for frame in all_of for part in (frame, gap)][:-1]
        frames.append(np.concatenate(parts, axis=1))
        steps = made[0].lines[number].partition(",")[0]
        rewards = (
            f"{run.agent} {one.lines[number].rpartition(' ')[2]}" for run, one in zip(results, made, strict=True)
        )
        lines.append(f"{steps}, mean reward: {', '.join(rewards)}")
    title = f"{', '.join(results.agents)} (left to right) on {results.environment}, seed {chosen}"
    return Animation(title, tuple(frames), tuple(lines), made[0].milliseconds)
