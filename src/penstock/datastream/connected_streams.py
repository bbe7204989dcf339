"""Two streams whose records go to one function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.common.typeinfo import TypeInformation
from penstock.datastream.co_functions import (
    AsCoProcessFunction,
    CoFlatMapFunction,
    CoMapFunction,
    CoProcessFunction,
    KeyedCoProcessFunction,
)
from penstock.datastream.function_checks import check_methods
from penstock.datastream.functions import KeySelector
from penstock.datastream.named_rows import name_results_of
from penstock.datastream.stream import DataStream
from penstock.errors import InvalidFunctionError
from penstock.runtime.operators.co_process import CoProcessOperator, KeyedCoProcessOperator

_METHODS = ("process_element1", "process_element2")


class ConnectedStreams:
    """Two streams whose records go to one function, which has a method for each.

    The records of each stream keep their order; between the two there is none. If both streams come by
    key, records with equal keys come to the same place, and the function may keep state that both
    see. The watermark is the lesser of the two; a stream that is idle is left out.

    In BATCH mode the keyed inputs come last, key by key, and within a key by timestamp.

    Args:
        stream1: The first stream.
        stream2: The second stream.

    Example:
        >>> from penstock.datastream import CoMapFunction
        >>> class Text(CoMapFunction):
        ...     def map1(self, value):
        ...         return f"number {value}"
        ...     def map2(self, value):
        ...         return f"word {value}"
        >>> from penstock.testing import local_environment
        >>> env = local_environment()
        >>> both = env.from_collection([1, 2]).connect(env.from_collection(["one"]))
        >>> sorted(both.map(Text()).execute_and_collect())
        ['number 1', 'number 2', 'word one']
    """

    def __init__(self, stream1: DataStream, stream2: DataStream) -> None:
        self.stream1 = stream1
        self.stream2 = stream2

    def key_by(
        self,
        key_selector1: Callable[[Any], Any] | KeySelector | int | str,
        key_selector2: Callable[[Any], Any] | KeySelector | int | str,
        key_type: TypeInformation | None = None,
    ) -> ConnectedStreams:
        """Bring records with equal keys together, in one subtask, whichever stream they are of.

        Args:
            key_selector1: Tells the key of a record of the first stream, as `DataStream.key_by` takes it.
            key_selector2: Tells the key of a record of the second stream.
            key_type: The type of the keys; a description only. Default: any.

        Returns:
            The two streams, keyed.

        Raises:
            InvalidFunctionError: If a key selector cannot be called so.
            ColumnNotFoundError: If records of a stream's declared type have no such field.
        """
        return ConnectedStreams(
            self.stream1.key_by(key_selector1, key_type),
            self.stream2.key_by(key_selector2, key_type),
        )

    def map(self, func: CoMapFunction, output_type: TypeInformation | None = None) -> DataStream:
        """Make one result of each record, or none: None is not emitted.

        Args:
            func: Has a method for each stream.
            output_type: The type of the results. Default: any.

        Returns:
            The results, with their records' timestamps.

        Raises:
            InvalidFunctionError: If the function cannot be called so.
        """
        check_methods(func, ("map1", "map2"), 1, "map()")
        return self._transform("Co-Map", AsCoProcessFunction(func, "map"), output_type)

    def flat_map(
        self, func: CoFlatMapFunction, output_type: TypeInformation | None = None
    ) -> DataStream:
        """Make any number of results of each record.

        Args:
            func: Has a method for each stream.
            output_type: The type of the results. Default: any.

        Returns:
            The results, with their records' timestamps.

        Raises:
            InvalidFunctionError: If the function cannot be called so.
        """
        check_methods(func, ("flat_map1", "flat_map2"), 1, "flat_map()")
        return self._transform("Co-Flat Map", AsCoProcessFunction(func, "flat_map"), output_type)

    def process(
        self,
        func: CoProcessFunction | KeyedCoProcessFunction,
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """Make any number of results of each record, for the main output and for side outputs.

        Args:
            func: Has a method for each stream.
            output_type: The type of the results in the main output. Default: any.

        Returns:
            The main output; `get_side_output` gives the others.

        Raises:
            InvalidFunctionError: If the function cannot be called so, or needs keys and a stream has
                none.
        """
        check_methods(func, _METHODS, 2, "process()")
        if isinstance(func, KeyedCoProcessFunction) and not self._is_keyed:
            raise InvalidFunctionError(
                f"process() was given {type(func).__name__}, a KeyedCoProcessFunction, for streams of "
                "which not both come by key.",
                hint="Call key_by() on the connected streams first, or derive it from "
                "CoProcessFunction.",
            )
        name = "Co-Keyed-Process" if self._is_keyed else "Co-Process"
        return self._transform(name, func, output_type)

    @property
    def _is_keyed(self) -> bool:
        return is_keyed(self.stream1) and is_keyed(self.stream2)

    def _transform(
        self, name: str, function: Any, output_type: TypeInformation | None
    ) -> DataStream:
        kind = KeyedCoProcessOperator if self._is_keyed else CoProcessOperator
        operator = kind(name_results_of(function, _METHODS, output_type))
        return self.stream1._transform(  # noqa: SLF001
            name, operator, output_type, second=self.stream2
        )


def is_keyed(stream: DataStream) -> bool:
    """Whether the records of a stream come by key."""
    return stream._is_keyed  # noqa: SLF001
