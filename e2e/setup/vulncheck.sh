#!/usr/bin/env bash
# Looks up known vulnerabilities of what binaries contain, in the database that WRIT_VULNDB names: a directory or an
# address. Without one it says so and ends well.
set -euo pipefail

if [ -z "${WRIT_VULNDB:-}" ]; then
    echo "govulncheck: WRIT_VULNDB names no database of vulnerabilities, so none is looked up."
    exit 0
fi
case "$WRIT_VULNDB" in
*://*) db=$WRIT_VULNDB ;;
*) db=file://$(realpath -e "$WRIT_VULNDB") ;;
esac
binaries=()
for b in "$@"; do binaries+=("$(realpath -e "$b")"); done
cd "$(dirname "$0")/../vulncheck"
for b in "${binaries[@]}"; do
    echo "govulncheck ${b##*/}"
    go tool govulncheck -db "$db" -mode=binary "$b"
done
