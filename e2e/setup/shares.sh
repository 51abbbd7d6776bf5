#!/usr/bin/env bash
# Samples a process until the input ends, or a command until that ends, and prints the shares of the processor time in percent:
#
#   e2e/setup/shares.sh PID
#   e2e/setup/shares.sh COMMAND [ARGUMENT...]
#
# A sample belongs to the innermost caller that a line below names, so the time of the kernel and of the runtime belongs to who
# asked for it; what nobody asked for is the runtime's own. It needs perf, the right to use it, and a binary with its symbols,
# which "go build ./cmd/writ" makes.
set -euo pipefail
[ $# -gt 0 ] || { echo "usage: shares.sh PID | COMMAND [ARGUMENT...]" >&2; exit 2; }
command -v perf >/dev/null || { echo "perf is not installed; install it with: apt-get install linux-perf" >&2; exit 1; }
data=$(mktemp)
trap 'rm -f "$data"' EXIT
if [[ $1 =~ ^[0-9]+$ ]]; then what=(-p "$1" -- cat); else what=(-- "$@"); fi
perf record -q -F 499 -g -o "$data" "${what[@]}" >/dev/null
perf script -i "$data" -F ip,sym 2>/dev/null | awk '
    function layer(f) {
        if (f ~ /fdatasync|fsync/) return "sync to the disk"
        if (f ~ /gcBgMarkWorker|gcAssistAlloc|bgsweep|bgscavenge/) return "garbage collection"
        if (f ~ /pwrite64|pread64|ftruncate/) return "SQLite: reading and writing files"
        if (f ~ /sqlite3.*[Pp]repare|sqlite3RunParser/) return "SQLite: planning statements"
        if (f ~ /sqlite3Fts|fts5/) return "SQLite: index of words"
        if (f ~ /modernc.org\/sqlite\/lib\./) return "SQLite: executing statements"
        if (f ~ /modernc.org\//) return "SQLite: driver"
        if (f ~ /jackc\/pgx/) return "Postgres: driver and its socket"
        if (f ~ /uptrace\/bun|database\/sql/) return "SQL text and scanning (bun, database/sql)"
        if (f ~ /forkExec|os.StartProcess|os\/exec|wait4|waitid/) return "starting and reaping processes"
        if (f ~ /encoding\/json|go-json|jsontext/) return "JSON"
        if (f ~ /crypto\//) return "digests and signatures"
        if (f ~ /writ\/(modules|adapters\/sqlstore|ports)\/(audit|proof)/) return "audit trail"
        if (f ~ /writ\/adapters\/httpapi|huma/) return "HTTP: routes and validation"
        if (f ~ /net\/http|writ\/platform\/httpserver/) return "HTTP: server and its sockets"
        if (f ~ /writ\/modules\/execution|writ\/adapters\/tools/) return "execution of runs"
        if (f ~ /writ\/platform\/db/) return "units of work"
        if (f ~ /github.com\/writ-automation/) return "other code of Writ"
        return ""
    }
    function done_() { if (frames) { total++; n[found == "" ? "runtime: scheduler, timers, network poller" : found]++ } frames = 0; found = "" }
    NF == 0 { done_(); next }
    { frames++; if (found == "") found = layer($2) }
    END { done_(); for (k in n) printf "%5.1f  %s\n", 100 * n[k] / total, k; printf "%5d  samples\n", total }
' | sort -rn
