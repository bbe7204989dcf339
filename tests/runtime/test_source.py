from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import SourceNotReadableError
from penstock.runtime.exchange.elements import Block
from penstock.runtime.source import (
    CollectionSource,
    EpochSource,
    NativeSource,
    NumberRangeSource,
    TextLines,
)


def read(source: NativeSource, epoch: int = 0, parallelism: int = 1) -> list[list[object]]:
    """Return what each subtask reads in an epoch."""
    return [
        [value for block in source.read(epoch, subtask, parallelism) for value in block.values]
        for subtask in range(parallelism)
    ]


class TestNumberRange:
    @given(st.integers(-100, 100), st.integers(-5, 200), st.integers(1, 9), st.integers(1, 50))
    def test_is_spread_evenly_and_in_order(
        self, first: int, count: int, parallelism: int, size: int
    ) -> None:
        source = NumberRangeSource(first, first + count - 1)
        source.rows = size

        shares = read(source, parallelism=parallelism)

        assert [number for share in shares for number in share] == list(range(first, first + count))
        assert max(map(len, shares)) - min(map(len, shares)) <= 1
        for subtask in range(parallelism):
            assert all(1 <= len(block) <= size for block in source.read(0, subtask, parallelism))

    def test_is_read_in_the_first_epoch(self) -> None:
        assert read(NumberRangeSource(1, 5), epoch=1, parallelism=2) == [[], []]
        assert NumberRangeSource(1, 5).epochs == 1

    def test_is_made_as_it_is_read(self) -> None:
        blocks = NumberRangeSource(1, 10**15).read(0, 1, 2)

        assert next(blocks).values[0] == 5 * 10**14 + 1


class TestCollection:
    @given(st.lists(st.integers()), st.integers(1, 4))
    def test_is_read_in_order_by_the_first_subtask(
        self, values: list[int], parallelism: int
    ) -> None:
        shares = read(CollectionSource(values), parallelism=parallelism)

        assert shares == [values] + [[]] * (parallelism - 1)

    def test_is_read_in_the_first_epoch(self) -> None:
        assert read(CollectionSource([1]), epoch=1) == [[]]


class TestEpochSource:
    def test_gives_each_epoch_its_blocks(self) -> None:
        blocks = [[Block([1], [5]), Block([2])], [], [Block([3])]]
        source = EpochSource(blocks)

        assert source.epochs == 3
        assert [list(source.read(epoch, 0, 2)) for epoch in range(4)] == [*blocks, []]
        assert [list(source.read(epoch, 1, 2)) for epoch in range(4)] == [[]] * 4


class TestTextLines:
    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        for name, text in {
            "b.txt": "b1\nb2\n",
            "a.txt": "a1\n\na3",
            "c.txt": "",
            "d.txt": "d1\n",
            "_SUCCESS": "no",
            ".a.txt.crc": "no",
        }.items():
            (tmp_path / name).write_text(text)
        return tmp_path

    def test_of_a_file_come_without_their_ends(self, tmp_path: Path) -> None:
        file = tmp_path / "text"
        file.write_bytes(b"unix\nwindows\r\nmac\r\n\n  spaces  \x0b\x1c\xc2\x85\nlast")

        lines = ["unix", "windows", "mac", "", "  spaces  \x0b\x1c\x85", "last"]
        assert read(TextLines(str(file), "utf-8")) == [lines]
        assert read(TextLines(f"file://{file}", "utf-8")) == [lines]

    def test_of_a_folder_come_in_the_order_of_its_files(self, folder: Path) -> None:
        assert read(TextLines(str(folder), "utf-8")) == [["a1", "", "a3", "b1", "b2", "d1"]]

    def test_of_a_folder_are_shared_file_by_file(self, folder: Path) -> None:
        assert read(TextLines(str(folder), "utf-8"), parallelism=3) == [
            ["a1", "", "a3", "d1"],
            ["b1", "b2"],
            [],
        ]

    def test_of_an_empty_folder_are_none(self, tmp_path: Path) -> None:
        assert read(TextLines(str(tmp_path), "utf-8"), parallelism=2) == [[], []]

    def test_of_folders_inside_of_a_folder_are_left_out(self, folder: Path) -> None:
        (folder / "aa").mkdir()
        (folder / "aa" / "inner.txt").write_text("inner")

        assert read(TextLines(str(folder), "utf-8")) == [["a1", "", "a3", "b1", "b2", "d1"]]

    def test_are_read_in_the_first_epoch(self, folder: Path) -> None:
        assert read(TextLines(str(folder), "utf-8"), epoch=1) == [[]]

    def test_are_decoded(self, tmp_path: Path) -> None:
        file = tmp_path / "text"
        file.write_bytes("Zürich\n".encode("utf-16"))

        assert read(TextLines(str(file), "utf-16")) == [["Zürich"]]

    def test_are_read_a_block_at_a_time(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("penstock.runtime.source._LINES", 4)
        file = tmp_path / "text"
        file.write_text("".join(f"{number}\n" for number in range(10)))

        blocks = list(TextLines(str(file), "utf-8").read(0, 0, 1))

        assert [len(block) for block in blocks] == [4, 4, 2]
        assert [line for block in blocks for line in block.values] == list(map(str, range(10)))

    def test_of_a_file_that_is_not_there_are_refused(self, tmp_path: Path) -> None:
        with pytest.raises(
            SourceNotReadableError, match=r"gone.txt' cannot be read: .*No such"
        ) as raised:
            TextLines(str(tmp_path / "gone.txt"), "utf-8")

        assert raised.value.hint

    def test_that_cannot_be_decoded_are_told_with_their_file(self, tmp_path: Path) -> None:
        file = tmp_path / "latin.txt"
        file.write_bytes("good\nZürich\n".encode("latin-1"))

        with pytest.raises(SourceNotReadableError, match=r"latin\.txt"):
            read(TextLines(str(file), "utf-8"))
