# SPDX-License-Identifier: BSD-3-Clause
"""Statistics: order statistics that outliers do not move, Mann and Whitney's test, least squares.

scipy and statsmodels are imported where they are needed: loading them takes longer than many a command of weft-tune.
ESPGOAL 6.2.
"""
import functools
import math
import warnings
from typing import NamedTuple

EXACT_PAIRS = 400  # up to here the exact distribution of U is worth its sums


def quantile_of_sorted(s, q):
    at = q * (len(s) - 1)
    i = int(at)
    if i + 1 >= len(s):
        return float(s[-1])
    return float(s[i] + (at - i) * (s[i + 1] - s[i]))


def quantile(values, q):
    """Quantile q (0 to 1), linear between neighbours (Hyndman and Fan's type 7). NAN: there are no values."""
    return quantile_of_sorted(sorted(values), q) if len(values) else math.nan


def median(values):
    return quantile(values, 0.5)


def weighted_median(values, weights):
    """The least value with half of the weight below it, weights above 0. NAN: there are no values."""
    pairs = sorted(zip(values, weights), key=lambda pair: pair[0])
    total, below = sum(weights), 0
    for i, (value, weight) in enumerate(pairs):
        below += weight
        if below * 2 > total * (1 + 1e-12):
            return value
        # Exactly half: between this one and the next, as the plain median is.
        if below * 2 >= total * (1 - 1e-12) and i + 1 < len(pairs):
            return (value + pairs[i + 1][0]) / 2
    return pairs[-1][0] if pairs else math.nan


def mad(values):
    """1.4826 times the median distance from the median: the deviation of a normal sample."""
    middle = median(values)
    return 1.4826 * median([abs(v - middle) for v in values])


def deviation(values):
    """The standard deviation; 0 of less than two values."""
    num, mean, squares = len(values), 0.0, 0.0
    if num < 2:
        return 0.0
    for v in values:
        mean += v / num
    for v in values:
        squares += (v - mean) * (v - mean)
    return math.sqrt(squares / (num - 1))


class Box(NamedTuple):
    """A box plot by Tukey: whiskers end at the last value within 1.5 boxes."""
    low: float
    quarter: float
    median: float
    three_quarters: float
    high: float
    least: float
    most: float


def box(values):
    if not len(values):
        return Box(*[math.nan] * 7)
    s = sorted(values)
    quarter, middle, three = (quantile_of_sorted(s, q) for q in (0.25, 0.5, 0.75))
    reach = 1.5 * (three - quarter)
    low = next(v for v in s if v >= quarter - reach)
    high = next(v for v in reversed(s) if v <= three + reach)
    return Box(low, quarter, middle, three, high, s[0], s[-1])


@functools.lru_cache(maxsize=None)
def interval_rank(num, level):
    """How many values at either end lie outside of the interval for the median, which a coin tossed num times tells."""
    outside = (1 - level) / 2
    if (num + 1) * 0.5 ** num > outside:
        return 0  # a value left out at either end is too many
    from scipy.stats import binom
    rank = int(binom.ppf(outside, num, 0.5))
    return rank if binom.cdf(rank, num, 0.5) <= outside else rank - 1


def median_interval(values, level):
    """A confidence interval for the median from order statistics. From the least to the most where there are few."""
    s = sorted(values)
    k = interval_rank(len(s), level)
    return s[k], s[-1 - k]


class Differ(NamedTuple):
    """How two samples differ, by Mann and Whitney's test."""
    p: float = math.nan  # two-sided; NAN: nothing to compare
    shift: float = math.nan  # Hodges and Lehmann: median of all differences, first less second
    share: float = math.nan  # of pairs in which the first is larger; ties count half


def mann_whitney(a, b):
    if not len(a) or not len(b):
        return Differ()
    import numpy
    from scipy.stats import mannwhitneyu
    exact = len(a) * len(b) <= EXACT_PAIRS and len({*a, *b}) == len(a) + len(b)
    # Where all values are one the distribution has no width, and p is 1.
    with numpy.errstate(divide="ignore", invalid="ignore"):
        test = mannwhitneyu(a, b, alternative="two-sided", method="exact" if exact else "asymptotic")
    away = numpy.sort(numpy.subtract.outer(a, b), axis=None)
    return Differ(float(test.pvalue), quantile_of_sorted(away, 0.5), float(test.statistic) / (len(a) * len(b)))


class Fit(NamedTuple):
    """Y = b[0] + sum of b[i] X[i] + error. A column that those before it determine has NAN."""
    rows: int
    b: list
    error: list  # standard errors
    t: list
    p: list  # two-sided, of b being 0
    df: float  # degrees of freedom of the residuals
    residual: float  # their standard deviation
    r2: float
    adjusted_r2: float
    f_p: float  # of the whole model


def independent(x):
    """The columns that those before them do not determine. x: columns of unit length."""
    import numpy
    kept = []
    for j in range(x.shape[1]):
        if numpy.linalg.matrix_rank(x[:, kept + [j]], tol=1e-12) > len(kept):
            kept.append(j)
    return kept


def fit(x, y):
    """Least squares with a constant; x: rows. None: there are not more rows than coefficients."""
    columns = len(x[0]) if x else 0
    if len(x) <= columns + 1:
        return None
    import numpy
    from statsmodels.regression.linear_model import OLS
    matrix = numpy.column_stack([numpy.ones(len(x)), numpy.array(x, dtype=float)])
    # Columns of one length: what one parameter's range is does not cost another one digits.
    scale = numpy.linalg.norm(matrix, axis=0)
    scale[scale == 0] = 1
    matrix /= scale
    kept = independent(matrix)
    with numpy.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = OLS(numpy.array(y, dtype=float), matrix[:, kept], hasconst=True).fit(method="qr")
        f_p = float(found.f_pvalue) if len(kept) > 1 else math.nan

    def by_column(values):
        spread = numpy.full(columns + 1, math.nan)
        spread[kept] = values
        return [float(v) for v in spread]

    r2 = float(found.rsquared) if found.centered_tss > 0 else math.nan
    return Fit(len(x), by_column(found.params / scale[kept]), by_column(found.bse / scale[kept]),
               by_column(found.tvalues), by_column(found.pvalues), float(found.df_resid),
               math.sqrt(found.mse_resid), r2, 1 - (1 - r2) * (len(x) - 1) / float(found.df_resid), f_p)
