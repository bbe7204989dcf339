from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.common import Configuration
from penstock.common.configuration.memory_size import MemorySize
from penstock.common.configuration.options import STATE_MEMORY_LIMIT
from penstock.errors import InvalidArgumentError, InvalidConfigurationValueError


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("0", 0),
        ("65536", 1 << 16),
        ("7 bytes", 7),
        ("7b", 7),
        ("2k", 2 << 10),
        ("2 KB", 2 << 10),
        ("512 mb", 512 << 20),
        (" 1 mebibytes ", 1 << 20),
        ("3g", 3 << 30),
        ("1 tb", 1 << 40),
    ],
)
def test_texts(text: str, size: int) -> None:
    assert MemorySize.parse(text).get_bytes() == size


@pytest.mark.parametrize("text", ["", "mb", "-1 mb", "1.5 gb", "1 pb", "1 mb 2", "1 m b"])
def test_what_is_no_amount(text: str) -> None:
    with pytest.raises(InvalidArgumentError, match="no amount"):
        MemorySize.parse(text)
    with pytest.raises(InvalidConfigurationValueError, match="512 mb"):
        Configuration().set_string(STATE_MEMORY_LIMIT.key, text)


@pytest.mark.parametrize("text", ["0", "1", "1 kb", "4095"])
def test_a_limit_that_holds_nothing_is_none(text: str) -> None:
    with pytest.raises(InvalidConfigurationValueError, match="at least 4096 bytes"):
        Configuration().set_string(STATE_MEMORY_LIMIT.key, text)
    Configuration().set_string(STATE_MEMORY_LIMIT.key, "4 kb")


def test_units_are_rounded_down_and_amounts_compared() -> None:
    size = MemorySize(bytes_size=(5 << 40) - 1)

    assert size.get_kibi_bytes() == (5 << 30) - 1
    assert size.get_mebi_bytes() == (5 << 20) - 1
    assert size.get_gibi_bytes() == (5 << 10) - 1
    assert size.get_tebi_bytes() == 4
    assert MemorySize.of_mebi_bytes(1) == MemorySize(1 << 20) <= MemorySize(1 << 20) < size
    with pytest.raises(TypeError):
        _ = size < 5


@pytest.mark.parametrize("size", [-1, 1.5, None])
def test_what_is_no_number_of_bytes(size: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="no amount of memory"):
        MemorySize(size)


@given(st.integers(0, 1 << 50))
def test_its_text_can_be_read_back(size: int) -> None:
    found = MemorySize.parse(str(MemorySize(size)))

    assert found == MemorySize(size)
    assert hash(found) == hash(MemorySize(size))
