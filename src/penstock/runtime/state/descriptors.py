"""What a function says about a state it wants to have."""

from __future__ import annotations

from abc import ABC
from typing import Any, ClassVar, Final

from penstock.common.typeinfo.type_information import TypeInformation
from penstock.common.typeinfo.types import Types
from penstock.errors import InvalidArgumentError, InvalidFunctionError, UnsupportedTypeError
from penstock.runtime.state.ttl import StateTtlConfig

_AGGREGATE_METHODS: Final = ("create_accumulator", "add", "get_result")


class StateDescriptor(ABC):
    """Names a state and says of what type it is.

    Args:
        name: The name, which no other state of the operator has.
        type_info: The type of what is remembered for one key.

    Raises:
        InvalidArgumentError: If the name is no text, or empty.
        UnsupportedTypeError: If the type is none of `penstock.common.Types`.
    """

    kind: ClassVar[str]
    """How messages and state files call the kind of state."""

    def __init__(self, name: str, type_info: TypeInformation) -> None:
        if not isinstance(name, str) or not name:
            raise InvalidArgumentError(
                f"A state cannot have the name {name!r}.", hint="Give it a text, as 'count'."
            )
        if not isinstance(type_info, TypeInformation):
            raise UnsupportedTypeError(
                f"The state {name!r} has the type {type_info!r}.",
                hint="Take one of penstock.common.Types; Types.PICKLED_BYTE_ARRAY() fits anything.",
            )
        self.name = name
        self.type_info = type_info
        self.ttl_config: StateTtlConfig | None = None

    def get_name(self) -> str:
        """Return the name of the state."""
        return self.name

    def enable_time_to_live(self, ttl_config: StateTtlConfig) -> None:
        """Let values expire.

        Args:
            ttl_config: How long they live, and more.
        """
        self.ttl_config = ttl_config if ttl_config.is_enabled() else None


class ValueStateDescriptor(StateDescriptor):
    """Names a `ValueState`.

    Args:
        name: The name, which no other state of the operator has.
        value_type_info: The type of the value.

    Example:
        >>> ValueStateDescriptor("count", Types.LONG()).get_name()
        'count'
    """

    kind = "value"

    def __init__(self, name: str, value_type_info: TypeInformation) -> None:
        super().__init__(name, value_type_info)


class ListStateDescriptor(StateDescriptor):
    """Names a `ListState`.

    Args:
        name: The name, which no other state of the operator has.
        elem_type_info: The type of the elements.

    Example:
        >>> ListStateDescriptor("seen", Types.STRING()).get_name()
        'seen'
    """

    kind = "list"

    def __init__(self, name: str, elem_type_info: TypeInformation) -> None:
        super().__init__(name, Types.LIST(elem_type_info))


class MapStateDescriptor(StateDescriptor):
    """Names a `MapState`.

    Args:
        name: The name, which no other state of the operator has.
        key_type_info: The type of the map's keys.
        value_type_info: The type of its values.

    Example:
        >>> MapStateDescriptor("prices", Types.STRING(), Types.FLOAT()).get_name()
        'prices'
    """

    kind = "map"

    def __init__(
        self, name: str, key_type_info: TypeInformation, value_type_info: TypeInformation
    ) -> None:
        super().__init__(name, Types.MAP(key_type_info, value_type_info))


class ReducingStateDescriptor(StateDescriptor):
    """Names a `ReducingState`.

    Args:
        name: The name, which no other state of the operator has.
        reduce_function: A `ReduceFunction`, or a callable that joins two values to one.
        type_info: The type of the values.

    Raises:
        InvalidFunctionError: If `reduce_function` is neither.

    Example:
        >>> ReducingStateDescriptor("sum", lambda a, b: a + b, Types.LONG()).get_name()
        'sum'
    """

    kind = "reducing"

    def __init__(self, name: str, reduce_function: Any, type_info: TypeInformation) -> None:
        super().__init__(name, type_info)
        if not callable(getattr(reduce_function, "reduce", reduce_function)):
            raise InvalidFunctionError(
                f"The state {name!r} cannot join values by {reduce_function!r}.",
                hint="Give a ReduceFunction, or a callable of two values.",
            )
        self._reduce_function = reduce_function

    def get_reduce_function(self) -> Any:
        """Return what joins two values."""
        return self._reduce_function


class AggregatingStateDescriptor(StateDescriptor):
    """Names an `AggregatingState`.

    Args:
        name: The name, which no other state of the operator has.
        agg_function: An `AggregateFunction`.
        state_type_info: The type of its accumulator.

    Raises:
        InvalidFunctionError: If `agg_function` is no aggregate function.
    """

    kind = "aggregating"

    def __init__(self, name: str, agg_function: Any, state_type_info: TypeInformation) -> None:
        super().__init__(name, state_type_info)
        if not all(callable(getattr(agg_function, name, None)) for name in _AGGREGATE_METHODS):
            raise InvalidFunctionError(
                f"The state {name!r} cannot join values by {agg_function!r}.",
                hint=f"Give an object with the methods {', '.join(_AGGREGATE_METHODS)}.",
            )
        self._agg_function = agg_function

    def get_agg_function(self) -> Any:
        """Return what joins values."""
        return self._agg_function
