#!/usr/bin/env bash
# redis-cli, and the inline protocol by hand. Prints a line a check; exits 1 if one failed.
set -uo pipefail

suite=redis-cli
here=$(cd "$(dirname "$0")" && pwd)
. "$here/checks.sh"

one_shot() {
    equal "$(cli PING)" PONG PING &&
        equal "$(cli --no-raw RL.RESERVE "$prefix:one" 80 80 30000)" "(integer) 0" RL.RESERVE &&
        equal "$(cli RL.TAKE "$prefix:take" 10 10/h)" $'0\n10\n9\n-1\n360000' RL.TAKE &&
        equal "$(cli EXISTS "$prefix:take")" 1 EXISTS &&
        equal "$(cli TYPE "$prefix:take")" ratelimit TYPE &&
        between "$(cli PTTL "$prefix:take")" 300000 360000 PTTL &&
        equal "$(cli DEL "$prefix:take")" 1 DEL &&
        equal "$(cli --no-raw RL.USAGE "$prefix:take")" "(nil)" "RL.USAGE of nothing"
}

reservations() {
    local begin passed i least most
    local -a waits
    begin=$(date +%s%N)
    mapfile -t waits < <(cli -r 83 RL.RESERVE "$prefix:burst" 80 80 30000)
    passed=$((($(date +%s%N) - begin) / 1000))            # microseconds
    equal "${#waits[@]}" 83 "number of replies" || return
    for i in "${!waits[@]}"; do
        # The burst goes at once, then a slot every 12.5 ms, less the time that has passed. In 81 to 83 none may be early.
        least=$((((i - 79) * 12500 - passed) / 1000)) most=$((((i - 79) * 12500 + 999) / 1000))
        between "${waits[i]}" "$((least > 0 ? least : 0))" "$((most > 0 ? most : 0))" "reservation $((i + 1)), $passed us passed" || return
    done
}

info_form() {
    local flat map
    flat=$(cli --no-raw RL.TAKE "$prefix:info" 10 10/h INFO)
    map=$(cli -3 --no-raw RL.TAKE "$prefix:info" 10 10/h INFO)
    contains "$flat" '1) "granted"'$'\n'' 2) (integer) 1' "RESP2" &&
        contains "$map" '1# "granted" => (integer) 1' "RESP3" &&
        contains "$map" '(nil)' "RESP3 null" &&
        contains "$(cli -3 --no-raw RL.USAGE "$prefix:info")" '"capacity" => (integer) 10' "RL.USAGE"
}

other_verbs() {
    equal "$(cli RL.CHARGE "$prefix:charge" 10 10/h 15)" 2160000 RL.CHARGE &&
        equal "$(cli RL.PAUSE "$prefix:pause" 10m)" 600000 RL.PAUSE &&
        equal "$(cli RL.RESUME "$prefix:pause")" 1 RL.RESUME &&
        equal "$(cli RL.TAKE "$prefix:refund" 10 10/h COST 4)" $'0\n10\n6\n-1\n1440000' RL.TAKE &&
        equal "$(cli RL.REFUND "$prefix:refund" 2)" 2 RL.REFUND &&
        equal "$(cli RL.PEEK "$prefix:peek" 10 10/h)" $'0\n10\n10\n-1\n0' RL.PEEK &&
        equal "$(cli CL.THROTTLE "$prefix:cl" 15 30 60)" $'0\n16\n15\n-1\n2' CL.THROTTLE &&
        equal "$(cli RL.THROTTLE "$prefix:rl" 15 30 60)" $'0\n16\n15\n-1\n2' RL.THROTTLE &&
        equal "$(cli GCRA "$prefix:gcra" 4 1 10)" $'0\n5\n4\n-1\n10' GCRA &&
        equal "$(cli THROTTLE "$prefix:throttle" 2 1 60)" $'1\n2\n1\n60\n0' THROTTLE
}

databases() {
    equal "$(cli -n 3 RL.TAKE "$prefix:db" 5 1/h | sed -n 3p)" 4 "RL.TAKE in db 3" &&
        equal "$(cli EXISTS "$prefix:db")" 0 "EXISTS in db 0" &&
        equal "$(printf 'SELECT 3\nEXISTS %s\n' "$prefix:db" | cli)" $'OK\n1' "SELECT 3" &&
        equal "$(printf 'CLIENT SETNAME worker-1\nCLIENT GETNAME\n' | cli)" $'OK\nworker-1' "CLIENT SETNAME"
}

