"""Has jobs seen from outside, where that is wanted; nothing of a server is imported where it is not."""

from __future__ import annotations

from penstock.common.configuration import options
from penstock.common.configuration.configuration import Configuration
from penstock.executors.port import JobRequest


def seen_from_outside(request: JobRequest, *, by_default: bool) -> bool:
    """Have a job seen from outside, if it is to be.

    Args:
        request: The job.
        by_default: Whether it is to be seen where nothing says so.

    Returns:
        Whether it is seen.

    Raises:
        PortInUseError: If there is no port for the server.
    """
    if not _is_wanted(request.configuration, by_default=by_default):
        return False
    from penstock.executors.driver.rest.serving import SERVING

    SERVING.serve(request.name, request.configuration)
    return True


def _is_wanted(configuration: Configuration, *, by_default: bool) -> bool:
    wish = configuration.get(options.REST_ENABLED)
    if wish is not None:
        return wish
    port, ports = configuration.get(options.REST_PORT), configuration.get(options.REST_BIND_PORT)
    return by_default or port is not None or ports is not None
