"""What a CSV file is made of."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

from penstock.common.typeinfo.basic_typeinfo import BasicType, BasicTypeInfo
from penstock.common.typeinfo.composite_typeinfo import ListTypeInfo, RowTypeInfo
from penstock.common.typeinfo.type_information import TypeInformation
from penstock.common.typeinfo.types import Types
from penstock.datastream.formats.csv.csv_lines import CsvForm
from penstock.errors import InvalidArgumentError

__all__ = ["CsvSchema", "CsvSchemaBuilder"]

_NOT_NUMBERS: Final = {BasicType.STRING, BasicType.BOOLEAN, BasicType.CHAR, BasicType.INSTANT}


@dataclass(frozen=True)
class CsvColumn:
    """A column of a CSV file.

    Attributes:
        name: Its name.
        type_info: The type of its values.
        separator: What stands between the elements of an array; "" for that of the file.
    """

    name: str
    type_info: TypeInformation
    separator: str = ""

    @property
    def kind(self) -> str:
        """What Flink's CSV library calls its type."""
        if isinstance(self.type_info, ListTypeInfo):
            return "ARRAY"
        if self.type_info == Types.STRING():
            return "STRING"
        return "BOOLEAN" if self.type_info == Types.BOOLEAN() else "NUMBER"


@dataclass(frozen=True)
class CsvSchema:
    """The columns of a CSV file, and how its lines look. Made by `CsvSchema.builder()`.

    Attributes:
        columns: The columns.
        column_separator: What stands between two values.
        array_element_separator: What stands between the elements of an array whose column does not say.
        quote_char: What stands around values that need it; None for no quotes.
        escape_char: What stands before a character that is meant as such; None for no such thing.
        line_separator: What ends a line that is written.
        null_value: What stands for None.
        use_header: Whether a file begins with the names of the columns.
        strict_headers: Whether those that are read have to be the names of the columns, in their order.
        skip_first_data_row: Whether the first line of values is passed over when a file is read.
        allow_comments: Whether lines that begin with # are passed over when a file is read.
        any_property_name: What values are called that are in no column.

    Example:
        >>> schema = CsvSchema.builder().add_number_column("id").add_string_column("name").build()
        >>> schema.type_info
        RowTypeInfo(id: Long, name: String)
    """

    columns: tuple[CsvColumn, ...] = ()
    column_separator: str = ","
    array_element_separator: str = ";"
    quote_char: str | None = '"'
    escape_char: str | None = None
    line_separator: str = "\n"
    null_value: str = ""
    use_header: bool = False
    strict_headers: bool = False
    skip_first_data_row: bool = False
    allow_comments: bool = False
    any_property_name: str | None = None

    @staticmethod
    def builder() -> CsvSchemaBuilder:
        """Return what builds a schema."""
        return CsvSchemaBuilder()

    @property
    def type_info(self) -> RowTypeInfo:
        """The type of the rows."""
        return Types.ROW_NAMED(
            [column.name for column in self.columns],
            [column.type_info for column in self.columns],
        )

    def separator_of(self, column: CsvColumn) -> str:
        """Return what stands between the elements of a column's arrays; "" for nothing."""
        return column.separator or self.array_element_separator

    def size(self) -> int:
        """Return the number of columns."""
        return len(self.columns)

    def __len__(self) -> int:
        return len(self.columns)

    def __str__(self) -> str:
        columns = ",".join(f'"{column.name}"/{column.kind}' for column in self.columns)
        rest = "N/A" if self.any_property_name is None else f'"{self.any_property_name}"'
        return (
            f"[CsvSchema: columns=[{columns}], header? {_java(self.use_header)}, "
            f"skipFirst? {_java(self.skip_first_data_row)}, comments? {_java(self.allow_comments)}, "
            f"any-properties? {rest}]"
        )

    __repr__ = __str__


def _java(flag: bool) -> str:
    return str(flag).lower()


