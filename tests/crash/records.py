"""The input of the crash test: the same for the same seed, in event time, and none of it late."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path
from typing import NamedTuple

DISORDER = 3_000
"""How far a record may be behind the latest before it, in milliseconds; less than that."""

SCHEMA = "id long, key string, value long, time long"


class Record(NamedTuple):
    """A record.

    Attributes:
        id: Its number; no other record has it.
        key: Its key.
        value: A number.
        time: Its time, in milliseconds.
    """

    id: int
    key: str
    value: int
    time: int


def generate(seed: int, files: int, records: int, keys: int = 7) -> list[list[Record]]:
    """Return the records of each file.

    Args:
        seed: Makes them what they are.
        files: The number of files; one of ten is empty of all but one record.
        records: The most records of a file.
        keys: The number of keys.
    """
    chance = random.Random(seed)
    found = []
    number = 0
    for file in range(files):
        count = 1 if file % 10 == 4 else chance.randint(records // 2, records)
        found.append(
            [
                Record(
                    number + index,
                    f"k{min(int(chance.expovariate(0.6)), keys - 1)}",
                    chance.randint(-1_000, 1_000),
                    (number + index) * 200 + chance.randrange(DISORDER),
                )
                for index in range(count)
            ]
        )
        number += count
    return found


def write(folder: Path, files: list[list[Record]]) -> None:
    """Write the files as JSON lines, the first one as the oldest: that one Spark reads first."""
    folder.mkdir(parents=True)
    for number, records in enumerate(files):
        path = folder / f"{number:05d}.json"
        path.write_text("".join(json.dumps(record._asdict()) + "\n" for record in records))
        os.utime(path, (1_000_000 + number, 1_000_000 + number))


def read(folder: Path) -> list[list[Record]]:
    """Return the records of each file of a folder."""
    return [
        [Record(**json.loads(line)) for line in path.read_text().splitlines()]
        for path in sorted(folder.glob("*.json"))
    ]
