"""Names of the chapters, for the command line: nothing heavy is loaded to know them."""

ALL = "all"
NAMES = (
    "concept",
    "schematics",
    "dense_sparse",
    "psrl_sparsity",
    "regret",
    "occupancy",
    "prior_belief",
    "environments",
    "q_posterior",
    "dsd",
    "rates",
    "bounds",
    "weight",
    "bayesian",
)
