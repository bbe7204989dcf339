from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import closing

import pytest
from tests.servers.zygote import Zygote


@pytest.fixture(scope="session")
def zygotes() -> Iterator[Iterator[Zygote]]:
    """What drivers without Spark are forked from: two in turn, so that lives differ in their hash seed."""
    with closing(Zygote("tests.crash.job")) as one, closing(Zygote("tests.crash.job")) as other:
        yield itertools.cycle([one, other])
