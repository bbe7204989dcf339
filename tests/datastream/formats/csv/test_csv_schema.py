from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import pytest

from penstock.common import Types
from penstock.datastream.formats.csv import CsvSchema, CsvSchemaBuilder
from penstock.errors import InvalidArgumentError


def some() -> CsvSchemaBuilder:
    return (
        CsvSchema.builder()
        .add_number_column("id", number_type=Types.INT())
        .add_string_column("name")
        .add_array_column("list", ",", element_type=Types.DOUBLE())
        .add_boolean_column("flag")
        .add_number_column("count")
        .add_array_column("tags")
    )


def test_columns_have_types() -> None:
    schema = pickle.loads(pickle.dumps(some().build()))
    assert schema.type_info.get_field_names() == ["id", "name", "list", "flag", "count", "tags"]
    assert schema.type_info.get_field_types() == [
        Types.INT(),
        Types.STRING(),
        Types.LIST(Types.DOUBLE()),
        Types.BOOLEAN(),
        Types.LONG(),
        Types.LIST(Types.STRING()),
    ]
    assert len(schema) == schema.size() == len(some()) == some().size() == 6


def test_its_text_is_flinks() -> None:
    # What PyFlink 2.3 prints.
    assert str(
        some().clear_columns().add_number_column("id").add_string_column("name").build()
    ) == (
        '[CsvSchema: columns=["id"/NUMBER,"name"/STRING], header? false, skipFirst? false, '
        "comments? false, any-properties? N/A]"
    )
    changed = some().set_use_header().set_skip_first_data_row().set_allow_comments()
    assert repr(changed.set_any_property_name("rest").build()).endswith(
        'header? true, skipFirst? true, comments? true, any-properties? "rest"]'
    )


def test_columns_are_taken_from_another_schema() -> None:
    both = CsvSchema.builder().add_boolean_column("first").add_columns_from(some().build()).build()
    assert both.columns[1:] == some().build().columns


def test_arrays_have_the_separator_of_their_column_or_of_the_file() -> None:
    def separators(builder: CsvSchemaBuilder) -> list[str]:
        schema = builder.build()
        return [schema.separator_of(schema.columns[place]) for place in (2, 5)]

    assert separators(some().set_array_element_separator("/")) == [",", ";"]
    removed = some().remove_array_element_separator(2)
    assert separators(removed) == [";", ";"]
    assert separators(removed.set_array_element_separator("/")) == ["/", ";"]
    assert separators(removed.disable_array_element_separator()) == ["", ";"]


def test_settings_are_kept() -> None:
    schema = (
        some()
        .set_column_separator("|")
        .set_quote_char("'")
        .set_escape_char("\\")
        .set_line_separator("\r\n")
        .set_null_value("NULL")
        .set_strict_headers()
        .build()
    )
    assert (schema.column_separator, schema.quote_char, schema.escape_char) == ("|", "'", "\\")
    assert (schema.line_separator, schema.null_value, schema.strict_headers) == (
        "\r\n",
        "NULL",
        True,
    )
    plain = some().set_escape_char("\\").disable_escape_char().disable_quote_char().build()
    assert plain.escape_char is plain.quote_char is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda builder: builder.set_column_separator("||"), r"'\|\|' is no column separator"),
        (lambda builder: builder.set_quote_char(""), "'' is no quote character"),
        (lambda builder: builder.set_escape_char("\n"), r"'\\n' is no escape character"),
        (lambda builder: builder.add_number_column("n", Types.STRING()), "String is no type of"),
        (lambda builder: builder.remove_array_element_separator(6), "There is no column 6, only 6"),
        (lambda builder: builder.add_string_column("id").build(), "two columns 'id'"),
    ],
)
def test_a_mistake_is_named_at_once(change: Callable[[Any], Any], message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        change(some())
