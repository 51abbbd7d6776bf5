#!/usr/bin/env bash
# "make run": starts the server that bin/writ is, runs the example playbook through its API, shows where to look and
# keeps serving until Ctrl-C. State stays in .writ, so the next start goes on where this one ended.
#
#   PORT=9000    listen there, or say why not (default: 8080, or the next free port)
#   RUN_ONCE=1   end after the example, with its exit code; so does a start without a terminal
set -euo pipefail
cd "$(dirname "$0")/../.."

writ=${RUN_BIN:-bin/writ}
state=${RUN_STATE:-.writ}
once=${RUN_ONCE:-}
[ -t 0 ] || once=1

umask 077
mkdir -p "$state"

die() { echo "$*" >&2; exit 1; }

busy() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

choose_port() {
    if [ -n "${PORT:-}" ]; then
        if busy "$PORT"; then die "Port $PORT is in use; choose another one with PORT=."; fi
        port=$PORT
        return
    fi
    for port in $(seq 8080 8179); do
        if ! busy "$port"; then return; fi
    done
    die "Every port from 8080 to 8179 is in use; choose one with PORT=."
}

# status asks a path of the server and prints the answer's status code, without any tool that a machine may lack.
status() {
    local line=
    {
        exec 3<>"/dev/tcp/127.0.0.1/$port" || return 0
        printf 'GET %s HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n' "$1" >&3
        read -r -t 5 line <&3 || true
        exec 3>&- 3<&-
    } 2>/dev/null
    line=${line#* }
    printf '%s' "${line%% *}"
}

# finish ends the server in order: runs get the time to end that the server grants them, unless Ctrl-C comes again.
server='' reader=''
finish() {
    code=$?
    trap - EXIT
    trap 'kill -TERM "$server" 2>/dev/null || true' INT TERM
    if [ -n "$server" ]; then
        if [ -z "$once" ] && kill -0 "$server" 2>/dev/null; then
            printf '\nEnding the server. Runs get 30 seconds; Ctrl-C again ends them at once.\n'
        fi
        kill -TERM "$server" 2>/dev/null || true
        while kill -0 "$server" 2>/dev/null; do wait "$server" 2>/dev/null || true; done
    fi
    if [ -n "$reader" ]; then wait "$reader" 2>/dev/null || true; fi
    rm -f "$state/stdout" "$state/pid"
    exit "$code"
}

# keep_token takes the first token out of the server's standard output, where it is printed exactly once, and lets
# everything else through.
keep_token() {
    local line
    while IFS= read -r line; do
        if [[ $line =~ writ_[0-9A-Za-z]{32}_[0-9A-Za-z]{6} ]]; then
            printf '%s\n' "${BASH_REMATCH[0]}" >"$state/token.new"
            mv "$state/token.new" "$state/token"
        else
            printf '%s\n' "$line" >>"$state/server.log"
        fi
    done
}

start_server() {
    rm -f "$state/stdout"
    mkfifo "$state/stdout"
    # The server has a process group of its own: Ctrl-C is for this script, which then ends the server in order.
    set -m
    # Runs do not see the server's directory. The example keeps its hosts in a part of it that is shown to them.
    mkdir -p "$state/hosts"
    chmod 1777 "$state/hosts"
    "$writ" serve --addr "127.0.0.1:$port" --db "$state/writ.db" --data-dir "$state" --work-dir "$PWD" \
        --isolation-show "$(cd "$state" && pwd)/hosts:rw" \
        </dev/null >"$state/stdout" 2>>"$state/server.log" &
    server=$!
    keep_token <"$state/stdout" &
    reader=$!
    set +m
    echo "$server" >"$state/pid"
}

await_ready() {
    for _ in $(seq 1 300); do
        if ! kill -0 "$server" 2>/dev/null; then
            tail -n 20 "$state/server.log" >&2
            die "The server ended before it was ready; the lines above are the end of $state/server.log."
        fi
        if [ "$(status /readyz)" = 200 ]; then return; fi
        sleep 0.1
    done
    die "The server was not ready in 30 seconds; see $state/server.log."
}

# await_token waits for the file on the first start, where the token comes a moment before the server is ready.
await_token() {
    for _ in $(seq 1 50); do
        if [ -s "$state/token" ]; then return; fi
        sleep 0.1
    done
    die "The server keeps its state in $state but its token is not there ($state/token). Make one with: $writ token reset-admin --db $state/writ.db
or begin afresh by removing $state."
}

if [ -s "$state/pid" ]; then
    old=$(cat "$state/pid")
    if [[ $old =~ ^[0-9]+$ ]] && tr '\0' ' ' 2>/dev/null <"/proc/$old/cmdline" | grep -q ' serve '; then
        die "A server runs over $state already (process $old); end it first."
    fi
fi

choose_port
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
start_server
await_ready
await_token
url=http://127.0.0.1:$port
WRIT_TOKEN=$(cat "$state/token")
export WRIT_TOKEN

echo "Writ answers on $url. The example runs on three local hosts:"
echo
code=0
"$writ" run --server "$url" --follow --name "example site" --extra-var "site_base=$(cd "$state" && pwd)/hosts" \
    --playbook docs/examples/site/site.yml --inventory docs/examples/site/hosts.ini || code=$?
echo
if [ -n "$once" ]; then exit "$code"; fi

cat <<TEXT
Address    $url   (API reference: $url/docs)
Token      $WRIT_TOKEN
State      $state/   (token, database, server.log; remove it to begin afresh)

In another terminal:

  export WRIT_SERVER=$url WRIT_TOKEN=\$(cat $state/token)
  $writ runs
  curl -s -H "Authorization: Bearer \$WRIT_TOKEN" \$WRIT_SERVER/v1/runs?limit=5

Ctrl-C ends the server.
TEXT
trap 'exit 0' INT
wait "$server" || true
server=''
die "The server ended by itself; see $state/server.log."
