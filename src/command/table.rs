//! The table of commands.

use super::acl;
use super::collections::{hash, list, sorted_set};
use super::connection::{auth, client, hello, ping, reset, select};
use super::keys::{delete, exists, expire, flush, object, rename, scan, ttl};
use super::pubsub::{inspect, publish, subscribe};
use super::ratelimit::{
    acquire, charge, dialects, leases, pause, peek, policy, refund, reserve, resume, take, tickets,
    top, usage,
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
    &top::TOP,
    &top::HISTORY,
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

static BY_NAME: LazyLock<HashMap<u128, &'static Spec, ahash::RandomState>> = LazyLock::new(|| {
    let row = |spec: &&'static Spec| Some((number_of(spec.name.as_bytes())?, *spec));
    COMMANDS.iter().filter_map(row).collect()
});

/// A name of up to 16 bytes, which no command's is longer than, as a number that is the same in any case. Names are of
/// letters, digits and dots: nothing but the same letters in another case has the number of one.
fn number_of(name: &[u8]) -> Option<u128> {
    const CASE: u128 = u128::from_le_bytes([0x40; 16]);
    let mut bytes = [0; 16];
    bytes.get_mut(..name.len())?.copy_from_slice(name);
    let number = u128::from_le_bytes(bytes);
    Some(number & !((number & CASE) >> 1))
}

/// The names of all rows, those of subcommands included.
pub fn names() -> impl Iterator<Item = &'static str> {
    let rows = COMMANDS.iter();
    rows.flat_map(|spec| std::iter::once(*spec).chain(spec.subcommands))
        .map(|spec| spec.name)
}

/// The command of that name, in any case.
pub fn find(name: &[u8]) -> Option<&'static Spec> {
    let spec = *BY_NAME.get(&number_of(name)?)?;
    // Zeros behind a name do not show in its number.
    (spec.name.len() == name.len()).then_some(spec)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_found_in_any_case_and_nothing_else_is() {
        for spec in COMMANDS {
            let (name, lower) = (spec.name.as_bytes(), spec.name.to_ascii_lowercase());
            assert!(
                name.iter().all(|byte| byte.is_ascii_uppercase()
                    || byte.is_ascii_digit()
                    || *byte == b'.')
            );
            for word in [name, lower.as_bytes()] {
                assert!(find(word).is_some_and(|found| found.name == spec.name));
            }
            let longer = [name, b"\0"].concat();
            assert!(
                find(&longer).is_none() && find(&name[1..]).is_none_or(|it| it.name != spec.name)
            );
            for at in 0..name.len() {
                let mut other = name.to_vec();
                for bit in (0..8).filter(|bit| 1 << bit != 0x20) {
                    other[at] ^= 1 << bit;
                    assert!(find(&other).is_none_or(|found| found.name.as_bytes() == other));
                    other[at] ^= 1 << bit;
                }
            }
        }
        assert!(find(b"").is_none() && find(&[b'A'; 17]).is_none());
    }
}
