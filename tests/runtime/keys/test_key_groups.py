from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import InvalidKeyError
from penstock.runtime.keys.key_groups import (
    UPPER_BOUND_MAX_PARALLELISM,
    SubtaskByKey,
    default_max_parallelism,
    key_group,
    key_group_range,
    murmur_hash,
    murmur_hashes,
    subtask_of_key_group,
)
from penstock.runtime.keys.key_types import stable_hash

parallelisms = st.integers(1, 300)
keys = st.integers() | st.text() | st.tuples(st.text(), st.floats(allow_nan=False))


@pytest.mark.parametrize(
    ("code", "mixed", "of_128", "of_10", "subtask_of_4"),
    [
        (0, 593689054, 94, 4, 2),
        (1, 68075478, 86, 8, 2),
        (2, 1085422463, 127, 3, 3),
        (3, 847579505, 113, 5, 3),
        (7, 1343918321, 113, 1, 3),
        (42, 1134849565, 29, 5, 0),
        (100, 616682048, 64, 8, 2),
        (-1, 1982413648, 80, 8, 2),
        (-2, 1087594050, 66, 0, 2),
        (2147483647, 1653689534, 62, 4, 1),
        (-2147483648, 1718298732, 108, 2, 3),
        (123456789, 1088346449, 81, 9, 2),
        (99162322, 1715862179, 35, 9, 1),
        (97, 1455541201, 81, 1, 2),
        (3288498, 226217641, 41, 1, 1),
        (3288499, 452939803, 27, 3, 0),
    ],
)
def test_mixes_hash_codes_as_flink_does(
    code: int, mixed: int, of_128: int, of_10: int, subtask_of_4: int
) -> None:
    assert murmur_hash(code) == mixed
    assert (mixed % 128, mixed % 10) == (of_128, of_10)
    assert subtask_of_key_group(of_128, 4, 128) == subtask_of_4


@pytest.mark.parametrize(
    ("java_hash", "of_128", "of_32768", "subtask_of_3"),
    [
        pytest.param(99162322, 35, 31395, 0, id="hello"),
        pytest.param(97, 81, 19409, 1, id="a"),
        pytest.param(3288498, 41, 20137, 0, id="key1"),
        pytest.param(3288499, 27, 20507, 0, id="key2"),
        pytest.param(0, 94, 31198, 2, id="empty string, and the Long -1"),
        pytest.param(1, 86, 16342, 2, id="Integer 1"),
        pytest.param(2, 127, 15231, 2, id="Integer 2"),
        pytest.param(42, 29, 28189, 0, id="Long 42"),
        pytest.param(261, 78, 22350, 1, id="Long 1099511627781"),
        pytest.param(300063655, 4, 17156, 0, id="Double 3.14"),
        pytest.param(1231, 77, 11725, 1, id="true"),
        pytest.param(1237, 3, 32003, 0, id="false"),
        pytest.param(994, 47, 28335, 1, id="[1, 2]"),
    ],
)
def test_java_hashes_get_the_key_groups_of_flink(
    java_hash: int, of_128: int, of_32768: int, subtask_of_3: int
) -> None:
    mixed = murmur_hash(java_hash)

    assert (mixed % 128, mixed % 32768) == (of_128, of_32768)
    assert subtask_of_key_group(of_128, 3, 128) == subtask_of_3


@given(st.integers(-(2**31), 2**31 - 1))
def test_a_mixed_hash_is_a_positive_java_int(code: int) -> None:
    assert 0 <= murmur_hash(code) < 2**31
    assert murmur_hash(code) == murmur_hash(code & 0xFFFFFFFF)


def test_the_one_hash_without_a_positive_counterpart_becomes_zero() -> None:
    # The code whose mixture is Java's Integer.MIN_VALUE, found by inverting each step.
    assert murmur_hash(0x836F0755) == 0


@pytest.mark.parametrize(
    ("parallelism", "default"),
    [
        (1, 128),
        (2, 128),
        (3, 128),
        (42, 128),
        (85, 128),
        (86, 256),
        (128, 256),
        (170, 256),
        (171, 256),
        (1000, 2048),
        (21845, 32768),
        (21846, 32768),
        (32768, 32768),
    ],
)
def test_default_max_parallelism_is_that_of_flink(parallelism: int, default: int) -> None:
    assert default_max_parallelism(parallelism) == default


@given(st.integers(1, UPPER_BOUND_MAX_PARALLELISM))
def test_default_max_parallelism_is_a_power_of_two_with_room(parallelism: int) -> None:
    default = default_max_parallelism(parallelism)

    assert default.bit_count() == 1
    assert max(parallelism, 128) <= default <= UPPER_BOUND_MAX_PARALLELISM


