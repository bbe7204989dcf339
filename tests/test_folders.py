"""A folder is no larger than a person takes in at a glance."""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TOPS = ("benchmarks", "docs", "examples", "scripts", "src", "tests")
MOST = 20
DEFINES = re.compile(r"^(?:class|def) ", re.MULTILINE)
"""What no door has; most modules have it, and need not be parsed."""


def is_door(path: Path) -> bool:
    """Whether a module only brings what others define, as those with PyFlink's names do."""
    if path.suffix != ".py" or not path.is_relative_to(ROOT / "src"):
        return False
    text = path.read_text(encoding="utf-8")
    if DEFINES.search(text):
        return False
    behind_docstring = ast.parse(text).body[1:]
    return bool(behind_docstring) and all(
        isinstance(node, ast.ImportFrom)
        or (isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__")
        for node in behind_docstring
    )


def test_no_folder_has_more_than_twenty_files() -> None:
    found = [
        path
        for top in TOPS
        for kind in ("py", "md", "js", "css")
        for path in (ROOT / top).rglob(f"*.{kind}")
    ]
    counts = Counter(path.parent.relative_to(ROOT) for path in found if not is_door(path))
    assert {str(folder): count for folder, count in counts.items() if count > MOST} == {}
