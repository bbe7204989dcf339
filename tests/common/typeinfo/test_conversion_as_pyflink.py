"""What PyFlink 2.3's serializers made of values of declared types, recorded: the same comes of them here.

Recorded were `pyflink.fn_execution.coders.from_type_info(info).get_impl()`, its `encode` and then its `decode`.
"""

from __future__ import annotations

from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from penstock.common.time import Instant
from penstock.common.typeinfo import TypeInformation, Types
from penstock.common.types import Row
from penstock.errors import TypeMismatchError

PAIR = Types.ROW([Types.INT(), Types.STRING()])
NAMED = Types.ROW_NAMED(["x", "y"], [Types.INT(), Types.STRING()])
NESTED = Types.ROW([Types.FLOAT(), Types.ROW([Types.INT()])])
TENTH = 0.10000000149011612

SAME: list[tuple[TypeInformation, list[tuple[Any, Any]]]] = [
    (Types.STRING(), [("a", "a"), ("", ""), (np.str_("a"), "a")]),
    (Types.BOOLEAN(), [(1, True), (0, False), (np.bool_(1), True)]),
    (Types.BYTE(), [(-128, -128), (127, 127), (True, 1), (1.0, 1), (np.int64(5), 5)]),
    (Types.SHORT(), [(-(2**15), -(2**15)), (True, 1), (np.int16(3), 3)]),
    (Types.INT(), [(2**31 - 1, 2**31 - 1), (False, 0), (1.0, 1), (np.int64(7), 7)]),
    (Types.INT(), [(Decimal(1), 1)]),
    (Types.LONG(), [(2**63 - 1, 2**63 - 1), (True, 1), (1.0, 1), (Decimal(1), 1)]),
    (Types.BIG_INT(), [(1, 1), (True, 1)]),
    (Types.FLOAT(), [(0.1, TENTH), (1, 1.0), (True, 1.0), (2**24 + 1, 2.0**24)]),
    (Types.FLOAT(), [(Decimal("0.1"), TENTH), (np.float32(0.1), TENTH), (np.float64(0.1), TENTH)]),
    (Types.DOUBLE(), [(0.1, 0.1), (1, 1.0), (True, 1.0), (2**53 + 1, 2.0**53)]),
    (Types.DOUBLE(), [(Decimal("0.1"), 0.1), (np.float32(0.1), TENTH), (1e300, 1e300)]),
    (Types.BIG_DEC(), [(Decimal("1E+5"), Decimal("1E+5")), (1, Decimal(1))]),
    (Types.BIG_DEC(), [(1.5, Decimal("1.5")), ("1.5", Decimal("1.5"))]),
    (Types.INSTANT(), [(Instant(1, 123456789), Instant(1, 123456789)), (None, None)]),
    (Types.SQL_DATE(), [(date(1, 1, 1), date(1, 1, 1))]),
    (Types.SQL_TIME(), [(time(1, 2, 3), time(1, 2, 3))]),
    (Types.SQL_TIMESTAMP(), [(datetime(2020, 1, 2, 3), datetime(2020, 1, 2, 3))]),  # noqa: DTZ001
    (PAIR, [(Row(1, "a"), Row(f0=1, f1="a")), (Row(None, None), Row(f0=None, f1=None))]),
    (NAMED, [(Row(1, "a"), Row(x=1, y="a")), (Row(y="a", x=1, z=3), Row(x=1, y="a"))]),
    (
        NESTED,
        [(Row(0.1, Row(1)), Row(f0=TENTH, f1=Row(f0=1))), (Row(1, None), Row(f0=1.0, f1=None))],
    ),
    (Types.TUPLE([Types.INT(), Types.STRING()]), [((True, "a"), (1, "a"))]),
    (Types.LIST(Types.FLOAT()), [([0.1, 1], [TENTH, 1.0])]),
    (Types.LIST(Types.BYTE()), [(bytearray(b"ab"), b"ab")]),
    (Types.PRIMITIVE_ARRAY(Types.BYTE()), [(b"ab", b"ab"), (bytearray(b"ab"), b"ab")]),
    (Types.BASIC_ARRAY(Types.INT()), [([None, True], [None, 1])]),
    (Types.OBJECT_ARRAY(Types.ROW([Types.INT()])), [([Row(1), None], [Row(f0=1), None])]),
    (Types.MAP(Types.STRING(), Types.INT()), [({"a": None, "b": True}, {"a": None, "b": 1})]),
]


@pytest.mark.parametrize(("info", "pairs"), SAME)
def test_values_become_what_they_become_in_pyflink(
    info: TypeInformation, pairs: list[tuple[Any, Any]]
) -> None:
    for value, recorded in pairs:
        assert repr(info.convert(value)) == repr(recorded)  # 1 is no 1.0, and no True


GARBLED: list[tuple[TypeInformation, Any, Any]] = [
    (Types.BOOLEAN(), 2, True),
    (Types.INT(), 1.5, 1),
    (Types.FLOAT(), 1e39, float("inf")),
    (Types.SQL_DATE(), datetime(2020, 1, 2, 3, 4), date(2020, 1, 2)),  # noqa: DTZ001
    (Types.SQL_TIME(), datetime(2020, 1, 1, 1, 1), time(1, 1)),  # noqa: DTZ001
    (PAIR, Row(1, "a", 2), Row(f0=1, f1="a")),
    (Types.TUPLE([Types.INT(), Types.STRING()]), (1, "a", 2), (1, "a")),
    (Types.PRIMITIVE_ARRAY(Types.INT()), [1.5], [1]),
]
"""Types, values, and what PyFlink makes of them, which has lost something."""


@pytest.mark.parametrize(("info", "value", "recorded"), GARBLED)
def test_what_pyflink_garbles_is_refused(info: TypeInformation, value: Any, recorded: Any) -> None:
    assert value != recorded
    with pytest.raises(TypeMismatchError):
        info.convert(value)
