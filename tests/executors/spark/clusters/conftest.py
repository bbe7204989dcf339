from __future__ import annotations

import os
from pathlib import Path

import pytest
from scripts.connect_client import ClientNotInstalled, client_python


@pytest.fixture(scope="session")
def client() -> Path:
    """The interpreter of an environment that has the client of Spark Connect alone, without Java."""
    try:
        return client_python()
    except ClientNotInstalled as error:
        if os.environ.get("PENSTOCK_TESTS") == "all":
            raise
        pytest.skip(f"There is no client of Spark Connect alone. {error}")
