//! The clients written in Rust. Arguments: `sync`, `multiplexed` or `manager` (connections of redis-rs) or `fred`; `resp2`
//! or `resp3`. Prints a line a check; exits 1 if one failed.

mod checks;
mod fred_client;
mod redis_rs;
mod suite;
mod table;

use std::cell::Cell;
use std::env;
use std::process::ExitCode;

use suite::{Client, Options, Suite};

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let words: Vec<String> = env::args().collect();
    let (client, title) = match words.get(1).map(String::as_str) {
        Some("sync") => (Client::RedisRsSync, "redis-rs 1 sync"),
        Some("multiplexed") => (Client::RedisRsMultiplexed, "redis-rs 1 multiplexed"),
        Some("manager") => (Client::RedisRsManager, "redis-rs 1 ConnectionManager"),
        Some("fred") => (Client::Fred, "fred 10"),
        _ => return ExitCode::from(2),
    };
    let resp3 = words.get(2).is_some_and(|protocol| protocol == "resp3");
    let name = format!("{title} RESP{}", if resp3 { 3 } else { 2 });
    let failed = Cell::new(false);
    let suite = Suite { client, name, resp3, failed };
    match suite.connect("SUITE_PORT", Options::default()).await {
        Ok(mut connection) => checks::run(&suite, &mut connection).await,
        Err(error) => {
            println!("FAIL {}: connects: {error}", suite.name);
            suite.failed.set(true);
        }
    }
    if suite.failed.get() { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
