"""STEERING's default against every rival, in tasks that it was not made on: where is it better, tied or worse?"""

from __future__ import annotations

from steering.paper.chapter import Study
from steering.paper.chapters.default.figures import figures
from steering.paper.chapters.default.page import page, summary
from steering.paper.chapters.default.stages import DEV, all_blocks, design, run_stages
from steering.paper.chapters.default.verdicts import tables

STUDY = Study(
    name="default",
    title="The default against every rival, as published, at one setting, and tuned in every task",
    file="study",
    stages=(DEV,),
    blocks=all_blocks,
    runs=run_stages,
    answer=lambda runs, wish: tables(runs, design(wish)),
    page=page,
    summary=summary,
    figures=figures,
)
