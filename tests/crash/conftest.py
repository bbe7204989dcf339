from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import closing

import pytest
from tests.servers.zygote import Zygote

DRIVER = "tests.crash.job"
IMPORTED_LATE = (
    "penstock.executors.local",
    "penstock.runtime.state.rocksdb.rocksdb_backend",
    "obstore",
    "psycopg",
    "rocksdict",
)


@pytest.fixture(scope="session")
def zygotes() -> Iterator[Iterator[Zygote]]:
    """What drivers without Spark are forked from: two in turn, so that lives differ in their hash seed."""
    with (
        closing(Zygote(DRIVER, *IMPORTED_LATE)) as one,
        closing(Zygote(DRIVER, *IMPORTED_LATE)) as two,
    ):
        yield itertools.cycle([one, two])
