"""What Spark raises, as errors that tell a user what to do."""

from __future__ import annotations

import re

from penstock.errors import JobFailedError, PenstockError, SourceNotReadableError

_UNREADABLE = re.compile(
    r"Connection refused|ConnectException|UnknownHostException|PATH_NOT_FOUND|FileNotFoundException|"
    r"Permission denied|AccessControlException|CANNOT_READ_FILE|NoRouteToHost"
)
_OTHER_PYTHON = re.compile(r"PYTHON_VERSION_MISMATCH|ModuleNotFoundError: No module named '[^']*'")
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
    hint = "Spark's own log says more; a worker that died was often short of memory."
    if _OTHER_PYTHON.search(text) is not None:
        hint = (
            "The workers run another Python than this one: name it in PYSPARK_PYTHON before the "
            "SparkSession is built, and install there what the program imports."
        )
    return JobFailedError(f"{what} was failed by Spark: {shown}", hint=hint)
