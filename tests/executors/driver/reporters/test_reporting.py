"""Reporters at work: in threads of their own, shared by jobs, and harmless whatever they do."""

from __future__ import annotations

import contextlib
import logging
import socket
import threading
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

import pytest
from prometheus_client.parser import text_string_to_metric_families
from tests.executors.driver.reports import views

from penstock.common import Configuration
from penstock.datastream import MapFunction, RuntimeContext
from penstock.errors import InvalidArgumentError, InvalidConfigurationValueError
from penstock.executors.driver.reporters import reporting
from penstock.executors.driver.reporters.reporting import Reporting
from penstock.metrics import MetricConfig, MetricReporter, ReportedMetric
from penstock.testing import local_environment

SECONDS = 60.0
NEVER = "1 d"


class Kept(MetricReporter):
    """A reporter that tests look into; each that is made stands in `all_of_them`."""

    all_of_them: ClassVar[list[Kept]] = []

    def __init__(self) -> None:
        self.reports: list[list[ReportedMetric]] = []
        self.has_reported = threading.Semaphore(0)
        self.closed = 0
        self.all_of_them.append(self)

    def open(self, config: MetricConfig) -> None:
        self.thread = threading.current_thread()
        if config.get_boolean("wrong", default_value=False):
            raise InvalidArgumentError("this is wrong")

    def report(self, metrics: Sequence[ReportedMetric]) -> None:
        self.thread = threading.current_thread()
        self.reports.append(list(metrics))
        self.has_reported.release()

    def close(self) -> None:
        self.closed += 1


class Exiting(Kept):
    """Ends its thread, the first time."""

    has_exited = False

    def report(self, metrics: Sequence[ReportedMetric]) -> None:
        if not Exiting.has_exited:
            Exiting.has_exited = True
            raise SystemExit(3)
        super().report(metrics)


class Failing(Kept):
    problem: ClassVar[str | None] = None

    def report(self, metrics: Sequence[ReportedMetric]) -> None:
        super().report(metrics)
        if Failing.problem is not None:
            raise RuntimeError(Failing.problem)


class LateToOpen(Kept):
    def open(self, config: MetricConfig) -> None:
        self.tries = getattr(self, "tries", 0) + 1
        if self.tries < 3:
            raise ConnectionRefusedError("not yet")


class Hanging(Kept):
    may_go_on: ClassVar[threading.Event]

    def report(self, metrics: Sequence[ReportedMetric]) -> None:
        super().report(metrics)
        Hanging.may_go_on.wait(SECONDS)


class SlowToOpen(Kept):
    may_go_on: ClassVar[threading.Event]

    def open(self, config: MetricConfig) -> None:
        SlowToOpen.may_go_on.wait(SECONDS)
        super().open(config)


class Meeting(Kept):
    """Reports once another one does."""

    meeting: ClassVar[threading.Barrier]

    def report(self, metrics: Sequence[ReportedMetric]) -> None:
        Meeting.meeting.wait(SECONDS)


class Asked(MetricReporter):
    pass


@pytest.fixture(autouse=True)
def _nothing_is_left() -> Iterator[None]:
    Kept.all_of_them.clear()
    Failing.problem = None
    yield
    assert not reporting._SHARED.at_work


def configuration(
    kind: type[MetricReporter] = Kept, settings: Mapping[str, str] | None = None
) -> Configuration:
    found = Configuration()
    known = {"factory.class": f"{__name__}:{kind.__qualname__}", "interval": NEVER}
    known |= settings or {}
    for key, text in known.items():
        found.set_string(f"metrics.reporter.mine.{key}", text)
    return found


def begun(found: Configuration, name: str = "fares") -> Reporting:
    return Reporting(found, lambda: views.view(name=name))


def names(report: list[ReportedMetric]) -> set[str]:
    return {metric.variables["job_name"] for metric in report}


def test_it_reports_at_each_interval_in_a_thread_of_its_own() -> None:
    with contextlib.closing(begun(configuration(Kept, {"interval": "1 ms"}))):
        (reporter,) = Kept.all_of_them
        for _ in range(3):
            assert reporter.has_reported.acquire(timeout=SECONDS)

    assert names(reporter.reports[0]) == {"fares"}
    assert reporter.thread.name == "metrics-mine"
    assert reporter.thread.daemon
    reporter.thread.join(SECONDS)
    assert not reporter.thread.is_alive()


def test_the_end_of_a_job_is_reported_however_long_the_interval_is() -> None:
    job = begun(configuration())
    (reporter,) = Kept.all_of_them
    assert reporter.reports == []

    job.close()

    assert len(reporter.reports) == 1
    assert reporter.closed == 1
    job.close()
    assert len(reporter.reports) == 1


