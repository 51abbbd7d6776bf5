# Targets with a "##" are listed by "make help".
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

# The version is what Go reads from the repository. Where git refuses to speak of it, the build goes on without.
BUILDVCS := $(shell git status >/dev/null 2>&1 && echo true || echo false)

# The public key that licences are signed by (docs/guides/licences.md). Binaries under test have one of their own.
LICENSE_KEY ?=
TEST_VENDOR = -X main.vendorKey=$$(cat e2e/harness/vendor.pub)

# How many packages each of the two groups tests at once. Most start processes and databases of their own.
PARALLEL ?= 1
# More flags of go test, such as -count=1, which asks for what is cached too.
TESTFLAGS ?=
PG := e2e/setup/postgres.sh
# Compilers and linkers have a lower priority than the tests that run beside them.
LOW_PRIORITY := -toolexec 'nice -n 10'

# Everything without the race detector is compiled alike, so that the build, vet and the end-to-end tests share one cache.
# No tables for debuggers are made, which takes a tenth of the time; traces of panics do not need them.
PLAIN := CGO_ENABLED=0
# The program inside the boundary of a run is built first and embedded (the tag shim): it is small, so it starts quickly.
# gRPC's traces would execute templates of the standard library (grpcnotrace), see docs/adr/0091.
TAGS := shim,grpcnotrace
FLAGS = -trimpath -gcflags=all=-dwarf=0 $(foreach p,$(SELDOM),'-gcflags=$(p)/...=-l -dwarf=0') -tags $(TAGS)
# Code that runs once a request, or less often, is not inlined, which makes the binary almost six MiB smaller. What every
# request runs through stays inlined: without that, net/http and huma answer a tenth fewer requests.
WRIT := github.com/writ-automation/writ
SELDOM := $(WRIT)/adapters/anchor $(WRIT)/adapters/git $(WRIT)/adapters/httpapi $(WRIT)/adapters/importers $(WRIT)/adapters/inventory \
	$(WRIT)/adapters/metrics $(WRIT)/adapters/notify $(WRIT)/adapters/relayclient $(WRIT)/adapters/secrets \
	$(WRIT)/adapters/sqlstore/catalog $(WRIT)/adapters/sqlstore/estate $(WRIT)/adapters/sqlstore/identity \
	$(WRIT)/adapters/sqlstore/notify $(WRIT)/adapters/sqlstore/objects $(WRIT)/adapters/sqlstore/policy \
	$(WRIT)/adapters/sqlstore/scheduling $(WRIT)/adapters/sqlstore/secrets $(WRIT)/adapters/sso $(WRIT)/adapters/tools \
	$(WRIT)/adapters/watermill $(WRIT)/adapters/web $(WRIT)/cmd $(WRIT)/modules/audit/internal/heads \
	$(WRIT)/modules/audit/internal/install $(WRIT)/modules/audit/internal/prove $(WRIT)/modules/catalog $(WRIT)/modules/estate \
	$(WRIT)/modules/execution $(WRIT)/modules/identity $(WRIT)/modules/importer $(WRIT)/modules/notify $(WRIT)/modules/policy \
	$(WRIT)/modules/scheduling $(WRIT)/modules/secrets $(WRIT)/modules/system $(WRIT)/platform/boundary $(WRIT)/platform/config \
	$(WRIT)/platform/egress $(WRIT)/platform/telemetry $(WRIT)/ports/importer $(WRIT)/ports/proof/keys \
	github.com/ThreeDotsLabs github.com/aws github.com/beevik github.com/cenkalti github.com/coreos github.com/crewjam \
	github.com/digitorus github.com/go-jose github.com/godbus github.com/hashicorp github.com/itchyny github.com/knadh \
	github.com/nats-io github.com/pkg github.com/pressly github.com/prometheus github.com/russellhaering github.com/spf13 \
	github.com/vmihailenco github.com/wneessen github.com/yuin go.uber.org go.yaml.in golang.org/x/crypto/internal \
	golang.org/x/crypto/ssh golang.org/x/oauth2 golang.org/x/text google.golang.org \
	archive crypto/tls crypto/x509 encoding/asn1 encoding/gob encoding/xml go html mime net/mail net/smtp text
