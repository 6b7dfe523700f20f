//! Flags of `tollgate top`.

use std::time::Duration;

use clap::{Args, ValueEnum};

use super::reading::Kind;
use crate::client::arguments::{Target, timeout};

const EXAMPLES: &str = "\
Keys: arrows or j k choose a key, Enter shows it, Tab changes what is ranked, / filters by a pattern, ? tells the rest.

Examples:
  tollgate top                             what goes on, live
  tollgate top --kind paused               begin with the keys that are paused
  tollgate top --once --match 'tenant7:*'  one look, as text
  tollgate top --json                      the same for programs";

/// Flags of `tollgate top`.
#[derive(Args, Clone, Debug)]
#[command(disable_help_flag = true, after_help = EXAMPLES)]
pub struct TopArguments {
    /// Which server.
    #[command(flatten)]
    pub target: Target,

    /// Database
    #[arg(short = 'n', long = "db", value_name = "DB", default_value_t = 0)]
    pub database: u64,

    /// How often to ask the server, from 100ms
    #[arg(short, long, value_name = "DURATION", default_value = "1s", value_parser = interval)]
    pub interval: Duration,

    /// What to rank the keys by; one look prints all [default: denied]
    #[arg(long, value_enum, value_name = "KIND")]
    pub kind: Option<Kind>,

    /// Only keys that match a pattern, such as tenant7:*
    #[arg(long = "match", value_name = "PATTERN")]
    pub pattern: Option<String>,

    /// Keys of a kind that one look prints
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub count: u16,

    /// Print one look as text and end, as is the default where there is no terminal
    #[arg(long)]
    pub once: bool,

    /// Print one look as one JSON object and end
    #[arg(long)]
    pub json: bool,
}

impl ValueEnum for Kind {
    fn value_variants<'a>() -> &'a [Self] {
        &Self::ALL
    }

    fn to_possible_value(&self) -> Option<clap::builder::PossibleValue> {
        Some(clap::builder::PossibleValue::new(self.name()))
    }
}

/// Asking more often shows no more: the server adds up what it counts once a second.
const INTERVAL_MIN: Duration = Duration::from_millis(100);

fn interval(value: &str) -> Result<Duration, String> {
    let interval = timeout(value).ok().filter(|span| *span >= INTERVAL_MIN);
    interval.ok_or_else(|| "a duration from 100ms, such as 500ms or 2s".to_owned())
}
