from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.common import Configuration, JobStatus, Time, WatermarkStrategy
from penstock.common.configuration.options import CLASSPATHS, JARS
from penstock.common.running_job import JobProgress
from penstock.datastream import (
    RuntimeExecutionMode,
    StreamExecutionEnvironment,
    environment_execution,
)
from penstock.datastream.environment_execution import EnvironmentExecution
from penstock.datastream.window import TumblingEventTimeWindows
from penstock.errors import (
    DuplicateUidError,
    InvalidArgumentError,
    InvalidConfigurationValueError,
    InvalidParallelismError,
    MissingUidError,
    NoSinkError,
    UnknownConfigurationKeyError,
    UserFunctionError,
)
from penstock.executors.port import JobRequest
from penstock.graph.plan.execution_plan import ExecutionPlan
from penstock.testing import local_environment

get_environment = StreamExecutionEnvironment.get_execution_environment


def test_defaults() -> None:
    env = get_environment()
    assert env.get_parallelism() == os.cpu_count()
    assert env.get_max_parallelism() == -1
    assert env.get_buffer_timeout() == 100
    assert env.is_chaining_enabled()
    assert env.is_chaining_of_operators_with_different_max_parallelism_enabled()
    assert env.get_target() == "spark"


def test_setters_return_the_environment_and_write_its_configuration() -> None:
    env = get_environment()
    assert env.set_parallelism(3) is env
    assert env.set_max_parallelism(9) is env
    assert env.set_runtime_mode(RuntimeExecutionMode.BATCH) is env
    assert env.set_buffer_timeout(5) is env
    assert env.disable_operator_chaining() is env
    assert (env.get_parallelism(), env.get_max_parallelism()) == (3, 9)
    assert env.get_buffer_timeout() == 5
    assert not env.is_chaining_enabled()
    assert env.get_config().get_parallelism() == 3
    env.get_config().set_parallelism(4)
    assert env.get_parallelism() == 4


def test_a_buffer_timeout_can_be_switched_off_and_on() -> None:
    env = get_environment()
    assert env.set_buffer_timeout(-1).get_buffer_timeout() == -1
    assert env.set_buffer_timeout(0).get_buffer_timeout() == 0
    with pytest.raises(InvalidArgumentError):
        env.set_buffer_timeout(-2)


@pytest.mark.parametrize("method", ["set_parallelism", "set_max_parallelism"])
@pytest.mark.parametrize("wrong", [0, -1, 32_769, "4", None, True])
def test_parallelisms_out_of_range(method: str, wrong: Any) -> None:
    with pytest.raises(InvalidParallelismError, match=r"^The environment cannot have the "):
        getattr(get_environment(), method)(wrong)


def test_a_runtime_mode_is_one_of_the_three() -> None:
    with pytest.raises(InvalidArgumentError, match="is no runtime mode"):
        get_environment().set_runtime_mode("BATCH")  # type: ignore[arg-type]


def test_the_configuration_is_copied() -> None:
    configuration = Configuration().set_integer("parallelism.default", 7)
    env = get_environment(configuration)
    configuration.set_integer("parallelism.default", 8)
    assert env.get_parallelism() == 7
    env.set_parallelism(6)
    assert configuration.get_integer("parallelism.default", 0) == 8


def test_configure_adds_settings() -> None:
    env = get_environment(Configuration().set_integer("parallelism.default", 7))
    env.configure(
        Configuration()
        .set_string("pipeline.operator-chaining.enabled", "false")
        .set_string("execution.target", "local")
        .set_string("pipeline.max-parallelism", "50")
    )
    assert (env.get_parallelism(), env.get_max_parallelism()) == (7, 50)
    assert not env.is_chaining_enabled()
    assert env.get_target() == "local"


@pytest.mark.parametrize("wrong", [{"parallelism.default": "3"}, "parallelism.default", 3])
def test_what_is_no_configuration_is_refused(wrong: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="is no Configuration"):
        get_environment(wrong)
    with pytest.raises(InvalidArgumentError, match="is no Configuration"):
        get_environment().configure(wrong)
    with pytest.raises(InvalidArgumentError, match="is no Configuration"):
        get_environment().configure(None)  # type: ignore[arg-type]


def test_mistyped_keys_and_unknown_targets_are_refused_where_they_are_set() -> None:
    env = get_environment(Configuration().set_boolean("configuration.strict", value=True))
    mistyped = Configuration().set_string("paralelism.default", "3")
    with pytest.raises(UnknownConfigurationKeyError):
        env.configure(mistyped)
    with pytest.raises(InvalidConfigurationValueError):
        get_environment(Configuration().set_string("execution.target", "yarn"))


