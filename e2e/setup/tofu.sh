#!/usr/bin/env bash
# Builds the OpenTofu that the tests of docs/examples/opentofu run, from its source as Go's module proxy serves it, into the
# cache of this account. "tofu.sh where" prints the directory of the program instead, and fails if it is not built.
set -euo pipefail

version=1.12.6
sum=h1:0VT4P8pMmGcCUnQ9JDrJ+Qg2d35Vzm4FFd/9+H7oF98=
cache=${XDG_CACHE_HOME:-${HOME:?the variable HOME or XDG_CACHE_HOME names where the program is kept}/.cache}/writ
dir=$cache/tofu-$version

built() { "$dir/tofu" version 2>/dev/null | grep -xF "OpenTofu v$version" >/dev/null; }

if [ "${1:-}" = where ]; then
    built || { echo "OpenTofu $version is not in $dir. Build it with: make setup" >&2; exit 1; }
    echo "$dir"
    exit 0
fi
[ $# -eq 0 ] || { echo "usage: tofu.sh [where]" >&2; exit 2; }
if built; then exit 0; fi

# A second build waits for the first one, and has nothing to do then.
mkdir -p "$dir"
exec 9>"$cache/tofu.lock"
flock 9
if built; then exit 0; fi

work=$(mktemp -d)
new=$dir/tofu.$$
trap 'rm -rf "$work" "$new"' EXIT
fail() {
    tail -n 20 "$work"/* >&2
    echo "$1" >&2
    exit 1
}

echo "Building OpenTofu $version into $dir, which takes minutes."
cd "$work" # outside of a module, where the database of checksums confirms what is fetched
go mod download -json "github.com/opentofu/opentofu@v$version" >module 2>log ||
    fail "The source of OpenTofu cannot be fetched. Make a module proxy reachable (go env GOPROXY) and try again."
grep -qF "\"Sum\": \"$sum\"" module ||
    fail "The source of OpenTofu is not the one that this script names. Check the proxy (go env GOPROXY), then go clean -modcache."
# Its go.mod has replacements, which go install refuses. The directory is read-only, which go build does not mind.
cd "$(sed -n 's/^\t"Dir": "\(.*\)",$/\1/p' module)"
GOWORK=off CGO_ENABLED=0 nice -n 10 go build -trimpath -buildvcs=false \
    -ldflags '-s -w -X github.com/opentofu/opentofu/version.dev=no' -o "$new" ./cmd/tofu 2>"$work/log" ||
    fail "OpenTofu cannot be built. Its dependencies come from the module proxy, and it needs the Go of its go.mod or a newer one."
mv "$new" "$dir/tofu"
built || fail "What was built at $dir/tofu does not say that it is OpenTofu $version."
