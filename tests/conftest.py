from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from examples.postgres_server import PostgresServer
    from pyspark.sql import SparkSession
    from tests.servers.http_service import HttpService
    from tests.servers.redis_server import RedisServer

ROOT = Path(__file__).parent.parent

# Spark's workers import test modules by name, as this process does.
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
os.environ["PYSPARK_PYTHON"] = sys.executable

# A busy machine makes any deadline flaky.
settings.register_profile("dev", deadline=None, max_examples=100)
settings.register_profile(
    "ci",
    deadline=None,
    max_examples=50,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("ci" if os.environ.get("CI") else "dev")


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """The one SparkSession that all tests marked `spark` share."""
    from pyspark.sql import SparkSession

    from penstock.executors.spark.java import ensure_java

    ensure_java()
    session = (
        SparkSession.builder.master("local[2, 4]")
        .appName("penstock tests")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.log.level", "ERROR")
        .config("spark.sql.shuffle.partitions", "2")
        # Spark matches the text of a failed micro-batch with a deeply recursive pattern.
        .config("spark.driver.extraJavaOptions", "-Xss8m")
        .getOrCreate()
    )
    yield session
    session.stop()


@pytest.fixture(scope="session")
def http_process() -> Iterator[HttpService]:
    """The one HTTP service of all tests; see `http_service`."""
    from tests.servers.http_service import HttpService

    service = HttpService()
    yield service
    service.kill()


@pytest.fixture
def http_service(http_process: HttpService) -> HttpService:
    """An HTTP service that answers at once, until it is told otherwise, and has counted nothing."""
    http_process.behave()
    return http_process


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A PostgreSQL with a table `planes` of the columns tailnum and seats."""
    from examples.postgres_server import PostgresServer

    with PostgresServer() as server:
        server.execute(
            "create table planes as select 'N' || id tailnum, id % 400 seats"
            " from generate_series(0, 999) id"
        )
        yield server


@pytest.fixture(scope="session")
def redis_server() -> Iterator[RedisServer]:
    """A Redis, empty at first."""
    from tests.servers.redis_server import RedisServer

    server = RedisServer()
    yield server
    server.stop()