def test_uids_can_be_demanded() -> None:
    env = local_environment()
    env.get_config().disable_auto_generated_uids()
    numbers = env.from_collection([1]).uid("numbers")

    assert list(numbers.map(str).uid("texts").execute_and_collect()) == ["1"]
    with pytest.raises(MissingUidError, match="'Map'"):
        numbers.map(str).execute_and_collect()


def test_uids_are_not_demanded_of_what_cannot_have_one() -> None:
    env = local_environment()
    env.get_config().disable_auto_generated_uids()
    strategy: WatermarkStrategy = WatermarkStrategy.for_monotonous_timestamps()
    timed = (
        env.from_collection([1])
        .uid("numbers")
        .assign_timestamps_and_watermarks(strategy.with_timestamp_assigner(lambda n, _: n))
        .uid("timed")
    )
    joined = timed.join(timed).where(lambda n: n).equal_to(lambda n: n)
    windows = joined.window(TumblingEventTimeWindows.of(Time.seconds(1)))

    assert list(windows.apply(lambda a, b: (a, b)).uid("joined").execute_and_collect()) == [(1, 1)]


def test_a_default_parallelism_is_that_of_later_environments(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(EnvironmentExecution, "_default_local_parallelism", None)
    before = get_environment()
    usual = before.get_default_local_parallelism()
    before.set_default_local_parallelism(usual + 1)

    assert before.get_parallelism() == usual
    assert (
        get_environment().get_parallelism() == usual + 1 == before.get_default_local_parallelism()
    )
    assert get_environment().set_parallelism(3).get_parallelism() == 3
    assert (
        get_environment(Configuration().set_integer("parallelism.default", 2)).get_parallelism()
        == 2
    )
    with pytest.raises(InvalidParallelismError):
        before.set_default_local_parallelism(0)


def test_what_is_no_spark_session_is_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="spark is a str, not a SparkSession"):
        get_environment(spark="local[2]")


def test_a_program_runs_once_and_leaves_the_environment_empty() -> None:
    env = local_environment()
    env.from_collection([1]).add_sink(lambda _: None)
    assert env.execute("first").metrics["records_in"] == 1
    with pytest.raises(NoSinkError):
        env.execute("second")


