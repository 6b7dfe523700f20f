//! The table of commands.

use super::acl;
use super::collections::{hash, list, sorted_set};
use super::connection::{auth, client, hello, ping, reset, select};
use super::keys::{delete, exists, expire, flush, object, rename, scan, ttl};
use super::pubsub::{inspect, publish, subscribe};
use super::ratelimit::{
    acquire, charge, dialects, leases, pause, peek, policy, refund, reserve, resume, take, tickets,
    usage,
};
use super::scripting::{eval, script};
use super::server::{
    cluster, command, config, debug, info, latency, memory, module, monitor, replication, save,
    shutdown, slowlog, time,
};
use super::spec::Spec;
use super::strings::{counter, get, increx, many, set};
use super::transaction;
use std::collections::HashMap;
use std::sync::LazyLock;

/// Every command, in the order of the documentation.
pub static COMMANDS: &[&Spec] = &[
    // Limits.
    &reserve::SPEC,
    &take::SPEC,
    &acquire::SPEC,
    &peek::SPEC,
    &pause::SPEC,
    &resume::SPEC,
    &usage::SPEC,
    &refund::SPEC,
    &charge::SPEC,
    &tickets::CONFIRM,
    &tickets::CANCEL,
    &tickets::SETTLE,
    &leases::LEASE,
    &leases::RENEW,
    &leases::RELEASE,
    &leases::LEASES,
    &policy::SPEC,
    &dialects::CL_THROTTLE,
    &dialects::RL_THROTTLE,
    &dialects::GCRA,
    &dialects::THROTTLE,
    // Keys of any kind.
    &exists::EXISTS,
    &exists::TYPE,
    &exists::TOUCH,
    &delete::DEL,
    &delete::UNLINK,
    &ttl::TTL,
    &ttl::PTTL,
    &ttl::EXPIRETIME,
    &ttl::PEXPIRETIME,
    &expire::EXPIRE,
    &expire::PEXPIRE,
    &expire::EXPIREAT,
    &expire::PEXPIREAT,
    &expire::PERSIST,
    &rename::RENAME,
    &rename::RENAMENX,
    &scan::KEYS,
    &scan::SCAN,
    &scan::RANDOMKEY,
    &object::SPEC,
    &flush::DBSIZE,
    &flush::FLUSHDB,
    &flush::FLUSHALL,
    // Plain strings and counters.
    &get::GET,
    &set::SET,
    &set::SETNX,
    &set::SETEX,
    &set::PSETEX,
    &set::GETSET,
    &get::GETDEL,
    &get::GETEX,
    &many::MGET,
    &many::MSET,
    &many::MSETNX,
    &get::STRLEN,
    &counter::INCR,
    &counter::INCRBY,
    &counter::INCRBYFLOAT,
    &counter::DECR,
    &counter::DECRBY,
    &increx::INCREX,
    // Hashes.
    &hash::HSET,
    &hash::HMSET,
    &hash::HGET,
    &hash::HMGET,
    &hash::HGETALL,
    &hash::HLEN,
    &hash::HEXISTS,
    &hash::HDEL,
    &hash::HINCRBY,
    // Lists.
    &list::LPUSH,
    &list::RPUSH,
    &list::LLEN,
    &list::LINDEX,
    &list::LRANGE,
    &list::LTRIM,
    // Sorted sets.
    &sorted_set::ZADD,
    &sorted_set::ZINCRBY,
    &sorted_set::ZREM,
    &sorted_set::ZCARD,
    &sorted_set::ZSCORE,
    &sorted_set::ZCOUNT,
    &sorted_set::ZRANGE,
    &sorted_set::ZREVRANGE,
    &sorted_set::ZRANGEBYSCORE,
    &sorted_set::ZREVRANGEBYSCORE,
    &sorted_set::ZREMRANGEBYSCORE,
    &sorted_set::ZREMRANGEBYRANK,
    // The connection.
    &ping::PING,
    &ping::ECHO,
    &hello::SPEC,
    &auth::SPEC,
    &select::SPEC,
    &reset::QUIT,
    &reset::RESET,
    &client::SPEC,
    // Transactions.
    &transaction::MULTI,
    &transaction::EXEC,
    &transaction::DISCARD,
    &transaction::WATCH,
    &transaction::UNWATCH,
    // Publish and subscribe.
    &publish::PUBLISH,
    &subscribe::SUBSCRIBE,
    &subscribe::UNSUBSCRIBE,
    &subscribe::PSUBSCRIBE,
    &subscribe::PUNSUBSCRIBE,
    &publish::SPUBLISH,
    &subscribe::SSUBSCRIBE,
    &subscribe::SUNSUBSCRIBE,
    &inspect::SPEC,
    // Scripts.
    &eval::EVAL,
    &eval::EVALSHA,
    &script::SPEC,
    // The server.
    &command::SPEC,
    &info::SPEC,
    &config::SPEC,
    &acl::SPEC,
    &time::SPEC,
    &save::SAVE,
    &save::BGSAVE,
    &save::LASTSAVE,
    &shutdown::SPEC,
    &slowlog::SPEC,
    &latency::SPEC,
    &memory::SPEC,
    &monitor::SPEC,
    &module::SPEC,
    &replication::ROLE,
    &replication::WAIT,
    &replication::REPLICAOF,
    &replication::SLAVEOF,
    &replication::FAILOVER,
    &cluster::CLUSTER,
    &cluster::READONLY,
    &cluster::READWRITE,
    &cluster::ASKING,
    &debug::SPEC,
];

/// Longest command name; a longer word is none.
const NAME_BYTES_MAX: usize = 32;

static BY_NAME: LazyLock<HashMap<&'static [u8], &'static Spec, ahash::RandomState>> =
    LazyLock::new(|| {
        COMMANDS
            .iter()
            .map(|spec| (spec.name.as_bytes(), *spec))
            .collect()
    });

/// The names of all rows, those of subcommands included.
pub fn names() -> impl Iterator<Item = &'static str> {
    let rows = COMMANDS.iter();
    rows.flat_map(|spec| std::iter::once(*spec).chain(spec.subcommands))
        .map(|spec| spec.name)
}

/// The command of that name, in any case.
pub fn find(name: &[u8]) -> Option<&'static Spec> {
    let mut upper = [0; NAME_BYTES_MAX];
    let upper = upper.get_mut(..name.len())?;
    upper.copy_from_slice(name);
    upper.make_ascii_uppercase();
    BY_NAME.get(&*upper).copied()
}
