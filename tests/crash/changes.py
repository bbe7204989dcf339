"""Changes of the program between two lives: what is added, removed or given a uid, and what has to come of it.

A version of the program is the features that it has beside what it always has. Each record's stamp says which
version it went through, so that what had to come out can be computed.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Final, NamedTuple

TALLY: Final = "tally"
"""An operator with keyed state and a uid: counts the records of a key since it was added."""
NAMELESS: Final = "nameless"
"""The same without a uid."""
NAMED: Final = "named"
"""The operator that had no uid is given one: to the engine another operator, unless it is told."""
MORE: Final = "more"
"""One more sink: files with the stamps."""
EXTRA: Final = "extra"
"""One more source, with a number: it has some records, in one piece."""

EXTRA_RECORDS: Final = 5


class Version(NamedTuple):
    """A version of the program.

    Attributes:
        number: Its number; later ones have greater numbers.
        features: What it has beside what it always has.
        drops: Whether it drops state of operators that are gone.
        drains: How often the job was drained before it, so that event time began anew.
    """

    number: int = 0
    features: frozenset[str] = frozenset()
    drops: bool = False
    drains: int = 0

    @property
    def text(self) -> str:
        """What the log calls it."""
        found = "+".join([f"v{self.number}", *sorted(self.features)])
        return f"{found} drop" if self.drops else found

    @property
    def arguments(self) -> list[str]:
        """What the job is told of it."""
        found = ["--version", str(self.number), "--features", ",".join(sorted(self.features))]
        return [*found, "--drop"] if self.drops else found


def must_refuse(old: Version, new: Version) -> bool:
    """Whether state would be lost without a word, if a version went on where another stood."""
    gone = old.features - new.features
    return not new.drops and bool(gone & {TALLY, NAMELESS, NAMED})


def must_go_on(old: Version, new: Version) -> bool:
    """Whether nothing stands in the way: only things with a uid were added, or nothing was changed."""
    if old.features == new.features:
        return True
    return not (old.features - new.features or NAMELESS in old.features)


def next_version(chance: random.Random, committed: Version, number: int) -> Version:
    """Return a version that differs from the one that committed last."""
    old = set(committed.features)
    extras = {feature for feature in old if feature.startswith(EXTRA)}
    steps = [{f"{EXTRA}-{number}"}, {MORE}, {TALLY}, extras]
    if NAMELESS in old:
        steps += [{NAMELESS}, {NAMELESS, NAMED} - old | {NAMELESS}]
    elif chance.random() < 0.3:
        steps += [{NAMED} & old or {NAMELESS}]
    steps = list(filter(None, steps))
    changed = {feature for step in chance.sample(steps, chance.randint(1, 2)) for feature in step}
    features = frozenset(old ^ changed)
    # What has no uid may be lost to a start that drops, and none could tell.
    may_drop = NAMELESS not in old & features
    return Version(number, features, may_drop and chance.random() < 0.6, committed.drains)


def runs_of(versions: Iterable[Version], feature: str) -> dict[int, int]:
    """Return for the number of each version that has a feature how often it was there and gone before."""
    run, found = 0, {}
    for version in versions:
        if feature in version.features:
            found[version.number] = run
        else:
            run += 1
    return found
