# Every target sets itself up in .venv; a second run installs nothing.
# Another interpreter: make PYTHON=python3.12 test

PYTHON ?= python3
VENV := .venv/bin
# That of .venv, the newest, or one in a place of its own.
SPARK ?=
SPARK_VENV := $(if $(SPARK),.cache/spark-$(SPARK)/bin,$(VENV))
export NO_MKDOCS_2_WARNING := 1
# The tests start hundreds of processes: none should compile everything again.
unexport PYTHONDONTWRITEBYTECODE
# What older versions of Spark do in another way.
OLDEST := tests/executors/spark/versions tests/executors/spark/test_interruption.py \
    tests/executors/spark/runs/test_event_time.py \
    tests/crash/test_crash.py::test_an_executor_between_two_tasks_of_a_level
# What a session of Spark Connect does in another way.
ON_CONNECT := tests/executors/spark/frames/test_data_frames.py tests/executors/spark/frames/test_async_map.py \
    tests/executors/spark/test_interruption.py tests/executors/spark/test_sinks.py \
    tests/semantics/test_failed_starts.py tests/semantics/test_operators.py
LINTED := src tests benchmarks examples scripts

.PHONY: help fix check test test-spark test-oldest test-connect demo bench docs dist clean
.DEFAULT_GOAL := help

help:  ## say what each target does
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1	\2/p' $(MAKEFILE_LIST)

fix: .setup-check  ## format and repair what can be repaired by machine
	$(VENV)/ruff check --fix $(LINTED)
	$(VENV)/ruff format $(LINTED)
	$(VENV)/python -m scripts.configuration_table
	$(VENV)/python -m scripts.first_page
	$(VENV)/python -m scripts.house_map
	$(VENV)/python -m scripts.parity_table

check: .setup-check  ## format, lint, types, import rules, documentation
	$(VENV)/ruff format --check $(LINTED)
	$(VENV)/ruff check $(LINTED)
	$(VENV)/mypy $(LINTED)
	$(VENV)/lint-imports --cache-dir .cache/import-linter
	$(VENV)/python scripts/check_spark_access.py
	$(VENV)/mkdocs build --strict

test: .setup-test  ## the whole test suite
	$(VENV)/python -m pytest -m "not spark and not kafka and not browser" -n 3 --dist worksteal
	$(VENV)/python -m pytest -m "(spark or kafka or browser) and not alone" -n 2 --dist loadgroup
	$(VENV)/python -m pytest -m alone
	$(VENV)/python -m pytest -m spark --session connect $(ON_CONNECT)
	@$(MAKE) --no-print-directory test-oldest

test-spark:  ## the tests that need Spark, on one version of it: make test-spark SPARK=3.5
	@SPARK=$(SPARK) $(PYTHON) scripts/setup.py test
	$(SPARK_VENV)/python -m pytest -m "spark and not alone" -n 2 --dist loadgroup
	$(SPARK_VENV)/python -m pytest -m "spark and alone"

test-oldest:  ## some of the tests that need Spark, on the oldest version of it
	@SPARK=3.5 $(PYTHON) scripts/setup.py test-oldest
	.cache/spark-3.5/bin/python -m pytest -m spark $(OLDEST)

test-connect:  ## the tests that share a SparkSession, in one of Spark Connect: make test-connect SPARK=4.0
	@SPARK=$(SPARK) $(PYTHON) scripts/setup.py test
	$(SPARK_VENV)/python -m pytest -m spark --session connect -n 2 --dist loadgroup

demo: .setup-demo  ## the main job: a year of flights streamed through Spark, and a picture
	$(VENV)/python examples/flights/main.py

bench: .setup-bench  ## speed, as ratios to PyFlink, PySpark and hand-written loops (QUICK=1: in five minutes)
	$(VENV)/python benchmarks/suite.py $(if $(QUICK),--quick)

docs: .setup-docs  ## the documentation, into site/
	$(VENV)/mkdocs build --strict

dist: .setup-dist  ## wheel and source distribution, into dist/, and a program from an installation of each
	$(VENV)/python scripts/dist.py

clean:  ## remove everything that the other targets made
	rm -rf .venv .benchmarks .hypothesis .mypy_cache .pytest_cache .ruff_cache .cache \
	    build dist site spark-warehouse metastore_db derby.log
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

.PHONY: .setup-check .setup-test .setup-demo .setup-bench .setup-docs .setup-dist
.setup-check .setup-test .setup-demo .setup-bench .setup-docs .setup-dist: .setup-%:
	@command -v $(PYTHON) >/dev/null || { echo "$(PYTHON) is not on the PATH: penstock needs Python 3.11 or newer."; exit 1; }
	@$(PYTHON) scripts/setup.py $*
