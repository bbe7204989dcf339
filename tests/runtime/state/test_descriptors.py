from __future__ import annotations

from typing import Any

import pytest

from penstock.common import Time, Types
from penstock.errors import InvalidArgumentError, InvalidFunctionError, UnsupportedTypeError
from penstock.runtime.state.descriptors import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from penstock.runtime.state.ttl import StateTtlConfig


def test_descriptors_know_name_and_type() -> None:
    assert ValueStateDescriptor("v", Types.LONG()).get_name() == "v"
    assert ListStateDescriptor("l", Types.LONG()).type_info == Types.LIST(Types.LONG())
    wanted = Types.MAP(Types.STRING(), Types.LONG())
    assert MapStateDescriptor("m", Types.STRING(), Types.LONG()).type_info == wanted
    assert ReducingStateDescriptor("r", max, Types.LONG()).get_reduce_function() is max


@pytest.mark.parametrize("name", ["", None, 5])
def test_a_state_has_a_name(name: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="name"):
        ValueStateDescriptor(name, Types.LONG())


def test_a_state_has_a_type() -> None:
    wrong: Any = int
    with pytest.raises(UnsupportedTypeError, match="'count'"):
        ValueStateDescriptor("count", wrong)
    with pytest.raises(UnsupportedTypeError):
        ListStateDescriptor("list", wrong)


def test_functions_must_be_what_is_called() -> None:
    with pytest.raises(InvalidFunctionError, match="'r'"):
        ReducingStateDescriptor("r", 5, Types.LONG())
    with pytest.raises(InvalidFunctionError, match="'a'"):
        AggregatingStateDescriptor("a", max, Types.LONG())


def test_time_to_live_that_is_disabled_is_none() -> None:
    descriptor = ValueStateDescriptor("v", Types.LONG())
    builder = StateTtlConfig.new_builder(Time.hours(1))
    descriptor.enable_time_to_live(builder.build())
    assert descriptor.ttl_config is not None
    builder.set_update_type(StateTtlConfig.UpdateType.Disabled)
    descriptor.enable_time_to_live(builder.build())
    assert descriptor.ttl_config is None
