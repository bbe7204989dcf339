"""What stands in for Java where PyFlink's unit tests take their objects to it and back."""

from __future__ import annotations

import unittest
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from types import SimpleNamespace
from typing import Any, Final, NoReturn
from unittest.mock import patch

from penstock.common import Configuration, Row, Types
from penstock.common.serialization import DeserializationSchema, SerializationSchema
from penstock.common.typeinfo import TypeInformation
from penstock.datastream import StreamExecutionEnvironment


def of_java(*_: Any, **__: Any) -> NoReturn:
    """Stand in for what is about Java's objects, or inside of PyFlink: what calls it is no test of penstock."""
    raise unittest.SkipTest("needs Java, or PyFlink's own insides")


class JavaRow(Row):
    """A row as tests make it in Java."""

    __slots__ = ()

    def __init__(self, arity: int) -> None:
        super().__init__(*[None] * arity)

    def setField(self, position: int, value: Any) -> None:  # noqa: N802 - Java's name
        """Set a field."""
        self[position] = value

    def equals(self, other: Row) -> bool:
        """Whether the values are the same."""
        return bool(values_of(self) == values_of(other))


def values_of(value: Any) -> Any:
    """Return the values of a row, and of the rows in it, without their names."""
    return [values_of(one) for one in value] if isinstance(value, Row) else value


class JavaSchema:
    """A schema as Java sees it."""

    def __init__(self, schema: Any) -> None:
        self.schema = schema
        self.serialize = getattr(schema, "serialize", of_java)
        self.deserialize = getattr(schema, "deserialize", of_java)

    def open(self, context: object) -> None:
        """Do nothing: penstock's schemas need none."""

    def equals(self, other: JavaSchema) -> bool:
        """Whether the schemas are equal."""
        return bool(self.schema == other.schema)

    def hashCode(self) -> int:  # noqa: N802 - Java's name
        """Return the schema's hash."""
        return hash(self.schema)

    def getFieldIndex(self) -> int:  # noqa: N802 - Java's name
        """Return which field a `RowFieldExtractorSchema` takes."""
        schema = self.schema
        return next(value for value in vars(schema).values() if isinstance(value, int))


class JavaName:
    """A name in Java: most of them only let the test be left out."""

    def __init__(self, name: str = "") -> None:
        self._name = name

    def __getattr__(self, name: str) -> JavaName:
        return JavaName(f"{self._name}.{name}")

    def __call__(self, *arguments: Any) -> Any:
        """Call it, if it is known here."""
        return KNOWN_IN_JAVA.get(self._name, of_java)(*arguments)

    def __eq__(self, other: object) -> bool:
        return of_java()

    __hash__ = object.__hash__


KNOWN_IN_JAVA: Final[dict[str, Callable[..., Any]]] = {
    ".org.apache.flink.types.Row": JavaRow,
    ".org.apache.flink.connector.testutils.formats.DummyInitializationContext": lambda: None,
}


class JavaConfiguration:
    """The configuration of an environment as Java sees it."""

    def __init__(self, environment: StreamExecutionEnvironment) -> None:
        self.configuration: Configuration = vars(environment)["_configuration"]

    def setString(self, key: str, value: str) -> None:  # noqa: N802 - Java's name
        """Set a value."""
        self.configuration.set_string(key, value)

    def getValue(self, option: object) -> NoReturn:  # noqa: N802 - Java's name
        """Leave the test out: the option is an object of Java's."""
        of_java(option)


class DataTypes:
    """Types of the Table API's, in whose place penstock takes those of `Types`."""

    TINYINT = staticmethod(Types.BYTE)
    SMALLINT = staticmethod(Types.SHORT)
    INT = staticmethod(Types.INT)
    BIGINT = staticmethod(Types.LONG)
    FLOAT = staticmethod(Types.FLOAT)
    DOUBLE = staticmethod(Types.DOUBLE)
    BOOLEAN = staticmethod(Types.BOOLEAN)
    STRING = staticmethod(Types.STRING)

    @staticmethod
    def DECIMAL(*_: int) -> TypeInformation:  # noqa: N802 - PyFlink's name
        """Return the type of decimals: precision and scale are those of each value."""
        return Types.BIG_DEC()


STAND_INS_FOR_JAVA: Final[dict[str, Any]] = {
    "DataTypes": DataTypes,
    "get_gateway": lambda: SimpleNamespace(jvm=JavaName()),
    "get_j_env_configuration": JavaConfiguration,
    "on_windows": lambda: False,
}
"""What names that tests import from inside of PyFlink are here."""


@contextmanager
def java_stood_in_for() -> Iterator[None]:
    """Let environments be local ones, and let environments, configurations and schemas have what Java is given."""
    of_environment = StreamExecutionEnvironment.get_execution_environment
    of_configuration = Configuration.__init__

    def environment(configuration: Configuration | None = None) -> StreamExecutionEnvironment:
        return of_environment(Configuration(configuration).set_string("execution.target", "local"))

    def init(
        self: Configuration,
        other: Configuration | None = None,
        j_configuration: JavaConfiguration | None = None,
    ) -> None:
        of_configuration(self, other)
        if j_configuration is not None:
            vars(self).update(vars(j_configuration.configuration))

    with ExitStack() as stack:
        for place, name, stand_in in (
            (StreamExecutionEnvironment, "get_execution_environment", staticmethod(environment)),
            (
                StreamExecutionEnvironment,
                "_j_stream_execution_environment",
                property(lambda one: one),
            ),
            (StreamExecutionEnvironment, "getStreamGraph", of_java),
            (Configuration, "__init__", init),
            (SerializationSchema, "_j_serialization_schema", property(JavaSchema)),
            (DeserializationSchema, "_j_deserialization_schema", property(JavaSchema)),
        ):
            stack.enter_context(patch.object(place, name, stand_in, create=True))
        yield
