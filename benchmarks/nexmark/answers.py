"""What a query has given beside what it has to give."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from benchmarks.nexmark.events import KINDS
from benchmarks.nexmark.lookup import KEYS, value_of
from benchmarks.nexmark.oracles import expected

if TYPE_CHECKING:
    from benchmarks.nexmark.events import Nexmark

Record = tuple[Any, ...]

CHANGES = {"q4", "q6"}
"""Queries that give a new tuple whenever one changes: the last with a first field counts."""
PARTS = {"q12"}
"""Queries that give counts for a first field in parts."""


def wanted(query: str, nexmark: Nexmark) -> list[Record]:
    """What a query has to give, by its oracle."""
    side = pa.table({"key": range(KEYS), "value": [value_of(key) for key in range(KEYS)]})
    return expected(query, {"side": side, **{kind: nexmark.table(kind) for kind in KINDS}})


def settled(query: str, given: Iterable[Record]) -> list[Record]:
    """What a query has given, as the oracle says it: in ascending order."""
    if query in CHANGES:
        return sorted({record[0]: record for record in given}.values())
    if query in PARTS:
        counts: Counter[Any] = Counter()
        for key, count in given:
            counts[key] += count
        return sorted(counts.items())
    return sorted(given)
