"""A schema registry as messages need it: the schema of an id, and the id of a schema."""

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeVar
from urllib.parse import quote

from penstock.common.plain_text import without_logins
from penstock.datastream.formats.registry.schema_ids import APICURIO_IDS, SchemaId
from penstock.errors import (
    IncompatibleSchemaError,
    InvalidArgumentError,
    PenstockError,
    SchemaRegistryClientNotFoundError,
    SchemaRegistryNotReachableError,
    SchemaRegistryRefusedError,
    UnknownSchemaError,
)

T = TypeVar("T")

_APICURIO: Final = re.compile(r"/apis/registry/v\d")
_APICURIO_3: Final = re.compile(r"/apis/registry/v3")
_TIMEOUT_SECONDS: Final = 30
"""The client itself waits for an answer for as long as it takes."""
_MISSING_SECONDS: Final = 1.0
_MOST_MISSING: Final = 10_000

_NOT_FOUND: Final = 404
_CONFLICT: Final = 409
_PASSING: Final = frozenset({408, 425, 429, 500, 502, 503, 504})
"""What a registry answers that may answer otherwise later."""


class WrittenSchema(NamedTuple):
    """A schema that a registry has.

    Attributes:
        kind: "AVRO", "JSON" or "PROTOBUF"; None if the registry does not say.
        text: The schema.
        referred: Those that it refers to.
    """

    kind: str | None
    text: str
    referred: tuple[WrittenSchema, ...]


def schema_registry(
    url: str, configs: Mapping[str, Any] | None, use_id: str = "contentId"
) -> SchemaRegistry:
    """Return the registry at an address: one that speaks Confluent's protocol, or Apicurio's own.

    Args:
        url: See `SchemaRegistry`.
        configs: See `SchemaRegistry`.
        use_id: What an id before a message is at Apicurio's own API: "contentId" or "globalId".

    Raises:
        InvalidArgumentError: If there is no address, a setting that the client lacks, or no such id.
        SchemaRegistryClientNotFoundError: If the client is not installed.
    """
    is_own = isinstance(url, str) and _APICURIO.search(url)
    if use_id not in APICURIO_IDS:
        raise InvalidArgumentError(
            f"use_id is {use_id!r}.",
            hint="Give 'contentId' or 'globalId', as apicurio.registry.use-id of the writers says.",
        )
    return ApicurioRegistry(url, configs, use_id) if is_own else SchemaRegistry(url, configs)


