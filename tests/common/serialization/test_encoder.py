from __future__ import annotations

import csv
import datetime
import decimal
import io
import json
import uuid
from typing import Any

import cloudpickle
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.common import Encoder, Row
from penstock.common.rows.data_frame_row import row_factory
from penstock.errors import InvalidArgumentError

TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=5)
ROWS = st.lists(st.tuples(TEXTS, TEXTS, st.integers()), max_size=4)


class TestStrings:
    @pytest.mark.parametrize(
        ("charset", "expected"), [("UTF-8", b"\xc3\xa9\n"), ("latin-1", b"\xe9\n")]
    )
    def test_are_lines(self, charset: str, expected: bytes) -> None:
        assert Encoder.simple_string_encoder(charset).encode("é") == expected

    def test_need_a_character_set(self) -> None:
        with pytest.raises(InvalidArgumentError, match="'utf-9' is no character set"):
            Encoder.simple_string_encoder("utf-9")


class TestJsonLines:
    @given(ROWS)
    def test_are_read_back(self, rows: list[tuple[Any, ...]]) -> None:
        encoder = cloudpickle.loads(cloudpickle.dumps(Encoder.json_lines()))
        lines = b"".join(map(encoder.encode, rows)).decode().split("\n")
        assert lines.pop() == ""
        assert [tuple(json.loads(line)) for line in lines] == rows

    @pytest.mark.parametrize(
        ("value", "expected"),
        [
            (Row(id=1, name="é"), '{"id": 1, "name": "é"}'),
            (Row(1, "a"), '[1, "a"]'),
            (row_factory(["id", "name"])((1, "a")), '{"id": 1, "name": "a"}'),
            ([Row(id=1), {"in": (Row(id=2),)}], '[{"id": 1}, {"in": [{"id": 2}]}]'),
            (datetime.datetime(2024, 5, 17, 1, tzinfo=datetime.UTC), '"2024-05-17T01:00:00+00:00"'),
            (datetime.date(2024, 5, 17), '"2024-05-17"'),
            (decimal.Decimal("1.50"), '"1.50"'),
            (uuid.UUID(int=0), '"00000000-0000-0000-0000-000000000000"'),
            (None, "null"),
        ],
    )
    def test_of_many_types(self, value: Any, expected: str) -> None:
        assert Encoder.json_lines().encode(value).decode() == expected + "\n"

    def test_may_be_told_more_types(self) -> None:
        encoder = Encoder.json_lines(
            ensure_ascii=True, default=lambda value: Row(items=sorted(value))
        )
        assert encoder.encode({"é", "a"}) == b'{"items": ["a", "\\u00e9"]}\n'

    def test_lack_other_types(self) -> None:
        with pytest.raises(InvalidArgumentError, match=r"nothing for \{1\}, .* type set"):
            Encoder.json_lines().encode({1})

    def test_lack_nan(self) -> None:
        with pytest.raises(ValueError, match="not JSON compliant"):
            Encoder.json_lines().encode(float("nan"))


class TestCsv:
    @given(ROWS, st.sampled_from([",", ";", "\t", "|"]))
    def test_is_read_back(self, rows: list[tuple[Any, ...]], delimiter: str) -> None:
        encoder = cloudpickle.loads(
            cloudpickle.dumps(Encoder.csv(["a", "b", "c"], delimiter=delimiter, header=True))
        )
        text = b"".join([encoder.header(), *map(encoder.encode, rows)]).decode()
        read = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
        assert next(read) == ["a", "b", "c"]
        assert [(a, b, int(c)) for a, b, c in read] == rows

    @pytest.mark.parametrize(
        ("value", "expected"),
        [
            ({"b": 2, "a": None}, b"NULL,2\n"),
            (Row(b=2, a=1), b"1,2\n"),
            (["x\ry", 'say "so"'], b'"x\ry","say ""so"""\n'),
            ([True, 0.1], b"True,0.1\n"),
        ],
    )
    def test_of_many_kinds_of_rows(self, value: Any, expected: bytes) -> None:
        assert Encoder.csv(["a", "b"], null_value="NULL").encode(value) == expected

    def test_has_a_header_if_asked(self) -> None:
        assert Encoder.csv(["a", "b"]).header() == b""
        assert Encoder.csv(["a", "b,c"], header=True).header() == b'a,"b,c"\n'

    def test_refuses_rows_of_other_lengths(self) -> None:
        with pytest.raises(InvalidArgumentError, match=r"\(1, 2, 3\) has 3 fields, not 2"):
            Encoder.csv(["a", "b"]).encode((1, 2, 3))

    @pytest.mark.parametrize(
        ("columns", "delimiter"), [([], ","), ("ab", ","), (["a"], ""), (["a"], '"'), (["a"], "||")]
    )
    def test_refuses_what_cannot_be(self, columns: Any, delimiter: str) -> None:
        with pytest.raises(InvalidArgumentError):
            Encoder.csv(columns, delimiter=delimiter)
