"""Builds the wheel and the source distribution into dist/, and tries both: `python scripts/dist.py`.

Each is installed into a new environment and runs a program there: alone, with which programs run in
their own process, and with what pyproject.toml offers to users beside.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "dist"
PROGRAM = ROOT / "scripts" / "installed_program.py"
EXTRAS = {
    "local": "",
    "connect": "[connect]",
    "spark": "[spark,java,rocksdb,object-store,postgres,mysql,kafka,avro,schema-registry,protobuf]",
}
OTHERS = ("PYTHON", "PYSPARK", "SPARK")
"""What variables begin with that tell of other installations."""


def main() -> None:
    for archive in build():
        for target, extras in EXTRAS.items():
            print(f"{archive.name}{extras}", flush=True)
            try_out(archive, target, extras)


def build() -> list[Path]:
    """Build the source distribution, and the wheel from nothing but that."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    run([sys.executable, "-m", "build", "--outdir", FOLDER, ROOT])
    return sorted(FOLDER.iterdir())


def try_out(archive: Path, target: str, extras: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        environment = Path(folder, "environment")
        python = environment / "bin" / "python"
        run([sys.executable, "-m", "venv", environment])
        options = ["--disable-pip-version-check", "--quiet", "--use-pep517"]
        run([python, "-m", "pip", "install", *options, f"penstock{extras} @ {archive.as_uri()}"])
        # A copy, elsewhere: else Python would find the package where the program is.
        program = shutil.copy(PROGRAM, folder)
        run([python, "-W", "error", program, target], cwd=folder)


def run(command: list[str | Path], cwd: str | None = None) -> None:
    ours = {key: value for key, value in os.environ.items() if not key.startswith(OTHERS)}
    if subprocess.run(command, check=False, cwd=cwd, env=ours).returncode:
        sys.exit(f"This failed: {' '.join(map(str, command))}")


if __name__ == "__main__":
    main()
