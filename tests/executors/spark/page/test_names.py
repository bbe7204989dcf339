from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final
from urllib.request import urlopen

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from tests.executors.spark.conftest import StreamOf

from penstock.common import Configuration, JobStatus
from penstock.common.epoch_listener import EpochCompleted, EpochListener
from penstock.datastream import DataStream, StreamExecutionEnvironment
from penstock.datastream.connectors.spark import SparkSink
from penstock.executors.spark.page.names import page_name, query_name
from penstock.spark import async_map

LIMIT_SECONDS = 60


@given(st.text(), st.integers(10, 100))
def test_a_name_does_no_harm_to_the_page(name: str, longest: int) -> None:
    shown = page_name(name, longest)
    assert shown.isprintable()
    assert 0 < len(shown) <= longest
    assert not set("<&") & set(shown)
    assert ">" not in shown.replace(" -> ", "").removesuffix(" ->…").replace("->", "")


def test_a_name_that_harms_nothing_is_shown_as_it_is() -> None:
    assert page_name("Source: größe -> Map, Filter (2)") == "Source: größe -> Map, Filter (2)"


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("<script>alert(1)</script>", "(script)alert(1)(/script)"),
        ("a & b\n\tc\x1b[31m", "a + b c [31m"),
        (" \n", "unnamed"),
        ("x" * 99, "x" * 59 + "…"),
    ],
)
def test_what_would_harm_the_page_is_not_shown(name: str, shown: str) -> None:
    assert page_name(name) == shown


class FakeQuery:
    def __init__(self, name: str | None) -> None:
        self.name = name


class FakeSession:
    """As much of a session as is asked for the names of its queries."""

    def __init__(self, *names: str | None) -> None:
        self.streams = self
        self.active = [FakeQuery(name) for name in names]


def test_a_name_that_is_taken_gets_a_number() -> None:
    session: Any = FakeSession("clicks", None, "clicks (2)")
    with query_name(session, "clicks") as third, query_name(session, "clicks") as fourth:
        assert (third, fourth) == ("clicks (3)", "clicks (4)")
    with query_name(session, "clicks") as again:
        assert again == "clicks (3)"


_ALL: Final = "sql?details=false&length=100000"


class Page:
    """Spark's page, as programs read it."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._address = (
            f"{spark.sparkContext.uiWebUrl}/api/v1/applications/{spark.sparkContext.applicationId}"
        )
        # Not how many there are: the page forgets those before the latest thousand.
        self._last = max((query["id"] for query in self.read(_ALL)), default=-1)
        self._last_job = max((job["jobId"] for job in self.read("jobs")), default=-1)

    def read(self, what: str) -> Any:
        self._spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
        with urlopen(f"{self._address}/{what}") as answer:
            return json.load(answer)

    def queries(self) -> list[dict[str, Any]]:
        """The SQL executions that were begun since this was made."""
        new = sorted(query["id"] for query in self.read(_ALL) if query["id"] > self._last)
        return [self.read(f"sql/{number}?details=true") for number in new]

    def jobs(self) -> list[dict[str, Any]]:
        """The same of jobs."""
        return [job for job in self.read("jobs") if job["jobId"] > self._last_job]

    def stages(self) -> list[dict[str, Any]]:
        wanted = {stage for job in self.jobs() for stage in job["stageIds"]}
        return [stage for stage in self.read("stages") if stage["stageId"] in wanted]


@pytest.fixture
def page(spark: SparkSession) -> Page:
    return Page(spark)


def levels_of(query: dict[str, Any]) -> list[str]:
    """What the plan of a query shows at functions of Python, those next to the sources first."""
    shown = re.findall(r"MapInArrow\nInput.*\nArguments: (.*?)\(", query["planDescription"])
    return list(dict.fromkeys(shown))


def counted(env: StreamExecutionEnvironment, name: str = "numbers") -> DataStream:
    numbers = env.from_collection(range(6)).map(lambda number: number).name(name)
    return numbers.key_by(lambda number: number % 2).reduce(lambda one, other: one + other)


@pytest.mark.spark
@pytest.mark.classic
def test_a_job_of_two_levels(env: StreamExecutionEnvironment, page: Page) -> None:
    counted(env.set_parallelism(1)).name("sums").print()
    env.execute("clicks per user")
    (query,) = page.queries()
    levels = ["Source: Collection Source -> numbers", "sums -> Sink: Print to Std. Out"]
    text = "clicks per user · epoch 0 · " + " | ".join(levels)
    assert levels_of(query) == levels
    assert query["description"] == text
    assert {job["description"] for job in page.jobs()} == {text}
    assert {stage["description"] for stage in page.stages() if "description" in stage} == {text}
    assert page.stages()


@pytest.mark.spark
@pytest.mark.classic
def test_what_the_thread_of_the_user_does_is_described_by_the_user(
    spark: SparkSession, env: StreamExecutionEnvironment, page: Page
) -> None:
    spark.sparkContext.setJobDescription("what the user does")
    try:
        counted(env).print()
        env.execute("clicks")
        spark.range(1).collect()
        _, query = page.queries()
        assert query["description"] == "what the user does"
    finally:
        spark.sparkContext.setJobDescription(None)  # type: ignore[arg-type]


class Meeting:
    """A function of a job that goes on when the other job's has been called as well."""

    def __init__(self, folder: Path, own: str, other: str) -> None:
        self._own, self._other = folder / own, folder / other

    def __call__(self, number: int) -> int:
        self._own.touch()
        limit = time.monotonic() + LIMIT_SECONDS
        while not self._other.exists():
            assert time.monotonic() < limit
            time.sleep(0.01)
        return number


