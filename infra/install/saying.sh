# Sourced by the other scripts here: how they speak, and what they may do to the system.

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
