"""Refuses Spark's inner doors in src: they are closed under Spark Connect."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

CLASSIC_ONLY = {"classic.py", "ctrl_c.py", "description.py", "java_process.py"}
SRC = Path(__file__).resolve().parent.parent / "src"
DOORS = {"_jvm", "_jdf", "_jsc", "_jsparkSession", "_sc", "sparkContext", "rdd"}


def main() -> None:
    found = [
        line
        for path in sorted(SRC.rglob("*.py"))
        if path.name not in CLASSIC_ONLY
        for line in doors(path)
    ]
    sys.exit("\n".join(found) or 0)


def doors(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        match node:
            case ast.Attribute(attr=name) | ast.Constant(value=str(name)) if name in DOORS:
                yield f"{path.relative_to(SRC.parent)}:{node.lineno}: {name} is not there under Spark Connect"


if __name__ == "__main__":
    main()
