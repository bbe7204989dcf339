from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest
from benchmarks.pyflink_cases.stand_ins import as_java_shows
from benchmarks.pyflink_tests import changed, expected_failures, run

from penstock.common import Row
from penstock.common.serialization import ByteArraySchema

TESTS = """
from pyflink.common import Configuration, Types
from pyflink.common.serialization import ByteArraySchema, RowFieldExtractorSchema
from pyflink.common.typeinfo import _from_java_type
from pyflink.java_gateway import get_gateway
from pyflink.datastream.tests.test_util import DataStreamTestSinkFunction
from pyflink.table import DataTypes
from pyflink.testing.test_case_utils import (PyFlinkStreamingTestCase,
                                             PyFlinkTestCase)
from pyflink.util.java_utils import get_j_env_configuration


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

    def test_takes_schemas_and_rows_to_java(self):
        types = get_gateway().jvm.org.apache.flink.types
        row, other = types.Row(2), types.Row(2)
        row.setField(1, b'a')
        schema = RowFieldExtractorSchema(1)._j_serialization_schema
        schema.open(None)
        self.assertEqual(schema.serialize(row), b'a')
        self.assertEqual(schema.getFieldIndex(), 1)
        self.assertFalse(row.equals(other))
        other.setField(1, b'a')
        self.assertTrue(row.equals(other))
        again = RowFieldExtractorSchema(1)._j_serialization_schema
        self.assertTrue(schema.equals(again))
        self.assertEqual(schema.hashCode(), again.hashCode())
        read = ByteArraySchema()._j_deserialization_schema.deserialize(b'b')
        self.assertEqual(read, b'b')

    def test_takes_the_configuration_to_java_and_back(self):
        java = get_j_env_configuration(self.env._j_stream_execution_environment)
        java.setString('parallelism.default', '7')
        Configuration(j_configuration=java).set_string('pipeline.name', 'seven')
        self.assertEqual(self.env.get_parallelism(), 7)
        self.assertEqual(java.configuration.get_string('pipeline.name', ''), 'seven')

    def test_has_types_of_the_table_api(self):
        self.assertEqual(DataTypes.DECIMAL(2, 0), Types.BIG_DEC())

    def test_asks_the_gateway(self):
        get_gateway().jvm.java.util.ArrayList()

    def test_compares_with_a_constant_of_java(self):
        self.assertEqual(-1, get_gateway().jvm.org.apache.flink.Job.DEFAULT)

    def test_asks_for_flinks_graph(self):
        self.env._j_stream_execution_environment.getStreamGraph(True)

    def test_asks_for_insides(self):
        _from_java_type(None)

    def test_asks_for_an_object_of_java(self):
        Types.INT().get_java_type_info()
"""


def test_tests_of_pyflink_are_run(tmp_path: Path) -> None:
    (tmp_path / "test_of_pyflink.py").write_text(TESTS)

    result, failed = run(tmp_path)

    assert (result.testsRun, len(result.skipped)) == (10, 5)
    assert failed == {"test_of_pyflink.SomeTests.test_fails"}
    assert not hasattr(ByteArraySchema(), "_j_serialization_schema")
    assert find_spec("penstock.java_gateway") is None


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