class TestRanges:
    @pytest.mark.parametrize(
        ("max_parallelism", "parallelism", "ranges"),
        [
            (128, 3, [(0, 42), (43, 85), (86, 127)]),
            (10, 3, [(0, 3), (4, 6), (7, 9)]),
            (10, 4, [(0, 2), (3, 4), (5, 7), (8, 9)]),
            (128, 128, [(group, group) for group in range(128)]),
            (13, 2, [(0, 6), (7, 12)]),
            (6, 5, [(0, 1), (2, 2), (3, 3), (4, 4), (5, 5)]),
        ],
    )
    def test_are_those_of_flink(
        self, max_parallelism: int, parallelism: int, ranges: list[tuple[int, int]]
    ) -> None:
        assert [
            key_group_range(subtask, parallelism, max_parallelism) for subtask in range(parallelism)
        ] == [range(first, last + 1) for first, last in ranges]

    @given(parallelisms, st.integers(0, 1000))
    def test_part_the_key_groups_among_subtasks(self, parallelism: int, more: int) -> None:
        max_parallelism = parallelism + more
        ranges = [
            key_group_range(subtask, parallelism, max_parallelism) for subtask in range(parallelism)
        ]

        assert [group for groups in ranges for group in groups] == list(range(max_parallelism))
        sizes = set(map(len, ranges))
        assert max(sizes) - min(sizes) <= 1
        assert min(sizes) >= 1
        for subtask, groups in enumerate(ranges):
            for group in groups:
                assert subtask_of_key_group(group, parallelism, max_parallelism) == subtask


@given(keys, st.integers(1, UPPER_BOUND_MAX_PARALLELISM))
def test_a_key_group_is_the_mixed_stable_hash(key: Any, max_parallelism: int) -> None:
    group = key_group(key, max_parallelism)

    assert group == murmur_hash(stable_hash(key)) % max_parallelism
    assert 0 <= group < max_parallelism


@given(st.lists(st.integers(0, 0xFFFFFFFF)))
def test_all_at_once_is_as_one_by_one(codes: list[int]) -> None:
    assert murmur_hashes(codes) == [murmur_hash(code) for code in codes]


class TestSubtaskByKey:
    @given(st.lists(keys), st.integers(1, 20))
    def test_finds_the_owner_of_the_key_group(self, wanted: list[Any], parallelism: int) -> None:
        subtasks = SubtaskByKey(parallelism, 128)

        for key in wanted + wanted:
            owner = subtask_of_key_group(key_group(key, 128), parallelism, 128)
            assert subtasks[key] == owner

    def test_forgets_when_it_has_grown(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(SubtaskByKey, "LIMIT", 10)
        subtasks = SubtaskByKey(7, 128)

        for key in range(100):
            assert subtasks[key] == subtask_of_key_group(key_group(key, 128), 7, 128)
            assert len(subtasks) == key % 10 + 1

    @given(st.lists(st.lists(keys)), st.integers(1, 20))
    def test_many_new_keys_are_computed_at_once(
        self, blocks: list[list[Any]], parallelism: int
    ) -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(SubtaskByKey, "LIMIT", 10)
            patch.setattr(SubtaskByKey, "_MANY", 0)
            patch.setattr(SubtaskByKey, "_FEW", 2)
            subtasks = SubtaskByKey(parallelism, 128)
            for block in blocks:
                subtasks.prepare(block)
                largest = max(map(len, blocks))
                assert len(subtasks) <= max(10, largest)
                for key in block:
                    assert subtasks[key] == SubtaskByKey(parallelism, 128)[key]

    def test_it_computes_at_once_only_while_there_are_many_new_keys(self) -> None:
        subtasks = SubtaskByKey(2, 128)
        subtasks.prepare(list(range(100)))
        assert not subtasks
        for key in range(SubtaskByKey._MANY):
            assert subtasks[-key] >= 0
        subtasks.prepare(list(range(1, 101)))
        assert len(subtasks) == SubtaskByKey._MANY + 100
        # These are not many.
        subtasks.prepare([200])
        subtasks.prepare(list(range(300, 400)))
        assert len(subtasks) == SubtaskByKey._MANY + 100

    def test_what_cannot_be_a_key_is_left_to_the_lookup(self) -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(SubtaskByKey, "_MANY", 0)
            subtasks = SubtaskByKey(2, 128)
            subtasks.prepare([[1], 2])
            subtasks.prepare([object(), 2])
            subtasks.prepare([float("nan"), 2])
            assert not subtasks

    def test_does_not_remember_what_cannot_be_a_key(self) -> None:
        subtasks = SubtaskByKey(1, 128)

        for _ in range(2):
            with pytest.raises(InvalidKeyError):
                subtasks[object()]
        with pytest.raises(TypeError):
            subtasks[[1]]
        assert not subtasks
