"""What Spark raises, as errors that tell a user what to do."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from penstock.errors import JobFailedError, PenstockError, SourceNotReadableError

_UNREADABLE = re.compile(
    r"Connection refused|ConnectException|UnknownHostException|PATH_NOT_FOUND|FileNotFoundException|"
    r"Permission denied|AccessControlException|CANNOT_READ_FILE|NoRouteToHost"
)
_OTHER_PYTHON = re.compile(r"PYTHON_VERSION_MISMATCH|ModuleNotFoundError: No module named '[^']*'")
_NO_JAVA_PROCESS = re.compile(r"JAVA_GATEWAY_EXITED|/bin/spark-submit'")
_NO_SCHEMA = re.compile(r"PARSE_SYNTAX_ERROR|UNSUPPORTED_DATATYPE")
_HINTS = {
    _OTHER_PYTHON: (
        "The workers run another Python than this one: name it in PYSPARK_PYTHON before the "
        "SparkSession is built, and install there what the program imports."
    ),
    _NO_JAVA_PROCESS: (
        "Spark did not start; what it printed above says why. SPARK_HOME has to be unset or the folder of "
        "a whole Spark, and PYSPARK_SUBMIT_ARGS to end with pyspark-shell."
    ),
    _NO_SCHEMA: "Mend the SQL or the schema, such as 'item string, pieces int'.",
}
_LENGTH = 2000


def as_penstock_error(error: BaseException, what: str) -> PenstockError:
    """Return the error to show for what Spark raised.

    Args:
        error: What was raised.
        what: What was being done, as in "Job 'x'".
    """
    found: BaseException | None = error
    while found is not None:
        if isinstance(found, PenstockError):
            return found
        found = found.__cause__ or found.__context__
    text = str(error)
    first = re.split(r"JVM stacktrace:|=== Streaming Query ===", text, maxsplit=1)[0].strip()
    shown = first if len(first) <= _LENGTH else first[:_LENGTH] + " ..."
    match = _UNREADABLE.search(text)
    if match is not None:
        return SourceNotReadableError(
            f"{what} cannot read its input ({match.group(0)}): {shown}",
            hint="Check that the path or address is right, that something is there (for a socket: "
            "something that listens), and that the workers reach it.",
        )
    other = "Spark's own log says more; a worker that died was often short of memory."
    hint = next((hint for pattern, hint in _HINTS.items() if pattern.search(text)), other)
    return JobFailedError(f"{what} was failed by Spark: {shown}", hint=hint)


@contextmanager
def spark_errors(what: str) -> Iterator[None]:
    """Turn what Spark raises inside into errors of penstock's."""
    try:
        yield
    except PenstockError:
        raise
    except Exception as error:
        raise as_penstock_error(error, what) from error
