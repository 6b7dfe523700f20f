# What the suites in bash share; to be sourced. `suite` is the suite's name.

host=$SUITE_HOST port=$SUITE_PORT
failed=0
prefix=$suite:$$

# check TITLE FUNCTION: the function prints what is wrong and returns 1, or returns 0.
check() {
    local why
    if why=$("$2" 2>&1); then
        echo "ok   $suite: $1"
    else
        failed=1
        echo "FAIL $suite: $1: ${why//$'\n'/ | }"
    fi
}

equal() {
    [[ $1 == "$2" ]] || { printf '%s: expected %q, got %q\n' "$3" "$2" "$1"; return 1; }
}

contains() {
    [[ $1 == *"$2"* ]] || { printf '%s: expected a text with %q, got %q\n' "$3" "$2" "$1"; return 1; }
}

between() {
    [[ $1 =~ ^-?[0-9]+$ ]] && (($1 >= $2 && $1 <= $3)) || { printf '%s: expected %s..%s, got %q\n' "$4" "$2" "$3" "$1"; return 1; }
}

# is_built NAME: not among what the server does not have yet.
is_built() {
    [[ " $SUITE_NOT_YET " != *" $1 "* ]]
}

# eventually COMMAND...: until it succeeds, for 10 s at most; then says what it printed last.
eventually() {
    local why
    for ((look = 0; look < 100; look++)); do
        why=$("$@" 2>&1) && return
        sleep 0.1
    done
    echo "$why"
    return 1
}

cli() {
    timeout 20 redis-cli -h "$host" -p "$port" "$@" 2>&1
}

# Logs in as the user `default`; with -a alone no user is named.
cli_with_login() {
    cli --user default --pass "$SUITE_PASSWORD" --no-auth-warning "$@"
}

# talk BYTES: sends them on a new connection and prints what comes until the server closes it (they should end in QUIT).
talk() {
    exec 3<>"/dev/tcp/$host/$port" || return
    printf '%b' "$1" >&3
    timeout 10 cat <&3 | tr -d '\r'
    exec 3>&-
}
