from __future__ import annotations

import pytest

from penstock.errors import InvalidParallelismError
from penstock.testing import local_environment


def test_programs_run_in_this_process() -> None:
    env = local_environment(3)
    assert (env.get_target(), env.get_parallelism()) == ("local", 3)
    assert local_environment().get_parallelism() == 1


def test_a_parallelism_is_1_or_more() -> None:
    with pytest.raises(InvalidParallelismError):
        local_environment(0)
