"""What a program says that its functions need is there, on both executors."""

from __future__ import annotations

import os
import sys
import zipfile
from pathlib import Path

import pytest
from tests.runtime.job_files.wheels import write_wheel
from tests.semantics.conftest import NewEnvironment

from penstock.common import Encoder, WatermarkStrategy
from penstock.datastream import MapFunction, RuntimeContext
from penstock.datastream.connectors.file_system import FileSink, FileSource, StreamFormat
from penstock.errors import CachedFileNotFoundError, PenstockError, RequirementsNotInstalledError


class Finder(MapFunction):
    """Tells what a module, a file or a registered file says."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.cache = runtime_context.get_distributed_cache()

    def map(self, value: str) -> str:
        kind, _, name = value.partition(":")
        if kind == "module":
            import importlib

            return str(importlib.import_module(name).SAYS)
        path = self.cache.get_file(name) if kind == "cached" else name
        return Path(path).read_text()


@pytest.fixture
def files(tmp_path: Path) -> Path:
    for name in ("needed_first", "needed_last"):
        folder = tmp_path / name
        (folder / "needed_package").mkdir(parents=True)
        (folder / "needed_package" / "__init__.py").write_text(f"SAYS = '{name}'\n")
    (tmp_path / "needed_module.py").write_text("SAYS = 'module'\n")
    (tmp_path / "not_named.py").write_text("SAYS = 'not named'\n")
    with zipfile.ZipFile(tmp_path / "zipped.zip", "w") as archive:
        archive.writestr("needed_zipped.py", "SAYS = 'zipped'\n")
        archive.writestr("text", "data")
    write_wheel(tmp_path / "packages", "needed_wheel", "1.0", "SAYS = 'wheel'\n")
    (tmp_path / "requirements.txt").write_text("needed_wheel >= 1\n")
    (tmp_path / "plain.txt").write_text("plain")
    return tmp_path


def test_functions_find_what_the_program_names(
    new_environment: NewEnvironment, files: Path
) -> None:
    env = new_environment(2)
    for name in ("needed_last", "needed_first", "needed_module.py", "zipped.zip"):
        env.add_python_file(files / name)
    env.set_python_requirements(files / "requirements.txt", files / "packages")
    env.add_python_archive(files / "zipped.zip")
    env.add_python_archive(files / "zipped.zip", "data")
    env.register_cached_file(f"file://{files}/plain.txt", "plain")
    home = os.getcwd()
    wanted = {
        "module:needed_package": "needed_first",
        "module:needed_last.needed_package": "needed_last",
        "module:needed_module": "module",
        "module:needed_zipped": "zipped",
        "module:needed_wheel": "wheel",
        "zipped.zip/text": "data",
        "data/text": "data",
        "cached:plain": "plain",
    }
    places = [place if ":" in place else f"file:{place}" for place in wanted]
    found = env.from_collection(places).rebalance().map(Finder()).execute_and_collect()
    assert sorted(found) == sorted(wanted.values())
    assert os.getcwd() == home
    assert not [path for path in sys.path if "penstock-" in path and "requirements" in path]

    with pytest.raises(PenstockError, match="not_named"):
        list(env.from_collection(["module:not_named"]).map(Finder()).execute_and_collect())


def test_what_is_not_there_is_named(new_environment: NewEnvironment, files: Path) -> None:
    env = new_environment()
    env.register_cached_file(files / "plain.txt", "plain")
    stream = env.from_collection(["cached:other"]).map(Finder())
    with pytest.raises(PenstockError, match=r"'other'; there is 'plain'") as caught:
        list(stream.execute_and_collect())
    assert isinstance(caught.value, CachedFileNotFoundError) or caught.value.operator == "Map"

    (files / "requirements.txt").write_text("needed_and_not_there\n")
    env.set_python_requirements(files / "requirements.txt", files / "packages")
    with pytest.raises(
        RequirementsNotInstalledError, match=r"needed_and_not_there(.|\n)*Hint: .*pip download"
    ):
        list(env.from_collection(["cached:plain"]).map(Finder()).execute_and_collect())


def test_relative_paths_begin_where_the_program_runs(
    new_environment: NewEnvironment, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(files)
    Path("lines").write_text("a\nb\n")
    env = new_environment()
    env.add_python_archive("zipped.zip", "data")
    lines = env.read_text_file("lines", "latin-1")
    source = FileSource.for_record_stream_format(StreamFormat.text_line_format(), "lines").build()
    again = env.from_source(source, WatermarkStrategy.no_watermarks(), "lines")
    sink = FileSink.for_row_format("out", Encoder.simple_string_encoder()).build()
    lines.union(again).map(lambda line: line + Path("data/text").read_text()).sink_to(sink)
    env.execute()
    found = "".join(path.read_text() for path in (files / "out").rglob("part-*"))
    assert sorted(found.split()) == ["adata", "adata", "bdata", "bdata"]