def test_jobs_that_say_the_same_share_a_reporter_and_others_have_their_own() -> None:
    first, second = begun(configuration(), "a"), begun(configuration(), "b")
    other = begun(configuration(Kept, {"colour": "red"}), "c")
    shared, alone = Kept.all_of_them

    first.close()
    assert names(shared.reports[0]) == {"a", "b"}
    assert shared.closed == 0
    second.close()
    assert names(shared.reports[1]) == {"b"}
    assert shared.closed == 1
    other.close()
    assert names(alone.reports[0]) == {"c"}


def test_only_what_passes_the_filter_is_reported() -> None:
    begun(configuration(Kept, {"filter.includes": "*:uptime,downtime"})).close()

    (reporter,) = Kept.all_of_them
    assert [metric.name for metric in reporter.reports[0]] == ["uptime", "downtime"]


def test_what_fails_is_logged_once_and_once_more_when_it_works_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "penstock")
    Failing.problem = "no route"
    with contextlib.closing(begun(configuration(Failing, {"interval": "1 ms"}))):
        (reporter,) = Kept.all_of_them
        for problem in ("no route", "no name", None):
            Failing.problem = problem
            for _ in range(4):
                assert reporter.has_reported.acquire(timeout=SECONDS)

    said = [record.getMessage() for record in caplog.records]
    assert [text.partition(": ")[2] for text in said] == [
        "RuntimeError: no route",
        "RuntimeError: no name",
        "",
    ]
    assert said[2] == "The reporter of metrics 'mine' works again."


def test_one_that_would_end_its_thread_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    Exiting.has_exited = False
    with contextlib.closing(begun(configuration(Exiting, {"interval": "1 ms"}))):
        (reporter,) = Kept.all_of_them
        assert reporter.has_reported.acquire(timeout=SECONDS)

    assert "SystemExit" in caplog.text


def test_one_that_cannot_be_opened_yet_is_opened_later(caplog: pytest.LogCaptureFixture) -> None:
    with contextlib.closing(begun(configuration(LateToOpen, {"interval": "1 ms"}))):
        (reporter,) = Kept.all_of_them
        assert reporter.has_reported.acquire(timeout=SECONDS)

    assert isinstance(reporter, LateToOpen)
    assert reporter.tries == 3
    assert len(caplog.records) == 1


def test_wrong_settings_are_refused_and_leave_nothing() -> None:
    found = configuration()
    found.set_string("metrics.reporter.other.factory.class", f"{__name__}:Kept")
    found.set_string("metrics.reporter.other.wrong", "true")

    with pytest.raises(InvalidArgumentError, match="this is wrong"):
        begun(found)

    assert Kept.all_of_them[0].closed == 1