SHIM := platform/boundary/internal/shim
# The race detector watches everything but libraries that only compute, such as the C code of SQLite that was translated to Go:
# it makes them ten times slower and is no judge of them. A process under it waits a second at its end unless it is told not to.
UNWATCHED := modernc.org/... golang.org/x/crypto/argon2 golang.org/x/crypto/blake2b regexp github.com/google/go-cmp/...
RACE_FLAGS := -race -gcflags=all=-dwarf=0 $(foreach p,$(UNWATCHED),'-gcflags=$(p)=-race=false -dwarf=0')
RACE := $(RACE_FLAGS) -vet=off
export GORACE = atexit_sleep_ms=0
# A test binary without its table of symbols is linked in two thirds of the time. Traces of panics do not need it.
LINK := -ldflags=-s
# "make test" watches the packages in which goroutines share memory, "make test-long" watches everything.
WATCHED := ./modules/... ./platform/... ./ports/... ./adapters/casbin ./adapters/httpapi ./adapters/outbox ./adapters/relayclient
PACKAGES = $$(go list ./... | grep -vxFf <(go list $(WATCHED)))
# End-to-end tests run binaries that are built once. The digest is in their environment, where the test cache sees it.
BINARIES := $(CURDIR)/bin/test
WITH_BINARIES = WRIT_TEST_VECTORS=$$(cat $$(find $(CURDIR)/ports/proof/testdata -type f | sort) | sha256sum | cut -c 1-64) \
	WRIT_TEST_BINARIES=$(BINARIES) WRIT_TEST_DIGEST=$$(cat $(BINARIES)/* | sha256sum | cut -c 1-64)
# What waits longest begins first, so that it does not run alone at the end.
LONGEST := ./e2e/isolation ./e2e/catalog ./e2e/relay ./e2e/faults ./e2e/notify
MODULES := e2e/oidc e2e/audittools e2e/registry e2e/vulncheck

.PHONY: help run build shim writ-verify sbom vulncheck setup test test-long test-ui screenshots bench-ui vet binaries bench bench-check performance arch lint fmt conformance e2e golden generate openapi check

help: ## show this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: ## install what is missing, build, start Writ on SQLite and run the example (PORT=, RUN_ONCE=1)
	@e2e/setup/install.sh run
	@echo "Building bin/writ, which takes a minute or two the first time."
	@$(MAKE) --silent --no-print-directory build
	@exec e2e/setup/run.sh

shim:
	@$(PLAIN) go build $(FLAGS) -buildvcs=false -ldflags '-s -w' -o $(SHIM)/shim ./$(SHIM)
	@gzip -9nf $(SHIM)/shim

build: shim ## build bin/writ: static, stripped, reproducible (LICENSE_KEY=public key of licences)
	$(PLAIN) go build $(FLAGS) -buildvcs=$(BUILDVCS) -ldflags '-s -w -X main.vendorKey=$(LICENSE_KEY)' -o bin/writ ./cmd/writ
	@bytes=$$(wc -c <bin/writ); echo "bin/writ: $$((bytes >> 20)) MiB"; \
	if [ "$$bytes" -ge $$((60 << 20)) ]; then echo "That is too much: 60 MiB is the limit." >&2; exit 1; fi
	@if grep -qaF 'go-mail.(*Msg).SetBodyHTMLTemplate' bin/writ; then \
	echo "The linker kept the methods that nobody calls, see docs/adr/0091-methods-that-nobody-calls.md." >&2; exit 1; fi

writ-verify: ## build bin/writ-verify, the verifier of the audit trail alone
	$(PLAIN) go build $(FLAGS) -buildvcs=$(BUILDVCS) -ldflags '-s -w' -o bin/writ-verify ./cmd/writ-verify
	@bytes=$$(wc -c <bin/writ-verify); echo "bin/writ-verify: $$((bytes >> 20)) MiB"; \
	if [ "$$bytes" -ge 8388608 ]; then echo "That is too much: 8 MiB is the limit." >&2; exit 1; fi

sbom: build ## write bin/writ.cdx.json, what bin/writ contains, in the format CycloneDX
	$(PLAIN) go run -trimpath ./e2e/setup/sbom bin/writ adapters/httpapi/ops/assets >bin/writ.cdx.json.new
	@mv bin/writ.cdx.json.new bin/writ.cdx.json; echo "bin/writ.cdx.json: $$(grep -c '"purl"' bin/writ.cdx.json) components"

vulncheck: build writ-verify ## look up known vulnerabilities of the binaries (WRIT_VULNDB=directory or address)
	@e2e/setup/vulncheck.sh bin/writ bin/writ-verify

setup: ## install what the tests need (ansible-core, Postgres, sshd, sshpass, paramiko, git, podman, dbus-daemon, nats-server, curl, openssl, chromium, OpenTofu, a C compiler for the race detector)
	@e2e/setup/install.sh test

test: setup binaries ## everything quick: packages, and the real binary end to end, on both databases
	go build $(RACE_FLAGS) $(WATCHED)
	@$(PG) $(MAKE) --no-print-directory -j 2 test-watched test-plain

# The watched packages compute and the others wait, so they run side by side, once most is compiled.
.PHONY: test-watched test-plain
test-watched:
	go test $(LOW_PRIORITY) $(RACE) $(LINK) $(TESTFLAGS) -timeout 30m -p $(PARALLEL) $(WATCHED)

test-plain:
	$(WITH_BINARIES) $(PLAIN) go test $(LOW_PRIORITY) -vet=off $(FLAGS) $(LINK) $(TESTFLAGS) -timeout 30m -p $(PARALLEL) \
		$(LONGEST) $(PACKAGES)
	for m in $(MODULES); do (cd $$m && $(WITH_BINARIES) $(PLAIN) go test -vet=off $(FLAGS) $(LINK) $(TESTFLAGS) ./...) || exit 1; done

test-long: shim ## storms, soaks, large cases and everything else, all with the race detector, in another order each time
	@e2e/setup/install.sh long
	@mkdir -p $(BINARIES)-race
	go build $(RACE_FLAGS) -buildvcs=false -ldflags "$(TEST_VENDOR)" -o $(BINARIES)-race/ ./cmd/writ ./e2e/extensions/custom ./e2e/extensions/plugged ./docs/examples/custom-adapter ./docs/examples/plugin ./docs/examples/opentofu
	go build $(RACE_FLAGS) -buildvcs=false -ldflags "$(TEST_VENDOR)" -tags crashpoints -o $(BINARIES)-race/writ-crashpoints ./cmd/writ
	$(PLAIN) go build $(FLAGS) -buildvcs=false -ldflags "-s -w $(TEST_VENDOR)" -o $(BINARIES)-race/writ-release ./cmd/writ
	$(PG) $(MAKE) --no-print-directory BINARIES=$(BINARIES)-race test-long-all
	$(MAKE) --no-print-directory BINARIES=$(BINARIES)-race MODE=check bench-rows

.PHONY: test-long-all
test-long-all:
	$(WITH_BINARIES) go test $(LOW_PRIORITY) $(RACE) -tags long -shuffle=on -timeout 90m -p $(PARALLEL) $(LONGEST) ./...
	for m in $(MODULES); do (cd $$m && $(WITH_BINARIES) go test $(RACE) -tags long -shuffle=on ./...) || exit 1; done

test-ui: setup binaries ## every page in a browser: accessibility, narrow screens, colours, keyboard (WRIT_TEST_PAGES=names of pages)
	$(WITH_BINARIES) $(PLAIN) go test -vet=off $(FLAGS) -tags $(TAGS),ui -count=1 -timeout 60m ./e2e/ui/look -skip 'TestScreenshots|TestBudgets'

screenshots: setup binaries ## pictures of every page at three widths in both themes, in bin/screenshots
	$(WITH_BINARIES) WRIT_TEST_SHOTS=$(CURDIR)/bin/screenshots $(PLAIN) go test -vet=off $(FLAGS) -tags $(TAGS),ui -count=1 -timeout 60m \
		./e2e/ui/look -run TestScreenshots

bench-ui: setup binaries ## bytes and times of pages in a browser, against their budgets
	@$(WITH_BINARIES) $(PLAIN) go test -vet=off $(FLAGS) -tags $(TAGS),ui -count=1 -timeout 30m -v ./e2e/ui/look -run TestBudgets

vet: shim vet-darwin ## go vet for everything, the long tests included
	$(PLAIN) go vet $(FLAGS) -tags $(TAGS),long,ui ./...
	for m in $(MODULES); do (cd $$m && $(PLAIN) go vet $(FLAGS) ./...) || exit 1; done

# The packages with a file that Linux does not compile.
.PHONY: vet-darwin
vet-darwin:
	GOOS=darwin $(PLAIN) go vet $(FLAGS) ./platform/db/internal/filewatch ./platform/sshtest

# The binary of users, one with points at which a test ends it, one with extensions. A file that did not change stays as it is,
# since the test cache compares times.
binaries: shim ## build what the end-to-end tests run
	@mkdir -p $(BINARIES) $(BINARIES).new
	$(PLAIN) go build $(FLAGS) -buildvcs=false -ldflags "-s -w $(TEST_VENDOR)" -o $(BINARIES).new/ ./cmd/writ ./e2e/extensions/custom ./e2e/extensions/plugged ./docs/examples/custom-adapter ./docs/examples/plugin ./docs/examples/opentofu
	$(PLAIN) go build $(FLAGS) -buildvcs=false -ldflags "-s -w $(TEST_VENDOR)" -tags $(TAGS),crashpoints -o $(BINARIES).new/writ-crashpoints ./cmd/writ
	@ln -f $(BINARIES).new/writ $(BINARIES).new/writ-release
	@for f in $(BINARIES).new/*; do cmp -s "$$f" "$(BINARIES)/$${f##*/}" || mv -f "$$f" $(BINARIES)/; done; rm -rf $(BINARIES).new

