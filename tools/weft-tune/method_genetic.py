# SPDX-License-Identifier: BSD-3-Clause
"""The genetic algorithm as ESPGOAL 6.2 has it.

Uniform first population, roulette wheel on fitness, uniform crossover, mutation of each parameter with probability 0.15
by a uniform step of up to 50, 50 generations.
"""
import bisect
import itertools
import math

from space import METRICS

POPULATION = 500
LEAST_POPULATION = 8
GENERATIONS = 50  # after the first population
MUTATION_PPM = 150000
MUTATION_STEP = 50


def size(budget):
    """The population, and its generations, for a budget."""
    population = min(max(budget // (GENERATIONS + 1), LEAST_POPULATION), POPULATION)
    return population, min(max(budget // population, 1), GENERATIONS + 1)


def fitness(search, cand):
    """ESPGOAL's: the bandwidth, or the inverse of the latency. Several costs: few that are better."""
    if search.objective == "pareto":
        return 1.0 / (1 + cand.dominated_by)
    value = cand.value(search.metric)
    if math.isnan(value) or value < 0:
        return 0.0
    return value if METRICS[search.metric].rises else 1 / max(value, 1e-9)


def breed(search, a, b):
    space, prng, child = search.space, search.prng, {}
    for i in space.params:
        value = (a if prng.below(2) else b).setting.param[i]
        if prng.below(1000000) < MUTATION_PPM:
            value += prng.below(2 * MUTATION_STEP + 1) - MUTATION_STEP
        child[i] = space.clamp(i, value, 1)
    return search.add(space.base.having(child))


def next_generation(search, population):
    order = search.order(population)
    wheel = list(itertools.accumulate(fitness(search, c) for c in order))

    def spin():
        return order[bisect.bisect_right(wheel, search.prng.share() * wheel[-1], 0, len(wheel) - 1)]

    return [breed(search, spin(), spin()) for _ in order]


def genetic(search):
    population, generations = size(search.budget // search.repeats)
    now = [search.add(search.space.draw_uniform(search.prng)) for _ in range(population)]
    for generation in range(generations):
        if generation:
            now = next_generation(search, now)
        if search.measure(now, 1, search.repeats, generation):
            break
    search.choose(now)
