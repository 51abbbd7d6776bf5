#!/usr/bin/env bash
# Prints the OpenAPI document of bin/writ: starts it on a database of its own, asks for the document and ends it.
set -euo pipefail
cd "$(dirname "$0")/../.."
dir=$(mktemp -d)
server=''
finish() {
    if [ -n "$server" ]; then
        kill -TERM "$server" 2>/dev/null || true
        wait "$server" 2>/dev/null || true
    fi
    rm -rf -- "$dir"
}
trap finish EXIT
port=${PORT:-18080}
bin/writ serve --addr "127.0.0.1:$port" --db "$dir/writ.db" --data-dir "$dir" --executors 0 --open >"$dir/log" 2>&1 &
server=$!
for _ in $(seq 1 100); do
    if { exec 3<>"/dev/tcp/127.0.0.1/$port"; } 2>/dev/null; then
        printf 'GET /openapi.json HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n' >&3
        sed '1,/^\r$/d' <&3
        exec 3>&- 3<&-
        exit 0
    fi
    sleep 0.1
done
tail -n 20 "$dir/log" >&2
exit 1
