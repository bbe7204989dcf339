from __future__ import annotations

import pytest

from penstock.common.configuration import Configuration
from penstock.common.execution_config import ExecutionConfig
from penstock.errors import InvalidConfigurationValueError, InvalidParallelismError


def test_is_a_view_of_the_configuration() -> None:
    configuration = Configuration()
    config = ExecutionConfig(configuration).set_parallelism(4)

    assert configuration.to_dict() == {"parallelism.default": "4"}
    configuration.set_integer("parallelism.default", 5)
    assert config.get_parallelism() == 5


def test_parallelism() -> None:
    config = ExecutionConfig()

    assert config.get_parallelism() == ExecutionConfig.PARALLELISM_DEFAULT == -1
    assert config.set_parallelism(3).get_parallelism() == 3
    assert config.set_parallelism(ExecutionConfig.PARALLELISM_DEFAULT).get_parallelism() == -1


@pytest.mark.parametrize("parallelism", [0, -3, -100])
def test_parallelism_below_one_is_refused(parallelism: int) -> None:
    with pytest.raises(InvalidParallelismError, match=str(parallelism)):
        ExecutionConfig().set_parallelism(parallelism)


def test_max_parallelism() -> None:
    config = ExecutionConfig()

    assert config.get_max_parallelism() == -1
    assert config.set_max_parallelism(1).get_max_parallelism() == 1
    assert config.set_max_parallelism(32_768).get_max_parallelism() == 32_768
    for bad in (0, -1, 32_769):
        with pytest.raises(InvalidParallelismError, match=str(bad)):
            config.set_max_parallelism(bad)
    assert config.get_max_parallelism() == 32_768


def test_auto_watermark_interval_is_in_milliseconds() -> None:
    config = ExecutionConfig()

    assert config.get_auto_watermark_interval() == 200
    assert config.set_auto_watermark_interval(0).get_auto_watermark_interval() == 0
    with pytest.raises(InvalidConfigurationValueError, match="at least 0 ms"):
        config.set_auto_watermark_interval(-1)


def test_object_reuse() -> None:
    config = ExecutionConfig()

    assert config.is_object_reuse_enabled()
    assert not config.disable_object_reuse().is_object_reuse_enabled()
    assert config.enable_object_reuse().is_object_reuse_enabled()


def test_global_job_parameters_replace_each_other() -> None:
    config = ExecutionConfig()

    assert config.get_global_job_parameters() == {}
    config.set_global_job_parameters({"a": "1,2:3", "b": "x"})
    assert config.get_global_job_parameters() == {"a": "1,2:3", "b": "x"}
    config.set_global_job_parameters({"c": "y"})
    assert config.get_global_job_parameters() == {"c": "y"}


def test_global_job_parameters_can_be_configured_together_and_one_by_one() -> None:
    configuration = Configuration()
    configuration.set_string("pipeline.global-job-parameters", "a:1,b:2")
    configuration.set_string("pipeline.global-job-parameters.b", "3")
    config = ExecutionConfig(configuration)

    assert config.get_global_job_parameters() == {"a": "1", "b": "3"}
    config.set_global_job_parameters({})
    assert configuration.to_dict() == {}


def test_the_parallelism_may_be_left_as_it_is() -> None:
    config = ExecutionConfig().set_parallelism(3)

    assert config.set_parallelism(ExecutionConfig.PARALLELISM_UNKNOWN).get_parallelism() == 3


def test_what_is_of_java_is_kept() -> None:
    config = ExecutionConfig()
    for name, get, default in [
        ("closure_cleaner", config.is_closure_cleaner_enabled, True),
        ("auto_generated_uids", config.has_auto_generated_uids_enabled, True),
        ("force_kryo", config.is_force_kryo_enabled, False),
        ("force_avro", config.is_force_avro_enabled, False),
        ("generic_types", lambda: not config.has_generic_types_disabled(), True),
    ]:
        assert get() is default, name
        assert getattr(config, f"enable_{name}")() is config
        assert get(), name
        assert getattr(config, f"disable_{name}")() is config
        assert not get(), name
    assert config.get_default_kryo_serializer_classes() == {}
    assert config.get_registered_kryo_types() == config.get_registered_pojo_types() == []


def test_times_and_compression_are_kept() -> None:
    config = ExecutionConfig()

    assert config.get_latency_tracking_interval() == 0
    assert config.set_latency_tracking_interval(-5).get_latency_tracking_interval() == -5
    assert config.get_task_cancellation_interval() == 30_000
    assert config.set_task_cancellation_interval(7).get_task_cancellation_interval() == 7
    assert config.get_task_cancellation_timeout() == 180_000
    assert config.set_task_cancellation_timeout(0).get_task_cancellation_timeout() == 0
    with pytest.raises(InvalidConfigurationValueError):
        config.set_task_cancellation_timeout(-1)
    assert not config.is_use_snapshot_compression()
    assert config.set_use_snapshot_compression(True).is_use_snapshot_compression()


def test_compares_by_its_configuration() -> None:
    config = ExecutionConfig().set_parallelism(4)

    assert config == ExecutionConfig().set_parallelism(4)
    assert hash(config) == hash(ExecutionConfig().set_parallelism(4))
    assert config != ExecutionConfig()
    assert config != Configuration().set_integer("parallelism.default", 4)
