#!/usr/bin/env bash
# prometheus-redis-exporter scrapes a server. Prints a line a check; exits 1 if one failed.
set -uo pipefail

suite=redis_exporter
. "$(cd "$(dirname "$0")" && pwd)/../cli/checks.sh"

work=$(mktemp -d)
exporters=()
trap '((${#exporters[@]} == 0)) || kill "${exporters[@]}"; rm -rf "$work"' EXIT

# exporter NAME PORT: starts one for the server at that port, on a port of its own, which it leaves in the variable NAME.
exporter() {
    local -n own=$1
    own=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
    prometheus-redis-exporter -web.listen-address "127.0.0.1:$own" -redis.addr "redis://127.0.0.1:$2" >"$work/$1.log" 2>&1 &
    exporters+=($!)
}

# scrape PORT: what Prometheus would be told.
scrape() {
    python3 -c 'import sys, urllib.request; print(urllib.request.urlopen(sys.argv[1], timeout=10).read().decode())' \
        "http://127.0.0.1:$1/metrics" 2>&1
}

# metric NAME: its value in what is on standard input, labels and all.
metric() {
    awk -v name="$1" '$1 == name { print $2 }'
}

scrapes() {
    eventually scrape "$plain" || return
    cli RL.TAKE "$prefix:a" 10 1/h >/dev/null
    cli -n 3 RL.TAKE "$prefix:b" 10 1/h >/dev/null
    scrape "$plain" >"$work/metrics"
    equal "$(metric redis_up <"$work/metrics")" 1 redis_up &&
        equal "$(metric 'redis_exporter_last_scrape_error{err=""}' <"$work/metrics")" 0 "last scrape error"
}

# What it makes of INFO: a line that it cannot read would be missing here.
reads_info() {
    local name
    for name in connected_clients blocked_clients commands_processed_total connections_received_total rejected_connections_total \
        memory_used_bytes memory_used_rss_bytes memory_max_bytes uptime_in_seconds start_time_seconds process_id \
        rdb_last_save_timestamp_seconds rdb_last_bgsave_status rdb_changes_since_last_save rdb_bgsave_in_progress loading_dump_file \
        expired_keys_total evicted_keys_total total_error_replies connected_slaves cluster_enabled aof_enabled \
        config_maxclients config_maxmemory; do
        [[ $(metric "redis_$name" <"$work/metrics") =~ ^-?[0-9.e+]+$ ]] || { echo "no redis_$name"; return 1; }
    done
    contains "$(<"$work/metrics")" 'redis_mode="standalone",redis_version="' redis_instance_info &&
        contains "$(<"$work/metrics")" 'role="master"' redis_instance_info &&
        between "$(metric 'redis_db_keys{db="db3"}' <"$work/metrics")" 1 100000 "redis_db_keys of db 3" &&
        between "$(metric 'redis_db_keys_expiring{db="db0"}' <"$work/metrics")" 1 100000 "redis_db_keys_expiring of db 0"
}

# The password comes from the environment.
logs_in() {
    eventually scrape "$guarded" || return
    equal "$(scrape "$guarded" | metric redis_up)" 1 "redis_up with the password" &&
        equal "$(scrape "$stranger" | metric redis_up)" 0 "redis_up without it"
}

# It does not forgive a server for not having LATENCY LATEST.
logs_no_error() {
    local log
    log=$(grep -hE 'level=(error|warning|fatal)' "$work/plain.log" "$work/guarded.log")
    equal "$log" "" "errors in the log"
}

exporter plain "$port"
REDIS_PASSWORD=$SUITE_PASSWORD exporter guarded "$SUITE_PASSWORD_PORT"
exporter stranger "$SUITE_PASSWORD_PORT"
check "scrapes: redis_up 1" scrapes
check "reads INFO and the keyspace" reads_info
check "password from the environment" logs_in
check "logs no error" logs_no_error
exit "$failed"