transaction() {
    local take="RL.TAKE $prefix:multi 10 1/h"
    equal "$(printf 'MULTI\n%s\nRL.RESERVE %s 10 1/h 0 COST 9\nEXEC\n' "$take" "$prefix:multi" | cli)" \
        $'OK\nQUEUED\nQUEUED\n0\n10\n9\n-1\n3600000\n0' "MULTI .. EXEC" &&
        contains "$(printf 'MULTI\nRL.TAKE\nEXEC\nPING\n' | cli)" EXECABORT "a call that cannot be queued"
}

pipe_mode() {
    local good mixed
    good=$(yes "RL.TAKE $prefix:pipe 1000 1/h" | head -n 1000 | sed 's/$/\r/' | cli --pipe)
    contains "$good" "errors: 0, replies: 1000" "1000 commands" &&
        equal "$(cli RL.PEEK "$prefix:pipe" 1000 1/h | sed -n 3p)" 0 "remaining after them" || return
    mixed=$(printf 'PING\r\nRL.TAKE %s ten 1/h\r\nPING\r\n' "$prefix:pipe" | cli --pipe)
    contains "$mixed" "errors: 1, replies: 3" "an error in the middle"
}

scan() {
    local each
    for each in a b c; do cli RL.TAKE "$prefix:scan:$each" 10 1/h >/dev/null; done
    equal "$(cli --scan --pattern "$prefix:scan:*" | sort)" "$prefix:scan:a"$'\n'"$prefix:scan:b"$'\n'"$prefix:scan:c" --scan &&
        equal "$(cli KEYS "$prefix:scan:a")" "$prefix:scan:a" KEYS
}

big_keys() {
    local output
    output=$(cli --bigkeys) || { echo "it ended with exit code $?: $output"; return 1; }
    contains "$output" "keys in the keyspace" "summary" &&
        contains "$output" " ratelimits with " "keys of limits"
}

# At a terminal redis-cli asks for COMMAND DOCS, for its HELP.
interactive() {
    local shown
    shown=$(python3 "$here/interactive.py" "$host" "$port" "RL.TAKE $prefix:typed 10 10/h" "SELECT 3" MULTI RL.TAKE EXEC "HELP RL.PAUSE" "NOSUCH x") ||
        { echo "it ended with exit code $?: $shown"; return 1; }
    contains "$shown" $'3) (integer) 9\n' RL.TAKE &&
        contains "$shown" "$host:$port[3]> " "prompt after SELECT" &&
        contains "$shown" "$host:$port[3](TX)> " "prompt after MULTI" &&
        contains "$shown" "(error) EXECABORT" EXEC &&
        contains "$shown" "RL.PAUSE key duration" "synopsis in HELP, from COMMAND DOCS" &&
        contains "$shown" "ERR unknown command 'NOSUCH'" "an unknown command"
}

statistics() {
    local lines
    # It goes on for ever: the end of its reader ends it, at the next line since lines are not held back.
    lines=$(timeout 20 stdbuf -oL redis-cli -h "$host" -p "$port" --stat -i 0.05 | head -n 5)
    equal "$(wc -l <<<"$lines")" 5 "lines of --stat" &&
        contains "$lines" requests "heading of --stat" &&
        [[ $(tail -n 1 <<<"$lines") =~ ^[0-9] ]] || { echo "--stat printed: $lines"; return 1; }
}

introspection() {
    contains "$(cli INFO server)" redis_version: INFO &&
        equal "$(cli CONFIG GET databases)" $'databases\n16' "CONFIG GET" &&
        between "$(cli COMMAND COUNT)" 40 1000 "COMMAND COUNT" &&
        contains "$(cli COMMAND DOCS RL.TAKE)" summary "COMMAND DOCS" &&
        equal "$(cli COMMAND GETKEYS RL.TAKE a 1 1 AND b 1 1)" $'a\nb' "COMMAND GETKEYS" &&
        contains "$(cli NOSUCH x)" "ERR unknown command 'NOSUCH'" "an unknown command"
}

inline() {
    equal "$(talk 'PING\r\nQUIT\r\n')" $'+PONG\n+OK' PING &&
        equal "$(talk '\r\nECHO "two words"\n\r\nQUIT\n')" $'$9\ntwo words\n+OK' "quotes, stray line ends" &&
        equal "$(talk "rl.take $prefix:inline 10 10/h\r\nQUIT\r\n")" $'*5\n:0\n:10\n:9\n:-1\n:360000\n+OK' RL.TAKE &&
        equal "$(talk '*1\r\n$4\r\nPING\r\nPING\r\n*1\r\n$4\r\nQUIT\r\n')" $'+PONG\n+PONG\n+OK' "both forms on one connection"
}

