#!/usr/bin/env bash
# Runs the benchmarks, without those that have a table or a page of their own, and prints one line each. BENCH narrows them by name,
# BENCHTIME sets how long each one runs. The load of the machine stands before and behind them: figures of a busy one are upper bounds.
set -euo pipefail
cd "$(dirname "$0")/../.."
raw=$(mktemp)
trap 'rm -f "$raw"' EXIT
code=0
load() { printf '%s processors, load %s (%s)\n' "$(nproc)" "$(cut -d ' ' -f 1-3 /proc/loadavg)" "$1"; }
load before
go test -run '^$' -bench "${BENCH:-.}" -skip '^Benchmark(Rows|Costs)$' -benchtime "${BENCHTIME:-1s}" -timeout 30m -p 1 ./... \
    >"$raw" 2>&1 || code=$?
awk '
    /^pkg: / { pkg = $2; sub(/^github.com\/writ-automation\/writ\//, "", pkg) }
    /^Benchmark/ && NF > 3 {
        name = $1; sub(/^Benchmark/, "", name); sub(/-[0-9]+$/, "", name)
        line = ""
        for (i = 3; i < NF; i += 2) line = line sprintf("  %14s %-12s", $i, $(i + 1))
        printf "%-26s %-44s%s\n", pkg, name, line
    }' "$raw"
load after
if [ "$code" != 0 ]; then
    grep -vE '^(Benchmark|ok|goos|goarch|cpu|pkg|PASS|\?)' "$raw" | tail -n 40 >&2
fi
exit "$code"
