#!/usr/bin/env bash
# Installs what "make run" (argument: run), "make test" (test) or "make test-long" (long) needs and this machine lacks. It
# asks for nothing that is there, and where it cannot install it says what to install.
set -euo pipefail

want=${1:-run}
case "$want" in run | test | long) ;; *) echo "usage: install.sh run|test|long" >&2; exit 2 ;; esac

if [ "$want" = long ]; then
    "$0" test
    exec "$(dirname "$0")/ansible.sh"
fi

have() { command -v "$1" >/dev/null 2>&1; }

have_postgres() {
    have initdb && return 0
    local d
    for d in /usr/lib/postgresql/*/bin/initdb; do [ -x "$d" ] && return 0; done
    return 1
}

have_chromium() {
    local b
    for b in chromium chromium-browser google-chrome google-chrome-stable; do have "$b" && return 0; done
    return 1
}

have_sshd() { have sshd || [ -x /usr/sbin/sshd ]; }

# The race detector is the one thing that needs a C compiler; the product itself has no C in it.
missing=()
have ansible-playbook || missing+=(ansible-core)
if [ "$want" = test ]; then
    have_postgres || missing+=(postgresql)
    have_sshd || missing+=(openssh-server)
    have ssh || missing+=(openssh-client)
    have sshpass || missing+=(sshpass)
    have git || missing+=(git)
    have podman && have crun || missing+=(podman crun)
    have strace || missing+=(strace)
    have prlimit && have setpriv || missing+=(util-linux)
    have python3 || missing+=(python3)
    /usr/bin/python3 -c 'import paramiko' 2>/dev/null || missing+=(python3-paramiko)
    have curl || missing+=(curl)
    have openssl || missing+=(openssl)
    have_chromium || missing+=(chromium)
    have dbus-daemon || missing+=(dbus-daemon)
    have nats-server || missing+=(nats-server)
    have gcc || missing+=(gcc libc6-dev)
fi

if ! have go; then
    echo "Writ is built with Go (the version that go.mod names, or newer): install it from https://go.dev/dl/ and try again." >&2
    exit 1
fi

# finish builds what no package has.
finish() {
    [ "$want" != test ] || exec "$(dirname "$0")/tofu.sh"
    exit 0
}
[ ${#missing[@]} -gt 0 ] || finish

explain() {
    echo "This needs: ${missing[*]}" >&2
    echo "$1 Install them by hand and try again; the names above are those of Debian and Ubuntu." >&2
    exit 1
}

have apt-get || explain "There is no apt-get on this machine."
root=()
if [ "$(id -u)" != 0 ]; then
    have sudo || explain "Installing needs root, and there is no sudo on this machine."
    # Without a terminal nobody can type a password, so sudo must not ask for one.
    if [ -t 0 ]; then root=(sudo); else root=(sudo -n); fi
fi

echo "Installing: ${missing[*]}"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
apt() {
    ${root[@]+"${root[@]}"} env DEBIAN_FRONTEND=noninteractive apt-get -y -q \
        -o DPkg::Lock::Timeout=120 -o Acquire::Retries=3 "$@" >>"$log" 2>&1
}
# A fresh machine has no package lists, an old one has stale ones; either way the second try is the good one.
if ! apt install --no-install-recommends "${missing[@]}"; then
    if ! { apt update && apt install --no-install-recommends "${missing[@]}"; }; then
        tail -n 20 "$log" >&2
        explain "apt-get could not install them."
    fi
fi
rm -f "$log" # exec runs no trap
finish
