"""How sure is sure enough: thresholds with a stated error bound.

Fixed-sequence testing ("Learn then Test", Angelopoulos et al., arXiv 2110.01052): the order in
which thresholds are tried is fixed beforehand, from the strictest down; each step is taken while
the one-sided Clopper–Pearson bound of wrong answers among answers stays under the target, and the
first step that fails ends it. So the bound holds without a correction for the number of steps.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

#: Confidences to try, the strictest first.
GRID = tuple(round(0.99 - 0.01 * step, 2) for step in range(75))


@dataclass(frozen=True, slots=True)
class Certificate:
    """The loosest threshold that kept the bound, and what it rests on; 1.01 serves nothing."""

    threshold: float
    served: int
    wrong: int
    bound: float


def clopper_pearson_upper(wrong: int, served: int, *, confidence: float = 0.95) -> float:
    """The one-sided upper bound of an error rate after ``wrong`` of ``served``; 1.0 for none.

    C. J. Clopper and E. S. Pearson, Biometrika 26 (1934). 0 of 149 gives 0.0199.
    """
    if served <= 0 or wrong >= served:
        return 1.0
    low, high = wrong / served, 1.0
    for _ in range(60):  # the tail falls with the rate, so halving finds it to 1e-18
        middle = (low + high) / 2
        if _binomial_tail(wrong, served, middle) > 1 - confidence:
            low = middle
        else:
            high = middle
    return high


def certify(
    confidence: NDArray[np.floating],
    right: NDArray[np.bool_],
    *,
    target: float,
    level: float = 0.95,
) -> Certificate:
    """The loosest threshold whose error rate is under ``target`` with ``level`` confidence."""
    best = Certificate(threshold=1.01, served=0, wrong=0, bound=1.0)
    for threshold in GRID:
        chosen = confidence >= threshold
        served = int(chosen.sum())
        if clopper_pearson_upper(0, served, confidence=level) > target:
            continue  # too few to show anything, whatever their labels: no test is made
        wrong = int((~right[chosen]).sum())
        bound = clopper_pearson_upper(wrong, served, confidence=level)
        if bound > target:
            break
        best = Certificate(threshold=threshold, served=served, wrong=wrong, bound=bound)
    return best


def _binomial_tail(wrong: int, served: int, rate: float) -> float:
    """P(at most ``wrong`` of ``served``) at an error ``rate``, by its terms' logarithms."""
    if rate <= 0.0:
        return 1.0
    if rate >= 1.0:
        return 0.0
    counts = np.arange(wrong + 1)
    steps = np.log(served - counts[:-1]) - np.log(counts[1:])
    choose = np.concatenate([[0.0], np.cumsum(steps)])
    logs = choose + counts * np.log(rate) + (served - counts) * np.log1p(-rate)
    return float(np.exp(logs).sum())
