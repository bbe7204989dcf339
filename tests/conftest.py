from __future__ import annotations

import gc
import os
import pickle
import shutil
import sys
import tempfile
import uuid
from contextlib import closing
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from _pytest.doctest import DoctestModule
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from examples.postgres_server import PostgresServer
    from pyspark.sql import SparkSession
    from tests.servers.http_service import HttpService
    from tests.servers.kafka_server import KafkaCluster
    from tests.servers.redis_server import RedisServer
    from tests.servers.s3_server import S3Server

ROOT = Path(__file__).parent.parent

_APART = [
    ROOT / "tests" / each for each in ("crash", "docs", "examples", "executors/spark/clusters")
]
"""Whose tests start programs, each with a Spark of its own."""

# Spark's workers import test modules by name, as this process does.
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
os.environ["PYSPARK_PYTHON"] = sys.executable

# Else each of the many processes that tests start compiles again all it imports.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# Most of the Java processes that tests start live for seconds, in which the second compiler only costs.
os.environ.setdefault("SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1")

# Thousands of small databases are made and removed: in memory, where there is room, that takes a third of the time.
MEMORY = Path("/dev/shm")
if MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > 4 << 30:
    tempfile.tempdir = os.environ["TMPDIR"] = str(MEMORY)

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


_NOT_ON_CONNECT = ("it has no checkpoint location", "is a SourceFunction")

_OF_OLDER_SPARKS = (
    # Spark 3.5 compares versions by it.
    "ignore:distutils Version classes are deprecated:DeprecationWarning",
    # Before 4.2, what rows are collected from is left for Python to close.
    "ignore:unclosed <socket.socket:ResourceWarning",
)


@pytest.fixture(scope="session", autouse=True)
def _own_notes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep the notes of jobs that tests start away from those of whoever runs the tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield


class WhereExamplesAre:
    """Has pytest look for examples in docstrings only in files that have one: to find none takes seconds."""

    @pytest.hookimpl(wrapper=True)
    def pytest_collect_file(
        self, file_path: Path
    ) -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
        found = yield
        if not found or b">>>" in file_path.read_bytes():
            return found
        return [collector for collector in found if not isinstance(collector, DoctestModule)]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--session",
        choices=["classic", "connect"],
        default="classic",
        help="the kind of SparkSession that tests share; with connect no others run",
    )


def is_connect(config: pytest.Config) -> bool:
    return bool(config.getoption("--session") == "connect")


def pytest_configure(config: pytest.Config) -> None:
    """Have it look so in the sources as well, of which hooks in this file are not asked; and pass over what Spark warns of."""
    config.pluginmanager.register(WhereExamplesAre())
    if tuple(map(int, version("pyspark").split(".")[:2])) < (4, 2):
        for warning in _OF_OLDER_SPARKS:
            config.addinivalue_line("filterwarnings", warning)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    """Skip a test, with the reason, that comes upon what is meant to be refused in a session of Spark Connect."""
    if not is_connect(item.config):
        return (yield)
    from penstock.errors import StreamingOnConnectError

    try:
        return (yield)
    except BaseException as error:
        met: BaseException | None = error
        while met is not None and not isinstance(met, StreamingOnConnectError):
            met = met.__context__  # the test may have waited for another error, or a warning
        if met is None or not any(reason in met.message for reason in _NOT_ON_CONNECT):
            raise
        pytest.skip(met.message)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Have Java for whatever a test starts, and in whatever order the tests run, and the jars of Kafka."""
    if item.get_closest_marker("spark") is not None:
        from penstock.executors.spark.java import ensure_java

        ensure_java()
    if item.get_closest_marker("kafka") is not None:
        from scripts.kafka_jars import JarsNotFetched, fetch

        try:
            fetch()
        except JarsNotFetched as error:
            if os.environ.get("PENSTOCK_TESTS") == "all":
                raise
            pytest.skip(f"There is no Kafka. {error}")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keep thousands of tests, which stay until the end, out of all garbage collections, and their making too.

    After that few are made, but of objects that are in a core's cache.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()
        gc.set_threshold(10_000, 10, 10)


def _keeps_on_connect(item: pytest.Item) -> bool:
    """Whether a test is for a session of Spark Connect too: one that shares the session, and asks nothing of its Java."""
    fixtures = getattr(item, "fixturenames", ())
    is_of_spark = item.get_closest_marker("spark") is not None
    shares = "spark" in fixtures or "new_environment" in fixtures
    return is_of_spark and shares and item.get_closest_marker("classic") is None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Say which tests stay in one process: those that share a session of Spark, a Kafka, or a browser.

    Others that start a Spark start one of their own, and run wherever there is room.
    """
    if is_connect(config):
        others = [item for item in items if not _keeps_on_connect(item)]
        items[:] = [item for item in items if _keeps_on_connect(item)]
        config.hook.pytest_deselected(items=others)
    for item in items:
        if item.get_closest_marker("kafka") is not None:
            item.add_marker(pytest.mark.xdist_group("kafka"))
        elif item.get_closest_marker("browser") is not None:
            item.add_marker(pytest.mark.xdist_group("browser"))
        elif item.get_closest_marker("spark") is not None and not any(
            item.path.is_relative_to(folder) for folder in _APART
        ):
            item.add_marker(pytest.mark.xdist_group("session"))


