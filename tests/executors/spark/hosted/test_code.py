"""What tells versions of a program apart: its code, and nothing that it writes beside that."""

from __future__ import annotations

from pathlib import Path

from penstock.executors.spark.hosted.code import code_of


def test_what_a_package_writes_to_its_own_folder_is_no_other_version(tmp_path: Path) -> None:
    package = tmp_path / "shop"
    package.mkdir()
    (package / "prices.py").write_text("PRICE = 1\n")
    first = code_of([str(tmp_path)])
    (package / "shop.log").write_text("started\n")
    second = code_of([str(tmp_path)])
    assert second.version == first.version
    assert second.digest != first.digest

    (package / "prices.py").write_text("PRICE = 2\n")
    assert code_of([str(tmp_path)]).version != first.version