class SchemaRegistry:
    """Asks a schema registry, once for each schema in a process. It can be pickled.

    Args:
        url: Its address, or several with commas between them, to be tried in turn.
        configs: Settings of confluent-kafka's SchemaRegistryClient.

    Raises:
        InvalidArgumentError: If there is no address, or a setting that the client lacks.
        SchemaRegistryClientNotFoundError: If the client is not installed.
    """

    def __init__(self, url: str, configs: Mapping[str, Any] | None) -> None:
        self._url = url
        self._configs = dict(configs or {})
        self._place = without_logins(str(url))
        self._known()

    def schema(self, schema_id: SchemaId) -> WrittenSchema:
        """Return the schema of an id.

        Raises:
            UnknownSchemaError: If there is none; for a second after that the registry is not asked again.
            SchemaRegistryRefusedError: If ids of this kind are none of this registry's.
        """
        known = self._known()
        if schema_id in known.schemas:
            return known.schemas[schema_id]
        missing = UnknownSchemaError(
            f"The schema registry at {self._place} knows no schema with {schema_id}.",
            hint="Give the registry that the producer of the message has. If only some messages name such a "
            "schema, they are none of it: let them go to dead letters.",
        )
        if known.missing.get(schema_id, -math.inf) > time.monotonic() - _MISSING_SECONDS:
            raise missing
        try:
            found = self._ask(lambda client: self._fetched(client, schema_id), missing)
        except UnknownSchemaError:
            if len(known.missing) >= _MOST_MISSING:
                known.missing.clear()
            known.missing[schema_id] = time.monotonic()
            raise
        known.schemas[schema_id] = found
        return found

    def _fetched(self, client: Any, schema_id: SchemaId) -> WrittenSchema:
        if schema_id.kind == "globalId":
            raise SchemaRegistryRefusedError(
                f"The schema registry at {self._place} cannot be asked for {schema_id}, as it speaks Confluent's "
                "protocol.",
                hint="Give the address of Apicurio's own API: 'http://localhost:8080/apis/registry/v3'.",
            )
        if schema_id.kind == "guid":
            return self._with_references(client, client.get_schema_by_guid(schema_id.value))
        return self._with_references(client, client.get_schema(schema_id.value))

    def _with_references(self, client: Any, schema: Any) -> WrittenSchema:
        referred = tuple(
            self._referred(one.subject, one.version) for one in schema.references or ()
        )
        return WrittenSchema(schema.schema_type, schema.schema_str, referred)

    def _referred(self, subject: str, version: int) -> WrittenSchema:
        return self._ask(
            lambda client: self._with_references(
                client, client.get_version(subject, version).schema
            ),
            self._no_version(subject, version),
        )

    def _no_version(self, subject: str, version: object) -> UnknownSchemaError:
        return UnknownSchemaError(
            f"The schema registry at {self._place} knows no version {version} of {subject!r}, to which another schema "
            "refers.",
            hint="Register it again, or do not delete what others refer to.",
        )

    def id_of(
        self, subject: str, kind: str, text: str, references: Sequence[Any] = (), *, registers: bool
    ) -> int:
        """Return the id of a schema.

        Args:
            subject: Under what it is registered.
            kind: "AVRO", "JSON" or "PROTOBUF".
            text: The schema.
            references: What it refers to, by `reference_to`.
            registers: Whether it is registered, if it is not.

        Raises:
            IncompatibleSchemaError: If it does not go with the versions before it.
            UnknownSchemaError: If it is not registered, and need be.
        """
        if not registers:
            return int(self._registered(subject, kind, text, references).schema_id)
        schema = _schema(kind, text, references)
        return int(
            self._ask(
                lambda client: client.register_schema(subject, schema), self._missing(subject, text)
            )
        )

    def reference_to(
        self, name: str, kind: str, text: str, references: Sequence[Any], *, registers: bool
    ) -> Any:
        """Return what refers to a schema by its name, which is also its subject; see `id_of`."""
        from confluent_kafka.schema_registry import SchemaReference

        if registers:
            self.id_of(name, kind, text, references, registers=True)
        version = self._registered(name, kind, text, references).version
        return SchemaReference(name, name, version)

    def _registered(self, subject: str, kind: str, text: str, references: Sequence[Any]) -> Any:
        schema = _schema(kind, text, references)
        return self._ask(
            lambda client: client.lookup_schema(subject, schema), self._missing(subject, text)
        )

    def _missing(self, subject: str, text: str) -> UnknownSchemaError:
        return UnknownSchemaError(
            f"The schema registry at {self._place} has not the schema {text} under {subject!r}.",
            hint="Register it, or give register=True.",
        )

    def _ask(self, question: Callable[[Any], T], missing: UnknownSchemaError) -> T:
        from confluent_kafka.schema_registry.error import SchemaRegistryError

        try:
            return question(self._known().client)
        except PenstockError:
            raise
        except SchemaRegistryError as error:
            status = error.http_status_code
            if status == _NOT_FOUND:
                raise missing from error
            if status in _PASSING:
                raise self._away(error) from error
            raise self._refused(status, error) from error
        except (KeyError, TypeError, ValueError) as error:
            raise SchemaRegistryRefusedError(
                f"The schema registry at {self._place} cannot be asked, or answers what none does: "
                f"{type(error).__name__}: {error}",
                hint="Look at the address, which may be one of a proxy, and at registry_configs.",
            ) from error
        except Exception as error:
            # Those of its HTTP library, which is not the same in all versions.
            raise self._away(error) from error

    def _refused(
        self, status: int, error: Exception
    ) -> IncompatibleSchemaError | SchemaRegistryRefusedError:
        if status == _CONFLICT:
            return IncompatibleSchemaError(
                f"The schema registry at {self._place} refused the schema: {error}.",
                hint="Change it so that it goes with the versions before it, such as by a default for a new "
                "field, or write to another subject.",
            )
        return SchemaRegistryRefusedError(
            f"The schema registry at {self._place} refused the request: {error}.",
            hint='Look at registry_configs: "basic.auth.user.info" is the user with the password, and '
            '"bearer.auth.credentials.source" says where a token comes from.',
        )

    def _away(self, error: Exception) -> SchemaRegistryNotReachableError:
        return SchemaRegistryNotReachableError(
            f"The schema registry at {self._place} does not answer: {error}.",
            hint='Look whether it runs. "max.retries" and "retries.max.wait.ms" in registry_configs say how long '
            "it is asked again; a restart strategy of the job comes after that.",
        )

    def _known(self) -> _Known:
        name = self._url, repr(sorted(self._configs.items()))
        if name not in _KNOWN:
            _KNOWN[name] = _Known(_new_client(self._url, self._configs), {}, {})
        return _KNOWN[name]


