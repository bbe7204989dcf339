from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from tests.runtime.state.kit import Clock, MakeBackend

from penstock.runtime.state.backend import KeyedStateBackend
from penstock.runtime.state.factory import create_backend


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(scope="session")
def new_backend(directory: str) -> MakeBackend:
    def make(kind: str, clock: Callable[[], int] = lambda: 0) -> KeyedStateBackend:
        return create_backend(
            kind,
            max_parallelism=16,
            key_groups=range(16),
            clock=clock,
            directory=directory,
            operator="test",
        )

    return make


@pytest.fixture(params=["hashmap", "rocksdb"])
def backend(
    request: pytest.FixtureRequest, new_backend: MakeBackend, clock: Clock
) -> Iterator[KeyedStateBackend]:
    backend = new_backend(request.param, clock)
    backend.set_current_key("a")
    yield backend
    backend.close()
