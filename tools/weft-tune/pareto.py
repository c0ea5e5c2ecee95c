# SPDX-License-Identifier: BSD-3-Clause
"""Dominance and crowding among candidates with several costs.

Dominance: by how many others each is dominated (Fonseca and Fleming 1993). Crowding: how far its neighbours on the same
front are (Deb et al. 2002).
"""
import math


def dominated(costs):
    """By how many rows of costs each row is dominated: nowhere better than it, somewhere worse. NAN compares with none."""
    import numpy
    table = numpy.array(costs, dtype=float)
    return [int(((table <= row).all(axis=1) & (table < row).any(axis=1)).sum()) for row in table]


def crowd(order, c):
    """Adds to crowding what cost c has of it; order is sorted by front and that cost."""
    begin = 0
    while begin < len(order):
        end = begin
        while end < len(order) and order[end].dominated_by == order[begin].dominated_by:
            end += 1
        front = order[begin:end]
        width = front[-1].cost[c] - front[0].cost[c]
        front[0].crowding = front[-1].crowding = math.inf
        if width > 0:
            for before, at, after in zip(front, front[1:], front[2:]):
                at.crowding += (after.cost[c] - before.cost[c]) / width
        begin = end


def rank(cands):
    """Fills dominated_by and crowding of all from their costs."""
    if not cands:
        return
    for cand, count in zip(cands, dominated([c.cost for c in cands])):
        cand.dominated_by, cand.crowding = count, 0.0
    for c in range(len(cands[0].cost)):
        # Candidates that were not measured go last.
        crowd(sorted(cands, key=lambda d: (d.dominated_by, math.isnan(d.cost[c]),
                                           0 if math.isnan(d.cost[c]) else d.cost[c], d.id)), c)
