from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.pyflink_cases.stand_ins import as_java_shows
from benchmarks.pyflink_tests import changed, expected_failures, run

from penstock.common import Row

TESTS = """
from pyflink.common import Types
from pyflink.common.typeinfo import _from_java_type
from pyflink.java_gateway import get_gateway
from pyflink.datastream.tests.test_util import DataStreamTestSinkFunction
from pyflink.testing.test_case_utils import (PyFlinkStreamingTestCase,
                                             PyFlinkTestCase)


class SomeTests(PyFlinkStreamingTestCase):
    def test_passes(self):
        sink = DataStreamTestSinkFunction()
        kind = Types.TUPLE([Types.INT(), Types.STRING()])
        self.env.from_collection([(1, 'pyflink')], kind).add_sink(sink)
        self.env.execute()
        self.assertEqual(sink.get_results(), ['(1,pyflink)'])
        self.assertEqual(sink.get_results(True), ["(1, 'pyflink')"])

    def test_fails(self):
        self.assertEqual(Types.INT(), Types.STRING())

    def test_asks_the_gateway(self):
        get_gateway().jvm

    def test_asks_for_insides(self):
        _from_java_type(None)

    def test_asks_for_an_object_of_java(self):
        Types.INT().get_java_type_info()
"""


def test_tests_of_pyflink_are_run(tmp_path: Path) -> None:
    (tmp_path / "test_of_pyflink.py").write_text(TESTS)

    result, failed = run(tmp_path)

    assert (result.testsRun, len(result.skipped)) == (5, 3)
    assert failed == {"test_of_pyflink.SomeTests.test_fails"}


def test_only_imports_are_changed() -> None:
    text = changed(TESTS)
    assert "from penstock.java_gateway import" in text
    assert "[(1, 'pyflink')]" in text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        (True, "true"),
        (2.5, "2.5"),
        (Row("a", None), "+I[a, null]"),
        (("a", 1, [2, (3,)]), "(a,1,[2, (3)])"),
        ({"a": False}, "{a=false}"),
    ],
)
def test_results_are_shown_as_java_shows_them(value: object, text: str) -> None:
    assert as_java_shows(value) == text


def test_a_failure_that_is_expected_has_its_reason() -> None:
    assert expected_failures()
    assert all(why.endswith(".") for why in expected_failures().values())
