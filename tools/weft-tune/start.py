# SPDX-License-Identifier: BSD-3-Clause
"""Where the first climb of hill climbing begins, as --start and run.json name it.

"initial" is the setting that the target has (the default); "off" and "random" are further ones; values of some
parameters, as in "rx-usecs=5,rx-frames=16", change the initial setting. ESPGOAL 6.2.
"""
import re
from typing import NamedTuple

from space import INDEX, PARAMS

KINDS = ("initial", "off", "random")


class Start(NamedTuple):
    kind: str = "initial"  # one of KINDS, or "given"
    values: tuple = ()  # of "given": pairs of index and value, by index

    def text(self):
        return ",".join("%s=%d" % (PARAMS[i], v) for i, v in self.values) if self.kind == "given" else self.kind

    def setting(self, space, prng):
        """The setting that it names in a space. "random" draws one."""
        if self.kind == "random":
            return space.draw_uniform(prng)
        if self.kind == "off":
            return space.base.having({i: 0 for i in space.params})
        return space.base.having(dict(self.values))


def parse(text):
    """The start of such a text; None: it is none."""
    if text in KINDS:
        return Start(text)
    values = {}
    for part in text.split(","):
        match = re.fullmatch(r"([a-z-]+)=([0-9]{1,10})", part)
        if not match or match[1] not in INDEX or int(match[2]) >= 1 << 32:
            return None
        values[INDEX[match[1]]] = int(match[2])
    return Start("given", tuple(sorted(values.items())))
