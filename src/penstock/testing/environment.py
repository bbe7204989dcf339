"""An environment whose programs run in this process."""

from __future__ import annotations

from penstock.common.configuration.configuration import Configuration
from penstock.datastream.stream_execution_environment import StreamExecutionEnvironment


def local_environment(parallelism: int = 1) -> StreamExecutionEnvironment:
    """Return a new environment whose programs run in this process, without Spark.

    A short program takes milliseconds, and a debugger stops in the user's functions. The operators
    are the same as on Spark. A job shows its line in a terminal, and says nothing of itself in the log.

    Args:
        parallelism: How many subtasks an operator has that does not say so itself.

    Returns:
        The environment.

    Raises:
        InvalidParallelismError: If the parallelism is below 1.

    Example:
        >>> list(local_environment().from_collection(["a", "b"]).execute_and_collect())
        ['a', 'b']
    """
    configuration = Configuration().set_string("execution.target", "local")
    # A test has many jobs, and nobody waits for them.
    configuration.set_string("execution.progress.interval", "0")
    environment = StreamExecutionEnvironment.get_execution_environment(configuration)
    return environment.set_parallelism(parallelism)