passwords() {
    local port=$SUITE_PASSWORD_PORT
    equal "$(cli --no-auth-warning -a "$SUITE_PASSWORD" PING)" PONG "right password" &&
        equal "$(REDISCLI_AUTH=$SUITE_PASSWORD cli -3 PING)" PONG "right password from the environment" &&
        contains "$(cli --no-auth-warning -a wrong PING)" WRONGPASS "wrong password" &&
        contains "$(cli PING)" NOAUTH "no password" &&
        contains "$(cli_with_login -n 3 CLIENT INFO)" " user=default" "user and password" &&
        contains "$(cli_with_login -3 -n 3 CLIENT INFO)" " db=3 " "user, password and database, RESP3" &&
        equal "$(talk "AUTH $SUITE_PASSWORD\r\nPING\r\nQUIT\r\n")" $'+OK\n+PONG\n+OK' "inline, as HAProxy asks"
}

# The proxy breaks the connection when the call is done and its reply under way. redis-cli does not send it again by itself.
cut_off() {
    local proxied=$SUITE_PROXY_PORT
    local -a id=(ID order-17)
    contains "$(port=$proxied cli RL.TAKE "$prefix:cut" 10 10/h)" "Server closed the connection" "without an ID" &&
        equal "$(cli RL.TAKE "$prefix:cut" 10 10/h | sed -n 3p)" 8 "sent again by hand" &&
        contains "$(port=$proxied cli RL.TAKE "$prefix:cut-id" 10 10/h "${id[@]}")" "Server closed the connection" "with an ID" &&
        equal "$(cli RL.TAKE "$prefix:cut-id" 10 10/h "${id[@]}" | sed -n 3p)" 9 "sent again by hand, with an ID"
}

subscribes() {
    local line
    coproc subscriber { stdbuf -oL redis-cli -h "$host" -p "$port" SUBSCRIBE "$prefix:channel" "__rl@0__:pause" 2>&1; }
    for ((i = 0; i < 6; i++)); do read -r -t 10 line <&"${subscriber[0]}" || { echo "no confirmation"; return 1; }; done
    equal "$(cli PUBLISH "$prefix:channel" hello)" 1 PUBLISH || return
    for ((i = 0; i < 3; i++)); do read -r -t 10 line <&"${subscriber[0]}" || { echo "no message"; return 1; }; done
    equal "$line" hello "the message" && equal "$(cli RL.PAUSE "$prefix:event" 10m)" 600000 RL.PAUSE || return
    for ((i = 0; i < 3; i++)); do read -r -t 10 line <&"${subscriber[0]}" || { echo "no event"; return 1; }; done
    kill "$subscriber_PID"
    contains "$line" "$prefix:event" "the event of a pause"
}

restart() {
    local port=$SUITE_RESTART_PORT reply
    equal "$(cli_with_login RL.CHARGE "$prefix:restart" 10 10/h 15)" 2160000 RL.CHARGE || return
    # In database 0: redis-cli logs in again after a break, but does not choose its database again.
    coproc lasting { redis-cli -h "$host" -p "$port" --user default --pass "$SUITE_PASSWORD" --no-auth-warning 2>&1; }
    local input=${lasting[1]}
    echo "RL.PAUSE $prefix:paused 10m" >&"$input"
    read -r -t 10 reply <&"${lasting[0]}" && equal "$reply" 600000 RL.PAUSE || return
    bash -c "$SUITE_RESTART" >/dev/null || { echo "the server did not restart"; return 1; }
    # redis-cli says once that the connection was closed, and connects again for the next line.
    printf 'RL.PAUSE %s 1000\n' "$prefix:paused" "$prefix:paused" >&"$input"
    read -r -t 10 reply <&"${lasting[0]}"
    [[ $reply != Error:* ]] || read -r -t 10 reply <&"${lasting[0]}"
    between "$reply" 540000 600000 "pause after the restart, same redis-cli" || return
    exec {input}>&-
    between "$(cli_with_login RL.PEEK "$prefix:restart" 10 10/h | sed -n 4p)" 2100000 2160000 "wait after the restart"
}

check "one-shot commands" one_shot
((failed == 0)) || exit 1
check "RL.RESERVE 80 80 30000, 83 times" reservations
check "INFO form in RESP2 and RESP3" info_form
check "the other RL commands and the dialects" other_verbs
check "SELECT 3 and -n 3, CLIENT SETNAME" databases
check "MULTI and EXEC" transaction
check "--pipe" pipe_mode
check "--scan and KEYS" scan
check "--stat" statistics
check "--bigkeys" big_keys
check "at a terminal" interactive
check "INFO, CONFIG, COMMAND" introspection
check "inline commands" inline
check "password: right, wrong, none" passwords
if is_built SUBSCRIBE; then check "SUBSCRIBE: a message, and the event of a pause" subscribes; fi
check "cut off between request and reply: with an ID the key is charged once" cut_off
check "reconnects after a restart, debt and pause are still there" restart
exit "$failed"