def test_a_program_that_failed_is_not_run_again() -> None:
    env = local_environment()
    stream = env.from_collection([1])
    stream.map(str)
    with pytest.raises(NoSinkError, match="no sink"):
        env.execute()
    stream.map(lambda value: 1 // 0).print()
    with pytest.raises(UserFunctionError):
        env.execute()
    stream.map(str).uid("a").print().uid("a")
    with pytest.raises(DuplicateUidError):
        env.execute()
    assert list(stream.execute_and_collect()) == [1]


def test_operators_without_a_sink_run_if_there_is_one_elsewhere() -> None:
    env = local_environment()
    stream = env.from_collection([1, 2])
    stream.map(str).name("nowhere")
    stream.add_sink(lambda _: None)
    operators = env.execute().metrics["operators"].values()
    assert {entry["name"]: entry["records_in"] for entry in operators}["nowhere"] == 2


def test_a_source_without_a_reader_does_not_run() -> None:
    env = local_environment()
    env.from_collection([1])
    env.from_collection([2]).add_sink(lambda _: None)
    assert env.execute().metrics["records_in"] == 1


def test_close_forgets_the_program() -> None:
    env = local_environment()
    env.from_collection([1]).print()
    env.close()
    with pytest.raises(NoSinkError, match="no operator"):
        env.execute()


@pytest.mark.parametrize(
    ("given", "configured", "expected"),
    [
        (None, None, "Flink Streaming Job"),
        (None, "configured", "configured"),
        ("given", "configured", "given"),
    ],
)
def test_the_name_of_a_job(given: str | None, configured: str | None, expected: str) -> None:
    env = local_environment()
    if configured:
        env.configure(Configuration().set_string("pipeline.name", configured))
    env.from_collection([1]).print()
    assert env.get_stream_graph(given).job_name == expected
    assert env.create_job_request(given).name == expected


def test_settings_reach_the_graph() -> None:
    env = local_environment(3).set_max_parallelism(11).disable_operator_chaining()
    key = "pipeline.operator-chaining.chain-operators-with-different-max-parallelism"
    env.configure(Configuration().set_string("pipeline.object-reuse", "false"))
    env.configure(Configuration().set_string(key, "false"))
    env.get_config().set_global_job_parameters({"a": "b"})
    env.from_collection([1]).map(str).print()
    graph = env.get_stream_graph()
    assert not graph.chaining_enabled
    assert not graph.chain_different_max_parallelism
    assert not graph.object_reuse
    assert graph.job_parameters == {"a": "b"}
    assert [(n.parallelism, n.max_parallelism) for n in graph.nodes.values()] == [
        (1, 11),
        (3, 11),
        (3, 11),
    ]


@pytest.mark.parametrize(
    ("mode", "bounded", "unbounded"),
    [
        (RuntimeExecutionMode.STREAMING, False, False),
        (RuntimeExecutionMode.AUTOMATIC, True, False),
        (RuntimeExecutionMode.BATCH, True, None),
    ],
)
def test_the_runtime_mode_reaches_the_graph(
    mode: RuntimeExecutionMode, bounded: bool, unbounded: bool | None
) -> None:
    env = local_environment().set_runtime_mode(mode)
    env.from_collection([1]).print()
    assert env.get_stream_graph().batch is bounded
    env.socket_text_stream("localhost", 9999).print()
    if unbounded is None:
        with pytest.raises(InvalidArgumentError, match="BATCH mode needs sources that end"):
            env.get_stream_graph()
    else:
        assert env.get_stream_graph().batch is unbounded


def test_the_plan_is_there_before_and_the_program_after() -> None:
    env = local_environment()
    env.from_collection([1]).map(str).key_by(str).reduce(max).add_sink(lambda _: None)
    nodes = json.loads(env.get_execution_plan())["nodes"]
    assert [node["type"] for node in nodes] == [
        "Source: Collection Source",
        "Map",
        "Keyed Reduce",
        "Sink: Unnamed",
    ]
    strategies = [node["predecessors"][0]["ship_strategy"] for node in nodes[1:]]
    assert strategies == ["FORWARD", "HASH", "FORWARD"]
    plan = env.explain()
    assert isinstance(plan, ExecutionPlan)
    assert "Keyed Reduce" in str(plan)
    assert env.execute().metrics["records_in"] == 1


@pytest.mark.parametrize("method", ["get_execution_plan", "explain", "execute", "execute_async"])
def test_a_program_needs_a_sink(method: str) -> None:
    env = local_environment()
    env.from_collection([1]).map(str)
    with pytest.raises(NoSinkError, match="print"):
        getattr(env, method)()


def test_execute_async() -> None:
    env = local_environment()
    env.from_collection([1, 2]).add_sink(lambda _: None)
    client = env.execute_async("background")
    result = client.get_job_execution_result().result()
    assert result.get_job_id() == client.get_job_id()
    assert result.metrics["records_in"] == 2
    assert client.progress().epochs == 1


class InterruptedJob:
    """A job in which Ctrl-C comes while the client waits, `interrupts` times."""

    job_id = "0" * 32

    def __init__(self, interrupts: int = 1, epochs: int = 3) -> None:
        self.interrupts = interrupts
        self.cancelled = self.is_end_told = False
        self.main = threading.current_thread()
        self.epochs = epochs

    def progress(self) -> JobProgress:
        return JobProgress(JobStatus.CANCELED, epochs=self.epochs, records_in=1234)

    def wait(self) -> JobProgress:
        if threading.current_thread() is self.main and self.interrupts:
            self.interrupts -= 1
            raise KeyboardInterrupt
        return self.progress()

    def cancel(self) -> None:
        self.cancelled = True

    def check_may_wait(self) -> None:
        pass

    def tell_failure(self) -> None:
        pass

    def tell_end(self) -> None:
        self.is_end_told = self.cancelled


def executing(job: InterruptedJob, monkeypatch: pytest.MonkeyPatch) -> StreamExecutionEnvironment:
    class Executor:
        def submit(self, request: JobRequest) -> InterruptedJob:
            return job

    monkeypatch.setattr(environment_execution, "executor_for", lambda target: Executor())
    env = local_environment()
    env.from_collection([1]).print()
    return env


def test_ctrl_c_stops_the_job_and_says_how_far_it_came(monkeypatch: pytest.MonkeyPatch) -> None:
    job = InterruptedJob(epochs=3)
    result = executing(job, monkeypatch).execute()
    assert job.is_end_told
    assert result.metrics["epochs"] == 3


def test_a_second_ctrl_c_is_not_held_back(monkeypatch: pytest.MonkeyPatch) -> None:
    job = InterruptedJob(interrupts=2)
    with pytest.raises(KeyboardInterrupt):
        executing(job, monkeypatch).execute()
    assert job.cancelled


def test_object_reuse_off_keeps_functions_from_changing_each_others_records() -> None:
    def give_out(value: list[int]) -> Iterator[list[int]]:
        """Give out a record, and what became of it."""
        yield value
        yield [*value, -1]

    def change(value: list[int]) -> list[int]:
        value.append(0)
        return value

    found = {}
    for reuse in ("true", "false"):
        env = local_environment()
        env.configure(Configuration().set_string("pipeline.object-reuse", reuse))
        stream = env.from_collection([[1]]).flat_map(give_out).map(change)
        found[reuse] = list(stream.execute_and_collect())
    assert found == {"true": [[1, 0], [1, 0, -1, 0]], "false": [[1, 0], [1, -1, 0]]}


def test_what_is_set_are_the_keys_of_pyflink(tmp_path: Path) -> None:
    env = local_environment()
    one, other = tmp_path / "one.zip", tmp_path / "other"
    one.touch()
    other.mkdir()
    for path in (one, other):
        env.add_python_file(path)
        env.add_python_archive(path, None if path == one else "data")
        env.register_cached_file(path, path.stem, path == one)
    env.set_python_requirements(f"file://{one}", other)
    env.set_python_executable("other/bin/python")
    env.from_collection([1]).print()
    request = env.create_job_request()
    assert request.python_files == (str(other), str(one))
    assert {
        key: request.configuration.get_string(key, "")
        for key in (
            "python.archives",
            "python.requirements",
            "python.executable",
            "pipeline.cached-files",
        )
    } == {
        "python.archives": f"{one},{other}#data",
        "python.requirements": f"{one}#{other}",
        "python.executable": "other/bin/python",
        "pipeline.cached-files": f"name:one,path:{one},executable:true;name:other,path:{other},executable:false",
    }


def test_a_file_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    env = local_environment()
    none = tmp_path / "none"
    calls: list[Callable[[], None]] = [
        lambda: env.add_python_file(none),
        lambda: env.add_python_archive(none),
        lambda: env.set_python_requirements(none),
        lambda: env.set_python_requirements(tmp_path, none),
        lambda: env.register_cached_file(none, "name"),
    ]
    for refused in calls:
        with pytest.raises(InvalidArgumentError, match="does not exist"):
            refused()


def test_names_that_could_not_be_told_apart_are_refused(tmp_path: Path) -> None:
    env = local_environment()
    for target in ("/data", "../data", "", "a,b", "a#b"):
        with pytest.raises(InvalidArgumentError, match="target folder"):
            env.add_python_archive(tmp_path, target)
    for name in ("", "a;b", "a,b"):
        with pytest.raises(InvalidArgumentError, match="Give a name"):
            env.register_cached_file(tmp_path, name)


def test_python_files_of_the_configuration_have_to_exist(tmp_path: Path) -> None:
    env = local_environment()
    env.configure(Configuration().set_string("python.files", f"file://{tmp_path}, {tmp_path}/none"))
    env.from_collection([1]).print()
    with pytest.raises(
        InvalidArgumentError, match=r"python\.files was given '.*/none', which does"
    ):
        env.execute()


def test_jars_are_listed_as_flink_does(tmp_path: Path) -> None:
    env = local_environment()
    jar = tmp_path / "a.jar"
    jar.touch()
    env.add_jars(str(jar), f"file://{jar}")
    env.add_jars("file:///path/to/flink-connector.jar")
    env.add_classpaths("file:///b.jar")
    env.from_collection([1]).print()
    configuration = env.create_job_request().configuration
    assert configuration.get(JARS) == [
        str(jar),
        f"file://{jar}",
        "file:///path/to/flink-connector.jar",
    ]
    assert configuration.get(CLASSPATHS) == ["file:///b.jar"]
    with pytest.raises(InvalidArgumentError, match="does not exist"):
        env.add_jars(str(tmp_path / "none.jar"))
    with pytest.raises(InvalidArgumentError, match="no URL"):
        env.add_classpaths(str(jar))


def test_python_operators_can_be_kept_apart_alone() -> None:
    env = local_environment()
    env.configure(Configuration().set_boolean("python.operator-chaining.enabled", value=False))
    env.from_collection([1]).map(str).print()
    assert env.is_chaining_enabled()
    assert "3 chains" in str(env.explain())
