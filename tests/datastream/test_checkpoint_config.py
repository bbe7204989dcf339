"""The settings of checkpoints are a view of the configuration."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.common import (
    Configuration,
    Duration,
    RestartStrategies,
    RestartStrategyConfiguration,
)
from penstock.common.configuration.options import (
    CHECKPOINT_DIR,
    CHECKPOINTS_RETAINED,
    RESTART_STRATEGY,
    SAVEPOINT_PATH,
    STATE_BACKEND,
)
from penstock.datastream import (
    CheckpointConfig,
    CheckpointingMode,
    CheckpointStorage,
    EpochListener,
    ExternalizedCheckpointRetention,
    FileSystemCheckpointStorage,
    JobManagerCheckpointStorage,
    StreamExecutionEnvironment,
)
from penstock.errors import InvalidArgumentError, InvalidConfigurationValueError

RETAIN = ExternalizedCheckpointRetention.RETAIN_ON_CANCELLATION


@pytest.fixture
def env() -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.get_execution_environment()


@pytest.mark.parametrize(
    ("setting", "value", "key", "text", "default"),
    [
        ("checkpointing_mode", CheckpointingMode.AT_LEAST_ONCE, "mode", "AT_LEAST_ONCE", CheckpointingMode.EXACTLY_ONCE),
        ("checkpoint_interval", 5_000, "interval", "5 s", -1),
        ("checkpoint_timeout", 1_000, "timeout", "1 s", 600_000),
        ("min_pause_between_checkpoints", 20, "min-pause", "20 ms", 0),
        ("max_concurrent_checkpoints", 2, "max-concurrent-checkpoints", "2", 1),
        ("tolerable_checkpoint_failure_number", 3, "tolerable-failed-checkpoints", "3", 0),
        ("externalized_checkpoint_retention", RETAIN, "externalized-checkpoint-retention", "RETAIN_ON_CANCELLATION", ExternalizedCheckpointRetention.NO_EXTERNALIZED_CHECKPOINTS),
        ("aligned_checkpoint_timeout", Duration.of_seconds(2), "aligned-checkpoint-timeout", "2 s", Duration.of_millis(0)),
        ("alignment_timeout", Duration.of_seconds(2), "aligned-checkpoint-timeout", "2 s", Duration.of_millis(0)),
    ],
)  # fmt: skip
def test_what_is_set_is_in_the_configuration(
    setting: str, value: Any, key: str, text: str, default: Any
) -> None:
    configuration = Configuration()
    config = CheckpointConfig(configuration)
    assert getattr(config, f"get_{setting}")() == default

    assert getattr(config, f"set_{setting}")(value) is config
    assert getattr(config, f"get_{setting}")() == value
    assert configuration.to_dict() == {f"execution.checkpointing.{key}": text}


def test_switches(env: StreamExecutionEnvironment) -> None:
    config = env.get_checkpoint_config()
    assert not config.is_checkpointing_enabled()
    assert config.is_fail_on_checkpointing_errors()
    assert not config.is_externalized_checkpoints_enabled()
    assert not env.is_unaligned_checkpoints_enabled()
    assert not env.is_force_unaligned_checkpoints()

    config.set_fail_on_checkpointing_errors(False)
    config.set_externalized_checkpoint_retention(RETAIN)
    config.enable_unaligned_checkpoints().set_force_unaligned_checkpoints()
    config.set_checkpoint_interval(10)

    assert config.is_checkpointing_enabled()
    assert not config.is_fail_on_checkpointing_errors()
    assert config.is_externalized_checkpoints_enabled()
    assert env.is_unaligned_checkpoints_enabled()
    assert env.is_force_unaligned_checkpoints()
    config.disable_unaligned_checkpoints()
    assert not env.is_unaligned_checkpoints_enabled()


def test_the_environment_enables_checkpoints(env: StreamExecutionEnvironment) -> None:
    assert env.get_checkpoint_interval() == -1
    assert env.enable_checkpointing(300_000, CheckpointingMode.AT_LEAST_ONCE) is env
    assert env.get_checkpoint_interval() == 300_000
    assert env.get_checkpointing_mode() is CheckpointingMode.AT_LEAST_ONCE
    assert env.get_checkpointing_consistency_mode() is CheckpointingMode.AT_LEAST_ONCE
    assert (
        env.enable_checkpointing(1_000).get_checkpointing_mode() is CheckpointingMode.AT_LEAST_ONCE
    )


def test_the_environment_has_a_directory_for_savepoints(env: StreamExecutionEnvironment) -> None:
    assert env.get_default_savepoint_directory() is None
    assert env.set_default_savepoint_directory("/tmp/savepoints") is env
    assert env.get_default_savepoint_directory() == "/tmp/savepoints"


def test_state_is_kept_as_changelogs_whatever_is_said(env: StreamExecutionEnvironment) -> None:
    assert env.is_changelog_state_backend_enabled() is None
    assert env.enable_changelog_state_backend(False) is env  # noqa: FBT003 - PyFlink's parameter
    assert env.is_changelog_state_backend_enabled() is False


@pytest.mark.parametrize(
    ("storage", "path"),
    [
        (FileSystemCheckpointStorage("/tmp/c"), "/tmp/c"),
        (FileSystemCheckpointStorage("file:///tmp/c//"), "file:///tmp/c"),
        (FileSystemCheckpointStorage("file:///"), "file:///"),
        (FileSystemCheckpointStorage("/"), "/"),
        (JobManagerCheckpointStorage(), None),
        (JobManagerCheckpointStorage("/tmp/c"), "/tmp/c"),
    ],
)
def test_a_storage_sets_the_location(storage: CheckpointStorage, path: str | None) -> None:
    configuration = Configuration().set(CHECKPOINT_DIR, "/tmp/before")
    config = CheckpointConfig(configuration).set_checkpoint_storage(storage)
    assert configuration.get(CHECKPOINT_DIR) == path
    found = config.get_checkpoint_storage()
    assert (None if found is None else found.get_checkpoint_path()) == path
    assert storage.get_savepoint_path() is None


def test_storages_have_pyflinks_sizes() -> None:
    storage = FileSystemCheckpointStorage("/tmp/c")
    assert (storage.get_min_file_size_threshold(), storage.get_write_buffer_size()) == (
        20_480,
        20_480,
    )
    given = FileSystemCheckpointStorage("/tmp/c", 10, 7)
    assert (given.get_min_file_size_threshold(), given.get_write_buffer_size()) == (10, 7)
    assert JobManagerCheckpointStorage().get_max_state_size() == 5 * 1024 * 1024
    assert JobManagerCheckpointStorage(max_state_size=9).get_max_state_size() == 9


def wrong_calls() -> list[Any]:
    env = StreamExecutionEnvironment.get_execution_environment()
    config = env.get_checkpoint_config()
    return [
        lambda: config.set_checkpointing_mode("EXACTLY_ONCE"),  # type: ignore[arg-type]
        lambda: config.set_externalized_checkpoint_retention(1),  # type: ignore[arg-type]
        lambda: config.set_checkpoint_storage("/tmp"),  # type: ignore[arg-type]
        lambda: config.set_checkpoint_storage_dir(""),
        lambda: FileSystemCheckpointStorage("/tmp", 1024 * 1024 + 1),
        lambda: env.set_default_savepoint_directory(""),
        lambda: env.set_restart_strategy("none"),  # type: ignore[arg-type]
        lambda: env.add_epoch_listener(EpochListener),  # type: ignore[arg-type]
    ]


@pytest.mark.parametrize("call", wrong_calls())
def test_refuses_what_it_cannot_take(call: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="Hint"):
        call()


def test_refuses_an_interval_of_no_length(env: StreamExecutionEnvironment) -> None:
    with pytest.raises(InvalidConfigurationValueError):
        env.enable_checkpointing(0)


@pytest.mark.parametrize(
    ("strategy", "settings"),
    [
        (RestartStrategies.no_restart(), {"type": "none"}),
        (RestartStrategies.fall_back_restart(), {}),
        (
            RestartStrategies.fixed_delay_restart(3, 10_000),
            {"type": "fixed-delay", "fixed-delay.attempts": "3", "fixed-delay.delay": "10 s"},
        ),
        (
            RestartStrategies.failure_rate_restart(3, 300_000, 500),
            {
                "type": "failure-rate",
                "failure-rate.max-failures-per-interval": "3",
                "failure-rate.failure-rate-interval": "5 min",
                "failure-rate.delay": "500 ms",
            },
        ),
    ],
)
def test_a_restart_strategy_takes_the_place_of_all_settings_of_restarts(
    strategy: Any, settings: dict[str, str]
) -> None:
    configuration = Configuration().set_string("restart-strategy", "fixed-delay")
    configuration.set_string("restart-strategy.exponential-delay.jitter-factor", "0.5")
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_restart_strategy(strategy)

    assert env._configuration.to_dict() == {
        f"restart-strategy.{key}": value for key, value in settings.items()
    }
    assert strategy == RestartStrategyConfiguration(dict(env._configuration.to_dict()))
    assert strategy.get_description()


def test_older_keys_are_read_unless_the_newer_one_is_set() -> None:
    configuration = Configuration()
    for key, value in {
        "state.checkpoints.dir": "/tmp/old",
        "state.checkpoints.num-retained": "5",
        "state.backend": "rocksdb",
        "restart-strategy": "failure-rate",
        "execution.savepoint.path": "/tmp/savepoint",
    }.items():
        configuration.set_string(key, value)
    assert configuration.get(CHECKPOINT_DIR) == "/tmp/old"
    assert configuration.get(CHECKPOINTS_RETAINED) == 5
    assert configuration.get(STATE_BACKEND) == "rocksdb"
    assert configuration.get(RESTART_STRATEGY) == "failure-rate"
    assert configuration.get(SAVEPOINT_PATH) == "/tmp/savepoint"

    configuration.set_string("execution.checkpointing.dir", "/tmp/new")
    assert configuration.get(CHECKPOINT_DIR) == "/tmp/new"
    configuration.set(CHECKPOINT_DIR, None)
    assert configuration.get(CHECKPOINT_DIR) is None


def test_older_keys_are_checked_as_the_newer_ones() -> None:
    with pytest.raises(InvalidConfigurationValueError):
        Configuration().set_string("state.checkpoints.num-retained", "none")
