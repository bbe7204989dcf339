from __future__ import annotations

import os
import sys

import pytest

from penstock.errors import OtherInterpreterError
from penstock.testing import local_environment


def run(executable: str) -> list[int]:
    env = local_environment()
    env.set_python_executable(executable)
    return list(env.from_collection([1]).execute_and_collect())


def test_it_is_that_of_this_process_by_any_name() -> None:
    folder = os.path.dirname(sys.executable)
    for name in ("python", "python3"):
        if os.path.exists(os.path.join(folder, name)):
            assert run(os.path.join(folder, name)) == [1]


@pytest.mark.parametrize("other", ["/bin/sh", "env.zip/bin/python"])
def test_another_one_is_refused(other: str) -> None:
    with pytest.raises(
        OtherInterpreterError, match=rf"'{other}', but(.|\n)*Hint: Start the program"
    ):
        run(other)
