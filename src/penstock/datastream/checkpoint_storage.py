"""Where the checkpoints of a job are kept."""

from __future__ import annotations

from typing import Final

from penstock.errors import InvalidArgumentError

__all__ = ["CheckpointStorage", "FileSystemCheckpointStorage", "JobManagerCheckpointStorage"]
__path__: list[str] = []
"""That there is one has Python ask for missing names as if they were modules: see `penstock.not_here`."""


class CheckpointStorage:
    """Where the checkpoints of a job are kept. See `CheckpointConfig.set_checkpoint_storage`.

    Args:
        checkpoint_path: The folder or object store; None for a temporary folder of this machine.
    """

    def __init__(self, checkpoint_path: str | None = None) -> None:
        self._checkpoint_path = _without_last_slash(checkpoint_path)

    def get_checkpoint_path(self) -> str | None:
        """Return the folder or object store of the checkpoints, without a slash at its end; None for a temporary folder."""
        return self._checkpoint_path

    def get_savepoint_path(self) -> str | None:
        """Return None: see `StreamExecutionEnvironment.set_default_savepoint_directory`."""
        return None

    def __str__(self) -> str:
        return f"{type(self).__name__}({self._checkpoint_path!r})"


def _without_last_slash(path: str | None) -> str | None:
    bare = (path or "").rstrip("/")
    return path if not bare or bare.endswith(":") else bare


class JobManagerCheckpointStorage(CheckpointStorage):
    """Keeps checkpoints in a temporary folder of this machine: for trying things out.

    They live as long as the driver: restart strategies work, and a job cannot be started again where
    it stood. With a path it is the same as `FileSystemCheckpointStorage`.

    Args:
        checkpoint_path: The folder or object store. Default: a temporary folder.
        max_state_size: Accepted, so that a PyFlink program runs unchanged, and without effect: state is
            not limited, since it is in files. Default: 5 MiB.

    Attributes:
        DEFAULT_MAX_STATE_SIZE: The default of `max_state_size`, in bytes.
    """

    DEFAULT_MAX_STATE_SIZE: Final = 5 * 1024 * 1024

    def __init__(
        self, checkpoint_path: str | None = None, max_state_size: int | None = None
    ) -> None:
        super().__init__(checkpoint_path)
        is_given = max_state_size is not None
        self._max_state_size = max_state_size if is_given else self.DEFAULT_MAX_STATE_SIZE

    def get_max_state_size(self) -> int | None:
        """Return the size in bytes that was given."""
        return self._max_state_size


class FileSystemCheckpointStorage(CheckpointStorage):
    """Keeps checkpoints as files below a folder or in an object store.

    All workers must reach it under this path. It is the job's own: a job that is started again on it
    goes on from its last epoch.

    Args:
        checkpoint_path: The path of the folder, with `file://` before it or without, or the URL of a
            place in an object store.
        file_state_size_threshold: Accepted, so that a PyFlink program runs unchanged, and without
            effect. Bytes, at most 1 MiB. Default: 20 KiB.
        write_buffer_size: Accepted, so that a PyFlink program runs unchanged, and without effect.
            Bytes. Default: -1, for at least 4 KiB.

    Attributes:
        MAX_FILE_STATE_THRESHOLD: The greatest `file_state_size_threshold`.

    Raises:
        InvalidArgumentError: If there is no path, or the threshold is out of range.

    Example:
        >>> FileSystemCheckpointStorage("file:///tmp/checkpoints").get_checkpoint_path()
        'file:///tmp/checkpoints'
    """

    MAX_FILE_STATE_THRESHOLD: Final = 1024 * 1024

    def __init__(
        self,
        checkpoint_path: str | None = None,
        file_state_size_threshold: int | None = None,
        write_buffer_size: int = -1,
    ) -> None:
        if not isinstance(checkpoint_path, str) or not checkpoint_path:
            raise InvalidArgumentError(
                f"FileSystemCheckpointStorage was given {checkpoint_path!r} as the path.",
                hint="Give the path of a folder that all workers reach.",
            )
        threshold = 20 * 1024 if file_state_size_threshold is None else file_state_size_threshold
        if not -1 <= threshold <= self.MAX_FILE_STATE_THRESHOLD:
            raise InvalidArgumentError(
                f"FileSystemCheckpointStorage was given the threshold {threshold}.",
                hint=f"Give at most {self.MAX_FILE_STATE_THRESHOLD}, or leave it out.",
            )
        super().__init__(checkpoint_path)
        self._threshold = threshold
        self._write_buffer_size = write_buffer_size

    def get_min_file_size_threshold(self) -> int:
        """Return the threshold that was given, in bytes."""
        return self._threshold

    def get_write_buffer_size(self) -> int:
        """Return the size of the write buffer that was given, in bytes."""
        if self._write_buffer_size >= 0:
            return self._write_buffer_size
        return max(4096, self._threshold)