bench: setup binaries ## the benchmarks as tables (BENCH=name, BENCHTIME=2s; BENCH=Rows/queued is a part of the first table)
	@$(if $(filter Rows%,$(or $(BENCH),Rows)),$(MAKE) --no-print-directory bench-rows)
	@$(if $(filter Rows%,$(BENCH)),,$(PG) e2e/setup/bench.sh)

bench-check: setup binaries ## compare the rows' ratios with the committed ones (BENCH=Rows/queued, UPDATE=1 writes them)
	@$(MAKE) --no-print-directory MODE=$(if $(UPDATE),update,check) bench-rows

performance: setup shim ## measure what docs/performance.md says, and write it (needs perf)
	$(PLAIN) go test -vet=off $(FLAGS) -run '^$$' -bench '^BenchmarkCosts$$' -benchtime 1x -timeout 30m ./e2e/bench

# The release binary and its baselines, without the race detector.
.PHONY: bench-rows
bench-rows:
	@$(WITH_BINARIES) WRIT_BENCH_ROWS=$(MODE) $(PLAIN) go test -vet=off $(FLAGS) -run '^$$' \
		-bench '^Benchmark$(or $(filter Rows%,$(BENCH)),Rows)' -benchtime 1x -timeout 60m ./e2e/bench

arch: shim ## the gates: imports, sizes, names, dialect, clock, words, generated pages
	$(PLAIN) go test -vet=off $(FLAGS) -count=1 ./e2e/arch

