#!/usr/bin/env bash
# Probes as Kubernetes runs them inside the container: `exec` of `tollgate ping` or redis-cli, ready if the exit code is 0.
# redis-cli exits with 0 whatever PING is answered, so probes compare. Prints a line a check; exits 1 if one failed.
set -uo pipefail

suite=kubernetes
. "$(cd "$(dirname "$0")" && pwd)/../cli/checks.sh"

# Each as the `command` of a probe; only the port differs from what stands in a manifest. Password: REDISCLI_AUTH.
readonly PING_IS_PONG='[ "$(redis-cli -h 127.0.0.1 -p "$PROBE_PORT" ping)" = PONG ]'
readonly PING_OR_LOADING='
    reply=$(timeout -s TERM 5 redis-cli -h 127.0.0.1 -p "$PROBE_PORT" ping) || exit 1
    first=${reply%% *}
    [ "$reply" = PONG ] || [ "$first" = LOADING ] || [ "$first" = MASTERDOWN ]'
readonly ROLE_IS_MASTER='redis-cli -h 127.0.0.1 -p "$PROBE_PORT" info replication | tr -d "\r" | grep -qx role:master'
readonly IS_NOT_LOADING='redis-cli -h 127.0.0.1 -p "$PROBE_PORT" info persistence | tr -d "\r" | grep -qx loading:0'

readonly TOLLGATE_PING='TOLLGATE_PORT=$PROBE_PORT "$SUITE_BINARY" ping'
readonly PROBES=("$PING_IS_PONG" "$PING_OR_LOADING" "$ROLE_IS_MASTER" "$IS_NOT_LOADING" "$TOLLGATE_PING")

# probe PORT COMMAND: its exit code decides, as with Kubernetes.
probe() {
    PROBE_PORT=$1 timeout 10 sh -c "$2" >/dev/null 2>&1
}

all_ready() {
    local each
    for each in "${PROBES[@]}"; do
        probe "$1" "$each" || { echo "not ready: $each"; return 1; }
    done
}

none_ready() {
    local each
    for each in "${PROBES[@]}"; do
        ! probe "$1" "$each" || { echo "ready: $each"; return 1; }
    done
}

# Exactly PONG and a line feed.
exact() {
    equal "$(redis-cli -h "$host" -p "$port" ping | od -An -c | tr -s ' ')" ' P O N G \n' "ping"
}

without_password() {
    all_ready "$port"
}

with_password() {
    REDISCLI_AUTH=$SUITE_PASSWORD all_ready "$SUITE_PASSWORD_PORT"
}

refused() {
    none_ready "$SUITE_PASSWORD_PORT" && REDISCLI_AUTH=wrong none_ready "$SUITE_PASSWORD_PORT"
}

stopped() {
    none_ready 1                                            # nothing listens on port 1
}

check "PONG to the byte" exact
check "probes without a password: ready" without_password
check "probes with REDISCLI_AUTH: ready" with_password
check "probes without the password, or with a wrong one: not ready" refused
check "probes where no server is: not ready" stopped
exit "$failed"