@pytest.hookimpl(wrapper=True)
def pytest_report_to_serializable() -> Generator[None, dict[str, object], dict[str, object]]:
    """Hand a report to the process that counts tests in one piece.

    xdist takes it apart into its strings, in Python and on both sides; a test has three reports of
    forty strings each.
    """
    return {"pickled": pickle.dumps((yield))}


@pytest.hookimpl(tryfirst=True)
def pytest_report_from_serializable(data: dict[str, object]) -> None:
    """Have pytest find what it wrote itself, beside what xdist added."""
    pickled = data.pop("pickled")
    assert isinstance(pickled, bytes)
    data.update(pickle.loads(pickled))


@pytest.fixture(scope="session", autouse=True)
def _no_waiting_for_the_disk() -> Iterator[None]:
    """Files outlive every process at once; only a machine that goes down makes fsync matter."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda file: None)
        yield


def _connector(items: list[pytest.Item]) -> list[str]:
    """Return the jars of Spark's connector for Kafka, which a session has to have from its start, if a test needs them."""
    from scripts.kafka_jars import JarsNotFetched, connector

    if not any(item.get_closest_marker("kafka") for item in items):
        return []
    try:
        return [str(jar) for jar in connector()]
    except JarsNotFetched:
        if os.environ.get("PENSTOCK_TESTS") == "all":
            raise
        return []


@pytest.fixture(scope="session")
def spark(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SparkSession]:
    """The one SparkSession that all tests marked `spark` share."""
    jars = ",".join(_connector(request.session.items))
    folder = tmp_path_factory.mktemp("spark")
    yield from (
        _connect_session(folder, jars) if is_connect(request.config) else _classic_session(jars)
    )


def _connect_session(folder: Path, jars: str) -> Iterator[SparkSession]:
    from pyspark.sql import SparkSession
    from tests.servers.connect_server import ConnectServer

    with closing(ConnectServer(folder, settings={"spark.jars": jars})) as server:
        session = SparkSession.builder.remote(server.url).getOrCreate()
        yield session
        session.stop()


def _classic_session(jars: str) -> Iterator[SparkSession]:
    from pyspark.sql import SparkSession

    from penstock.executors.spark.java import ensure_java

    ensure_java()
    builder = (
        SparkSession.builder.master("local[2, 4]")
        .appName("penstock tests")
        .config("spark.jars", jars)
        .config("spark.ui.port", "0")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.log.level", "ERROR")
        .config("spark.sql.shuffle.partitions", "2")
        # Spark matches the text of a failed micro-batch with a deeply recursive pattern.
        .config("spark.driver.extraJavaOptions", "-Xss8m")
    )
    with pytest.MonkeyPatch.context() as patch:
        # Else its page is open to the whole network.
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        session = builder.getOrCreate()
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

    with closing(PostgresServer()) as server:
        server.execute(
            "create table planes as select 'N' || id tailnum, id % 400 seats"
            " from generate_series(0, 999) id"
        )
        yield server


@pytest.fixture(scope="session")
def redis_server() -> Iterator[RedisServer]:
    """A Redis, empty at first."""
    from tests.servers.redis_server import RedisServer

    with closing(RedisServer()) as server:
        yield server


@pytest.fixture(scope="session")
def kafka() -> Iterator[KafkaCluster]:
    """A Kafka of one broker. Topics of a test have names of their own."""
    from tests.servers.kafka_server import KafkaCluster

    with closing(KafkaCluster()) as broker:
        yield broker


@pytest.fixture(scope="session")
def s3_process() -> Iterator[tuple[S3Server, str]]:
    """The one S3 of all tests, and the URL of its bucket; see `s3`."""
    from tests.servers.s3_server import S3Server

    with closing(S3Server()) as server:
        yield server, server.make_bucket()


@pytest.fixture
def s3(
    s3_process: tuple[S3Server, str], monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[S3Server, str]]:
    """An S3 that the environment leads to, and the URL of a folder in it that is the test's own."""
    server, bucket = s3_process
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    yield server, f"{bucket}/{uuid.uuid4().hex}"
    server.lost_answers = 0
