"""`results.animate()`: the visits of the windows, readable files, one sentence where it cannot be."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import steering
from steering.envs.drawing import picture
from steering.envs.plotting import likely_moves
from steering.errors import NotAvailable


def test_frames_show_the_visits_and_actions_of_each_window() -> None:
    results = steering.run("deepsea:5", "psrl", steps=300, seeds=3, windows=6)
    made = results.animate(seed=2)
    assert len(made.frames) == len(made.lines) == 6
    assert made.lines[0].startswith("steps 1 to 50, mean reward ")
    mdp = steering.make_env("deepsea:5").table
    counts = results.visits[2, 3]
    policy = np.where(counts.sum(axis=1) > 0, counts.argmax(axis=1), -1)
    expected = picture(mdp, counts.sum(axis=1), cell=40, moves=likely_moves(mdp, policy))
    np.testing.assert_array_equal(made.frames[3], expected)
    assert repr(made).startswith("Animation: psrl on deepsea:5, seed 2, 6 frames of 200 x 40 pixels")


def test_files_are_gifs_and_pages(tmp_path: Path) -> None:
    results = steering.run("rooms:6", "psrl", steps=200, seeds=1, windows=4)
    results.animate(tmp_path / "run.gif", milliseconds=100)
    image = Image.open(io.BytesIO((tmp_path / "run.gif").read_bytes()))
    assert (image.format, image.n_frames) == ("GIF", 4)
    made = results.animate(tmp_path / "run.html")
    page = (tmp_path / "run.html").read_text(encoding="utf-8")
    assert made._repr_html_() in page
    assert page.count("<img") == 1
    assert made.gif() == results.animate().gif()
    with pytest.raises(NotAvailable, match=r"cannot be written as '.mp4'; use .gif or .html"):
        made.save(tmp_path / "run.mp4")
    with pytest.raises(NotAvailable, match="seed 7 is not among these runs; there are: 0"):
        results.animate(seed=7)
