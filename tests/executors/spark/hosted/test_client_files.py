from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from tests.executors.spark.hosted.test_travel import request_with
from tests.servers.s3_server import S3Server

from penstock.checkpoint import object_storage
from penstock.executors.spark.hosted import client_files as module
from penstock.executors.spark.hosted.client_files import (
    FilesInStore,
    FilesThroughSpark,
    FilesThroughWorkers,
    client_files,
)
from penstock.executors.spark.hosted.submission import _location_of

SESSION: Any = None


@pytest.fixture(autouse=True)
def _without_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ship_code", lambda _: None)


def test_who_looks_for_files(s3: tuple[S3Server, str], tmp_path: Path) -> None:
    assert isinstance(client_files(SESSION, str(tmp_path)), FilesThroughSpark)
    assert isinstance(client_files(SESSION, s3[1]), FilesInStore)


@pytest.mark.parametrize("lacks", ["server", "package", "account"])
def test_what_this_process_does_not_reach_a_worker_does(
    lacks: str, s3: tuple[S3Server, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    place = s3[1]
    if lacks == "server":
        monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    elif lacks == "package":
        monkeypatch.setitem(sys.modules, "obstore.store", None)
    else:
        place = "az://container/jobs"
        monkeypatch.delenv("AZURE_STORAGE_ACCOUNT_NAME", raising=False)
    request = request_with(**{"execution.checkpointing.dir": place})
    assert _location_of(request) == place
    assert isinstance(client_files(SESSION, place), FilesThroughWorkers)


def test_whether_a_store_is_reached(
    s3: tuple[S3Server, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert object_storage.reaches(s3[1])
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    assert not object_storage.reaches(s3[1])
