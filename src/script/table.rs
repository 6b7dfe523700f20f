//! The scripts that are known, a row each.

use super::Script;
use super::{
    bucket4j, django_redis, fastapi_limiter, fastify, kong, laravel, limits, nest,
    rate_limit_redis, rate_limiter_flexible, redis_rate, spring, throttled, ulule,
};

/// Every script that is known.
pub static SCRIPTS: &[Script] = &[
    Script {
        library: "rate-limiter-flexible",
        name: "consume",
        sha1: "a1de965f42e177aa339706bd580f049065eca79a",
        sha1_without_indents: "a1de965f42e177aa339706bd580f049065eca79a",
        run: rate_limiter_flexible::consume,
    },
    Script {
        library: "rate-limit-redis 6",
        name: "increment",
        sha1: "895b92e1712734e1b464999be23953485475357b",
        sha1_without_indents: "895b92e1712734e1b464999be23953485475357b",
        run: rate_limit_redis::increment,
    },
    Script {
        library: "rate-limit-redis 3 to 4.2.0, hono-rate-limiter",
        name: "increment",
        sha1: "3f424a504987d231baa2e19159bb5def8ad32f87",
        sha1_without_indents: "3f424a504987d231baa2e19159bb5def8ad32f87",
        run: rate_limit_redis::increment_3,
    },
    Script {
        library: "rate-limit-redis, hono-rate-limiter",
        name: "get",
        sha1: "6aeb97ed6086dcdeafdc6fda3999a0d0e38ec96a",
        sha1_without_indents: "6aeb97ed6086dcdeafdc6fda3999a0d0e38ec96a",
        run: rate_limit_redis::get,
    },
    Script {
        library: "@fastify/rate-limit 10 and later",
        name: "increment",
        sha1: "b8a19d47785922bb04e7a9fdb49e90d89be1b8af",
        sha1_without_indents: "ef5ad2f51a5533ba9c59f65df4d42bbcbe37bc31",
        run: fastify::increment,
    },
    Script {
        library: "@fastify/rate-limit 11",
        name: "peek",
        sha1: "4c7d9ef62b3d4f8efd8d11d5d2fd1a56b1e723bc",
        sha1_without_indents: "bdfe1ab038aa7c67f7b4071dc4491fc0e007c26c",
        run: fastify::peek,
    },
    Script {
        library: "@fastify/rate-limit 9",
        name: "increment",
        sha1: "3f481dd9e75a7c63c2facb091af19e1ab17f2cc7",
        sha1_without_indents: "95b09ef604f97f430debde9e6d47e89fce65de80",
        run: fastify::increment_9,
    },
    Script {
        library: "@nest-lab/throttler-storage-redis, nestjs-throttler-storage-redis",
        name: "hit",
        sha1: "f1e0da9c495676ab6904eb80db1f2811d5347f58",
        sha1_without_indents: "f1e0da9c495676ab6904eb80db1f2811d5347f58",
        run: nest::hit,
    },
    Script {
        library: "limits",
        name: "fixed window",
        sha1: "628bd136a573a06b346879695681af12ccef300f",
        sha1_without_indents: "95f5d119459f9bea9660e4f956fcbc832896a6c8",
        run: limits::fixed_window,
    },
    Script {
        library: "limits 5",
        name: "acquire of the sliding window",
        sha1: "e8ac2a60cb040b0dbb56815a1e9c6fd032ce62e7",
        sha1_without_indents: "a20a4edd1ca49d0daacc3b2c26eab755dc4f9d6a",
        run: limits::acquire_sliding_window,
    },
    Script {
        library: "limits 5",
        name: "sliding window",
        sha1: "e7a0a27d4101baabb124af209bb0245197a359a1",
        sha1_without_indents: "d99e10102ac4ca55279bab0e2053d91c47ef6132",
        run: limits::sliding_window,
    },
    Script {
        library: "fastapi-limiter 0.1",
        name: "hit",
        sha1: "a3f9e982197e9e887f6b5dcb7ec273863bb83aad",
        sha1_without_indents: "82ce941bd2be9e135204ee71e67be5d87c6410fe",
        run: fastapi_limiter::hit,
    },
    Script {
        library: "bucket4j",
        name: "create for a time",
        sha1: "c0569386b0382069581dfaa1a8d241140bc0eeb4",
        sha1_without_indents: "c0569386b0382069581dfaa1a8d241140bc0eeb4",
        run: bucket4j::create_for,
    },
    Script {
        library: "bucket4j",
        name: "create",
        sha1: "1fed031c105d7c0315b3fc2e4a75e697247264f5",
        sha1_without_indents: "1fed031c105d7c0315b3fc2e4a75e697247264f5",
        run: bucket4j::create,
    },
    Script {
        library: "bucket4j",
        name: "replace for a time",
        sha1: "535b2fd00a12a23393fe15cf99599ecc51cd3007",
        sha1_without_indents: "535b2fd00a12a23393fe15cf99599ecc51cd3007",
        run: bucket4j::replace_for,
    },
    Script {
        library: "bucket4j",
        name: "replace",
        sha1: "9450de540565d89de15092a716555821601f128b",
        sha1_without_indents: "9450de540565d89de15092a716555821601f128b",
        run: bucket4j::replace,
    },
    Script {
        library: "Laravel",
        name: "add to the cache",
        sha1: "a08c9c69b7c07ae2485190873b90d128a23e502d",
        sha1_without_indents: "a08c9c69b7c07ae2485190873b90d128a23e502d",
        run: laravel::add,
    },
    Script {
        library: "Laravel",
        name: "concurrency lock",
        sha1: "420ca604de4310d8301943a71390ee669720d640",
        sha1_without_indents: "38b09e99649e267dbd50195c74d3830b800e6064",
        run: laravel::lock,
    },
    Script {
        library: "Laravel",
        name: "concurrency release",
        sha1: "a50243715157b186c5162c69e02eff3bf0c7994a",
        sha1_without_indents: "8eddef8c3afc6383739b59f78db0a6d976726f2b",
        run: laravel::release,
    },
    Script {
        library: "Laravel",
        name: "concurrency count",
        sha1: "817a53172668fd358fc83b7f104147cccda1c466",
        sha1_without_indents: "eb042f65fa7abee0f709a77fa78b1b571d04d6ff",
        run: laravel::count,
    },
    Script {
        library: "Laravel",
        name: "release of a cache lock",
        sha1: "647c65a442733a1aa440f99908d249d13b4d6c4a",
        sha1_without_indents: "34342d67fd74141d4d1c625bf2711527ae2d13c2",
        run: laravel::release,
    },
    Script {
        library: "django-redis",
        name: "increment",
        sha1: "f4a7da3e5d8ea3b46642af08427151cae0190400",
        sha1_without_indents: "4d5728fca47840f6bc3ceb037b90ecedbbd12c9e",
        run: django_redis::increment,
    },
    Script {
        library: "django-redis",
        name: "increment or create",
        sha1: "4d15273b16b10c15e1d9202cbe93c959ab7d250b",
        sha1_without_indents: "1567a35c89b2e6403233513ce868d9c80938dbd2",
        run: django_redis::increment_or_create,
    },
    Script {
        library: "Kong",
        name: "usage",
        sha1: "c0c8112b7b72f6e62996d9728dce30fac38286b6",
        sha1_without_indents: "e591f5bd47dc25fc53c49cb9b4261bc5938cd9fe",
        run: kong::usage,
    },
    Script {
        library: "Kong",
        name: "add",
        sha1: "5d30863604236a151eb61aae06fd7c8ba051d3e0",
        sha1_without_indents: "c0d423d6150582385c85967982b594bd2c1abaee",
        run: kong::add,
    },
    Script {
        library: "rate-limit-redis 4.2.3 to 5",
        name: "increment",
        sha1: "81dbecea94d2d10514719b20ed51faf711529d9d",
        sha1_without_indents: "81dbecea94d2d10514719b20ed51faf711529d9d",
        run: rate_limit_redis::increment_4_2_3,
    },
    Script {
        library: "redis_rate 10",
        name: "allow",
        sha1: "f52a5b566060d79fd321d695df55bc918339c4aa",
        sha1_without_indents: "f0cb026eb514964ea37b87de09904274ec83d63f",
        run: redis_rate::allow,
    },
    Script {
        library: "redis_rate 10",
        name: "allow at most",
        sha1: "054143318f521948424aa25df61d7f7ba835a9d7",
        sha1_without_indents: "a2125fc4c22b18bac440b87b19a76122c574a95e",
        run: redis_rate::allow_at_most,
    },
    Script {
        library: "ulule/limiter 3",
        name: "increment",
        sha1: "f74233f556d3f99c50b61169cf8aa8d5deb63fb2",
        sha1_without_indents: "473ecc4462310992448f225775d8fe9caef68946",
        run: ulule::increment,
    },
    Script {
        library: "ulule/limiter 3",
        name: "peek",
        sha1: "566f5c6a17e5fddb9a10bf389f754edd0d899c61",
        sha1_without_indents: "904c0ecc4c8120d952c733e552d13211be0a26ed",
        run: ulule::peek,
    },
    Script {
        library: "throttled 2, go-redis",
        name: "compare and swap",
        sha1: "ebd682e30de074a6919bde872b507734c7c3ebe5",
        sha1_without_indents: "d8dc9188888310062cd7d11f894c0914e589e5cb",
        run: throttled::compare_and_swap,
    },
    Script {
        library: "throttled 2, redigo",
        name: "compare and swap",
        sha1: "6bdec824e189de50c67af6376ce88933ad7728a3",
        sha1_without_indents: "a9d9f3599e607a4664d77c691da0718bb2cd3a8f",
        run: throttled::compare_and_swap_or_keep,
    },
    Script {
        library: "Spring Cloud Gateway",
        name: "take",
        sha1: "0ad5736ed1c04aae6ec194376c784b89b8c08a7a",
        sha1_without_indents: "78365cbd621cd16600d2c31e54df4c6545acd429",
        run: spring::take,
    },
];

#[cfg(test)]
mod tests {
    use super::super::Digest;
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_row_names_a_script_of_its_own() {
        for column in [
            |script: &Script| script.sha1,
            |script: &Script| script.sha1_without_indents,
        ] {
            let digests: Option<BTreeSet<Digest>> = SCRIPTS
                .iter()
                .map(|script| Digest::parse(column(script).as_bytes()))
                .collect();
            assert_eq!(digests.map(|digests| digests.len()), Some(SCRIPTS.len()));
        }
    }
}
