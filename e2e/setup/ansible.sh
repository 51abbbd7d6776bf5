#!/usr/bin/env bash
# Unpacks the ansible-core of other Debian releases below bin/ansible, for the tests of "make test-long": nothing is
# installed. bin/ansible/<release>/bin has its programs. Where no Python of this machine can run one,
# bin/ansible/<release>/unavailable says so instead.
set -euo pipefail
cd "$(dirname "$0")/../.."

base=$PWD/bin/ansible
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
work=

fail() {
    [ -z "$work" ] || tail "$work/log" >&2
    echo "$1" >&2
    exit 1
}

# python_of prints the first Python of this machine with at least this minor version of 3. The one of the system comes
# first, since it has the libraries of an installed ansible-core.
python_of() {
    local p
    for p in /usr/bin/python3 $(compgen -c python3. | grep -xE 'python3\.[0-9]+' | sort -u) \
        "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.*/bin/python3; do
        if "$p" -c "import sys; sys.exit(sys.version_info < (3, $1))" 2>/dev/null; then
            echo "$p"
            return
        fi
    done
}

# apt_of runs an apt program that knows one release of Debian, from the mirror that this machine uses.
apt_of() {
    local release=$1 program=$2
    shift 2
    "$program" -q -o Dir::Etc::sourceparts=/dev/null -o Dir::Etc::sourcelist="$work/$release.list" \
        -o Dir::State::lists="$work/$release" -o Dir::Cache="$work/cache" -o Acquire::Languages=none \
        -o APT::Sandbox::User="$(id -un)" -o Acquire::Retries=3 "$@"
}

# unpack puts packages of a release into a directory.
unpack() {
    local release=$1 into=$2 deb
    shift 2
    if [ ! -e "$work/$release" ]; then
        mkdir -p "$work/$release/partial" "$work/cache/archives/partial"
        echo "deb $options $mirror $release main" >"$work/$release.list"
        apt_of "$release" apt-get update >>"$work/log" 2>&1 || fail "Debian's $release cannot be read from $mirror."
    fi
    mkdir -p "$work/debs-$release"
    for deb in "$@"; do
        (cd "$work/debs-$release" && apt_of "$release" apt-get download "$deb/$release") >>"$work/log" 2>&1 ||
            fail "The package $deb of Debian's $release cannot be fetched from $mirror."
        dpkg-deb -x "$work/debs-$release/${deb}"_*.deb "$into"
    done
}

# prepare makes the directory of a release, with the ansible-core of that release and a Python of at least 3.<minor>.
prepare() {
    local release=$1 minor=$2 dir=$base/$1 python site program
    ! "$dir/bin/ansible-playbook" --version >/dev/null 2>&1 || return 0
    rm -rf "$dir"
    mkdir -p "$dir"
    python=$(python_of "$minor")
    if [ -z "$python" ]; then
        echo "The ansible-core of Debian's $release needs Python 3.$minor or newer, and this machine has none." |
            tee "$dir/unavailable"
        return 0
    fi
    start
    echo "Unpacking the ansible-core of Debian's $release into bin/ansible/$release"
    unpack "$release" "$work/$release-files" ansible-core
    if [ "$python" != /usr/bin/python3 ]; then # another Python has none of the libraries
        unpack trixie "$work/$release-files" python3-jinja2 python3-markupsafe python3-packaging python3-resolvelib python3-yaml
    fi
    "$python" -m venv --without-pip --system-site-packages "$dir"
    site=$("$dir/bin/python3" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
    cp -r "$work/$release-files/usr/lib/python3/dist-packages/." "$site"
    for program in "$work/$release-files"/usr/bin/ansible*; do
        sed "1s|.*|#!$dir/bin/python3|" "$program" >"$dir/bin/${program##*/}"
        chmod 0755 "$dir/bin/${program##*/}"
    done
    if ! "$dir/bin/ansible-playbook" --version >"$work/version" 2>&1; then
        rm -rf "${dir:?}"/*
        { echo "The ansible-core of Debian's $release does not run with $python:" && tail -n 1 "$work/version"; } |
            tee "$dir/unavailable"
    fi
}

# start finds the mirror.
start() {
    [ -z "$work" ] || return 0
    command -v dpkg-deb >/dev/null || fail "Tests with other versions of Ansible need apt-get and dpkg-deb, which this machine lacks."
    mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' 'Label: Debian' | sort -u | sed -n 1p)
    [ -n "$mirror" ] || fail "Tests with other versions of Ansible need Debian's packages, and no mirror of Debian is known to apt: run apt-get update."
    options=
    [ ! -e "$keyring" ] || options="[signed-by=$keyring]"
    work=$(mktemp -d)
    : >"$work/log"
    trap 'rm -rf "$work"' EXIT
}

prepare trixie 11
prepare forky 13
