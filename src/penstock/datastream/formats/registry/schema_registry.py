"""A schema registry as messages need it: the schema of an id, and the id of a schema."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar

from penstock.common.plain_text import shown_bytes, without_logins
from penstock.errors import (
    IncompatibleSchemaError,
    InvalidArgumentError,
    NoSchemaIdError,
    SchemaRegistryClientNotFoundError,
    SchemaRegistryNotReachableError,
    SchemaRegistryRefusedError,
    UnknownSchemaError,
)

T = TypeVar("T")

_MAGIC: Final = b"\0"
_NOT_FOUND: Final = 404
_CONFLICT: Final = 409
_PASSING: Final = frozenset({408, 425, 429, 500, 502, 503, 504})
"""What a registry answers that may answer otherwise later."""


class SchemaIds:
    """The id of a schema before a message: a zero byte, then the id, the highest byte first.

    Args:
        id_bytes: How many bytes the id has.

    Raises:
        InvalidArgumentError: If that is neither 4 nor 8.
    """

    def __init__(self, id_bytes: int) -> None:
        if id_bytes not in {4, 8}:
            raise InvalidArgumentError(
                f"The id of a schema has 4 bytes or 8, not {id_bytes!r}.",
                hint="Confluent's has 4, as Apicurio's from version 3; before that, Apicurio's had 8.",
            )
        self.id_bytes = id_bytes
        self.length = 1 + id_bytes

    def before(self, schema_id: int) -> bytes:
        """Return what stands before a message."""
        return _MAGIC + schema_id.to_bytes(self.id_bytes, "big")

    def of(self, message: bytes) -> int:
        """Return the id that stands before a message.

        Raises:
            NoSchemaIdError: If none does.
        """
        if len(message) < self.length or message[:1] != _MAGIC:
            raise NoSchemaIdError(
                f"The message {shown_bytes(message)} does not begin with the id of a schema: a zero byte, and "
                f"{self.id_bytes} bytes more.",
                hint="Read it with a schema without registry, if it was written so. With id_bytes=8 ids of "
                "8 bytes are read. Ids in headers are not read.",
            )
        return int.from_bytes(message[1 : self.length], "big")


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
        self._client()

    def schema(self, schema_id: int) -> Any:
        """Return the schema of an id, as the client has it.

        Raises:
            UnknownSchemaError: If there is none.
        """
        return self._ask(
            lambda client: client.get_schema(schema_id),
            UnknownSchemaError(
                f"The schema registry at {without_logins(self._url)} knows no schema with the id {schema_id}.",
                hint="Give the registry that the producer of the message has. If only some messages name such a "
                "schema, they are none of it: let them go to dead letters.",
            ),
        )

    def referred(self, reference: Any) -> Any:
        """Return the schema that another refers to.

        Raises:
            UnknownSchemaError: If there is none.
        """
        subject, version = reference.subject, reference.version
        return self._ask(
            lambda client: client.get_version(subject, version).schema,
            UnknownSchemaError(
                f"The schema registry at {without_logins(self._url)} knows no version {version} of {subject!r}, to which "
                "another schema refers.",
                hint="Register it again, or do not delete what others refer to.",
            ),
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
            f"The schema registry at {without_logins(self._url)} has not the schema {text} under {subject!r}.",
            hint="Register it, or give register=True.",
        )

    def _ask(self, question: Callable[[Any], T], missing: UnknownSchemaError) -> T:
        from confluent_kafka.schema_registry.error import SchemaRegistryError

        try:
            return question(self._client())
        except SchemaRegistryError as error:
            status = error.http_status_code
            if status == _NOT_FOUND:
                raise missing from error
            if status in _PASSING:
                raise self._away(error) from error
            raise self._refused(status, error) from error
        except Exception as error:
            # Those of its HTTP library, which is not the same in all versions.
            raise self._away(error) from error

    def _refused(
        self, status: int, error: Exception
    ) -> IncompatibleSchemaError | SchemaRegistryRefusedError:
        if status == _CONFLICT:
            return IncompatibleSchemaError(
                f"The schema registry at {without_logins(self._url)} refused the schema: {error}.",
                hint="Change it so that it goes with the versions before it, such as by a default for a new "
                "field, or write to another subject.",
            )
        return SchemaRegistryRefusedError(
            f"The schema registry at {without_logins(self._url)} refused the request: {error}.",
            hint='Look at registry_configs: "basic.auth.user.info" is the user with the password.',
        )

    def _away(self, error: Exception) -> SchemaRegistryNotReachableError:
        return SchemaRegistryNotReachableError(
            f"The schema registry at {without_logins(self._url)} does not answer: {error}.",
            hint='Look whether it runs. "max.retries" and "retries.max.wait.ms" in registry_configs say how long '
            "it is asked again; a restart strategy of the job comes after that.",
        )

    def _client(self) -> Any:
        known = self._url, repr(sorted(self._configs.items()))
        if known not in _CLIENTS:
            _CLIENTS[known] = _new_client(self._url, self._configs)
        return _CLIENTS[known]


_CLIENTS: Final[dict[tuple[str, str], Any]] = {}
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
        return SchemaRegistryClient({"url": url, **configs})
    except (TypeError, ValueError, OSError) as error:
        raise InvalidArgumentError(
            f"A schema registry at {without_logins(str(url))!r} cannot be asked: {error}.",
            hint="Give an address such as 'http://localhost:8081', and settings that confluent-kafka's "
            "SchemaRegistryClient has.",
        ) from error
