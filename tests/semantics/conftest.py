from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from penstock.common import Configuration
from penstock.datastream import StreamExecutionEnvironment

NewEnvironment = Callable[..., StreamExecutionEnvironment]


@pytest.fixture(params=["local", pytest.param("spark", marks=pytest.mark.spark)])
def executor(request: pytest.FixtureRequest) -> str:
    """The value of `execution.target`: a test that uses it runs once on each executor."""
    return str(request.param)


@pytest.fixture
def new_environment(executor: str, request: pytest.FixtureRequest) -> NewEnvironment:
    """Make an environment of a parallelism on the executor, with settings as `pipeline__name`."""
    session = request.getfixturevalue("spark") if executor == "spark" else None

    def make(parallelism: int = 1, **settings: Any) -> StreamExecutionEnvironment:
        return environment(executor, session, parallelism, settings)

    return make


def environment(
    executor: str, session: Any, parallelism: int, settings: Mapping[str, Any]
) -> StreamExecutionEnvironment:
    """Return an environment on an executor, with settings as `pipeline__name`."""
    configuration = Configuration().set_string("execution.target", executor)
    for name, value in settings.items():
        key = name.replace("__", ".").replace("_", "-")
        configuration.set_string(key, str(value))
    env = StreamExecutionEnvironment.get_execution_environment(configuration, spark=session)
    return env.set_parallelism(parallelism)
