from __future__ import annotations

import pickle
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from penstock.common import Configuration
from penstock.datastream import (
    CustomStateBackend,
    EmbeddedRocksDBStateBackend,
    HashMapStateBackend,
    PredefinedOptions,
)
from penstock.datastream.state_backend import RocksDBOptionsFactory
from penstock.errors import InvalidArgumentError, NotAvailableFromPythonError, RocksDBOptionsError
from penstock.runtime.state.rocksdb.rocksdb_database import RocksDatabase
from penstock.testing import local_environment

if TYPE_CHECKING:
    from rocksdict import BlockBasedOptions, Options


class Checked(RocksDBOptionsFactory):
    """Notes the options that it is given."""

    given: list[Any] = []

    def configure(self, options: Options, blocks: BlockBasedOptions) -> None:
        self.given.append((options, blocks))
        blocks.set_block_size(16 << 10)


class TestEmbeddedRocksDBStateBackend:
    def test_returns_what_it_was_told(self) -> None:
        backend = EmbeddedRocksDBStateBackend()
        assert backend.get_db_storage_paths() == []
        assert backend.get_predefined_options() is PredefinedOptions.DEFAULT
        assert backend.get_options() is None
        assert backend.get_number_of_transfer_threads() == 4
        assert not backend.is_incremental_checkpoints_enabled()

        backend.set_db_storage_paths("/mnt/a/", "file:///mnt/b")
        backend.set_predefined_options(PredefinedOptions.FLASH_SSD_OPTIMIZED)
        backend.set_options(f"{__name__}.Checked")
        backend.set_number_of_transfer_threads(8)
        assert backend.get_db_storage_paths() == ["/mnt/a", "/mnt/b"]
        assert backend.get_predefined_options() is PredefinedOptions.FLASH_SSD_OPTIMIZED
        assert backend.get_options() == f"{__name__}.Checked"
        assert backend.get_number_of_transfer_threads() == 8
        backend.set_db_storage_paths()
        assert backend.get_db_storage_paths() == []
        incremental = EmbeddedRocksDBStateBackend(enable_incremental_checkpointing=True)
        assert incremental.is_incremental_checkpoints_enabled()

    def test_precedes_the_configuration_in_what_it_was_told(self) -> None:
        configuration = Configuration()
        configuration.set_string("state.backend.rocksdb.localdir", "/mnt/a")
        configuration.set_string("state.backend.rocksdb.thread.num", "3")
        env = local_environment()
        env.configure(configuration)
        backend = EmbeddedRocksDBStateBackend()
        backend.set_predefined_options(PredefinedOptions.FLASH_SSD_OPTIMIZED)
        env.set_state_backend(backend)
        env.from_collection([1]).print()
        graph = env.get_stream_graph()
        assert graph.state_backend == "rocksdb"
        assert graph.rocksdb.directories == ("/mnt/a",)
        assert dict(graph.rocksdb.values) == {
            "state.backend.rocksdb.thread.num": 3,
            "state.backend.rocksdb.files.open": -1,
        }

    def test_has_a_job_work_where_and_how_it_says(self, tmp_path: Path) -> None:
        backend = EmbeddedRocksDBStateBackend()
        backend.set_db_storage_paths(str(tmp_path / "state"))
        backend.set_options(f"{__name__}.Checked")
        env = local_environment()
        env.set_state_backend(backend)
        numbers = env.from_collection([1, 2, 3, 4]).key_by(lambda number: number % 2)
        assert sorted(numbers.sum().execute_and_collect()) == [1, 2, 4, 6]
        assert (tmp_path / "state").is_dir()
        assert [type(given).__name__ for given in Checked.given[-1]] == [
            "Options",
            "BlockBasedOptions",
        ]

    def test_takes_a_factory_of_the_script_to_the_workers(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        class Mine(RocksDBOptionsFactory):
            def configure(self, options: Options, blocks: BlockBasedOptions) -> None:
                raise ValueError("not so")

        script = sys.modules["__main__"]
        monkeypatch.setattr(script, "Mine", Mine, raising=False)
        monkeypatch.setattr(Mine, "__module__", "__main__")
        backend = EmbeddedRocksDBStateBackend()
        backend.set_options("__main__.Mine")
        env = local_environment()
        env.set_state_backend(backend)
        env.from_collection([1]).key_by(lambda number: number).sum().print()
        settings = pickle.loads(pickle.dumps(env.get_stream_graph().rocksdb))
        monkeypatch.delattr(script, "Mine")
        with pytest.raises(RocksDBOptionsError, match=r"Mine of RocksDB raised ValueError: not so"):
            RocksDatabase.in_directory(None, None, settings)

    @pytest.mark.parametrize(
        ("method", "argument", "message"),
        [
            ("set_db_storage_paths", "state", "no folder"),
            ("set_db_storage_paths", "/a,b", "comma"),
            ("set_predefined_options", "DEFAULT", "no PredefinedOptions"),
            ("set_options", "org.apache.flink.Factory", "no Python class"),
            ("set_options", "Checked", "no Python class"),
            ("set_options", "pathlib.Path", "does not implement RocksDBOptionsFactory"),
            ("set_number_of_transfer_threads", 0, "transfer threads is 0"),
            ("__init__", "yes", "is 'yes'"),
        ],
    )
    def test_refuses_what_it_cannot_do(self, method: str, argument: Any, message: str) -> None:
        with pytest.raises(ValueError, match=f"(?s){message}.*Hint: "):
            getattr(EmbeddedRocksDBStateBackend(), method)(argument)


def test_text_shows_what_was_set() -> None:
    backend = EmbeddedRocksDBStateBackend()
    backend.set_predefined_options(PredefinedOptions.FLASH_SSD_OPTIMIZED)
    assert "FLASH_SSD_OPTIMIZED" in str(backend)
    assert str(HashMapStateBackend()) == "HashMapStateBackend()"


def test_there_is_no_state_backend_of_java() -> None:
    with pytest.raises(NotAvailableFromPythonError, match="EmbeddedRocksDBStateBackend"):
        CustomStateBackend("a backend")


def test_an_environment_refuses_what_is_no_state_backend() -> None:
    with pytest.raises(InvalidArgumentError, match="no state backend"):
        local_environment().set_state_backend("rocksdb")  # type: ignore[arg-type]
