from __future__ import annotations

import pickle
from typing import Any

import pytest

from penstock.common import Types
from penstock.datastream import KeySelector, RuntimeContext
from penstock.datastream.functions.function_checks import key_function
from penstock.errors import ColumnNotFoundError, InvalidFunctionError


class Opened(KeySelector):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.place = 1

    def get_key(self, value: Any) -> Any:
        return value[self.place]


@pytest.mark.parametrize("selector", [1, lambda record: record[1], Opened()])
def test_whatever_selects_a_key_becomes_a_function(selector: Any) -> None:
    assert key_function(selector, "where()")(("a", "b")) == "b"


def test_a_field_may_have_a_name() -> None:
    assert key_function("name", "where()")({"name": "Ann"}) == "Ann"


def test_a_selector_is_opened_where_it_arrives() -> None:
    copy = pickle.loads(pickle.dumps(key_function(Opened(), "where()")))

    assert copy(("a", "b")) == "b"


def test_what_selects_no_key_is_refused_by_the_name_of_the_operation() -> None:
    with pytest.raises(InvalidFunctionError, match=r"where\(\)"):
        key_function(lambda: 0, "where()")  # type: ignore[arg-type,misc]
    with pytest.raises(ColumnNotFoundError, match=r"where\(\)"):
        key_function(5, "where()", Types.TUPLE([Types.STRING()]))
