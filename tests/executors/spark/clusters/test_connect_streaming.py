"""Streaming jobs on a server of Spark Connect, each client a process of its own: the driver's side is on the server."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.executors.spark.clusters.test_connect_client import bare_python
from tests.servers.connect_server import NEEDS_CONNECT, ConnectServer
from tests.servers.s3_server import S3Server

pytestmark = [NEEDS_CONNECT, pytest.mark.spark, pytest.mark.timeout(600)]

OF_CONNECT = ("google", "grpc", "grpc_status", "typing_extensions", "zstandard")
"""What Spark needs on a server for a function that is called for each micro-batch."""

PROGRAM = '''
import json
import os
import sys
import threading
import time

from pyspark.sql import SparkSession

from penstock.common import Configuration, Duration, Types, WatermarkStrategy
from penstock.common.serialization import Encoder, SimpleStringSchema
from penstock.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from penstock.datastream.connectors.file_system import FileSink, FileSource, RollingPolicy, StreamFormat
from penstock.datastream.connectors.kafka import KafkaOffsetsInitializer, KafkaSource
from penstock.datastream.state import ValueStateDescriptor
from penstock.errors import PenstockError

root, steps, settings = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])


class Count(KeyedProcessFunction):
    def open(self, context):
        self.count = context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value, context):
        if value == "later":
            timers = context.timer_service()
            timers.register_processing_time_timer(timers.current_processing_time() + 10)
            return
        self.count.update((self.count.value() or 0) + 1)
        yield f"{value} {self.count.value()}"

    def on_timer(self, timestamp, context):
        yield "on time"


def known(word):
    if word == "wrong":
        raise ValueError("a wrong word")
    if word == "wrong once" and not os.path.exists(f"{root}/once"):
        open(f"{root}/once", "w").close()
        raise ValueError("a wrong word, once")
    if word == "slow":
        open(f"{root}/slow", "w").close()
        threading.Event().wait()
    return word


def put(name, *words):
    with open(f"{root}/draft", "w") as file:
        file.writelines(f"{word}\\n" for word in words)
    os.rename(f"{root}/draft", f"{root}/in/{name}")


def results(least):
    """The results, once there are so many."""
    while True:
        found = []
        for folder, _, names in os.walk(f"{root}/out"):
            for name in names:
                if not name.startswith("."):
                    with open(f"{folder}/{name}") as file:
                        found += file.read().splitlines()
        if len(found) >= least:
            return sorted(found)
        if job.get_job_status().result().is_terminal_state():
            job.result()
        time.sleep(0.05)


def error_of(work):
    try:
        work()
    except PenstockError as error:
        return type(error).__name__, str(error)


def read_by_spark(env):
    files = SparkSession.active().readStream.schema("value string").option("maxFilesPerTrigger", "1")
    return env.from_data_frame(files.text(f"{root}/in")).map(lambda row: row.value)


def read_by_penstock(env):
    files = FileSource.for_record_stream_format(StreamFormat.text_line_format(), "in")
    source = files.monitor_continuously(Duration.of_millis(100)).build()
    return env.from_source(source, WatermarkStrategy.no_watermarks(), "files")


def read_topic(env):
    source = KafkaSource.builder().set_topics(os.path.basename(root)).set_group_id("counting")
    source.set_bootstrap_servers(os.environ["KAFKA"]).set_property("metadata.max.age.ms", "1000")
    source.set_starting_offsets(KafkaOffsetsInitializer.earliest())
    source.set_value_only_deserializer(SimpleStringSchema())
    return env.from_source(source.build(), WatermarkStrategy.no_watermarks(), "topic")


def environment():
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(settings))
    return env.set_parallelism(2)


def started(read=read_by_spark):
    env = environment()
    words = read(env).map(known)
    counts = words.key_by(lambda word: word).process(Count(), output_type=Types.STRING())
    counts.print()
    sink = FileSink.for_row_format(f"{root}/out", Encoder.simple_string_encoder())
    counts.sink_to(sink.with_rolling_policy(RollingPolicy.on_checkpoint_rolling_policy()).build())
    return env.execute_async("counting")


if "SPARK_REMOTE" in os.environ:
    SparkSession.builder.remote(os.environ["SPARK_REMOTE"]).getOrCreate()
else:
    local = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    local.config("spark.driver.bindAddress", "127.0.0.1").getOrCreate()
job = None
exec(steps)
'''

ASYNC_MAPPED = """
from penstock.spark import async_map


