//! The categories of commands that Redis has as well are Redis's.

use crate::server::Server;
use std::collections::BTreeSet;
use tollgate::acl::Categories;
use tollgate::command::spec::{Group, Spec};
use tollgate::command::table::COMMANDS;

/// What Redis 7.0 says in COMMAND of those that are here too: a name, its categories, and what is done to each kind of
/// key that it has.
const REDIS: &str = include_str!("redis.txt");

fn rows() -> impl Iterator<Item = &'static Spec> {
    let rows = COMMANDS.iter();
    rows.flat_map(|spec| std::iter::once(*spec).chain(spec.subcommands))
}

/// As a line of the file.
fn line(spec: &Spec) -> String {
    let categories: BTreeSet<&str> = spec.categories().names().collect();
    let categories: Vec<&str> = categories.into_iter().collect();
    let has_keys = !matches!(spec.keys, tollgate::command::spec::Keys::None);
    let count = if has_keys { spec.uses.distinct() } else { 0 };
    let uses = (0..count).map(|nth| {
        let names = spec.uses.in_general(spec.flags, nth).names();
        format!(" {}", names.join(","))
    });
    format!(
        "{} @{}{}",
        spec.lower_name(),
        categories.join(",@"),
        uses.collect::<String>()
    )
}

#[test]
fn commands_of_redis_have_its_categories_and_uses_of_keys() {
    let ours: BTreeSet<String> = rows().map(line).collect();
    let missing: Vec<&str> = REDIS.lines().filter(|line| !ours.contains(*line)).collect();
    assert!(REDIS.lines().count() > 150);
    assert!(missing.is_empty(), "{missing:#?}");
}

#[test]
fn every_row_is_fast_or_slow_and_those_of_limits_are_of_ratelimit() {
    for spec in rows() {
        let (fast, slow) = (
            spec.categories().meets(Categories::FAST),
            spec.categories().meets(Categories::SLOW),
        );
        assert!(fast != slow, "{}", spec.name);
        let of_limits = spec.categories().meets(Categories::RATELIMIT);
        assert_eq!(of_limits, spec.group == Group::RateLimit, "{}", spec.name);
    }
}

/// The rules that the documentation gives a tenant.
#[test]
fn the_recipe_for_a_tenant_gives_it_limits_and_nothing_dangerous() {
    let page = include_str!("../../docs/operations.md");
    let recipe = page
        .lines()
        .find(|line| line.starts_with("ACL SETUSER tenant7 "));
    let server = Server::new();
    let mut admin = server.connect();
    assert_eq!(admin.line(recipe.unwrap()), "+OK\r\n");
    for spec in rows().filter(|spec| spec.subcommands.is_empty()) {
        // Enough words, all of them keys of its own.
        let mut words = vec!["ACL", "DRYRUN", "tenant7"];
        words.extend(spec.name.split('|'));
        words.resize(3 + spec.arity.min.max(2), "tenant7:a");
        words.truncate(spec.arity.max.saturating_add(3));
        let reply = admin.call(&words);
        let categories = spec.categories();
        if categories.meets(Categories::DANGEROUS) {
            assert!(
                reply.contains("no permissions to run"),
                "{words:?}: {reply}"
            );
        } else if categories.meets(Categories::RATELIMIT) {
            assert_eq!(reply, "+OK\r\n", "{words:?}");
        }
    }
    for name in [
        "KEYS *",
        "SCAN 0",
        "RANDOMKEY",
        "DBSIZE",
        "FLUSHALL",
        "GET tenant7:a",
        "PUBSUB CHANNELS",
    ] {
        let reply = admin.line(&format!("ACL DRYRUN tenant7 {name}"));
        assert!(reply.contains("no permissions to run"), "{name}: {reply}");
    }
}

#[test]
fn what_lists_the_names_of_all_keys_is_not_of_ratelimit() {
    for name in [
        "KEYS",
        "SCAN",
        "RANDOMKEY",
        "DBSIZE",
        "MONITOR",
        "RL.POLICY|SET",
    ] {
        let spec = rows().find(|spec| spec.name == name).unwrap();
        let safe = spec.categories().meets(Categories::RATELIMIT)
            && !spec.categories().meets(Categories::DANGEROUS);
        assert!(!safe, "{name}");
    }
}
