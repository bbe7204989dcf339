from __future__ import annotations

import os
from pathlib import Path

import pyspark
import pytest

from penstock.common import Configuration
from penstock.executors.spark import session_options as module
from penstock.executors.spark.session_options import (
    is_for_this_machine,
    is_submitted,
    server_options,
    session_options,
)
from penstock.runtime.private_folder import is_private

MASTER = "spark.master"
JAVA = "spark.driver.extraJavaOptions"


@pytest.fixture(autouse=True)
def defaults(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The file of Spark's defaults, in an environment that says nothing, beside a Spark that has all there is."""
    monkeypatch.setattr(pyspark, "__version__", "4.3.0")
    for name in (
        "PYSPARK_GATEWAY_PORT",
        "PYSPARK_SUBMIT_ARGS",
        "JAVA_TOOL_OPTIONS",
        "JDK_JAVA_OPTIONS",
        "_JAVA_OPTIONS",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    return tmp_path / "spark-defaults.conf"


def options(**given: str) -> dict[str, str]:
    configuration = Configuration()
    for key, value in given.items():
        configuration.set_string(key.replace("_", "."), value)
    return session_options(configuration)


def test_where_nobody_says_anything_the_session_is_on_this_machine() -> None:
    assert not is_submitted()
    found = options()
    assert found[MASTER] == "local[*, 4]"
    assert found["spark.driver.host"] == "127.0.0.1"
    assert "-XX:+UseParallelGC" in found[JAVA]
    assert found["spark.sql.shuffle.partitions"] == str(os.cpu_count())


def test_a_server_of_spark_connect_that_is_started_here_has_what_a_session_would_have() -> None:
    given = Configuration().set_string("spark.remote", "local[3]")
    found = server_options(given, "local[3]")
    assert found.pop("spark.remote") == "local[3]"
    assert found == {
        key: value for key, value in options(spark_master="local[3]").items() if key != MASTER
    }
    assert found["spark.sql.shuffle.partitions"] == "3"
    assert MASTER not in given.to_dict()


@pytest.mark.parametrize(("master", "partitions"), [("local", "1"), ("local[3, 2]", "3")])
def test_without_adaptive_planning_a_core_has_one_partition(master: str, partitions: str) -> None:
    for adaptive in ({}, {"spark_sql_adaptive_enabled": "false"}):
        found = options(spark_master=master, **adaptive)
        assert found["spark.sql.shuffle.partitions"] == partitions
    assert "spark.sql.shuffle.partitions" not in options(spark_sql_adaptive_enabled="true")
    for elsewhere in ("spark://host:7077", "local-cluster[2,1,1024]"):
        assert "spark.sql.shuffle.partitions" not in options(spark_master=elsewhere)


def test_whoever_submits_says_all_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "4711")
    assert is_submitted()
    assert options() == {}
    assert options(spark_sql_shuffle_partitions="7") == {"spark.sql.shuffle.partitions": "7"}


def test_the_arguments_of_a_submission_to_come_are_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(
        "PYSPARK_SUBMIT_ARGS",
        "--master 'local[3]' --conf spark.sql.adaptive.enabled=true --jars a.jar pyspark-shell",
    )
    found = options()
    assert MASTER not in found
    assert "spark.sql.adaptive.enabled" not in found
    assert found["spark.driver.host"] == "127.0.0.1"


def test_what_the_defaults_of_spark_name_stays(defaults: Path) -> None:
    defaults.write_text(
        "# ours\nspark.ui.enabled   true\nspark.app.name=mine\n\nspark.sql.adaptive.enabled: true\n"
    )
    found = options()
    assert not {"spark.ui.enabled", "spark.app.name", "spark.sql.adaptive.enabled"} & set(found)
    assert found[MASTER] == "local[*, 4]"


@pytest.mark.parametrize("by", ["defaults", "arguments", "configuration"])
def test_nothing_of_this_machine_is_told_to_a_cluster(
    by: str, defaults: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    master, given = "spark://there:7077", {}
    if by == "defaults":
        defaults.write_text(f"{MASTER}  {master}\n")
    elif by == "arguments":
        monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", f"--master {master} pyspark-shell")
    else:
        given = {"spark_master": master}
    found = options(**given)
    assert found.get(MASTER) == (master if given else None)
    assert not {"spark.driver.host", "spark.ui.enabled", JAVA} & set(found)
    assert found["spark.python.unix.domain.socket.enabled"] == "true"


@pytest.mark.parametrize("by", ["JAVA_TOOL_OPTIONS", "defaults"])
def test_java_is_told_of_one_collector_only(
    by: str, defaults: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if by == "defaults":
        defaults.write_text("spark.driver.defaultJavaOptions -Xmx2g -XX:+UseG1GC\n")
    else:
        monkeypatch.setenv(by, "-XX:+UseZGC")
    assert "GC" not in options()[JAVA]


def test_the_configuration_of_the_job_comes_first(defaults: Path) -> None:
    defaults.write_text("spark.ui.port 1\n")
    found = options(spark_master="local[1]", spark_ui_enabled="true", spark_ui_port="4040")
    assert found[MASTER] == "local[1]"
    assert (found["spark.ui.enabled"], found["spark.ui.port"]) == ("true", "4040")


def test_spark_has_a_page_of_its_own_only_if_it_is_asked_for() -> None:
    assert options(rest_port="8081")["spark.ui.enabled"] == "false"
    assert "spark.ui.port" not in options(rest_port="8081")
    assert options(spark_ui_enabled="true")["spark.ui.enabled"] == "true"


def test_a_session_of_this_machine_asks_who_is_there() -> None:
    found = options()
    assert found["spark.authenticate"] == "true"
    assert is_private(found["spark.python.unix.domain.socket.dir"])
    # Spark has no secret of its own for these, and would not start.
    for elsewhere in ("spark://host:7077", "local-cluster[2,1,1024]"):
        assert "spark.authenticate" not in options(spark_master=elsewhere)
    assert "spark.python.unix.domain.socket.dir" not in options(spark_master="spark://host:7077")


def test_a_folder_for_sockets_that_is_too_long_or_said_is_not_used(
    monkeypatch: pytest.MonkeyPatch, defaults: Path
) -> None:
    monkeypatch.setattr(module, "private_folder", lambda: "/" + "x" * 70)
    assert options()["spark.python.unix.domain.socket.enabled"] == "false"
    assert "spark.python.unix.domain.socket.dir" not in options()
    defaults.write_text("spark.python.unix.domain.socket.dir /run/mine\nspark.authenticate false")
    found = options()
    assert found["spark.python.unix.domain.socket.enabled"] == "true"
    assert not {"spark.python.unix.domain.socket.dir", "spark.authenticate"} & found.keys()


def test_jars_are_added_to_those_that_are_said(defaults: Path) -> None:
    jars = "spark.jars"
    assert session_options(Configuration(), ["a.jar", "b.jar"])[jars] == "a.jar,b.jar"
    given = Configuration().set_string(jars, "given.jar")
    assert session_options(given, ["a.jar"])[jars] == "given.jar,a.jar"
    defaults.write_text(f"{jars} default.jar")
    assert session_options(Configuration(), ["a.jar"])[jars] == "default.jar,a.jar"
    assert jars not in session_options(Configuration())


def test_rows_come_to_python_in_batches_of_the_size_that_flink_has_a_key_for() -> None:
    spark = "spark.sql.execution.arrow.maxRecordsPerBatch"
    assert spark not in options()
    size = Configuration().set_integer("python.fn-execution.arrow.batch.size", 500)
    assert session_options(size)[spark] == "500"
    assert session_options(size.set_string(spark, "7"))[spark] == "7"


def test_where_a_session_will_be_is_known_before_it_is_built(
    defaults: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert is_for_this_machine(Configuration())
    assert is_for_this_machine(Configuration().set_string(MASTER, "local[2]"))
    assert not is_for_this_machine(Configuration().set_string(MASTER, "local-cluster[2,1,1024]"))
    defaults.write_text(f"{MASTER} spark://host:7077")
    assert not is_for_this_machine(Configuration())


def test_packages_are_added_to_those_of_the_user_unless_he_names_the_module() -> None:
    key, jars = "spark.jars.packages", "spark.jars"
    ours = "org.apache.spark:spark-sql-kafka-0-10_2.13:9"

    def asked(**given: str) -> str | None:
        configuration = Configuration.from_dict({k.replace("_", "."): v for k, v in given.items()})
        return session_options(configuration, packages=[ours]).get(key)

    assert asked() == ours
    assert asked(spark_jars_packages="a:b:1") == f"a:b:1,{ours}"
    other = ours.replace(":9", ":8")
    assert asked(spark_jars_packages=other) == other
    configuration = Configuration.from_dict({jars: "/x/spark-sql-kafka-0-10_2.13-8.jar"})
    assert key not in session_options(configuration, packages=[ours])


@pytest.mark.parametrize(("version", "has_sockets"), [("4.0.5", False), ("4.1.4", True)])
def test_an_older_spark_is_told_of_no_sockets(
    version: str, monkeypatch: pytest.MonkeyPatch, *, has_sockets: bool
) -> None:
    monkeypatch.setattr(pyspark, "__version__", version)

    found = session_options(Configuration())

    assert any("unix.domain.socket" in key for key in found) is has_sockets
    writer = found["spark.sql.streaming.checkpointFileManagerClass"]
    assert writer.endswith(".FileSystemBasedCheckpointFileManager")
    assert (".checkpointing." in writer) is has_sockets
