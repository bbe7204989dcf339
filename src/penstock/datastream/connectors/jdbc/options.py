"""Where a JdbcSink writes to, and how."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from penstock.datastream.connectors.databases.client import DatabaseClient, GivenClient
from penstock.datastream.connectors.jdbc.urls import client_of, shown
from penstock.errors import InvalidArgumentError

__all__ = ["JdbcConnectionOptions", "JdbcExecutionOptions"]


@dataclass(frozen=True)
class JdbcConnectionOptions:
    """Where the database is; made by `JdbcConnectionOptionsBuilder`.

    Example:
        >>> options = (
        ...     JdbcConnectionOptions.JdbcConnectionOptionsBuilder()
        ...     .with_url("jdbc:postgresql://db/shop")
        ...     .with_driver_name("org.postgresql.Driver")
        ...     .with_user_name("writer")
        ...     .with_password("secret")
        ...     .build()
        ... )
        >>> options
        JdbcConnectionOptions(url='jdbc:postgresql://db/shop', user_name='writer')
    """

    url: str
    driver_name: str | None = field(default=None, repr=False)
    user_name: str | None = None
    password: str | None = field(default=None, repr=False)
    given: GivenClient | None = field(default=None, repr=False)

    def __repr__(self) -> str:
        return f"JdbcConnectionOptions(url={self.place!r}, user_name={self.user_name!r})"

    @property
    def place(self) -> str:
        """The URL without user, password and parameters."""
        return shown(self.url)

    def get_db_url(self) -> str:
        """Return the URL."""
        return self.url

    def get_driver_name(self) -> str | None:
        """Return the name of the driver, which plays no part here."""
        return self.driver_name

    def get_user_name(self) -> str | None:
        """Return the name of the user."""
        return self.user_name

    def get_password(self) -> str | None:
        """Return the password."""
        return self.password

    @property
    def client(self) -> DatabaseClient:
        """The client that writes."""
        return self.given or client_of(self.url, self.user_name, self.password)

    class JdbcConnectionOptionsBuilder:
        """Makes `JdbcConnectionOptions`."""

        def __init__(self) -> None:
            self._options = JdbcConnectionOptions("")

        def with_url(self, url: str) -> JdbcConnectionOptions.JdbcConnectionOptionsBuilder:
            """Set where the database is.

            Args:
                url: A URL of JDBC: "jdbc:postgresql:", "jdbc:mysql:", "jdbc:mariadb:" or
                    "jdbc:sqlite:" and so on. Of another database, whose client is given, any text: it
                    tells in messages which database it is.
            """
            return self._with(url=url)

        def with_driver_name(
            self, driver_name: str
        ) -> JdbcConnectionOptions.JdbcConnectionOptionsBuilder:
            """Set the class of the driver in Java, which plays no part here: the URL says which database it is.

            Args:
                driver_name: The name of the class.
            """
            return self._with(driver_name=driver_name)

        def with_user_name(
            self, user_name: str
        ) -> JdbcConnectionOptions.JdbcConnectionOptionsBuilder:
            """Set the name of the user.

            Args:
                user_name: The name.
            """
            return self._with(user_name=user_name)

        def with_password(
            self, password: str
        ) -> JdbcConnectionOptions.JdbcConnectionOptionsBuilder:
            """Set the password.

            Args:
                password: The password.
            """
            return self._with(password=password)

        def with_client(
            self, module: Any, connect: Callable[[], Any]
        ) -> JdbcConnectionOptions.JdbcConnectionOptionsBuilder:
            """Set the client of a database that penstock does not know.

            PyFlink has no such method: there it is a jar.

            Args:
                module: The client, any module as PEP 249 describes them. It has to be installed where the
                    driver runs, and to be one that can be imported where the workers run.
                connect: Returns a new connection, which must not commit by itself.

            Example:
                >>> import sqlite3
                >>> options = (
                ...     JdbcConnectionOptions.JdbcConnectionOptionsBuilder()
                ...     .with_url("the till's own file")
                ...     .with_client(sqlite3, lambda: sqlite3.connect("till.db"))
                ...     .build()
                ... )
            """
            return self._with(given=GivenClient(module, connect))

        def _with(self, **changes: Any) -> JdbcConnectionOptions.JdbcConnectionOptionsBuilder:
            self._options = replace(self._options, **changes)
            return self

        def build(self) -> JdbcConnectionOptions:
            """Return the options.

            Raises:
                InvalidArgumentError: If there is no URL, or one with parameters that no client here knows.
                DatabaseClientNotFoundError: If penstock knows no client for the URL, and none is given.
            """
            if not self._options.url:
                raise InvalidArgumentError(
                    "The database has no URL.", hint='Call with_url("jdbc:postgresql://host/name").'
                )
            _ = self._options.client
            return self._options


@dataclass(frozen=True)
class JdbcExecutionOptions:
    """How a JdbcSink writes; made by `builder`.

    Example:
        >>> JdbcExecutionOptions.builder().with_batch_size(1000).with_max_retries(5).build()
        JdbcExecutionOptions(batch_interval_ms=0, batch_size=1000, max_retries=5)
    """

    batch_interval_ms: int = 0
    batch_size: int = 5000
    max_retries: int = 3

    def get_batch_interval_ms(self) -> int:
        """Return the interval between batches, in milliseconds, which plays no part here."""
        return self.batch_interval_ms

    def get_batch_size(self) -> int:
        """Return the number of rows that are sent at once."""
        return self.batch_size

    def get_max_retries(self) -> int:
        """Return how often rows are tried again."""
        return self.max_retries

    @staticmethod
    def defaults() -> JdbcExecutionOptions:
        """Return the options that are used if none are given."""
        return JdbcExecutionOptions()

    @staticmethod
    def builder() -> JdbcExecutionOptions.Builder:
        """Return what makes options."""
        return JdbcExecutionOptions.Builder()

    class Builder:
        """Makes `JdbcExecutionOptions`."""

        def __init__(self) -> None:
            self._options = JdbcExecutionOptions()

        def with_batch_size(self, size: int) -> JdbcExecutionOptions.Builder:
            """Set how many rows are sent to the database at once.

            Args:
                size: The number; 0 or less for all of an epoch's. Default: 5000.
            """
            self._options = replace(self._options, batch_size=_number(size, "batch size"))
            return self

        def with_batch_interval_ms(self, interval_ms: int) -> JdbcExecutionOptions.Builder:
            """Set after which time Flink sends rows; here they are written when their epoch is committed.

            How often that is `env.enable_checkpointing` says.

            Args:
                interval_ms: Milliseconds. Default: 0, for never.
            """
            interval = _number(interval_ms, "batch interval")
            self._options = replace(self._options, batch_interval_ms=interval)
            return self

        def with_max_retries(self, max_retries: int) -> JdbcExecutionOptions.Builder:
            """Set how often an epoch is written again if the database cannot be reached.

            Before the first time it waits a second, before the second two, and so on. Then the job
            fails, and its restart strategy has its turn.

            Args:
                max_retries: The number. Default: 3.

            Raises:
                InvalidArgumentError: If it is below 0.
            """
            if _number(max_retries, "number of retries") < 0:
                raise InvalidArgumentError(
                    f"{max_retries!r} is no number of retries.", hint="Give 0 or more."
                )
            self._options = replace(self._options, max_retries=max_retries)
            return self

        def build(self) -> JdbcExecutionOptions:
            """Return the options."""
            return self._options


def _number(value: Any, what: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise InvalidArgumentError(f"{value!r} is no {what}.", hint="Give an integer.")
    return value
