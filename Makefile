# Targets with a "##" are listed by "make help".
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

# The version is what Go reads from the repository. Where git refuses to speak of it, the build goes on without.
BUILDVCS := $(shell git status >/dev/null 2>&1 && echo true || echo false)

# How many packages are tested at once. Most of them start processes and databases of their own.
PARALLEL ?= 2
# What takes longest begins first, so that it does not run alone at the end.
LONG = ./e2e/scenarios ./adapters/sqlstore/runs ./e2e/faults ./e2e/relay ./e2e/verifiers ./e2e/access ./e2e/audit
PG := e2e/setup/postgres.sh

.PHONY: help run build setup test bench arch lint fmt conformance e2e golden openapi check

help: ## show this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: ## install what is missing, build, start Writ on SQLite and run the example (PORT=, RUN_ONCE=1)
	@e2e/setup/install.sh run
	@echo "Building bin/writ, which takes a minute or two the first time."
	@$(MAKE) --silent --no-print-directory build
	@exec e2e/setup/run.sh

build: ## build bin/writ: static, stripped, reproducible
	CGO_ENABLED=0 go build -trimpath -buildvcs=$(BUILDVCS) -ldflags '-s -w' -o bin/writ ./cmd/writ
	@bytes=$$(wc -c <bin/writ); echo "bin/writ: $$((bytes >> 20)) MiB"; \
	if [ "$$bytes" -ge 47185920 ]; then echo "That is too much: 45 MiB is the limit." >&2; exit 1; fi

setup: ## install what the tests need (ansible-core, Postgres, sshd, sshpass, git, curl, openssl, chromium, a C compiler for the race detector)
	@e2e/setup/install.sh test

test: setup ## everything: formatting, vet and all tests with the race detector, on SQLite and on Postgres
	@e2e/setup/gofmt.sh
	go vet ./...
	$(PG) go test -race -shuffle=on -timeout 30m -p $(PARALLEL) $(LONG) ./...
	cd e2e/oidc && go vet ./... && go test -race -count=1 ./...
	cd e2e/audittools && go vet ./... && go test -race -count=1 ./...
	cd e2e/registry && go vet ./... && go test -race -count=1 ./...

bench: ## the benchmarks as a table (BENCH=name, BENCHTIME=2s)
	@e2e/setup/install.sh test
	@$(PG) e2e/setup/bench.sh

arch: ## the gates: imports, sizes, names, dialect, clock, words, generated pages
	go test -count=1 ./e2e/arch

lint: ## golangci-lint, or go vet and gofmt where it is not installed
	@e2e/setup/lint.sh

fmt: ## format every Go file
	gofmt -w $$(find . -name '*.go' -not -path './.git/*')

conformance: setup ## every store against its suite, on both databases
	$(PG) go test -race -timeout 10m -p $(PARALLEL) ./platform/db/... ./adapters/...

e2e: setup ## the scenarios against the real binary
	$(PG) go test -race -timeout 30m -p 1 ./e2e/...
	cd e2e/oidc && go test -race -count=1 ./...
	cd e2e/audittools && go test -race -count=1 ./...
	cd e2e/registry && go test -race -count=1 ./...

golden: ## write what is generated: the tables in docs and the golden files
	go test ./adapters/httpapi -count=1 -run Golden -update
	go test ./e2e/arch -count=1 -run 'Page' -update
	@if [ -d e2e/contract ]; then go test ./e2e/contract -count=1 -update; fi

openapi: build ## print the OpenAPI document that this build serves
	@e2e/setup/openapi.sh

check: build lint test ## what CI runs
