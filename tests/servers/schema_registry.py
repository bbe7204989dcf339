"""A schema registry that answers what Confluent's and Apicurio's documentation says, as far as clients ask.

The GUID of a schema is its id.
"""

from __future__ import annotations

import json
import uuid
from collections import deque
from typing import Any
from urllib.parse import unquote, urlsplit

from tests.servers.local_http import LocalHttp


class FakeSchemaRegistry(LocalHttp):
    """Listens on a free port of the loopback interface until it is closed.

    Attributes:
        schemas: What is registered, by id.
        subjects: The ids under each subject, by version.
        refuses: Subjects whose schemas go with no other.
        requests: Method and path of each request.
        mishaps: The statuses of the next answers.
    """

    def __init__(self) -> None:
        self.schemas: dict[int, dict[str, Any]] = {}
        self.subjects: dict[str, list[int]] = {}
        self.refuses: set[str] = set()
        self.requests: list[str] = []
        self.mishaps: deque[int] = deque()
        super().__init__()

    @property
    def url(self) -> str:
        return f"http://{self.host}"

    def respond(self, method: str, path: str, body: bytes) -> tuple[int, bytes]:
        path = unquote(urlsplit(path).path)
        self.requests.append(f"{method} {path}")
        status, answer = self.answer(method, path.strip("/").split("/"), json.loads(body or b"{}"))
        return status, json.dumps(answer).encode()

    def register(
        self,
        subject: str,
        schema: object,
        kind: str = "AVRO",
        references: tuple[dict[str, Any], ...] = (),
    ) -> int:
        """Register a schema, and return its id; the same has the same under any subject."""
        text = schema if isinstance(schema, str) else json.dumps(schema)
        entry = {"schema": text, "schemaType": kind, "references": list(references)}
        known = (number for number, other in self.schemas.items() if other == entry)
        schema_id = next(known, 100 + len(self.schemas))
        self.schemas[schema_id] = entry
        versions = self.subjects.setdefault(subject, [])
        if schema_id not in versions:
            versions.append(schema_id)
        return schema_id

    def answer(self, method: str, path: list[str], body: dict[str, Any]) -> tuple[int, Any]:
        if self.mishaps:
            return self.mishaps.popleft(), {"error_code": 50001, "message": "mishap"}
        match method, path:
            case "GET", ["schemas", "ids", number]:
                found = self.schemas.get(int(number))
                return (200, found) if found else (404, _error(40403, "Schema not found"))
            case "GET", ["schemas", "guids", guid]:
                found = self.schemas.get(uuid.UUID(guid).int)
                return (200, found) if found else (404, _error(40403, "Schema not found"))
            case "GET", ["apis", "registry", api, *place]:
                return self._of_apicurio(api, place)
            case "GET", ["subjects", subject, "versions", version]:
                return self._version(subject, int(version))
            case "POST", ["subjects", subject, "versions"] if subject in self.refuses:
                return 409, _error(409, "Schema being registered is incompatible")
            case "POST", ["subjects", subject, "versions"]:
                schema_id = self._registered(subject, body)
                return 200, {"id": schema_id, "guid": str(uuid.UUID(int=schema_id))}
            case "GET", ["associations", *_]:
                return 404, _error(404, "HTTP 404 Not Found")
            case "POST", ["subjects", subject]:
                known = [self.schemas[one]["schema"] for one in self.subjects.get(subject, [])]
                if body["schema"] not in known:
                    return 404, _error(40403, "Schema not found")
                return self._version(subject, known.index(body["schema"]) + 1)
        raise AssertionError(f"{method} {path}")

    def _of_apicurio(self, api: str, place: list[str]) -> tuple[int, Any]:
        """Answer as Apicurio's own API does. Global ids are larger than content ids by a thousand."""
        references = place[-1] == "references"
        match place[:-1] if references else place:
            case "ids", ("contentIds" | "globalIds") as kind, number:
                found = self.schemas.get(int(number) - (1000 if kind == "globalIds" else 0))
            case ["groups", "default", "artifacts", subject, "versions", version]:
                found = self.schemas[self.subjects[subject][int(version) - 1]]
                assert references or api == "v2"
            case ["groups", "default", "artifacts", subject, "versions", version, "content"]:
                found = self.schemas[self.subjects[subject][int(version) - 1]]
                assert api == "v3"
            case _:
                raise AssertionError(place)
        if found is None:
            return 404, {"error_code": 404, "message": "No content with such an id"}
        if not references:
            return 200, json.loads(found["schema"])
        return 200, [
            {"groupId": None, "artifactId": one["subject"], "version": str(one["version"])}
            for one in found["references"]
        ]

    def _registered(self, subject: str, body: dict[str, Any]) -> int:
        kind = body.get("schemaType", "AVRO")
        return self.register(subject, body["schema"], kind, tuple(body.get("references") or ()))

    def _version(self, subject: str, version: int) -> tuple[int, Any]:
        versions = self.subjects.get(subject, [])
        if version > len(versions):
            return 404, _error(40402, "Version not found")
        schema_id = versions[version - 1]
        about = {"subject": subject, "version": version, "id": schema_id}
        return 200, about | self.schemas[schema_id]


def _error(code: int, message: str) -> dict[str, Any]:
    return {"error_code": code, "message": message}
