"""STEERING's default against every baseline at its best setting: where is it better, tied or worse?"""

from __future__ import annotations

from steering.paper.chapter import Study
from steering.paper.chapters.default.design import default_design
from steering.paper.chapters.default.page import figures, markdown, summary
from steering.paper.chapters.default.tuning import run_design
from steering.paper.chapters.default.verdicts import compare

STUDY = Study(
    name="default",
    title="The default against every baseline, tuned in every task",
    file="study",
    runs=lambda run, quick: run_design(run, default_design(quick=quick)),
    answer=compare,
    page=markdown,
    summary=summary,
    figures=figures,
)
