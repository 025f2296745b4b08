#!/usr/bin/env bash
# Sees to the system packages.
#
#   system.sh run     what the product needs; stops with the one line to type where it may not install
#   system.sh test    and what the tests need; names what is missing and goes on, in CI it stops
#   system.sh venv    only what it takes to make a Python environment
#
# It says nothing and starts nothing when everything is there.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/saying.sh"

has_postgres() {
    command -v postgres >/dev/null 2>&1 || compgen -G '/usr/lib/postgresql/*/bin/postgres' >/dev/null
}

# Debian and Ubuntu ship half of the venv module apart. An environment that is there needs no second making.
can_make_environment() {
    [ -x "$here/../../.venv/bin/python" ] || "$python" -c 'import ensurepip, venv' >/dev/null 2>&1
}

# The box sees the programs of the distribution alone: one of the same name elsewhere is none there.
in_the_box() { [ -x "${COUNTERSIGN_SYSTEM_ROOT:-}/usr/bin/$1" ]; }

has_chromium() {
    local name
    for name in chromium-headless-shell chromium google-chrome-stable google-chrome; do
        command -v "$name" >/dev/null 2>&1 && return 0
    done
    return 1
}

# A compiler without the headers of the C library compiles nothing.
can_compile() {
    command -v make >/dev/null 2>&1 && gcc -E - <<<'#include <stdio.h>' >/dev/null 2>&1
}

is_there() {
    case $1 in
        bubblewrap) command -v bwrap >/dev/null 2>&1 ;;
        postgresql) has_postgres ;;
        build-essential) can_compile ;;
        iproute2) command -v ip >/dev/null 2>&1 ;;
        *-venv) can_make_environment ;;
        chromium-headless-shell) has_chromium ;;
        maven) in_the_box mvn ;;
        python3-pip) in_the_box pip ;;
        *) command -v "$1" >/dev/null 2>&1 ;;
    esac
}

purpose() {
    case $1 in
        bubblewrap) echo "the sealed box in which commands of a repository run" ;;
        git) echo "keeping a mirror of a repository" ;;
        redis-server) echo "tests of the set-up with Redis; each test run starts its own server" ;;
        postgresql) echo "tests of the set-up with PostgreSQL; each test run starts its own server" ;;
        iproute2) echo "tests that play the installation's networks" ;;
        build-essential) echo "tests that carry out a plan on a project in C" ;;
        npm) echo "tests that carry out a plan on a project in JavaScript" ;;
        maven) echo "tests that start Maven in the box" ;;
        python3-pip) echo "tests that set a project up with the distribution's pip in the box" ;;
        chromium-headless-shell) echo "tests that open a page of a repository's own site in the box" ;;
        *-venv) echo "making a Python environment" ;;
    esac
}

# The line a person would type to install packages here.
line_to_type() {
    if command -v apt-get >/dev/null 2>&1; then
        echo "sudo apt-get install -y $*"
    elif command -v dnf >/dev/null 2>&1; then
        echo "sudo dnf install -y $*" |
            sed 's/redis-server/redis/; s/postgresql/postgresql-server/; s/build-essential/gcc make/; s/iproute2/iproute/; s/chromium-headless-shell/chromium/; s/ [^ ]*-venv//'
    elif command -v pacman >/dev/null 2>&1; then
        echo "sudo pacman -S --needed $*" | sed 's/redis-server/valkey/; s/build-essential/base-devel/; s/chromium-headless-shell/chromium/; s/ [^ ]*-venv//'
    elif command -v zypper >/dev/null 2>&1; then
        echo "sudo zypper install $*" |
            sed 's/redis-server/redis/; s/postgresql/postgresql-server/; s/build-essential/gcc make/; s/chromium-headless-shell/chromium/; s/ [^ ]*-venv//'
    else
        echo "(with this system's package manager) install $*"
    fi
}

known_to_apt() {
    local name
    for name in "$@"; do
        apt-cache policy "$name" 2>/dev/null | grep -q 'Candidate: [^(]' || return 1
    done
}

# Installs with apt-get; what it prints is shown only when it fails.
apt_install() {
    local prefix log
    prefix=$(rights) || return 1
    log=$(mktemp)
    # shellcheck disable=SC2086  # the prefix is empty or two words
    if ! {
        { known_to_apt "$@" || $prefix apt-get update -q; } &&
            { $prefix env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "$@" ||
                { $prefix apt-get update -q &&
                    $prefix env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "$@"; }; }
    } >"$log" 2>&1 </dev/null; then
        tail -n 15 "$log" >&2
        rm -f "$log"
        return 1
    fi
    rm -f "$log"
}

missing=()
look_for() {
    local name
    missing=()
    for name in "$@"; do
        is_there "$name" || missing+=("$name")
    done
}

# Installs what is missing of the named packages; fails when something is still missing.
see_to() {
    look_for "$@"
    [ ${#missing[@]} = 0 ] && return 0
    if command -v apt-get >/dev/null 2>&1 && rights >/dev/null; then
        local name
        for name in "${missing[@]}"; do
            say "Installing $name: $(purpose "$name")."
        done
        # One name that this system does not know must not keep the others away.
        apt_install "${missing[@]}" || for name in "${missing[@]}"; do
            apt_install "$name" || say "The package manager did not install $name."
        done
        look_for "$@"
    fi
    [ ${#missing[@]} = 0 ]
}

python=$(find_python) ||
    stop "Python 3.11 or newer is needed and was not found. Name it with PYTHON=/path/to/python3."
venv=python$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')-venv
stop_with_line() {
    stop "Missing: ${missing[*]}. Please type this line, then try again:
  $(line_to_type "${missing[@]}")"
}

case ${1:-} in
    run) see_to git "$venv" bubblewrap || stop_with_line ;;
    venv) see_to "$venv" || stop_with_line ;;
    test)
        see_to git "$venv" bubblewrap redis-server postgresql build-essential iproute2 npm maven python3-pip chromium-headless-shell && exit 0
        in_ci && say "In CI nothing may be left out." && stop_with_line
        case " ${missing[*]} " in *" git "* | *-venv*) stop_with_line ;; esac
        say "Missing: ${missing[*]}. What needs them is left out and named at the end. To have it all:
  $(line_to_type "${missing[@]}")"
        ;;
    *) stop "Say run, test or venv." ;;
esac
