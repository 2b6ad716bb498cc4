"""Where is a model still uncertain? Posterior Stein information of every row, and how it falls with visits."""

from __future__ import annotations

import numpy as np

import steering.stein as stein


def main() -> None:
    rng = np.random.default_rng(0)
    truth = np.zeros(10)
    truth[[2, 7]] = 0.9, 0.1
    print("visits  barker   gibbs")
    for visits in (0, 1, 10, 100, 1000):
        alpha = 1.0 + rng.multinomial(visits, truth)
        barker = stein.posterior_information(alpha)
        gibbs = stein.posterior_information(alpha, operator="gibbs")
        print(f"{visits:6d}  {barker:.5f}  {gibbs:.5f}")

    counts = rng.multinomial(50, truth, size=(4, 2)) * rng.integers(0, 2, (4, 2, 1))
    information = stein.posterior_information_rows(counts, eta=1.0)
    s, a = np.unravel_index(np.argmax(information), information.shape)
    print(f"explore state {s}, action {a}: information {information[s, a]:.3f}")


if __name__ == "__main__":
    main()
