"""Where a job can be seen and steered from outside: the REST API and its page. Keys are Flink's, but for two."""

from __future__ import annotations

from typing import Final

from penstock.common.configuration.config_option import ConfigOption, Ports
from penstock.common.time import Duration

REST_ENABLED: Final[ConfigOption[bool | None]] = ConfigOption(
    "rest.enabled",
    bool,
    None,
    "Whether the jobs of this process can be seen and controlled through Flink's REST API, and on "
    "its page. Default: yes on Spark; in a local environment, only if `rest.port` or "
    "`rest.bind-port` is set. Not in Flink.",
)
REST_PORT: Final[ConfigOption[int | None]] = ConfigOption(
    "rest.port",
    int,
    None,
    "The port of the REST API and its page. If it is taken, the next free one is used, and the "
    "log says which; 0 takes any. The first job of a process decides. Default: 8081.",
    minimum=0,
    maximum=65_535,
    fallback_keys=("web.port",),
)
REST_BIND_PORT: Final[ConfigOption[Ports | None]] = ConfigOption(
    "rest.bind-port",
    Ports,
    None,
    "The ports to try for the REST API, such as `8081-8090,9000`, instead of `rest.port`. If none "
    "is free, the job does not start.",
    fallback_keys=("jobmanager.web.port",),
)
REST_ADDRESS: Final[ConfigOption[str | None]] = ConfigOption(
    "rest.address",
    str,
    None,
    "The host name under which others reach the REST API. Unless `rest.token` is set, requests "
    "for any other name are refused, except `localhost` and, beyond loopback, the machine's own. "
    "Default: `rest.bind-address`.",
)
REST_BIND_ADDRESS: Final = ConfigOption(
    "rest.bind-address",
    str,
    "127.0.0.1",
    "The address that the REST API listens on; `0.0.0.0` means all. Anyone who can reach it can "
    "stop jobs, so set `rest.token` with any address other than the default.",
    fallback_keys=("web.address", "jobmanager.web.address"),
)
REST_STORE_DURATION: Final = ConfigOption(
    "rest.async.store-duration",
    Duration,
    Duration.of_seconds(10),
    "How long a program whose jobs have ended keeps answering those who requested a savepoint or "
    "a stop and have not yet fetched the result; as soon as they have, it goes on, or ends. "
    "Flink's default is 5 min.",
)
REST_TOKEN: Final[ConfigOption[str | None]] = ConfigOption(
    "rest.token",
    str,
    None,
    "The token that requests must send as `Authorization: Bearer`, and that people enter on the "
    "page. Default: none. Not in Flink.",
)
