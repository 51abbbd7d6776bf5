#!/usr/bin/env bash
# Runs golangci-lint where it is installed, go vet and gofmt where it is not. The gates in e2e/arch hold either way.
set -euo pipefail
cd "$(dirname "$0")/../.."
if command -v golangci-lint >/dev/null 2>&1; then
    make --no-print-directory vet-darwin
    exec golangci-lint run --build-tags long ./...
fi
echo "golangci-lint is not installed: gofmt, go vet and the gates in e2e/arch run instead."
e2e/setup/gofmt.sh
make --no-print-directory vet
