"""What is configured of RocksDB is in the file in which it writes down its options."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from penstock.common import Configuration
from penstock.common.configuration.options import OPTIONS
from penstock.common.configuration.rocksdb_options import settings_in
from penstock.errors import InvalidConfigurationValueError, RocksDBFolderError, RocksDBOptionsError
from penstock.runtime.state.rocksdb.rocksdb_database import RocksDatabase
from penstock.runtime.state.rocksdb.rocksdb_options import set_block_options

MB = 1 << 20
SPINNING_DISK = {
    "max_background_jobs": 4,
    "max_open_files": -1,
    "compaction_style": "kCompactionStyleLevel",
    "level_compaction_dynamic_level_bytes": "true",
}
HIGH_MEMORY = SPINNING_DISK | {
    "target_file_size_base": 256 * MB,
    "max_bytes_for_level_base": 1024 * MB,
    "write_buffer_size": 64 * MB,
    "max_write_buffer_number": 4,
    "min_write_buffer_number_to_merge": 3,
    "block_size": 128 << 10,
    "filter_policy": "bloomfilter",
}


def opened(directory: Path, memory: int | None = None, **texts: str) -> dict[str, str]:
    """Return the options that a database has which is opened with these settings."""
    configuration = Configuration()
    for name, text in texts.items():
        configuration.set_string(key_of(name), text)
    database = RocksDatabase.in_directory(str(directory), memory, settings_in(configuration))
    user = database.add_user(lambda: None)
    (path,) = Path(database.folder).glob("OPTIONS-*")
    lines = [line.partition("=") for line in path.read_text(encoding="utf-8").splitlines()]
    database.remove_user(user)
    return {name.strip(): value.strip() for name, _, value in lines}


def key_of(name: str) -> str:
    (key,) = (
        key
        for key in OPTIONS
        if key.removeprefix("state.backend.rocksdb.").replace(".", "_").replace("-", "_") == name
    )
    return key


def parts(found: dict[str, str], expected: dict[str, Any]) -> dict[str, str]:
    return {name: found[name] for name in expected}


def texts(expected: dict[str, Any]) -> dict[str, str]:
    return {name: str(value) for name, value in expected.items()}


@pytest.mark.parametrize(
    ("predefined", "expected"),
    [
        ("DEFAULT", {"max_background_jobs": 2, "filter_policy": "nullptr"}),
        ("FLASH_SSD_OPTIMIZED", {"max_background_jobs": 4, "max_open_files": -1}),
        ("SPINNING_DISK_OPTIMIZED", SPINNING_DISK),
        ("SPINNING_DISK_OPTIMIZED_HIGH_MEM", HIGH_MEMORY),
    ],
)
def test_predefined_options_reach_rocksdb(
    tmp_path: Path, predefined: str, expected: dict[str, Any]
) -> None:
    found = opened(tmp_path, predefined_options=predefined)
    assert parts(found, expected) == texts(expected)


def test_each_key_reaches_rocksdb_and_precedes_what_is_predefined(tmp_path: Path) -> None:
    found = opened(
        tmp_path,
        predefined_options="SPINNING_DISK_OPTIMIZED_HIGH_MEM",
        thread_num="3",
        files_open="77",
        log_max_file_size="5 mb",
        log_file_num="6",
        log_dir=str(tmp_path / "logs"),
        compaction_style="universal",
        compaction_level_use_dynamic_size="false",
        compaction_level_target_file_size_base="8 mb",
        compaction_level_max_size_level_base="9 mb",
        compression_per_level="no_compression; SNAPPY_COMPRESSION;LZ4_COMPRESSION",
        writebuffer_size="10 mb",
        writebuffer_count="11",
        writebuffer_number_to_merge="2",
        block_blocksize="12 kb",
        block_metadata_blocksize="13 kb",
        memory_partitioned_index_filters="true",
    )
    expected = {
        "max_background_jobs": 3,
        "max_open_files": 77,
        "max_log_file_size": 5 * MB,
        "keep_log_file_num": 6,
        "db_log_dir": tmp_path / "logs",
        "compaction_style": "kCompactionStyleUniversal",
        "level_compaction_dynamic_level_bytes": "false",
        "target_file_size_base": 8 * MB,
        "max_bytes_for_level_base": 9 * MB,
        "compression_per_level": "kNoCompression:kSnappyCompression:kLZ4Compression",
        "write_buffer_size": 10 * MB,
        "max_write_buffer_number": 11,
        "min_write_buffer_number_to_merge": 2,
        "block_size": 12 << 10,
        "metadata_block_size": 13 << 10,
        "filter_policy": "bloomfilter",
        "index_type": "kTwoLevelIndexSearch",
        "partition_filters": "true",
        "pin_top_level_index_and_filter": "true",
    }
    assert parts(found, expected) == texts(expected)


@pytest.mark.parametrize(("bits", "expected"), [({}, 10.0), ({"bits-per-key": "14"}, 14.0)])
def test_bloom_filters_have_as_many_bits_as_is_said(bits: dict[str, str], expected: float) -> None:
    """RocksDB does not write down how many."""
    configuration = Configuration().set_string("state.backend.rocksdb.use-bloom-filter", "true")
    for key, text in bits.items():
        configuration.set_string(f"state.backend.rocksdb.bloom-filter.{key}", text)
    blocks = Mock()
    set_block_options(blocks, settings_in(configuration))
    assert blocks.set_bloom_filter.call_args.args == (expected, False)


def test_what_is_not_compacted_or_is_compressed_in_one_way(tmp_path: Path) -> None:
    found = opened(tmp_path, compaction_style="NONE", compression_per_level="LZ4_COMPRESSION")
    assert found["disable_auto_compactions"] == "true"
    assert found["compression"] == "kLZ4Compression"


def test_write_buffers_are_a_part_of_the_memory_for_state(tmp_path: Path) -> None:
    assert opened(tmp_path, 64 * MB)["write_buffer_size"] == str(8 * MB)
    assert opened(tmp_path, 64 * MB, memory_write_buffer_ratio="0.25")["write_buffer_size"] == str(
        4 * MB
    )
    assert opened(tmp_path, 64 * MB, memory_fixed_per_slot="32 mb")["write_buffer_size"] == str(
        4 * MB
    )
    # RocksDB's own.
    assert opened(tmp_path, 64 * MB, memory_managed="false")["write_buffer_size"] == str(64 * MB)


def test_a_process_takes_one_of_the_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    configuration = Configuration().set_string(
        "state.backend.rocksdb.localdir", f"{tmp_path / 'a'}, file://{tmp_path / 'b'}"
    )
    for pid, name in [(10, "a"), (11, "b")]:
        monkeypatch.setattr("os.getpid", lambda pid=pid: pid)
        database = RocksDatabase.in_directory(None, None, settings_in(configuration))
        user = database.add_user(lambda: None)
        assert Path(database.folder).parent == tmp_path / name
        database.remove_user(user)


def test_jobs_with_other_settings_have_other_databases(tmp_path: Path) -> None:
    flash = Configuration().set_string(
        "state.backend.rocksdb.predefined-options", "FLASH_SSD_OPTIMIZED"
    )
    settings = [settings_in(Configuration()), settings_in(flash), settings_in(flash)]
    databases = [RocksDatabase.in_directory(str(tmp_path), None, one) for one in settings]
    assert [databases.index(one) for one in databases] == [0, 1, 1]
    for database in databases[:2]:
        database.remove_user(database.add_user(lambda: None))
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(RocksDBFolderError, match=r"(?s)file/state.*Hint: .*localdir"):
        opened(tmp_path / "file" / "state")


def test_a_database_that_rocksdb_does_not_open_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "logs").touch()
    with pytest.raises(RocksDBOptionsError, match=r"(?s)does not open.*Hint: .*rocksdb"):
        opened(tmp_path / "here", log_dir=str(tmp_path / "logs" / "inside"))
    assert list((tmp_path / "here").iterdir()) == []


@pytest.mark.parametrize(
    ("key", "text", "message"),
    [
        ("localdir", "/tmp,state", "'state' is no folder"),
        ("compression.per.level", "LZ4_COMPRESSION;LZ5", "'LZ5'"),
    ],
)
def test_what_rocksdb_cannot_do_is_refused(key: str, text: str, message: str) -> None:
    configuration = Configuration().set_string(f"state.backend.rocksdb.{key}", text)
    with pytest.raises(InvalidConfigurationValueError, match=message):
        settings_in(configuration)
