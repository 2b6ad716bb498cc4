"""Does a learned transition model fit what was seen? Find the row that does not, without an MDP library in sight."""

from __future__ import annotations

import numpy as np

import steering.stein as stein


def main() -> None:
    rng = np.random.default_rng(0)
    model = rng.dirichlet(np.ones(6), size=(5, 2))
    truth = model.copy()
    truth[3, 1] = rng.dirichlet(np.ones(6))  # one row is not as the model says
    counts = rng.multinomial(80, truth)

    result = stein.transition_goodness_of_fit(counts, model)
    print(f"whole model: statistic {result.statistic:.4f}, p-value {result.p_value:.3f}")
    for (s, a), p_value in np.ndenumerate(result.rows_corrected):
        if p_value <= 0.05:
            print(f"row (state {s}, action {a}) does not fit: corrected p-value {p_value:.3f}")


if __name__ == "__main__":
    main()
