"""Special functions that compiled code needs: digamma, trigamma and the inverse of log x - digamma(x).

Both series shift the argument up to at least 8 by the recurrence psi(x) = psi(x + 1) - 1/x and then use the
asymptotic expansion, whose first neglected term is below 1e-13 there.
"""

import math

from steering._compiled._jit import jit


@jit
def digamma(x):
    """psi(x) for x > 0."""
    shift = 0.0
    while x < 8.0:
        shift -= 1.0 / x
        x += 1.0
    y = 1.0 / (x * x)
    tail = y * (1 / 12 - y * (1 / 120 - y * (1 / 252 - y * (1 / 240 - y * (1 / 132 - y * 691 / 32760)))))
    return shift + math.log(x) - 0.5 / x - tail


@jit
def trigamma(x):
    """psi'(x) for x > 0."""
    shift = 0.0
    while x < 8.0:
        shift += 1.0 / (x * x)
        x += 1.0
    y = 1.0 / (x * x)
    tail = y * (1 / 6 - y * (1 / 30 - y * (1 / 42 - y * (1 / 30 - y * (5 / 66 - y * 691 / 2730)))))
    return shift + 1.0 / x + 0.5 * y + tail / x


@jit
def log_minus_digamma(x):
    """f(x) = log x - psi(x), from its own series for large x, where the difference would lose all digits."""
    if x < 8.0:
        return math.log(x) - digamma(x)
    y = 1.0 / (x * x)
    return 0.5 / x + y * (1 / 12 - y * (1 / 120 - y * (1 / 252 - y * (1 / 240 - y * (1 / 132 - y * 691 / 32760)))))


@jit
def inverse_log_minus_digamma(y):
    """Solve log x - psi(x) = y > 0 for x.

    Newton in log x from the usual moment approximation; f is convex and decreasing in log x, so the iteration
    converges from there in a handful of steps. Stops when the relative step is below 1e-13.
    """
    x = (3.0 - y + math.sqrt((y - 3.0) ** 2 + 24.0 * y)) / (12.0 * y)
    for _ in range(50):
        slope = 1.0 - x * trigamma(x)
        if slope >= 0.0:  # f'(log x) vanishes like -1/(2x): beyond double precision the start is exact
            break
        step = (log_minus_digamma(x) - y) / slope
        x *= math.exp(-max(-2.0, min(2.0, step)))
        if abs(step) < 1e-13:
            break
    return x
