# SPDX-License-Identifier: BSD-3-Clause
"""xoshiro256** (Blackman and Vigna 2018) seeded by splitmix64, number for number as sim_harness/sim_prng.c.

A stream is named by a seed and two numbers, so that one part of a run draws the same however much another part draws.
"""
MASK = (1 << 64) - 1

# Kinds of streams: those of enum sim_stream that weft-tune uses.
WORKLOAD = 6  # seeds of measurements
DRAW = 8  # decisions of a search


def splitmix(x):
    """The next state, and the number that belongs to it."""
    x = (x + 0x9e3779b97f4a7c15) & MASK
    z = ((x ^ (x >> 30)) * 0xbf58476d1ce4e5b9) & MASK
    z = ((z ^ (z >> 27)) * 0x94d049bb133111eb) & MASK
    return x, z ^ (z >> 31)


class Prng:
    def __init__(self, seed, kind, index):
        x = splitmix(seed & MASK)[1] ^ kind
        x = splitmix(x)[1] ^ (index & MASK)
        self.s = []
        for _ in range(4):
            x, number = splitmix(x)
            self.s.append(number)

    def next(self):
        """64 random bits."""
        s0, s1, s2, s3 = self.s
        x = (s1 * 5) & MASK
        x = ((x << 7) | (x >> 57)) & MASK
        s2 ^= s0
        s3 ^= s1
        self.s = [s0 ^ s3, s1 ^ s2, s2 ^ ((s1 << 17) & MASK), ((s3 << 45) | (s3 >> 19)) & MASK]
        return (x * 9) & MASK

    def below(self, bound):
        """A number in [0, bound), without bias; bound 0 gives 0."""
        if not bound:
            return 0
        limit = MASK - MASK % bound
        while True:
            x = self.next()
            if x < limit:
                return x % bound

    def between(self, low, high):
        """A number in [low, high]."""
        return low + self.below(high - low + 1)

    def share(self):
        """A number in [0, 1)."""
        return (self.next() >> 11) * 2.0 ** -53

    def shuffle(self, items):
        for i in range(len(items), 1, -1):
            j = self.below(i)
            items[i - 1], items[j] = items[j], items[i - 1]
