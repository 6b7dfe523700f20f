//! The log: on standard error, for people or as JSON, its level changeable while the server runs.

use std::io::{self, IsTerminal};

use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::layer::{Layer, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{fmt, reload};

use crate::config::LogFormat;
use crate::settings::LogLevel;

/// Starts logging, panics included. The closure changes the level.
pub fn start(format: LogFormat, level: LogLevel) -> impl Fn(LogLevel) + Send + Sync + 'static {
    let (filter, handle) = reload::Layer::new(filter(level));
    let lines = match format {
        LogFormat::Human => {
            let layer = fmt::layer().with_writer(io::stderr).with_target(false);
            layer.with_ansi(io::stderr().is_terminal()).boxed()
        }
        LogFormat::Json => fmt::layer()
            .with_writer(io::stderr)
            .json()
            .flatten_event(true)
            .boxed(),
    };
    // Fails only if a log was started before, as tests that run in one process may do.
    let _ = tracing_subscriber::registry()
        .with(lines.with_filter(filter))
        .try_init();
    std::panic::set_hook(Box::new(
        |panic| tracing::error!(%panic, "a task panicked; please report it"),
    ));
    move |level| {
        // Fails only if the subscriber is gone, and with it the log.
        let _ = handle.reload(self::filter(level));
    }
}

fn filter(level: LogLevel) -> LevelFilter {
    match level {
        LogLevel::Trace => LevelFilter::TRACE,
        LogLevel::Debug => LevelFilter::DEBUG,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Off => LevelFilter::OFF,
    }
}
