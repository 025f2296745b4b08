# Countersign. `make help` says what there is.
#
# Where packages come from is pip's and the system package manager's own configuration; nothing here names a host.

SHELL := /bin/bash
MAKEFLAGS += --no-print-directory --no-builtin-rules
.DEFAULT_GOAL := help
.PHONY: help run test soak lint bench bench-checks bench-distill bench-edit bench-input bench-planning bench-rank bench-receiver bench-resumption bench-snapshot lock clean system-run system-test environment environment-test

BIN := .venv/bin
# One more than there are processors: stories also wait, for other processes and for disks.
PYTEST_ARGS ?= -n $(shell expr 1 + $$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1))
ISSUES ?= ../shared/data/issues.jsonl

help: ## What there is to type
	@echo "Countersign: label an issue, approve the exact plan, review the draft pull request."
	@echo
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(firstword $(MAKEFILE_LIST)) | expand -t 24
	@echo
	@echo "  make run AUTO=1 OUT=dir    plays the maintainer's part by itself and leaves the result in dir"
	@echo "  make run REPO=path ISSUE=file    a repository folder and an issue of your own (needs ANTHROPIC_API_KEY)"
	@echo "  make run PORT=8080    where the web process listens"
	@echo "  make lock UPGRADE=1    takes the newest of everything"

run: system-run environment ## Start everything on this machine, with a GitHub look-alike
	@$(BIN)/countersign demo $(if $(AUTO),--auto) $(if $(OUT),--out "$(OUT)") $(if $(REPO),--repo "$(REPO)") $(if $(ISSUE),--issue "$(ISSUE)")

test: system-test environment-test ## The whole suite: ruff, mypy, import-linter, pytest
	@failed=; \
	$(MAKE) lint || failed=1; \
	$(BIN)/pytest $(PYTEST_ARGS) || failed=1; \
	test -z "$$failed"

soak: system-test environment-test ## The crash matrix and the table of places whole, long storms and fuzzing, every story on PostgreSQL: make soak SECONDS=3600 SEED=1
	@failed=; \
	$(BIN)/pytest $(PYTEST_ARGS) -s --seconds $(or $(SECONDS),3600) $(if $(SEED),--seed $(SEED)) tests/stories/test_crash_matrix.py tests/stories/test_storm.py tests/stories/test_places_and_moments.py tests/rooms/web/test_fuzzed.py tests/ledger/test_ledger_leases.py || failed=1; \
	$(BIN)/pytest $(PYTEST_ARGS) --database postgresql $(if $(SEED),--seed $(SEED)) tests/stories || failed=1; \
	test -z "$$failed"

lint: environment-test ## Only ruff, mypy and import-linter
	@failed=; \
	$(BIN)/ruff check app worker infra tests || failed=1; \
	$(BIN)/mypy || failed=1; \
	$(BIN)/lint-imports --no-logo || failed=1; \
	test -z "$$failed"

bench: system-run environment-test ## The numbers: seconds, memory, receiver
	@$(BIN)/python -m infra.bench

bench-receiver: system-run environment-test ## Deliveries against peers: make bench-receiver [POSTGRES=url] [PROBOT=dir]
	@$(BIN)/python -m infra.bench.receiver $(if $(POSTGRES),--postgres "$(POSTGRES)") $(if $(PROBOT),--probot "$(PROBOT)")

bench-resumption: system-run environment-test ## From a worker's death to the resumption of its work
	@$(BIN)/python -m infra.bench.resumption

bench-planning: system-run environment-test ## The planner's numbers: make bench-planning REPOS=dir LOGS=dir [SNAPSHOTS=dir]
	@$(BIN)/python -m infra.bench.planning $(if $(SNAPSHOTS),--snapshots "$(SNAPSHOTS)") $(if $(GROUNDS),--grounds "$(GROUNDS)") $(if $(UV),--uv "$(UV)") "$(REPOS)" "$(LOGS)" "$(ISSUES)"

bench-distill: environment-test ## Facts that distilled views keep: make bench-distill LOGS=dir
	@$(BIN)/python -m infra.bench.distill "$(LOGS)"

bench-input: environment-test ## What an investigation gives a model to read: make bench-input REPO=dir
	@$(BIN)/python -m infra.bench.input "$(or $(REPO),.)"

bench-snapshot: environment-test ## A snapshot against a fresh clone: make bench-snapshot REPOS=dir
	@$(BIN)/python -m infra.bench.snapshot "$(REPOS)"

bench-rank: environment-test ## Ranking without a model: make bench-rank REPOS=dir
	@$(BIN)/python -m infra.bench.rank "$(REPOS)" "$(ISSUES)"

bench-edit: environment-test ## Damaged edits, none in a wrong place: make bench-edit REPOS=dir [DATA=blocks]
	@$(BIN)/python -m infra.bench.edit $(if $(DATA),--blocks "$(DATA)") $(if $(COMMITS),--commits "$(COMMITS)") "$(REPOS)" "$(ISSUES)"

bench-checks: system-run environment-test ## Real fixes proved by the product's own checks: make bench-checks REPOS=dir
	@$(BIN)/python -m infra.bench.checks $(if $(GROUNDS),--grounds "$(GROUNDS)") "$(REPOS)" "$(ISSUES)"

lock: ## Write the lock files anew from pyproject.toml
	@infra/install/lock.sh

clean: ## Remove the environment, caches and what runs left here
	@rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache .grimp_cache build out *.egg-info
	@find app worker infra tests plan_templates -name __pycache__ -type d -prune -exec rm -rf {} +

system-run:
	@infra/install/system.sh run

system-test:
	@infra/install/system.sh test

environment:
	@infra/install/environment.sh run

environment-test:
	@infra/install/environment.sh test
