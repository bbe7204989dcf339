from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest
from tests.servers.schema_registry import FakeSchemaRegistry

from penstock.datastream.formats.registry.schema_registry import _KNOWN


@pytest.fixture
def registry() -> Iterator[FakeSchemaRegistry]:
    with closing(FakeSchemaRegistry()) as registry:
        yield registry
        for known in [known for known in _KNOWN if registry.url in known[0]]:
            _KNOWN.pop(known).client.close()
