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
from steering.errors import InvalidOption, NotAvailable


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


def test_agents_side_by_side_under_one_seed(tmp_path: Path) -> None:
    both = steering.run("deepsea:5", ["psrl", "q_learning"], steps=100, seeds=[3, 4], windows=5)
    made = both.animate(tmp_path / "both.gif", seed=4)
    own = [one.animate(seed=4) for one in both]
    for number, frame in enumerate(made.frames):
        wide = own[0].frames[number].shape[1]
        np.testing.assert_array_equal(frame[:, :wide], own[0].frames[number])
        np.testing.assert_array_equal(frame[:, -wide:], own[1].frames[number])
    means = [one.rewards[1, :20].mean() for one in both]
    assert made.lines[0] == f"steps 1 to 20, mean reward: psrl {means[0]:.3g}, q_learning {means[1]:.3g}"
    assert (tmp_path / "both.gif").read_bytes() == made.gif()
    with pytest.raises(NotAvailable, match="seed 5 that all agents have is needed; there are: 3, 4"):
        both.animate(seed=5)
    other = steering.Comparison([both[0], steering.run("deepsea:5", "ube", steps=100, seeds=[9])])
    with pytest.raises(NotAvailable, match=r"there are: none; animate one agent, as in results\[0\].animate"):
        other.animate()


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


def test_a_place_that_is_none_is_said(tmp_path: Path) -> None:
    results = steering.run("deepsea:4", "psrl", steps=50, seeds=1, windows=2)
    mdp = steering.make_env("deepsea:4").table
    (tmp_path / "file").touch()
    for folder, why in (("missing", "No such file or directory"), ("file", "Not a directory")):
        for write, name in ((results.animate, "run.gif"), (results.plot, "run.png"), (mdp.plot, "map.png")):
            with pytest.raises(InvalidOption, match=f"^cannot write '.*{name}': {why}; give another place.$"):
                write(path=tmp_path / folder / name)