def test_one_that_hangs_holds_up_the_end_of_a_job_for_some_seconds_only(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(reporting, "_LAST_SECONDS", 0.05)
    Hanging.may_go_on = threading.Event()
    job = begun(configuration(Hanging))
    (reporter,) = Kept.all_of_them

    job.close()

    assert "'mine' takes more than 0.05 s" in caplog.text
    Hanging.may_go_on.set()
    reporter.thread.join(SECONDS)
    assert reporter.closed == 1


def test_one_that_hangs_as_it_opens_holds_up_the_start_of_a_job_for_some_seconds_only(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(reporting, "_FIRST_SECONDS", 0.05)
    SlowToOpen.may_go_on = threading.Event()

    with contextlib.closing(begun(configuration(SlowToOpen))):
        assert "'mine' takes more than 0.05 s to open" in caplog.text
        SlowToOpen.may_go_on.set()

    (reporter,) = Kept.all_of_them
    assert reporter.closed == 1
    assert len(reporter.reports) == 1


def test_jobs_that_end_at_the_same_time_close_the_reporter_that_they_share() -> None:
    Hanging.may_go_on = threading.Event()
    first, second = begun(configuration(Hanging), "a"), begun(configuration(Hanging), "b")
    (reporter,), (at_work,) = Kept.all_of_them, reporting._SHARED.at_work.values()

    ends = threading.Thread(target=first.close)
    ends.start()
    assert reporter.has_reported.acquire(timeout=SECONDS)
    also_ends = threading.Thread(target=second.close)
    also_ends.start()
    while at_work._requests.empty():
        assert also_ends.is_alive()
    Hanging.may_go_on.set()
    for one in (ends, also_ends, reporter.thread):
        one.join(SECONDS)

    assert reporter.closed == 1
    assert len(reporter.reports) == 2
    assert "b" in names(reporter.reports[1])


def test_the_last_reports_are_waited_for_side_by_side(caplog: pytest.LogCaptureFixture) -> None:
    Meeting.meeting = threading.Barrier(2)
    found = configuration(Meeting)
    found.set_string("metrics.reporter.other.factory.class", f"{__name__}:Meeting")
    found.set_string("metrics.reporter.other.interval", NEVER)

    begun(found).close()

    assert [reporter.closed for reporter in Kept.all_of_them] == [1, 1]
    assert caplog.text == ""


def test_one_that_is_asked_is_asked_nothing() -> None:
    job = begun(configuration(Asked, {"interval": "1 ms"}))
    (at_work,) = reporting._SHARED.at_work.values()

    assert names(list(at_work._reporter.metrics())) == {"fares"}

    job.close()


@pytest.mark.parametrize(
    "name",
    [
        "no.such.module:Reporter",
        f"{__name__}:NoSuchReporter",
        "builtins:dict",
        "org.apache.flink.metrics.jmx.JMXReporterFactory",
    ],
)
def test_a_class_that_is_no_reporter_is_refused(name: str) -> None:
    with pytest.raises(InvalidConfigurationValueError) as caught:
        begun(configuration(Kept, {"factory.class": name}))

    assert name in str(caught.value)
    assert "metrics.reporter.mine.factory.class" in str(caught.value)
    assert "PrometheusReporterFactory" in str(caught.value)


def test_a_key_that_a_reporter_does_not_read_is_said(caplog: pytest.LogCaptureFixture) -> None:
    factory = "org.apache.flink.metrics.slf4j.Slf4jReporterFactory"

    begun(configuration(Kept, {"factory.class": factory, "intervall": "1 s"})).close()

    assert "'metrics.reporter.mine.intervall' changes nothing" in caplog.text


class Counting(MapFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        group = runtime_context.get_metrics_group().add_group("parser").add_group("zone", "eu.1")
        self.rows = group.counter("rows")
        self.rate = group.meter("rate")
        self.size = group.distribution("size")
        group.gauge("last", lambda: 7)
        group.gauge("mood", lambda: "good")

    def map(self, value: int) -> int:
        self.rows.inc()
        self.rate.mark_event()
        self.size.update(value)
        return value


def test_a_job_reports_its_operators_and_what_its_functions_measure() -> None:
    env = local_environment(2)
    env.configure(configuration())
    env.from_collection([1, 2, 3]).map(Counting()).name("Count").add_sink(lambda value: None)

    env.execute("counts")

    (reporter,) = Kept.all_of_them
    found: dict[str, list[ReportedMetric]] = {}
    for metric in reporter.reports[-1]:
        found.setdefault(f"{metric.logical_scope}.{metric.name}", []).append(metric)

    def total(name: str, operator: str) -> int:
        metrics = found[f"taskmanager.job.task.operator.{name}"]
        return sum(
            metric.value for metric in metrics if metric.variables["operator_name"] == operator
        )

    assert [one.value for one in found["jobmanager.job.numRecordsIn"]] == [3]
    assert total("numRecordsIn", "Count") == 3
    assert total("parser.zone.rows", "Count") == 3
    for name in ("rows", "rate", "size", "last", "mood"):
        for metric in found[f"taskmanager.job.task.operator.parser.zone.{name}"]:
            assert metric.variables["zone"] == "eu.1"
            assert metric.identifier.endswith(f".parser.zone.eu.1.{name}")
            assert metric.is_user


def test_prometheus_scrapes_a_job_that_runs() -> None:
    with contextlib.closing(socket.socket()) as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    settings = configuration(
        Kept,
        {
            "factory.class": "org.apache.flink.metrics.prometheus.PrometheusReporterFactory",
            "port": str(port),
            "host": "127.0.0.1",
        },
    )

    def scrape(value: int) -> str:
        url = f"http://127.0.0.1:{port}/metrics"
        with urllib.request.urlopen(url, timeout=SECONDS) as answer:
            return str(answer.read().decode())

    env = local_environment()
    env.configure(settings)
    with env.from_collection([1]).map(scrape).name("Scrape").execute_and_collect("scraped") as rows:
        (page,) = rows

    families = {family.name: family for family in text_string_to_metric_families(page)}
    counted = families["flink_taskmanager_job_task_operator_numRecordsIn"].samples
    assert {one.labels["operator_name"] for one in counted} >= {"Scrape"}
    assert {one.labels["job_name"] for one in counted} == {"scraped"}
    with pytest.raises(OSError, match="refused"):
        urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=SECONDS)
