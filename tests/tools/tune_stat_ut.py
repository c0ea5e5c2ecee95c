#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Statistics of weft-tune against NIST's certified values (Longley, Norris, Wampler1) and against textbooks."""
import math
import unittest

import tune_fix  # noqa: F401: the path of the modules

import stats

LONGLEY = (
    (60323, 83.0, 234289, 2356, 1590, 107608, 1947), (61122, 88.5, 259426, 2325, 1456, 108632, 1948),
    (60171, 88.2, 258054, 3682, 1616, 109773, 1949), (61187, 89.5, 284599, 3351, 1650, 110929, 1950),
    (63221, 96.2, 328975, 2099, 3099, 112075, 1951), (63639, 98.1, 346999, 1932, 3594, 113270, 1952),
    (64989, 99.0, 365385, 1870, 3547, 115094, 1953), (63761, 100.0, 363112, 3578, 3350, 116219, 1954),
    (66019, 101.2, 397469, 2904, 3048, 117388, 1955), (67857, 104.6, 419180, 2822, 2857, 118734, 1956),
    (68169, 108.4, 442769, 2936, 2798, 120445, 1957), (66513, 110.8, 444546, 4681, 2637, 121950, 1958),
    (68655, 112.6, 482704, 3813, 2552, 123366, 1959), (69564, 114.2, 502601, 3931, 2514, 125368, 1960),
    (69331, 115.7, 518173, 4806, 2572, 127852, 1961), (70551, 116.9, 554894, 4007, 2827, 130081, 1962),
)
NORRIS = (
    (0.1, 0.2), (338.8, 337.4), (118.1, 118.2), (888.0, 884.6), (9.2, 10.1), (228.1, 226.5), (668.5, 666.3),
    (998.5, 996.3), (449.1, 448.6), (778.9, 777.0), (559.2, 558.2), (0.3, 0.4), (0.1, 0.6), (778.1, 775.5),
    (668.8, 666.9), (339.3, 338.0), (448.9, 447.5), (10.8, 11.6), (557.7, 556.0), (228.3, 228.1), (998.0, 995.8),
    (888.8, 887.6), (119.6, 120.2), (0.3, 0.3), (0.6, 0.3), (557.6, 556.8), (339.3, 339.1), (888.0, 887.2),
    (998.5, 999.0), (778.9, 779.0), (10.2, 11.1), (117.6, 118.3), (228.9, 229.2), (668.4, 669.1), (449.2, 448.9),
    (0.2, 0.5),
)


class Fits(unittest.TestCase):
    def close(self, values, certified, digits):
        for value, wanted in zip(values, certified):
            self.assertLess(abs(value - wanted) / abs(wanted), 10.0 ** -digits)

    def test_longley(self):
        fit = stats.fit([row[1:] for row in LONGLEY], [row[0] for row in LONGLEY])
        self.close(fit.b, (-3482258.63459582, 15.0618722713733, -0.0358191792925910, -2.02022980381683,
                           -1.03322686717359, -0.0511041056535807, 1829.15146461355), 8)
        self.close(fit.error, (890420.383607373, 84.9149257747669, 0.0334910077722432, 0.488399681651699,
                               0.214274163161675, 0.226073200069370, 455.478499142212), 7)
        self.assertEqual((fit.df, fit.rows), (9, 16))
        # Adjusted: 1 - (1 - R^2) * 15 / 9. The p of R's summary(lm()).
        self.close((fit.residual, fit.r2, fit.adjusted_r2), (304.854073561965, 0.995479004577296, 0.992465007628827), 8)
        self.assertAlmostEqual(fit.t[6], 4.016, delta=0.0005)
        self.assertAlmostEqual(fit.p[6], 0.003037, delta=0.0000005)
        self.assertAlmostEqual(fit.f_p / 4.984e-10, 1, delta=0.001)

    def test_norris(self):
        fit = stats.fit([[x] for _, x in NORRIS], [y for y, _ in NORRIS])
        self.close(fit.b, (-0.262323073774029, 1.00211681802045), 11)
        self.close(fit.error, (0.232818234301152, 0.429796848199937e-03), 11)
        self.close((fit.residual, fit.r2), (0.884796396144373, 0.999993745883712), 11)

    def test_wampler(self):
        """y = 1 + x + ... + x^5: all coefficients are 1, no residual."""
        x = [[i ** k for k in range(1, 6)] for i in range(21)]
        fit = stats.fit(x, [1 + sum(row) for row in x])
        for b in fit.b:
            self.assertAlmostEqual(b, 1, delta=1e-6)
        self.assertAlmostEqual(fit.r2, 1, delta=1e-12)

    def test_dependent_columns(self):
        """A column that others determine, or that never varies, has no coefficient; the rest is right."""
        x, y = [[i, 7, 2 * i + 1] for i in range(20)], [3 + 2 * i + (0.25 if i % 2 else -0.25) for i in range(20)]
        fit = stats.fit(x, y)
        self.assertAlmostEqual(fit.b[1], 2, delta=0.02)
        self.assertEqual([math.isnan(v) for v in fit.b + fit.p], [False, False, True, True] * 2)
        self.assertEqual(fit.df, 18)
        self.assertLess(fit.p[1], 1e-9)
        self.assertIsNone(stats.fit(x[:4], y[:4]))
        self.assertIsNone(stats.fit([], []))
        # A figure that never varies.
        self.assertTrue(math.isnan(stats.fit(x, [5] * 20).r2))


