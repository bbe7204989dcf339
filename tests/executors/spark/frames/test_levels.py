from __future__ import annotations

import pyarrow as pa
import pytest

from penstock.errors import WorkerPythonError
from penstock.executors.spark.failures import as_penstock_error
from penstock.executors.spark.frames.levels import as_function


def test_a_worker_whose_pyarrow_is_too_old_does_nothing_and_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    function = as_function(iter, "nothing")
    assert list(function([])) == []
    monkeypatch.setattr(pa, "__version__", "15.0.2")

    with pytest.raises(ImportError) as raised:
        function([])

    error = as_penstock_error(RuntimeError(f"ImportError: {raised.value}\n\tat Java"), "Job 'x'")
    assert isinstance(error, WorkerPythonError)
    assert error.message.endswith("works with pyarrow >=18, and this is pyarrow 15.0.2")
