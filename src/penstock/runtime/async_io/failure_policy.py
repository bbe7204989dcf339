"""What comes of a call that failed for good."""

from __future__ import annotations

import pickle
import traceback

from penstock.errors import UserFunctionError
from penstock.runtime.async_io.call import Call
from penstock.runtime.async_io.forms import checked_results
from penstock.runtime.async_io.options import FailureKind, OnFailure


def settle_failure(call: Call, error: BaseException, on_failure: OnFailure) -> None:
    """Write down what comes of a failed call: results, a value for a side output, or the error.

    Args:
        call: The call.
        error: What it failed with.
        on_failure: What the user wants.
    """
    call.has_failed = True
    if on_failure.kind is FailureKind.FAIL:
        call.error = error
    elif on_failure.kind is FailureKind.FALLBACK:
        try:
            results = on_failure.results
            call.results = checked_results(
                results(call.given(), error) if callable(results) else results
            )
        except BaseException as second:  # noqa: BLE001 - it is what fails the job
            call.error = second
    elif on_failure.kind is FailureKind.SIDE_OUTPUT:
        assert on_failure.tag is not None
        call.aside = on_failure.tag.tag_id, (call.value, portable_error(error))


def portable_error(error: BaseException) -> BaseException:
    """Return an error without its traceback, in a form that survives pickling."""
    try:
        found = pickle.loads(pickle.dumps(error))
    except Exception:  # noqa: BLE001 - pickling runs code of the error's class
        found = None
    if type(found) is type(error):
        return found
    return UserFunctionError("".join(traceback.format_exception_only(error)).strip())
