"""Studies: sweeps with a question, and the answer as a table. `steering study default` runs the one there is."""

from steering.paper.studies.design import Cell, Design, Family, default_design
from steering.paper.studies.run import run_study
from steering.paper.studies.verdicts import compare

__all__ = ["Cell", "Design", "Family", "compare", "default_design", "run_study"]