class CsvSchemaBuilder:
    """Builds a `CsvSchema`.

    Where PyFlink takes a data type of its Table API, one of `Types` is given.

    Example:
        >>> builder = CsvSchema.builder().add_number_column("id", Types.INT())
        >>> str(builder.add_array_column("tags").set_column_separator("|").build())
        '[CsvSchema: columns=["id"/NUMBER,"tags"/ARRAY], header? false, skipFirst? false, comments? false, any-properties? N/A]'
    """

    def __init__(self) -> None:
        self._schema = CsvSchema()

    def build(self) -> CsvSchema:
        """Return the schema.

        Raises:
            InvalidArgumentError: If two columns have one name.
        """
        names = [column.name for column in self._schema.columns]
        if twice := {name for name in names if names.count(name) > 1}:
            raise InvalidArgumentError(
                f"A CSV file cannot have two columns {min(twice)!r}.", hint="Rename one of them."
            )
        return self._schema

    def add_array_column(
        self, name: str, separator: str = ";", element_type: TypeInformation | None = None
    ) -> CsvSchemaBuilder:
        """Add a column of lists.

        Args:
            name: Its name.
            separator: What stands between two elements.
            element_type: Their type. Default: `Types.STRING()`.
        """
        element_type = Types.STRING() if element_type is None else element_type
        return self._add(CsvColumn(name, Types.LIST(element_type), separator))

    def add_boolean_column(self, name: str) -> CsvSchemaBuilder:
        """Add a column of booleans."""
        return self._add(CsvColumn(name, Types.BOOLEAN()))

    def add_number_column(
        self, name: str, number_type: TypeInformation | None = None
    ) -> CsvSchemaBuilder:
        """Add a column of numbers.

        Args:
            name: Its name.
            number_type: Their type. Default: `Types.LONG()`.

        Raises:
            InvalidArgumentError: If it is no type of numbers.
        """
        number_type = Types.LONG() if number_type is None else number_type
        if not isinstance(number_type, BasicTypeInfo) or number_type.basic_type in _NOT_NUMBERS:
            raise InvalidArgumentError(
                f"{number_type!r} is no type of numbers.", hint="Give one such as Types.INT()."
            )
        return self._add(CsvColumn(name, number_type))

    def add_string_column(self, name: str) -> CsvSchemaBuilder:
        """Add a column of strings."""
        return self._add(CsvColumn(name, Types.STRING()))

    def add_columns_from(self, schema: CsvSchema) -> CsvSchemaBuilder:
        """Add the columns of another schema."""
        return self._with(columns=self._schema.columns + schema.columns)

    def clear_columns(self) -> CsvSchemaBuilder:
        """Forget all columns."""
        return self._with(columns=())

    def set_allow_comments(self, allow: bool = True) -> CsvSchemaBuilder:
        """Set whether lines that begin with # are passed over. Default: they are not."""
        return self._with(allow_comments=allow)

    def set_any_property_name(self, name: str) -> CsvSchemaBuilder:
        """Set what values are called that are in no column. They are in no row either."""
        return self._with(any_property_name=name)

    def disable_array_element_separator(self) -> CsvSchemaBuilder:
        """Let arrays whose column has no separator have none: they cannot be written, then."""
        return self._with(array_element_separator="")

    def remove_array_element_separator(self, index: int) -> CsvSchemaBuilder:
        """Let the arrays of a column have the file's separator.

        Args:
            index: The position of the column, from 0.

        Raises:
            InvalidArgumentError: If there is no such column.
        """
        columns = list(self._schema.columns)
        if not 0 <= index < len(columns):
            raise InvalidArgumentError(
                f"There is no column {index}, only {len(columns)}.", hint="Count from 0 on."
            )
        columns[index] = replace(columns[index], separator="")
        return self._with(columns=tuple(columns))

    def set_array_element_separator(self, separator: str) -> CsvSchemaBuilder:
        """Set what stands between the elements of arrays whose column does not say. Default: ";"."""
        return self._with(array_element_separator=separator)

    def set_column_separator(self, char: str) -> CsvSchemaBuilder:
        """Set what stands between two values: one character. Default: ","."""
        return self._with(column_separator=single_character(char, "column separator"))

    def disable_escape_char(self) -> CsvSchemaBuilder:
        """Let no character be escaped, which is the default."""
        return self._with(escape_char=None)

    def set_escape_char(self, char: str) -> CsvSchemaBuilder:
        """Set what stands before a character that is meant as such. Default: nothing does."""
        return self._with(escape_char=single_character(char, "escape character"))

    def set_line_separator(self, separator: str) -> CsvSchemaBuilder:
        r"""Set what ends a line that is written. Default: "\n". Whatever ends a line is read."""
        return self._with(line_separator=separator)

    def set_null_value(self, null_value: str) -> CsvSchemaBuilder:
        """Set what stands for None. Default: nothing."""
        return self._with(null_value=null_value)

    def disable_quote_char(self) -> CsvSchemaBuilder:
        """Let values stand without quotes."""
        return self._with(quote_char=None)

    def set_quote_char(self, char: str) -> CsvSchemaBuilder:
        """Set what stands around values that need it: one character. Default: a double quote."""
        return self._with(quote_char=single_character(char, "quote character"))

    def set_skip_first_data_row(self, skip: bool = True) -> CsvSchemaBuilder:
        """Set whether the first line of values is passed over when a file is read."""
        return self._with(skip_first_data_row=skip)

    def set_strict_headers(self, strict: bool = True) -> CsvSchemaBuilder:
        """Set whether a header that is read has to have the names of the columns, in their order."""
        return self._with(strict_headers=strict)

    def set_use_header(self, use: bool = True) -> CsvSchemaBuilder:
        """Set whether a file begins with the names of the columns."""
        return self._with(use_header=use)

    def size(self) -> int:
        """Return the number of columns."""
        return len(self._schema.columns)

    def __len__(self) -> int:
        return self.size()

    def _add(self, column: CsvColumn) -> CsvSchemaBuilder:
        return self._with(columns=(*self._schema.columns, column))

    def _with(self, **settings: Any) -> CsvSchemaBuilder:
        self._schema = replace(self._schema, **settings)
        return self


def form_of(schema: CsvSchema) -> CsvForm:
    """Return how the lines of a file look."""
    return CsvForm(
        schema.column_separator,
        schema.array_element_separator,
        schema.quote_char,
        schema.escape_char,
        schema.null_value,
        schema.line_separator,
    )


def single_character(char: str, what: str) -> str:
    """Return a character that is one.

    Raises:
        InvalidArgumentError: If it is not.
    """
    if not isinstance(char, str) or len(char) != 1 or char in "\r\n":
        raise InvalidArgumentError(
            f"{char!r} is no {what}.", hint="Give one character, which does not end lines."
        )
    return char
