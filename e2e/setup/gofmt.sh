#!/usr/bin/env bash
# Fails and lists the Go files that gofmt would change.
set -euo pipefail
cd "$(dirname "$0")/../.."
files=$(find . -name '*.go' -not -path './.git/*' -not -path './.writ/*' -print0 | xargs -0 gofmt -l)
if [ -n "$files" ]; then
    printf 'Not formatted (run: make fmt):\n%s\n' "$files" >&2
    exit 1
fi
