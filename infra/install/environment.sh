#!/usr/bin/env bash
# Makes or brings up to date the Python environment in .venv, from the lock alone.
#
#   environment.sh run     what the product needs
#   environment.sh test    and the tools of the tests
#
# Every package is checked against the hashes in the lock. Where packages come from is pip's own configuration
# (PIP_INDEX_URL, pip.conf and the like). A stamp of the locks makes the second call do nothing.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/saying.sh"
cd "$here/../.."

level=${1:-run}
venv=.venv

stamp_of() {
    local locks=(requirements.lock pyproject.toml)
    [ "$1" = test ] && locks+=(requirements-test.lock)
    cat "${locks[@]}" | sha256sum | cut -d ' ' -f 1
}

# A test environment is good for running too.
up_to_date() {
    [ -x $venv/bin/python ] && works $venv/bin/python || return 1
    [ "$(cat "$venv/stamp-$level" 2>/dev/null)" = "$PWD $(stamp_of "$level")" ]
}

install() {
    local log
    log=$(mktemp)
    if ! $venv/bin/python -m pip install --quiet --disable-pip-version-check --no-input "$@" >"$log" 2>&1; then
        tail -n 20 "$log" >&2
        rm -f "$log"
        stop "The packages of the lock could not be installed. If the package index cannot be reached from here," \
            "point pip at one that can (PIP_INDEX_URL, or pip's configuration file)."
    fi
    rm -f "$log"
}

up_to_date && exit 0

if [ -x $venv/bin/python ] && ! works $venv/bin/python; then
    say "The environment in $venv belongs to a Python that is gone or too old: making it anew."
    rm -rf $venv
fi
if [ ! -x $venv/bin/python ] || ! $venv/bin/python -m pip --version >/dev/null 2>&1; then
    python=$(find_python) || stop "Python 3.11 or newer is needed and was not found. Name it with PYTHON=/path/to/python3."
    "$here/system.sh" venv
    say "Making a Python environment in $venv with $("$python" --version)" \
        "($("$python" -c 'import sys; print(sys.executable)'))."
    "$python" -m venv --clear $venv
fi

rm -f $venv/stamp-*
say "Installing the packages of the lock into $venv (about a minute the first time)."
install --require-hashes --no-deps -r requirements.lock
[ "$level" = test ] && install --require-hashes --no-deps -r requirements-test.lock
# A plain path entry: the import hook that setuptools would put there costs every process 15 ms at its start.
install --no-deps --no-build-isolation --config-settings editable_mode=compat --editable .
echo "$PWD $(stamp_of run)" >$venv/stamp-run
[ "$level" = test ] && echo "$PWD $(stamp_of test)" >$venv/stamp-test
exit 0
