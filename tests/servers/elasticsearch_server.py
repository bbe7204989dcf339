"""A server that does with `_bulk` requests what Elasticsearch's documentation says, as far as the sink sees it."""

from __future__ import annotations

import json
from collections import Counter, deque
from typing import Any

from tests.servers.local_http import LocalHttp


class ElasticsearchServer(LocalHttp):
    """Listens on a free port of the loopback interface until it is closed.

    Attributes:
        major: The version: 6 wants a type for each document, 8 takes none, and 7 does not mind.
        indices: The documents, by index and id.
        requests: How many actions came with each request.
        path: That of the last request.
        mishaps: What becomes of the next requests: a status, "hang up" before an answer, "lose the answer"
            after all was done, the bytes of an answer, or a set of positions of actions that it is too busy for.
    """

    def __init__(self) -> None:
        self.major = 7
        self.indices: dict[str, dict[str, Any]] = {}
        self.requests: list[int] = []
        self.path = ""
        self.mishaps: deque[int | str | bytes | set[int]] = deque()
        self._made = Counter[str]()
        super().__init__()

    def respond(self, method: str, path: str, body: bytes) -> tuple[int, bytes]:
        self.path = path
        return self.answer(body)

    def answer(self, body: bytes) -> tuple[int, bytes]:
        """Return the status and the answer to a request; status 0 for none."""
        assert body.endswith(b"\n")
        lines = [json.loads(line) for line in body.splitlines()]
        actions = list(zip(lines[::2], lines[1::2], strict=True))
        self.requests.append(len(actions))
        mishap = self.mishaps.popleft() if self.mishaps else set()
        if isinstance(mishap, int):
            return mishap, b'{"error": "mishap"}'
        if isinstance(mishap, bytes):
            return 200, mishap
        if mishap == "hang up":
            return 0, b""
        busy = mishap if isinstance(mishap, set) else set()
        items: list[dict[str, Any]] = []
        for position, (action, source) in enumerate(actions):
            ((kind, target),) = action.items()
            if position in busy:
                error = {"type": "es_rejected_execution_exception", "reason": "queue is full"}
                items.append({kind: {"status": 429, "error": error}})
            else:
                items.append({kind: self._do(kind, target, source)})
        if mishap == "lose the answer":
            return 0, b""
        errors = any(item["status"] >= 300 for each in items for item in each.values())
        return 200, json.dumps({"errors": errors, "items": items}).encode()

    def _do(self, kind: str, target: dict[str, str], source: Any) -> dict[str, Any]:
        if self.major == 6 and "_type" not in target:
            return _error("action_request_validation_exception", "type is missing")
        if self.major == 8 and "_type" in target:
            return _error("illegal_argument_exception", "unknown parameter [_type]")
        document = source["doc"] if kind == "update" else source
        if document.get("count") == "many":
            cause = {"type": "number_format_exception", "reason": 'For input string: "many"'}
            return _error("mapper_parsing_exception", "failed to parse field [count]", cause)
        index = self.indices.setdefault(target["_index"], {})
        if kind == "update":
            assert source["doc_as_upsert"] is True
            index[target["_id"]] = index.get(target["_id"], {}) | document
            return {"status": 200}
        self._made[target["_index"]] += 1
        index[f"made {self._made[target['_index']]}"] = document
        return {"status": 201}


def _error(type: str, reason: str, cause: Any = None) -> dict[str, Any]:
    error = {"type": type, "reason": reason}
    return {"status": 400, "error": error | ({"caused_by": cause} if cause else {})}