@pytest.mark.spark
@pytest.mark.classic
def test_two_jobs_at_once_in_one_session(spark: SparkSession, page: Page, tmp_path: Path) -> None:
    clients = []
    for own, other in (("one", "other"), ("other", "one")):
        env = StreamExecutionEnvironment.get_execution_environment(spark=spark).set_parallelism(1)
        env.from_collection([1]).map(Meeting(tmp_path, own, other)).name(f"of {own}").print()
        clients.append(env.execute_async(f"job {own}"))
    for client in clients:
        client.get_job_execution_result().result()
    found = {query["description"]: levels_of(query) for query in page.queries()}
    chains = {
        own: f"Source: Collection Source -> of {own} -> Sink: Print to Std. Out"
        for own in ("one", "other")
    }
    described = {f"job {own} · epoch 0 · {chain}": [chain] for own, chain in chains.items()}
    assert {key: found[key] for key in described} == described


@pytest.mark.spark
@pytest.mark.classic
def test_data_frames_there_and_back(
    spark: SparkSession, env: StreamExecutionEnvironment, page: Page
) -> None:
    frame = spark.createDataFrame([(1, 2), (1, 3)], "key int, number int")
    stream = env.from_data_frame(frame, source_name="<orders>").map(lambda row: row.number)
    stream.map(lambda number: (number,)).to_data_frame("number int").collect()
    query = page.queries()[-1]
    assert levels_of(query) == ["Source: ", "to_data_frame"]
    assert "Source: (orders) -> Map -> Map" in query["planDescription"]


async def double(row: Any) -> list[tuple[int]]:
    return [(row.number * 2,)]


@pytest.mark.spark
@pytest.mark.classic
def test_asynchronous_calls_for_rows(spark: SparkSession, page: Page) -> None:
    frame = spark.createDataFrame([(1,)], "number int")
    frame.transform(async_map, double, "number int").collect()
    assert "async_map(double)" in page.queries()[-1]["planDescription"]


@pytest.mark.spark
@pytest.mark.classic
def test_what_a_sink_of_sparks_writes(
    env: StreamExecutionEnvironment, page: Page, tmp_path: Path
) -> None:
    sink = SparkSink("csv", schema="number int", path=str(tmp_path / "out"))
    env.from_collection([(1,)]).sink_to(sink).name("report")
    env.execute("daily")
    assert "daily · epoch 0 · Sink: report" in [query["description"] for query in page.queries()]


class FirstEpoch(EpochListener):
    def __init__(self) -> None:
        self.is_there = threading.Event()

    def on_epoch_completed(self, event: EpochCompleted) -> None:
        self.is_there.set()


@pytest.fixture
def start(spark: SparkSession) -> Iterator[Callable[..., None]]:
    """Start a streaming job, wait for its first epoch, and stop it when the test is over."""
    clients = []

    def start(stream: Any, name: str) -> None:
        configuration = Configuration().set_string("execution.epoch.interval", "50 ms")
        env = StreamExecutionEnvironment.get_execution_environment(configuration, spark=spark)
        listener = FirstEpoch()
        env.add_epoch_listener(listener)
        env.from_data_frame(stream).key_by(lambda row: row.key).map(lambda row: row.key).print()
        clients.append(env.execute_async(name))
        assert listener.is_there.wait(LIMIT_SECONDS), clients[-1].get_job_status()

    yield start
    for client in clients:
        client.cancel().result()
        assert client.get_job_status().result() is JobStatus.CANCELED


def streaming_page(spark: SparkSession) -> str:
    with urlopen(f"{spark.sparkContext.uiWebUrl}/StreamingQuery/") as answer:
        html: str = answer.read().decode()
    return html


def nameless(spark: SparkSession) -> int:
    """How many queries the page shows without a name: other tests may have started some."""
    return len(re.findall("(<|&lt;)no name", streaming_page(spark)))


@pytest.mark.spark
@pytest.mark.classic
def test_streaming_queries_have_the_names_of_their_jobs(
    spark: SparkSession, start: Callable[..., None], stream_of: StreamOf, page: Page
) -> None:
    unnamed = nameless(spark)
    start(stream_of("key int", [{"key": 1}], name="first"), "clicks <b>per</b> user")
    start(stream_of("key int", [{"key": 1}], name="second"), "clicks <b>per</b> user")
    name = "clicks (b)per(/b) user"
    assert {query.name for query in spark.streams.active} == {name, f"{name} (2)"}
    descriptions = {query["description"] for query in page.queries()}
    text = f"{name} · epoch 0 · Source: DataFrame | Map -> Sink: Print to Std. Out"
    assert text in descriptions
    assert name in streaming_page(spark)
    assert nameless(spark) == unnamed
