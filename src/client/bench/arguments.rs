//! Flags of `tollgate bench`, in the spirit of redis-benchmark's.

use std::ffi::OsString;
use std::time::Duration;

use clap::Args;

use super::keys::Draw;
use crate::client::arguments::{Target, timeout};
use crate::core::number;

const EXAMPLES: &str = "\
In any argument __key__ becomes a key of 14 bytes and __rand_int__ 12 digits, each time anew.

Examples:
  tollgate bench RL.RESERVE __key__ 80 80 30000            closed loop: as fast as 50 connections go
  tollgate bench -P 16 -n 1000000 -r 1000000 GET __key__   sixteen calls in flight on each
  tollgate bench --rate 20000 --duration 30s RL.TAKE __key__ 80 80
                                                           open loop: what callers would see at 20000 a second
  tollgate bench --mix '9: RL.TAKE __key__ 5 5/m' --mix 'RL.USAGE __key__'";

/// Flags of `tollgate bench`.
#[derive(Args, Clone, Debug)]
#[command(disable_help_flag = true, after_help = EXAMPLES)]
pub struct BenchArguments {
    /// Which server.
    #[command(flatten)]
    pub target: Target,

    /// Database
    #[arg(long = "db", value_name = "DB", default_value_t = 0)]
    pub database: u64,

    /// Speak RESP3
    #[arg(short = '3', long = "resp3")]
    pub resp3: bool,

    /// Connections
    #[arg(short = 'c', long, visible_alias = "clients", value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    pub connections: u64,

    /// Calls in flight on each connection: sent together in a closed loop, at most so many in an open one
    #[arg(short = 'P', long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    pub pipeline: u64,

    /// Calls in all [default: 100000 if there is no --duration]
    #[arg(short = 'n', long, visible_alias = "requests", value_name = "N", conflicts_with = "duration", value_parser = clap::value_parser!(u64).range(1..))]
    pub calls: Option<u64>,

    /// Send calls for so long, such as 30s
    #[arg(long, value_name = "DURATION", value_parser = timeout)]
    pub duration: Option<Duration>,

    /// Send calls for so long before any is counted
    #[arg(long, value_name = "DURATION", default_value = "0s", value_parser = span)]
    pub warmup: Duration,

    /// Calls a second in all, sent when they are due whether or not earlier ones are answered (open loop)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    pub rate: Option<u64>,

    /// Key numbers to draw from
    #[arg(short = 'r', long, value_name = "N", default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(1..=10_000_000_000))]
    pub keys: u64,

    /// How they are drawn: uniform, zipf or zipf:EXPONENT, sequence (0, 1, 2...)
    #[arg(long, value_name = "HOW", default_value = "uniform", value_parser = Draw::parse)]
    pub draw: Draw,

    /// Where the draws start from; the same seed sends the same keys
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,

    /// Threads that send and receive; one keeps up with a server of one core
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=256))]
    pub threads: u64,

    /// Give up when calls are outstanding and nothing has come for so long
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = timeout)]
    pub patience: Duration,

    /// A command line, `WEIGHT: ` before it or not; several are mixed by their weights
    #[arg(long, value_name = "LINE")]
    pub mix: Vec<OsString>,

    /// Print the result as one JSON object
    #[arg(long)]
    pub json: bool,

    /// Show nothing while it runs
    #[arg(short, long)]
    pub quiet: bool,

    /// The command and its arguments
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "COMMAND"
    )]
    pub words: Vec<OsString>,
}

fn span(value: &str) -> Result<Duration, String> {
    let span = number::duration(value.as_bytes());
    let span = span.ok_or_else(|| "a duration, such as 500ms or 2s".to_owned())?;
    Ok(Duration::from_nanos(span.as_ns()))
}
