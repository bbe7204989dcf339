from __future__ import annotations

from typing import Any

import pytest

from penstock.common import Configuration
from penstock.errors import JarsNotLoadedError
from penstock.executors.spark.jars import check_jars, jars_of


class Session:
    """Has jars."""

    def __init__(self, *jars: str) -> None:
        self.jars = jars

    def sql(self, text: str) -> Session:
        assert text == "LIST JARS"
        return self

    def collect(self) -> list[tuple[str]]:
        return [(jar,) for jar in self.jars]


def configured(jars: str, classpaths: str = "") -> Configuration:
    configuration = Configuration().set_string("pipeline.jars", jars)
    return configuration.set_string("pipeline.classpaths", classpaths)


def test_jars_are_brought_along_or_there_on_each_machine() -> None:
    found = jars_of(configured("/a.jar;file:///b.jar", "file:///c.jar;https://d/e.jar"))
    assert found == ["/a.jar", "file:///b.jar", "local:/c.jar", "https://d/e.jar"]


def test_those_of_flink_are_left_out_and_the_log_says_so(caplog: pytest.LogCaptureFixture) -> None:
    jar = "file:///path/to/flink-sql-connector-kafka-9.jar"
    for _ in range(2):
        assert jars_of(configured(f"['{jar}']")) == []
    assert [record.getMessage() for record in caplog.records] == [
        f"{jar} is Flink's, and left out: Spark reads and writes with jars of its own."
    ]


def test_a_session_that_runs_has_them_or_the_error_says_what_to_do() -> None:
    session: Any = Session("spark://127.0.0.1:1/jars/a.jar", "local:/c.jar")
    check_jars(session, Configuration())
    check_jars(session, configured("/here/a.jar", "file:///c.jar"))
    with pytest.raises(JarsNotLoadedError) as caught:
        check_jars(session, configured("/here/a.jar;/here/b.jar"))
    message = str(caught.value)
    assert "'/here/b.jar'" in message.partition("\n")[0]
    assert "'/here/a.jar'" not in message.partition("\n")[0]
    assert '.config("spark.jars", "/here/a.jar,/here/b.jar")' in message
    assert "ADD JAR '/here/b.jar'" in message
