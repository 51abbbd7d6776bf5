#!/usr/bin/env bash
# Runs a command with a throw-away Postgres cluster whose address is in WRIT_TEST_POSTGRES:
#
#   e2e/setup/postgres.sh go test ./...
#
# The cluster listens on a Unix socket in its own directory alone, trusts whoever reaches that, does not wait for the
# disk, and is gone when the command ends. An address that is set already is used as it is.
#
# The address is the same each time for one checkout: Go's test cache compares it, and another one would end every cached
# result. A second command beside the first gets a directory of another name.
set -euo pipefail

[ $# -gt 0 ] || { echo "usage: postgres.sh COMMAND [ARGUMENT...]" >&2; exit 2; }
if [ -n "${WRIT_TEST_POSTGRES:-}" ]; then exec "$@"; fi

bin=
for d in "$(dirname "$(command -v initdb 2>/dev/null || echo /none/initdb)")" /usr/lib/postgresql/*/bin; do
    if [ -x "$d/initdb" ]; then bin=$d; fi
done
if [ -z "$bin" ]; then
    echo "There is no Postgres on this machine; install it with: apt-get install postgresql" >&2
    exit 1
fi

# Memory is quicker to copy databases in than a disk, where there is a gibibyte of it.
base=/tmp
if [ "$(df --output=avail -B1M /dev/shm 2>/dev/null | tail -n 1 || echo 0)" -gt 1024 ]; then base=/dev/shm; fi

name=writ-pg-$(id -u)-$(pwd -P | cksum | cut -d ' ' -f 1)
dir=$base/$name
exec 9>"/tmp/$name.lock"
if flock -n 9; then
    # A killed command leaves its cluster behind.
    if pid=$(head -n 1 "$dir/data/postmaster.pid" 2>/dev/null) && grep -qF "$dir/data" "/proc/$pid/cmdline" 2>/dev/null; then
        kill -QUIT "$pid"
        while [ -d "/proc/$pid" ]; do sleep 0.1; done
    fi
    rm -rf -- "$dir"
    mkdir "$dir"
else
    dir=$(mktemp -d "$base/writ-pg.XXXXXX")
fi

# Postgres refuses to run as root, so root borrows the account that the package made, in a directory of its own.
as=()
if [ "$(id -u)" = 0 ]; then
    id postgres >/dev/null 2>&1 || { rmdir "$dir"; echo "Postgres does not run as root and there is no account named postgres." >&2; exit 1; }
    as=(runuser -u postgres --)
    chown postgres "$dir"
    chmod 755 "$dir"
fi
pg() { (cd "$dir" && ${as[@]+"${as[@]}"} "$@" 9>&-); }

finish() {
    code=$?
    trap '' INT TERM
    pg "$bin/pg_ctl" -D "$dir/data" -m immediate -w stop >/dev/null 2>&1 || true
    rm -rf -- "$dir"
    exit "$code"
}
trap finish EXIT
# The command is in the foreground: it gets an interrupt itself, and the cluster outlives it by a moment.
trap 'exit 130' INT
trap 'exit 143' TERM

start() {
    pg "$bin/initdb" -D "$dir/data" -U writ -A trust -E UTF8 --locale=C.UTF-8 --no-sync
    # The time zone has a half-hour offset and daylight saving, so that a time that is not UTC shows.
    cat >>"$dir/data/postgresql.conf" <<CONF
listen_addresses = ''
unix_socket_directories = '$dir'
fsync = off
synchronous_commit = off
full_page_writes = off
wal_level = minimal
max_wal_senders = 0
max_connections = 1000
shared_buffers = 64MB
autovacuum = off
timezone = 'Australia/Lord_Howe'
log_min_messages = fatal
CONF
    pg "$bin/pg_ctl" -D "$dir/data" -l "$dir/log" -w -t 60 start
}
if ! start >"$dir/start" 2>&1; then
    tail -n 20 "$dir/start" "$dir/log" >&2 || true
    echo "The throw-away Postgres did not start." >&2
    exit 1
fi

export WRIT_TEST_POSTGRES="postgres://writ@/postgres?host=$dir&sslmode=disable"
code=0
"$@" 9>&- || code=$?
exit "$code"
