"""Where a job can be seen and steered from outside: the REST API and its page. Keys are Flink's, but for two."""

from __future__ import annotations

from typing import Final

from penstock.common.configuration.config_option import ConfigOption, Ports
from penstock.common.time import Duration

REST_ENABLED: Final[ConfigOption[bool | None]] = ConfigOption(
    "rest.enabled",
    bool,
    None,
    "Whether the jobs of this process can be seen and steered by Flink's REST API, and on its page. Default: yes on "
    "Spark, and in a local environment if `rest.port` or `rest.bind-port` is set. Not in Flink.",
)
REST_PORT: Final[ConfigOption[int | None]] = ConfigOption(
    "rest.port",
    int,
    None,
    "The port of the REST API and its page; if it is taken, the next one that is free, which the log says; 0 takes any. "
    "The first job of a process decides. Default: 8081.",
    minimum=0,
    maximum=65_535,
    fallback_keys=("web.port",),
)
REST_BIND_PORT: Final[ConfigOption[Ports | None]] = ConfigOption(
    "rest.bind-port",
    Ports,
    None,
    "The ports to try for the REST API, as `8081-8090,9000`, in place of `rest.port`. If none is free, the job does not "
    "start.",
    fallback_keys=("jobmanager.web.port",),
)
REST_ADDRESS: Final[ConfigOption[str | None]] = ConfigOption(
    "rest.address",
    str,
    None,
    "The name under which others reach the REST API. Requests for another name than this, `localhost` and, beyond "
    "loopback, the machine's own are refused, unless `rest.token` is set. Default: `rest.bind-address`.",
)
REST_BIND_ADDRESS: Final = ConfigOption(
    "rest.bind-address",
    str,
    "127.0.0.1",
    "The address that the REST API listens on: `0.0.0.0` is all there are. Whoever reaches it can stop jobs: set "
    "`rest.token` with any other than the default.",
    fallback_keys=("web.address", "jobmanager.web.address"),
)
REST_STORE_DURATION: Final = ConfigOption(
    "rest.async.store-duration",
    Duration,
    Duration(10_000),
    "For how long a program whose jobs have ended answers on, for those who asked for a savepoint or a stop and have not "
    "fetched the result: it goes on, or ends, once they have. Flink's default is 5 min.",
)
REST_TOKEN: Final[ConfigOption[str | None]] = ConfigOption(
    "rest.token",
    str,
    None,
    "What requests have to send as `Authorization: Bearer`, and people to type on the page. Default: nothing. Not in "
    "Flink.",
)