class ApicurioRegistry(SchemaRegistry):
    """Asks Apicurio's registry by its own API, version 2 or 3, which alone knows global ids. It only reads.

    For other arguments and errors see `SchemaRegistry`.

    Args:
        url: Its address.
        configs: Settings of the client.
        use_id: What an id before a message is.
    """

    def __init__(self, url: str, configs: Mapping[str, Any] | None, use_id: str) -> None:
        super().__init__(url, configs)
        self._use_id = use_id

    def schema(self, schema_id: SchemaId) -> WrittenSchema:
        """See `SchemaRegistry.schema`."""
        is_plain = schema_id.kind == "id"
        return super().schema(schema_id._replace(kind=self._use_id) if is_plain else schema_id)

    def id_of(
        self, subject: str, kind: str, text: str, references: Sequence[Any] = (), *, registers: bool
    ) -> int:
        """Refuse to.

        Raises:
            InvalidArgumentError: In any case.
        """
        raise InvalidArgumentError(
            f"Schemas are not registered by Apicurio's own API, at {self._place}.",
            hint="Give the address of the one that speaks Confluent's protocol: "
            "'http://localhost:8080/apis/ccompat/v7'. Its ids are content ids.",
        )

    def _fetched(self, client: Any, schema_id: SchemaId) -> WrittenSchema:
        if schema_id.kind not in APICURIO_IDS:
            raise SchemaRegistryRefusedError(
                f"The schema registry at {self._place} cannot be asked for {schema_id}, as it speaks Apicurio's "
                "protocol.",
                hint="Give the address of the registry that the producer of the messages has.",
            )
        place = f"ids/{schema_id.kind}s/{schema_id.value}"
        return self._at(client, place, f"{place}/references")

    def _at(self, client: Any, place: str, references: str) -> WrittenSchema:
        get = client._rest_client.get  # noqa: SLF001 - has the settings, tries again, and knows no more of Confluent
        text = json.dumps(get(place))
        referred = tuple(self._artifact(one) for one in get(references) or ())
        return WrittenSchema(None, text, referred)

    def _artifact(self, reference: Mapping[str, Any]) -> WrittenSchema:
        group, artifact, version = (
            str(reference.get(name) or "default") for name in ("groupId", "artifactId", "version")
        )
        names = (quote(name, safe="") for name in (group, artifact, version))
        place = "groups/{}/artifacts/{}/versions/{}".format(*names)
        content = f"{place}/content" if _APICURIO_3.search(self._url) else place
        return self._ask(
            lambda client: self._at(client, content, f"{place}/references"),
            self._no_version(f"{group}/{artifact}", version),
        )


class _Known(NamedTuple):
    client: Any
    schemas: dict[SchemaId, WrittenSchema]
    missing: dict[SchemaId, float]


_KNOWN: Final[dict[tuple[str, str], _Known]] = {}
"""A process has one client, and one memory of schemas, for all that ask the same registry."""


def _schema(kind: str, text: str, references: Sequence[Any]) -> Any:
    from confluent_kafka.schema_registry import Schema

    return Schema(text, kind, list(references))


def _new_client(url: str, configs: Mapping[str, Any]) -> Any:
    try:
        from confluent_kafka.schema_registry import SchemaRegistryClient
    except ImportError as error:
        raise SchemaRegistryClientNotFoundError(
            "The client of schema registries is not installed.",
            hint="Install it where the program starts and where its tasks run: "
            "pip install 'penstock[schema-registry]'.",
        ) from error
    try:
        return SchemaRegistryClient({"url": url, "timeout": _TIMEOUT_SECONDS, **configs})
    except (TypeError, ValueError, OSError) as error:
        raise InvalidArgumentError(
            f"A schema registry at {without_logins(str(url))!r} cannot be asked: {error}.",
            hint="Give an address such as 'http://localhost:8081', and settings that confluent-kafka's "
            "SchemaRegistryClient has.",
        ) from error
