#!/usr/bin/env bash
# redis-benchmark. Prints a line a check; exits 1 if one failed.
set -uo pipefail

suite=redis-benchmark
. "$(cd "$(dirname "$0")" && pwd)/checks.sh"

# Its figures overwrite each other on one line: the last is what came out.
benchmark() {
    timeout 60 redis-benchmark -h "$host" -p "$port" -q -n 2000 -c 10 "$@" 2>&1 | tr '\r' '\n'
}

measured() {
    contains "$1" "requests per second" "$2" && [[ $1 != *rror* ]] || { echo "$2: $1"; return 1; }
}

# It asks for CONFIG GET save and appendonly first, and its first test sends PING inline.
built_in() {
    local output
    output=$(benchmark -t ping)
    measured "$output" "-t ping" && contains "$output" "PING_INLINE" "-t ping" && contains "$output" "PING_MBULK" "-t ping"
}

own_command() {
    measured "$(benchmark -P 10 RL.TAKE "$prefix:take" 3000 1/h)" RL.TAKE &&
        equal "$(cli RL.PEEK "$prefix:take" 3000 1/h | sed -n 3p)" 1000 "what 2000 calls leave of 3000" &&
        measured "$(benchmark -r 100 -P 10 RL.RESERVE "$prefix:key:__rand_int__" 80 80 30000)" "RL.RESERVE, 100 keys" &&
        measured "$(benchmark --csv CL.THROTTLE "$prefix:throttle" 15 30 60 | sed 's/^.*CL.THROTTLE.*$/requests per second/')" "--csv"
}

resp3() {
    measured "$(benchmark -3 RL.TAKE "$prefix:resp3" 3000 1/h INFO)" "-3" &&
        equal "$(cli RL.PEEK "$prefix:resp3" 3000 1/h | sed -n 3p)" 1000 "what 2000 calls leave of 3000"
}

login() {
    local port=$SUITE_PASSWORD_PORT
    measured "$(benchmark -a "$SUITE_PASSWORD" --user default --dbnum 3 RL.TAKE "$prefix:login" 3000 1/h)" "user, password, database" &&
        equal "$(cli_with_login -n 3 RL.PEEK "$prefix:login" 3000 1/h | sed -n 3p)" 1000 "what 2000 calls leave of 3000 in database 3"
}

check "-t ping" built_in
check "RL commands, pipelined" own_command
check "-3" resp3
check "user, password, database" login
exit "$failed"