async def loud(row):
    return [(row.value.upper(),)]


words = SparkSession.active().readStream.schema("value string").text(f"{root}/in")
loudly = words.transform(async_map, loud, "value string").writeStream.format("text")
query = loudly.option("checkpointLocation", f"{root}/loud-checkpoints").trigger(availableNow=True)
query.start(f"{root}/loud").awaitTermination()
print(json.dumps(sorted(row.value for row in SparkSession.active().read.text(f"{root}/loud").collect())))
"""

STOPPED = """
name, least = settings.pop("name"), settings.pop("least")
put(name, "to", "be")
job = started()
found = results(least)
job.stop().result()
progress = job.progress()
print(json.dumps([found, job.get_job_status().result().name, progress.records_in]))
"""

FAILED = """
put("f", "wrong")
job = started()
kind, text = error_of(job.result)
print(json.dumps([kind, text, job.get_job_status().result().name]))
"""

RESTARTED = """
put("f", "be", "wrong once")
job = started()
found = results(2)
progress = job.progress()
job.stop().result()
print(json.dumps([found, progress.restarts, type(progress.last_error).__name__]))
"""

SAVED = """
put("f", "to")
job = started()
results(1)
saved = job.savepoint(f"{root}/saved").result()
stopped = job.stop_with_savepoint(True, f"{root}/all").result()
print(json.dumps([saved, stopped, job.get_job_status().result().name]))
"""

CANCELLED = """
put("f", "slow")
job = started()
while not os.path.exists(f"{root}/slow"):
    time.sleep(0.05)
job.cancel().result()
print(json.dumps([job.get_job_status().result().name]))
"""

COLLECTED = """
put("f", "to")
env = environment()
rows = env.from_data_frame(SparkSession.active().createDataFrame([("be",)], "value string"))
words = read_by_spark(env).union(rows.map(lambda row: row.value))
with words.execute_and_collect("collecting") as results:
    found = sorted([next(results), next(results)])
print(json.dumps(found))
"""

ON_TIME = """
put("f", "later")
job = started()
found = results(1)
job.stop().result()
print(json.dumps(found))
"""

LEFT = """
put("f", "to")
job = started()
results(1)
print(json.dumps(str(job.get_job_id())), flush=True)
os._exit(1)
"""

PLANNED = """
put("f", "to")
job = started(read_by_penstock)
results(1)
print(json.dumps(str(job.get_job_id())), flush=True)
os._exit(1)
"""

PLANNED_FOLLOWED = """
put("g", "to")
job = started(read_by_penstock)
found = results(2)
job.stop().result()
print(json.dumps([str(job.get_job_id()), found]))
"""

FOLLOWED = """
put("g", "to")
job = started()
found = results(2)
job.stop().result()
print(json.dumps([str(job.get_job_id()), found]))
"""

ATTACHED = """
import penstock.spark

job = penstock.spark.attach(f"{root}/checkpoints")
before = job.progress()
put("g", "to")
found = results(2)
number = job.checkpoint().result()
saved = job.savepoint(f"{root}/attached").result()
job.stop().result()
kind = error_of(lambda: penstock.spark.attach(f"{root}/checkpoints"))[0]
status = job.get_job_status().result().name
print(json.dumps([str(job.get_job_id()), job.name, before.records_in, found, number, saved, status, kind]))
"""

WATCHED = """
import penstock.spark

