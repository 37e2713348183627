# Everything here is done by the Python program in deploy/ (python -m deploy TARGET).
# Variables: ENGINE=vllm|simulated  PORT=8000  PYTHON=python3.12  QUICKBITE_VAR=folder
#            QUICKBITE_MODEL=name|path|hub name  HARDWARE=cpu|gpu  PYTEST_ARGS="-k chat"

DEPLOY = "$$(sh deploy/find-python)" -m deploy

.PHONY: help run test test-slow lint cluster clean
.DEFAULT_GOAL := help

help:  ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' Makefile

run:  ## Set up what is missing, then run everything at http://127.0.0.1:8000/ (PORT=, ENGINE=simulated)
	@exec $(DEPLOY) run

test:  ## Install what is missing, check the code, run the tests
	@exec $(DEPLOY) test

test-slow:  ## Run the load tests and other long ones
	@exec $(DEPLOY) test-slow

lint:  ## All static checks: ruff, mypy, import contracts, migrations, Django's own
	@exec $(DEPLOY) lint

cluster:  ## The reference deployment on one machine (not available in this version)
	@exec $(DEPLOY) cluster

clean:  ## Remove caches, database, logs (ALL=1: also .venv and models)
	@exec $(DEPLOY) clean
