# make help lists the targets. Each sets up by itself what it needs and may be run again at any time.
.DEFAULT_GOAL := help
.PHONY: help quickstart test lint setup tools doctor clean-cluster bench verify lock

PY := .venv/bin/python
COMPILE := $(PY) -m uv pip compile --quiet --generate-hashes --universal --python-version 3.11 --no-emit-index-url \
	--no-annotate --custom-compile-command "make lock"

help: ## This list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

quickstart: setup ## A local cluster with the example customer's add-ons, validated, with a report (about 25 min the first time)
	@bin/chandlery quickstart $(ARGS)

test: ## Everything that CI checks: style, types, import directions, all tests
	@bin/setup dev
	@$(MAKE) --no-print-directory lint
	@$(PY) -m toolchain --tests
	@$(PY) -m pytest -n 2 --dist loadfile $(ARGS)

lint:
	@bin/setup dev
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy
	@$(PY) -c 'import sys; from importlinter.cli import lint_imports_command as run; sys.exit(run())'
	@bin/chandlery catalog lint --no-notes

setup: ## The virtual environment, from the hash-locked requirements
	@bin/setup runtime

tools: setup ## The external programs that quickstart and the tests use, found, fetched or built
	@$(PY) -m toolchain

doctor: setup ## What is there, from where, what is missing and what to do
	@bin/chandlery doctor $(ARGS)

clean-cluster: ## Stop every local cluster and all that was started for it
	@test ! -x $(PY) || bin/chandlery target down --all

bench: ## Measure what docs/benchmarks.md states (also builds Helm)
	@bin/setup dev
	@$(PY) -m toolchain --all
	@$(PY) -m tests.bench $(ARGS)

VERIFY := CHANDLERY_STATE="$(CURDIR)/.chandlery/verify" bin/chandlery
KAI := $(if $(KAI_BINARIES),-c clusters/kai.yaml --kai-binaries "$(KAI_BINARIES)" $(if $(KAI_MIRROR),--mirror "$(KAI_MIRROR)"))

verify: ## The checks on a cluster of their own, with KAI's own programs: make verify KAI_BINARIES=DIR KAI_MIRROR=DIR
	@bin/setup dev
	@$(PY) -m toolchain
	@$(VERIFY) quickstart --output .chandlery/verify/report --no-open $(KAI) $(ARGS); code=$$?; $(VERIFY) target down --all; exit $$code

lock: ## Renew the hash-locked requirements after a change of requirements/*.in (UPGRADE=1 moves versions)
	@bin/setup dev
	$(COMPILE) $(if $(UPGRADE),--upgrade) requirements/bootstrap.in -o requirements/bootstrap.txt
	$(COMPILE) $(if $(UPGRADE),--upgrade) requirements/dev.in -o requirements/dev.txt
	$(COMPILE) -c requirements/dev.txt requirements/runtime.in -o requirements/runtime.txt
	$(COMPILE) requirements/go.in -o requirements/go.txt
