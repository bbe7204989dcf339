"""Tests mirror the sources: where a file is tested can be told from its name alone, and what mirrors none is listed."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

TESTS = Path(__file__).parent
ROOT = TESTS.parent

SOURCES = {"benchmarks": ROOT, "examples": ROOT, "crash": TESTS, "servers": TESTS}
"""Where that lies which the tests in a folder mirror, if that is not the package."""

ABOUT_MANY = {"docs", "semantics"}
"""Folders whose tests are all about what holds for many files."""

# What these are about is in their docstrings.
OTHERS = {
    "": "circles folders imports mirror",
    "crash": "faults two_drivers",
    "datastream": """async_servers event_timers file_exactly_once file_growth idleness keyed_states
        processing_timers promises pyflink_names random_pipelines random_timers_and_states timestamps
        unanswered watermarks""",
    "executors": """async_servers available_now changed_windows cluster columnar_windows connect_client connect_streaming
        connect_topics data_frames event_time going_on interrupts job_control large_records lost_worker metric_reporters old_checkpoints packed_files
        peak_state
        profile published_sinks recovery renamed_classes rescaling safety starting_again state_memory steering submit two_drivers
        unclaimed_output""",
    "runtime": """changed_objects edge_cases merging_states namespaces other_triggers queues shared_source
        state_over_epochs time_windows""",
}


def files() -> Iterator[Path]:
    for path in sorted(TESTS.rglob("test_*.py")):
        if path.relative_to(TESTS).parts[0] not in ABOUT_MANY:
            yield path.relative_to(TESTS)


def mirrors_a_source(test: Path) -> bool:
    """Whether a test is `test_x.py`, or `test_x_y.py` for an aspect y, where `x.py` is; or `x` is a package."""
    folder = SOURCES.get(test.parts[0], ROOT / "src" / "penstock") / test.parent
    name = test.stem.removeprefix("test_")
    words = name.split("_")
    beginnings = ["_".join(words[:count]) for count in range(1, len(words) + 1)]
    is_package = (folder / name).is_dir() or (folder.name == name and folder.is_dir())
    return is_package or any(
        (folder / f"{beginning}.{kind}").is_file()
        for beginning in beginnings
        for kind in ("py", "js")
    )


def test_a_test_mirrors_a_source_or_is_listed() -> None:
    found = defaultdict(set)
    for path in files():
        if not mirrors_a_source(path):
            package = path.parts[0] if len(path.parts) > 1 else ""
            found[package].add(path.stem.removeprefix("test_"))
    assert found == {package: set(names.split()) for package, names in OTHERS.items()}


def test_a_test_that_mirrors_no_source_says_what_it_is_about() -> None:
    others = [path for path in files() if not mirrors_a_source(path)]
    assert [path for path in others if docstring(path) is None] == []


def docstring(path: Path) -> str | None:
    return ast.get_docstring(ast.parse((TESTS / path).read_text(encoding="utf-8")))
