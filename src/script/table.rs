//! The scripts that are known, a family of rows for each library.

use super::Script;
use super::{
    async_ratelimiter, bucket4j, django_redis, fastapi_limiter, fastify, kong, laravel,
    laravel_duration, limits, limits_moving, locks, nest, pyrate_limiter, rate_limit_redis,
    rate_limiter_flexible, redis_gcra, redis_rate, rueidislimiter, spring, throttled, traefik,
    ulule,
};

/// Every script that is known, by family.
static FAMILIES: &[&[Script]] = &[
    async_ratelimiter::SCRIPTS,
    bucket4j::SCRIPTS,
    django_redis::SCRIPTS,
    fastapi_limiter::SCRIPTS,
    fastify::SCRIPTS,
    kong::SCRIPTS,
    laravel::SCRIPTS,
    laravel_duration::SCRIPTS,
    limits::SCRIPTS,
    limits_moving::SCRIPTS,
    locks::SCRIPTS,
    nest::SCRIPTS,
    pyrate_limiter::SCRIPTS,
    rate_limit_redis::SCRIPTS,
    rate_limiter_flexible::SCRIPTS,
    redis_gcra::SCRIPTS,
    redis_rate::SCRIPTS,
    rueidislimiter::SCRIPTS,
    spring::SCRIPTS,
    throttled::SCRIPTS,
    traefik::SCRIPTS,
    ulule::SCRIPTS,
];

/// Every script that is known.
pub fn scripts() -> impl Iterator<Item = &'static Script> {
    FAMILIES.iter().copied().flatten()
}

#[cfg(test)]
mod tests {
    use super::super::Digest;
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_row_names_a_script_of_its_own() {
        let columns = [
            |script: &Script| script.sha1,
            |script: &Script| script.sha1_without_indents,
        ];
        for column in columns {
            let digests: Option<BTreeSet<Digest>> = scripts()
                .map(|script| Digest::parse(column(script).as_bytes()))
                .collect();
            assert_eq!(
                digests.map(|digests| digests.len()),
                Some(scripts().count())
            );
        }
    }
}
