"""What a report rests on: the three STEERINGs with all their options, every run, sizes, versions, machine, time."""

from __future__ import annotations

import dataclasses
import platform
import re
from collections.abc import Sequence
from importlib.metadata import version
from typing import TYPE_CHECKING

from steering._version import __version__
from steering.agents import make_agent
from steering.paper import looks
from steering.paper.chapter import Chapter
from steering.paper.scale import VARIANTS, Scale

if TYPE_CHECKING:
    from steering.paper.run import Reproduction

PACKAGES = ("numpy", "scipy", "numba", "pandas", "pyarrow", "matplotlib", "gymnasium")

WORDS = {
    "sound": "the paper with an operator that vanishes when it should, planned in the posterior mean",
    "literal": "the paper as it reads: difference operator, one sampled model, its selection feeds the posterior",
}


def size_words(scale: Scale) -> str:
    """How small the runs of a report are, from the smallest figure to the largest."""
    seeds = sorted((scale.seeds, scale.posterior_seeds, scale.trace_seeds))
    count = f"{seeds[0]} to {seeds[-1]}" if seeds[0] < seeds[-1] else f"{seeds[0]}"
    return f"{scale.name}: {count} seeds, {scale.mdps} MDPs for Bayesian regret; every figure says its own"


def variants_rows() -> list[tuple[str, str]]:
    """The three STEERINGs: name in the claims, and the agent with what it is."""
    words = {**WORDS, "default": f"ours; unlike the paper made sound it has {differences('default', 'sound')}"}
    return [(variant, f"{agent} ({looks.label(agent)}): {words[variant]}") for variant, agent in VARIANTS.items()]


def differences(one: str, other: str) -> str:
    """Options of one STEERING that another has otherwise."""
    own, theirs = (dataclasses.asdict(make_agent(VARIANTS[name]).options) for name in (one, other))
    return ", ".join(f"{name}={own[name]}" for name in own if own[name] != theirs[name] and name != "preset")


def settings_rows(result: Reproduction) -> list[tuple[str, str]]:
    """Everything that is needed to run it again, and what it took."""
    scale = result.scale
    return [
        *((f"options of {variant}", options_text(agent)) for variant, agent in VARIANTS.items()),
        *((f"runs: {part.chapter.name}", runs_text(part.chapter, scale)) for part in result.chapters),
        ("size", f"{scale.name}: {scale.seeds} seeds of {scale.steps} steps ({scale.prior_steps} for prior beliefs)"),
        ("beliefs about Q", f"{scale.posterior_seeds} seeds"),
        ("traced runs", f"{scale.trace_seeds} seeds (figure of the DSD: at most 5, as in the paper)"),
        ("Bayesian regret", f"{scale.mdps} MDPs from the prior, {scale.episodes} episodes each"),
        ("resampling", "fixed seeds everywhere"),
        ("number of runs", f"{result.cells}, of which {result.computed} were computed this time"),
        ("versions", f"steering {__version__}, " + ", ".join(f"{name} {version(name)}" for name in PACKAGES)),
        ("interpreter", f"Python {platform.python_version()}, {platform.system()} {platform.machine()}"),
        ("wall time", ", ".join(f"{stage} {seconds:.0f} s" for stage, seconds in result.seconds.items())),
    ]


def options_text(agent: str) -> str:
    """Every option of an agent with its value."""
    options = make_agent(agent).options
    return ", ".join(f"{field.name}={getattr(options, field.name)}" for field in dataclasses.fields(options))


def runs_text(chapter: Chapter, scale: Scale) -> str:
    """Environments, steps, seeds and agents of a chapter; MDPs that differ in their seed only are written once."""
    groups: dict[tuple[tuple[str, ...], tuple[str, ...], int], list[int]] = {}
    for block in chapter.needs(scale):
        environments = tuple(re.sub(r"seed=\d+", "seed=i", environment) for environment in block.environments)
        groups.setdefault((environments, block.agents, block.steps), []).extend(block.seeds)
    merged: dict[tuple[tuple[str, ...], int, str], list[str]] = {}
    for (environments, agents, steps), seeds in groups.items():
        merged.setdefault((agents, steps, _range(seeds)), []).extend(environments)
    return (
        "; ".join(
            f"{' | '.join(environments)} for {steps} steps, seeds i = {seeds}, agents {' | '.join(agents)}"
            for (agents, steps, seeds), environments in merged.items()
        )
        or "none of the sweep"
    )


def _range(seeds: Sequence[int]) -> str:
    return f"{min(seeds)} to {max(seeds)}"