lint: ## golangci-lint, or go vet and gofmt where it is not installed
	@e2e/setup/lint.sh

fmt: ## format every Go file
	gofmt -w $$(find . -name '*.go' -not -path './.git/*')

conformance: setup ## every store against its suite, on both databases
	$(PG) go test $(RACE) -timeout 10m -p $(PARALLEL) ./platform/db/... ./adapters/sqlstore/...

e2e: setup binaries ## the real binary
	@$(PG) $(MAKE) --no-print-directory test-plain PACKAGES=./e2e/...

golden: ## write what is generated: the tables in docs and the golden files
	$(PLAIN) go test -vet=off $(FLAGS) ./adapters/httpapi ./adapters/web ./cmd/cli/internal/manifest ./cmd/cli/internal/apidoc ./cmd/cli ./modules/policy/internal/risk -count=1 -p 1 -run Golden -update
	$(PLAIN) go test -vet=off $(FLAGS) ./e2e/arch ./cmd/cli/internal/manifest -count=1 -run 'Page' -update

generate: ## write the Go code of the components of the web interface, and of the protocol of plugins
	cd adapters/web && go generate .
	cd ports/extension/plugin/wire && go generate .

openapi: build ## print the OpenAPI document that this build serves
	@e2e/setup/openapi.sh

check: build lint test ## what CI runs
