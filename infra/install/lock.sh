#!/usr/bin/env bash
# Writes requirements.lock (what the product needs) and requirements-test.lock (what only the tests need) from
# pyproject.toml: every package with its version and the hashes of its files, for each Python and processor
# that we support, and without the address of any index.
#
# Pins that are still allowed stay as they are; UPGRADE=1 takes the newest of everything.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/saying.sh"
cd "$here/../.."
python=$PWD/.venv/bin/python

[ -x "$python" ] || "$here/environment.sh" run
if [ ! -x .venv/bin/uv ]; then
    say "Installing uv: it resolves the versions for the lock."
    "$python" -m pip install --quiet --disable-pip-version-check uv
fi

# uv does not read pip's configuration; the index is handed to it for this one run.
index=$("$python" -m pip config get global.index-url 2>/dev/null ||
    "$python" -m pip config get :env:.index-url 2>/dev/null || true)
[ -n "${PIP_INDEX_URL:-}" ] && index=$PIP_INDEX_URL
[ -n "$index" ] && export UV_DEFAULT_INDEX=$index

compile() {
    .venv/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
        --no-emit-find-links --no-annotate --no-header ${UPGRADE:+--upgrade} "$@"
}

names_in() { sed -n 's/^\([A-Za-z0-9._-]*\)==.*/\1/p' "$1"; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$python" - >"$work/build.in" <<'PYTHON'
import tomllib
with open("pyproject.toml", "rb") as file:
    print("\n".join(tomllib.load(file)["build-system"]["requires"]))
PYTHON

compile pyproject.toml "$work/build.in" --output-file requirements.lock
compile pyproject.toml --extra test "$work/build.in" --constraint requirements.lock \
    $(names_in requirements.lock | sed 's/^/--no-emit-package /') --output-file requirements-test.lock
say "requirements.lock pins $(names_in requirements.lock | wc -l) packages," \
    "requirements-test.lock $(names_in requirements-test.lock | wc -l) more."
