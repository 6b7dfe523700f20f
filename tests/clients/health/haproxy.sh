#!/usr/bin/env bash
# HAProxy in front of the servers, with the two ways in which it asks a Redis whether it is well, and what it passes on.
# Prints a line a check; exits 1 if one failed.
set -uo pipefail

suite=haproxy
. "$(cd "$(dirname "$0")" && pwd)/../cli/checks.sh"

work=$(mktemp -d)
trap '[[ ! -s $work/pid ]] || kill "$(<"$work/pid")"; rm -rf "$work"' EXIT

# The check of docs/operations.md, with AUTH where there is a password. All of it goes out as inline commands.
tcp_check() {
    local auth=$1
    printf "    option tcp-check\n    tcp-check connect\n"
    [[ -z $auth ]] || printf '    tcp-check send AUTH\\ %s\\r\\n\n    tcp-check expect string +OK\n' "$auth"
    cat <<'CHECK'
    tcp-check send PING\r\n
    tcp-check expect string +PONG
    tcp-check send info\ replication\r\n
    tcp-check expect string role:master
    tcp-check send QUIT\r\n
    tcp-check expect string +OK
CHECK
}

# backend NAME PORT CHECK..: the lines of CHECK as they stand.
backend() {
    printf 'backend %s\n%s\n    server tollgate %s:%s check inter 100ms fall 2 rise 1\n' "$1" "$3" "$host" "$2"
}

configure() {
    cat <<CONFIG
global
    stats socket $work/stats mode 600 level admin
    pidfile $work/pid
defaults
    mode tcp
    timeout connect 5s
    timeout client 5s
    timeout server 5s
    timeout check 1s
frontend front
    bind unix@$work/front
    default_backend redis-check
CONFIG
    backend redis-check "$port" "    option redis-check"
    backend tcp-check "$port" "$(tcp_check '')"
    backend password-tcp-check "$SUITE_PASSWORD_PORT" "$(tcp_check "$SUITE_PASSWORD")"
    backend password-user-tcp-check "$SUITE_PASSWORD_PORT" "$(tcp_check "default\\ $SUITE_PASSWORD")"
    backend password-redis-check "$SUITE_PASSWORD_PORT" "    option redis-check"
    backend password-wrong "$SUITE_PASSWORD_PORT" "$(tcp_check wrong)"
}

# ask SOCKET LINE: what a Unix socket answers to it.
ask() {
    python3 -c '
import socket, sys
client = socket.socket(socket.AF_UNIX)
client.connect(sys.argv[1])
client.sendall(sys.argv[2].encode().decode("unicode_escape").encode())
sys.stdout.write(b"".join(iter(lambda: client.recv(4096), b"")).decode().replace("\r", ""))' "$work/$1" "$2"
}

# state BACKEND: its server as HAProxy sees it, `UP L7OK` for one. INI stands before the first check has ended.
state() {
    ask stats 'show stat\n' | awk -F, -v name="$1" '
        NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i }
        $1 == "# pxname" { next }
        $1 == name && $2 == "tollgate" { sub(/^\* /, "", $column["check_status"]); print $column["status"], $column["check_status"] }'
}

is_in_state() {
    equal "$(state "$1")" "$2" "$1"
}

starts() {
    configure >"$work/configuration"
    haproxy -D -f "$work/configuration" >"$work/log" 2>&1 || { cat "$work/log"; return 1; }
    eventually is_in_state redis-check "UP L7OK"
}

without_password() {
    eventually is_in_state redis-check "UP L7OK" && eventually is_in_state tcp-check "UP L7OK"
}

with_password() {
    eventually is_in_state password-tcp-check "UP L7OK" && eventually is_in_state password-user-tcp-check "UP L7OK"
}

# redis-check cannot log in. Both wait for an answer that does not come until the check has taken too long.
told_from_unwell() {
    eventually is_in_state password-redis-check "DOWN L7TOUT" && eventually is_in_state password-wrong "DOWN L7TOUT"
}

passes_on() {
    local key=$prefix:passed
    equal "$(ask front "RL.TAKE $key 10 10/h\\r\\nQUIT\\r\\n")" $'*5\n:0\n:10\n:9\n:-1\n:360000\n+OK' "RL.TAKE through the proxy"
}

check "starts" starts
((failed == 0)) || exit 1
check "without a password: redis-check and tcp-check say UP" without_password
check "with a password: tcp-check with AUTH says UP" with_password
check "with a password: redis-check, and a wrong password, say DOWN" told_from_unwell
check "RL commands pass" passes_on
exit "$failed"
