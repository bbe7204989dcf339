from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest
from tests.servers.schema_registry import FakeSchemaRegistry


@pytest.fixture
def registry() -> Iterator[FakeSchemaRegistry]:
    with closing(FakeSchemaRegistry()) as registry:
        yield registry