class Orders(unittest.TestCase):
    def test_quantiles(self):
        v, even = [5, 1, 4, 2, 3], [4, 1, 3, 2]
        self.assertEqual([stats.quantile(v, q) for q in (0, 0.25, 0.5, 1)], [1, 2, 3, 5])
        self.assertEqual(stats.median(even), 2.5)
        self.assertAlmostEqual(stats.quantile(even, 0.9), 3.7)
        self.assertEqual(stats.median([7]), 7)
        self.assertTrue(math.isnan(stats.median([])))
        self.assertEqual(stats.weighted_median(v, [1, 1, 8, 1, 1]), 4)
        self.assertEqual(stats.weighted_median(even, [1] * 4), 2.5)
        self.assertEqual(stats.weighted_median([7], [1]), 7)
        self.assertTrue(math.isnan(stats.weighted_median([], [])))

    def test_outliers(self):
        """One value far out moves neither median nor spread."""
        v = list(range(101))
        self.assertAlmostEqual(stats.mad(v), 1.4826 * 25)
        v[100] = 1e9
        self.assertEqual(stats.median(v), 50)
        self.assertAlmostEqual(stats.mad(v), 1.4826 * 25)
        self.assertEqual(stats.box(v), (0, 25, 50, 75, 99, 0, 1e9))
        self.assertTrue(math.isnan(stats.box([]).median))

    def test_intervals(self):
        """n = 10: from the 2nd to the 9th has 97.9 %; n = 5: the whole sample has but 93.8 %."""
        v = list(range(10, 0, -1))
        self.assertEqual(stats.median_interval(v, 0.95), (2, 9))
        self.assertEqual(stats.median_interval(v, 0.99), (1, 10))
        self.assertEqual(stats.median_interval(v[:5], 0.95), (6, 10))
        self.assertEqual(stats.median_interval([1], 0.95), (1, 1))
        # The sums of binomial coefficients themselves.
        for num in range(1, 60):
            rank = max((k for k in range(1, num // 2) if sum(math.comb(num, i) for i in range(k + 1)) <= 0.025 * 2 ** num),
                       default=0)
            self.assertEqual(stats.interval_rank(num, 0.95), rank)


class Samples(unittest.TestCase):
    def test_mann_whitney(self):
        """Hollander and Wolfe's permeability constants: W = 35, one-sided p = 0.1272."""
        a = [0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46]
        b = [1.15, 0.88, 0.90, 0.74, 1.21]
        d = stats.mann_whitney(a, b)
        self.assertAlmostEqual(d.p, 2 * 0.1272061272, delta=1e-9)
        self.assertAlmostEqual(d.shift, 0.305)
        self.assertAlmostEqual(d.share, 35 / 50)
        self.assertAlmostEqual(stats.mann_whitney(b, a).p, d.p)
        self.assertAlmostEqual(stats.mann_whitney(b, a).share, 15 / 50)

    def test_ties_and_many(self):
        self.assertEqual(stats.mann_whitney([1] * 4, [1] * 4), (1, 0, 0.5))
        many = [i * 37 % 200 for i in range(200)]
        self.assertGreater(stats.mann_whitney(many, [v + 0.5 for v in many]).p, 0.9)
        d = stats.mann_whitney(many, [v + 40.5 for v in many])
        self.assertLess(d.p, 1e-6)
        self.assertAlmostEqual(d.shift, -40.5, delta=0.6)
        self.assertTrue(math.isnan(stats.mann_whitney([], many).p))


if __name__ == "__main__":
    unittest.main()
