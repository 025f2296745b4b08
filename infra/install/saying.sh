# Sourced by the other scripts here: how they speak, what they may do to the system, which Python they use.

say() { printf '%s\n' "$*" >&2; }

stop() {
    say "$@"
    exit 1
}

in_ci() { [ "${CI:-}" = true ] || [ "${CI:-}" = 1 ]; }

# How a command can be run with the system's rights: the words to put before it. Fails where it cannot.
rights() {
    if [ "$(id -u)" = 0 ]; then
        return 0
    fi
    if command -v sudo >/dev/null 2>&1 && sudo -n true >/dev/null 2>&1; then
        printf 'sudo -n'
        return 0
    fi
    return 1
}

works() { "$1" -c 'import sys; sys.exit(not sys.version_info >= (3, 11))' >/dev/null 2>&1; }

# The first Python that is new enough; PYTHON names another one.
find_python() {
    local name
    for name in ${PYTHON:-python3 python3.13 python3.12 python3.11 python3.14 python}; do
        if command -v "$name" >/dev/null 2>&1 && works "$name"; then
            command -v "$name"
            return 0
        fi
    done
    return 1
}
