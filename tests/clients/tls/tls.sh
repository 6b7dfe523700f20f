#!/usr/bin/env bash
# Clients over TLS, with and without a certificate to show, and through the Unix socket. Argument: where `install` put the
# clients. Starts a server of its own. Prints a line a check; exits 1 if one failed.
set -uo pipefail

suite=tls
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../cli/checks.sh"
clients=$1
work=$(mktemp -d)
trap '"$here/../server" stop "$work/server" >/dev/null; rm -rf "$work"' EXIT

# sign NAME ALTERNATIVE: a key, and a certificate of the authority for it.
sign() {
    openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$work/$1.key" -out "$work/$1.csr" -subj "/CN=$1" &&
        openssl x509 -req -in "$work/$1.csr" -CA "$work/ca.crt" -CAkey "$work/ca.key" -CAcreateserial -days 2 \
            -extfile <(echo "subjectAltName=$2") -out "$work/$1.crt"
}

certificates() {
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$work/ca.key" -out "$work/ca.crt" \
        -subj "/CN=authority" -days 2 && sign server DNS:localhost,IP:127.0.0.1 && sign client DNS:client
}

certificates >"$work/openssl.log" 2>&1 || { cat "$work/openssl.log"; exit 1; }
tls_port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
socket=$work/tollgate.sock
"$here/../server" start "$SUITE_BINARY" "$work/server" --tls-port "$tls_port" --tls-cert-file "$work/server.crt" \
    --tls-key-file "$work/server.key" --tls-ca-cert-file "$work/ca.crt" --tls-auth-clients optional \
    --unixsocket "$socket" >/dev/null || exit 1
export TLS_PORT=$tls_port TLS_DIRECTORY=$work TLS_SOCKET=$socket

secure() {
    timeout 20 redis-cli -h localhost -p "$tls_port" --tls --cacert "$work/ca.crt" "$@" 2>&1
}

redis_cli() {
    equal "$(secure PING)" PONG PING &&
        equal "$(secure RL.RESERVE "$prefix:cli" 80 80 30000)" 0 RL.RESERVE &&
        equal "$(secure --cert "$work/client.crt" --key "$work/client.key" PING)" PONG "with a certificate" &&
        contains "$(timeout 20 redis-cli -p "$tls_port" --tls PING 2>&1)" "certificate verify failed" "an unknown authority"
}

redis_cli_bulk() {
    local sent
    sent=$(for ((i = 0; i < 20000; i++)); do printf 'RL.TAKE %s:pipe 100000 1/h\r\n' "$prefix"; done | secure --pipe)
    contains "$sent" "errors: 0, replies: 20000" "--pipe" &&
        equal "$(secure RL.PEEK "$prefix:pipe" 100000 1/h | sed -n 3p)" 80000 "what is left"
}

by_socket() {
    equal "$(redis-cli -s "$socket" PING)" PONG PING &&
        contains "$(redis-cli -s "$socket" CLIENT LIST)" "addr=$socket:0" "CLIENT LIST"
}

own_tools() {
    equal "$("$SUITE_BINARY" ping -h localhost -p "$tls_port" --tls --cacert "$work/ca.crt")" PONG "tollgate ping" &&
        equal "$("$SUITE_BINARY" cli -s "$socket" ECHO x)" x "tollgate cli"
}

wrong_port() {
    equal "$(redis-cli -p "$tls_port" PING 2>&1)" "ERR this port speaks TLS" "plain text" &&
        contains "$(timeout 20 redis-cli -p "$(<"$work/server/port")" --tls --cacert "$work/ca.crt" PING 2>&1)" \
            "wrong version number" "TLS"
}

python() {
    "$clients/redis-py-8/bin/python" "$here/redis_py.py"
}

node() {
    command node "$here/node.mjs"
}

check "redis-cli --tls" redis_cli
check "redis-cli --tls --pipe" redis_cli_bulk
check "redis-cli -s" by_socket
check "tollgate ping and cli" own_tools
check "the wrong port says so" wrong_port
check "redis-py over TLS and the Unix socket, blocking and asyncio" python
check "ioredis and node-redis over TLS and the Unix socket" node
exit "$failed"