job = penstock.spark.attach(f"{root}/checkpoints")
put("h", "wrong")
print(json.dumps([type(job).__name__, *error_of(job.result)]))
"""

REFUSED = """
print(json.dumps(error_of(started)))
"""

LACKING = """
job = started()
print(json.dumps(error_of(job.result)))
"""


class Programs:
    """Programs of one job, on one server."""

    def __init__(self, folder: Path, server: ConnectServer) -> None:
        self.folder = folder
        self._server = server
        self._script = folder / "program.py"
        self._script.write_text(PROGRAM)
        (folder / "in").mkdir()

    def move_to(self, server: ConnectServer) -> None:
        """Have those that are started from now on run on another server."""
        self._server = server

    def run(
        self,
        steps: str,
        *,
        python: str | Path = sys.executable,
        remote: str | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> tuple[Any, str, str]:
        """Run one, and return what it found, and all that it printed and said.

        Args:
            steps: What it does.
            python: Its interpreter. Another one than that of the tests finds neither Java nor anything else.
            remote: Its server, or none for a classic session. Default: the server of these programs.
            settings: Of its job.
        """
        environment = {"PATH": str(self.folder / "nothing"), "HOME": str(self.folder)}
        if python == sys.executable:
            environment = {**os.environ, "PYSPARK_PYTHON": sys.executable}
            environment.pop("SPARK_REMOTE", None)
        environment["XDG_STATE_HOME"] = str(self.folder / "state")
        if remote := self._server.url if remote is None else remote:
            environment["SPARK_REMOTE"] = remote
        given = {
            "execution.checkpointing.dir": str(self.folder / "checkpoints"),
            **(settings or {}),
        }
        given = {key: value for key, value in given.items() if value is not None}
        done = subprocess.run(
            [python, self._script, self.folder, steps, json.dumps(given)],
            env=environment,
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
            timeout=240,
        )
        last = done.stdout.splitlines()[-1:]
        assert last, done.stderr
        assert last[0].startswith(("[", "{", '"')), done.stderr
        return json.loads(last[0]), done.stdout, done.stderr

    def command(self, *arguments: str) -> tuple[int, str, str]:
        """Call `penstock`, and return its exit code, and what it printed and said."""
        environment = {**os.environ, "XDG_STATE_HOME": str(self.folder / "state")}
        environment.pop("SPARK_REMOTE", None)
        done = subprocess.run(
            [sys.executable, "-m", "penstock", *arguments],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=240,
        )
        return done.returncode, done.stdout, done.stderr


@pytest.fixture(scope="module")
def server(
    tmp_path_factory: pytest.TempPathFactory, s3_process: tuple[S3Server, str]
) -> Iterator[ConnectServer]:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in s3_process[0].environment.items():
            patch.setenv(name, value)
        server = ConnectServer(tmp_path_factory.mktemp("server"))
    with closing(server):
        yield server


@pytest.fixture
def programs(tmp_path: Path, server: ConnectServer) -> Programs:
    return Programs(tmp_path, server)


def test_a_job_is_stopped_and_goes_on_there_and_in_a_classic_session(programs: Programs) -> None:
    found, printed, _ = programs.run(STOPPED, settings={"name": "a", "least": 2})
    assert found == [["be 1", "to 1"], "FINISHED", 2]
    told = [line.partition("> ")[2] for line in printed.splitlines()[:-1]]
    assert sorted(told) == ["be 1", "to 1"]

    found, _, _ = programs.run(STOPPED, settings={"name": "b", "least": 4})
    assert found == [["be 1", "be 2", "to 1", "to 2"], "FINISHED", 2]

    found, _, _ = programs.run(STOPPED, settings={"name": "c", "least": 6}, remote="")
    assert found[0] == ["be 1", "be 2", "be 3", "to 1", "to 2", "to 3"]

    found, _, _ = programs.run(STOPPED, settings={"name": "d", "least": 8})
    assert found[0][3::4] == ["be 4", "to 4"]


def test_a_job_keeps_its_checkpoints_in_an_object_store(
    programs: Programs, s3: tuple[S3Server, str]
) -> None:
    settings = {"execution.checkpointing.dir": s3[1], "name": "a", "least": 2}
    found, printed, _ = programs.run(STOPPED, settings=settings)
    assert found == [["be 1", "to 1"], "FINISHED", 2]
    assert "to 1" in printed

    found, _, _ = programs.run(STOPPED, settings=settings | {"name": "b", "least": 4})
    assert found == [["be 1", "be 2", "to 1", "to 2"], "FINISHED", 2]


def test_a_client_without_java_reaches_an_object_store_through_the_server(
    client: Path, programs: Programs, s3: tuple[S3Server, str]
) -> None:
    settings = {"execution.checkpointing.dir": s3[1], "name": "a", "least": 2}
    found, printed, said = programs.run(STOPPED, python=client, settings=settings)
    assert found == [["be 1", "to 1"], "FINISHED", 2], said
    assert "to 1" in printed


def test_an_error_has_the_users_traceback(programs: Programs) -> None:
    (kind, text, status), _, _ = programs.run(FAILED)
    assert (kind, status) == ("UserFunctionError", "FAILED")
    assert "in known" in text
    assert "ValueError: a wrong word" in text


def test_a_job_is_restarted_there(programs: Programs) -> None:
    strategy = {
        "restart-strategy.type": "fixed-delay",
        "restart-strategy.fixed-delay.attempts": "2",
        "restart-strategy.fixed-delay.delay": "10 ms",
        "metrics.reporter.log.factory.class": "org.apache.flink.metrics.slf4j.Slf4jReporterFactory",
        "metrics.reporter.log.colour": "red",
    }
    found, _, said = programs.run(RESTARTED, settings=strategy)
    assert found == [["be 1", "wrong once 1"], 1, "UserFunctionError"]
    assert "a wrong word, once" in said
    assert said.count("failed; restart 1 in") == 1
    assert "key 'metrics.reporter.log.colour' changes nothing" in said  # it is logged on the server


def test_savepoints_are_written_there(programs: Programs) -> None:
    (saved, stopped, status), _, _ = programs.run(SAVED)
    assert status == "FINISHED"
    for place in (saved, stopped):
        assert (Path(place) / "epochs").is_dir()


def test_a_slow_function_is_cancelled(programs: Programs) -> None:
    assert programs.run(CANCELLED)[0] == ["CANCELED"]


def test_results_are_collected_with_those_of_a_bounded_data_frame(programs: Programs) -> None:
    assert programs.run(COLLECTED)[0] == ["be", "to"]


def test_a_timer_fires_though_no_records_come(programs: Programs) -> None:
    assert programs.run(ON_TIME)[0] == ["on time"]


def test_a_job_outlives_its_client_and_is_found_again_by_the_same_program_alone(
    programs: Programs,
) -> None:
    job, _, _ = programs.run(LEFT)
    (kind, text), _, _ = programs.run(REFUSED, settings={"shop.country": "CH"})
    assert kind == "JobRunsElsewhereError"
    assert "penstock stop" in text

    own = {"execution.progress.interval": "1 s", "rest.port": "0"}
    (found, results), _, said = programs.run(FOLLOWED, settings=own)
    assert found == job
    assert results == ["to 1", "to 2"]
    assert "this program follows it" in said


def test_a_job_whose_client_is_gone_is_found_and_steered_without_its_program(
    programs: Programs, server: ConnectServer
) -> None:
    job, _, _ = programs.run(LEFT)
    _, listed, said = programs.command("list")
    (line,) = [line for line in listed.splitlines() if line.startswith(job)]
    assert line.split()[1:3] == ["counting", "RUNNING"], said
    assert line.endswith(f"{server.url} {programs.folder}/checkpoints")

    code, shown, said = programs.command("show", job)
    assert code == 0, said
    assert f"counting  {job}" in shown
    assert "1 read" in shown
    code, saved, said = programs.command("savepoint", job, "--to", f"{programs.folder}/saved")
    assert code == 0, said
    assert (Path(saved.strip()) / "epochs").is_dir()

    found, _, _ = programs.run(ATTACHED)
    number, again = found[4], found[5]
    assert found == [
        job,
        "counting",
        1,
        ["to 1", "to 2"],
        number,
        again,
        "FINISHED",
        "NoRunningJobError",
    ]
    assert number >= 1
    assert (Path(again) / "epochs").is_dir()

    _, listed, said = programs.command("list")
    assert job not in listed
    assert said.count(server.url) == 0
    assert list((programs.folder / "state" / "penstock" / "jobs").iterdir()) == []

    found, _, _ = programs.run(STOPPED, settings={"name": "z", "least": 4})
    assert found[0] == ["be 1", "to 1", "to 2", "to 3"]


def test_a_job_is_stopped_by_its_location_and_its_failure_reaches_whoever_is_attached(
    programs: Programs, server: ConnectServer
) -> None:
    programs.run(LEFT)
    place = ("--address", server.url, "--checkpoint-dir", f"{programs.folder}/checkpoints")
    code, saved, said = programs.command("stop", *place, "--to", f"{programs.folder}/saved")
    assert code == 0, said
    assert (Path(saved.strip()) / "epochs").is_dir()
    code, _, said = programs.command("show", *place)
    assert (code, "Hint: Give the location" in said) == (2, True)

    programs.run(LEFT.replace('"f"', '"g"').replace("results(1)", "results(2)"))
    (kind, error, text), _, _ = programs.run(WATCHED)
    assert (kind, error) == ("JobClient", "UserFunctionError")
    assert "ValueError: a wrong word" in text


def test_files_that_penstock_reads_are_read_there_without_a_client(programs: Programs) -> None:
    job, _, _ = programs.run(PLANNED)
    (found, results), _, said = programs.run(PLANNED_FOLLOWED)
    assert (found, results) == (job, ["to 1", "to 2"])
    assert "this program follows it" in said


def test_a_job_without_a_checkpoint_location_is_refused(programs: Programs) -> None:
    place = {"execution.checkpointing.dir": None}
    (kind, text), _, _ = programs.run(REFUSED, settings=place)
    assert kind == "StreamingOnConnectError"
    assert "execution.checkpointing.dir" in text


def test_a_machine_without_java_and_a_server_with_a_bare_python(
    client: Path, tmp_path: Path
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("PYTHONPATH", raising=False)
        python = bare_python(tmp_path / "bare", *OF_CONNECT)
        with closing(ConnectServer(tmp_path / "work", str(python))) as server:
            programs = Programs(tmp_path, server)
            programs.run(STOPPED, python=client, settings={"name": "a", "least": 2})
            programs.run(LEFT, python=client)
            server.kill()
        with closing(ConnectServer(tmp_path / "work", str(python))) as server:
            programs.move_to(server)
            found, _, _ = programs.run(STOPPED, python=client, settings={"name": "b", "least": 5})
            mapped, _, _ = programs.run(ASYNC_MAPPED, python=client)
    assert found[0] == ["be 1", "be 2", "to 1", "to 2", "to 3"]
    assert mapped == ["BE", "BE", "TO", "TO", "TO"]


def test_a_server_that_the_program_itself_starts(programs: Programs) -> None:
    found, printed, _ = programs.run(STOPPED, remote="local[2]", settings={"name": "a", "least": 2})
    assert found == [["be 1", "to 1"], "FINISHED", 2]
    assert "be 1" in printed


def test_a_server_whose_python_has_too_little_is_refused_with_what_to_install(
    tmp_path: Path,
) -> None:
    python = bare_python(tmp_path / "bare")
    with closing(ConnectServer(tmp_path / "work", str(python))) as server:
        (kind, text), _, _ = Programs(tmp_path, server).run(LACKING)
    assert kind == "WorkerPythonError"
    assert "pip install 'pyspark[connect]'" in text
