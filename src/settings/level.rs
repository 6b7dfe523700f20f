//! How much is logged: Redis's names and those of `tracing`.

/// How much is logged. Redis's four names and those of `tracing` are both understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogLevel {
    /// Everything.
    Trace,
    /// `debug`, and Redis's `verbose`: connections come and go.
    Debug,
    /// `info`, and Redis's `notice`: what an operator wants to see once.
    Info,
    /// `warn`, and Redis's `warning`.
    Warn,
    /// Only what went wrong.
    Error,
    /// Nothing at all (Redis's `nothing`).
    Off,
}

impl LogLevel {
    /// The names `--loglevel` takes.
    pub const NAMES: &str =
        "trace, debug, verbose, notice (or info), warning (or warn), error, nothing";

    /// From a name, in any case.
    pub fn parse(name: &[u8]) -> Option<Self> {
        Some(match name.to_ascii_lowercase().as_slice() {
            b"trace" => Self::Trace,
            b"debug" | b"verbose" => Self::Debug,
            b"notice" | b"info" => Self::Info,
            b"warning" | b"warn" => Self::Warn,
            b"error" => Self::Error,
            b"nothing" | b"off" => Self::Off,
            _ => return None,
        })
    }

    /// The name a Redis user knows.
    pub fn name(self) -> &'static str {
        match self {
            Self::Trace => "trace",
            Self::Debug => "debug",
            Self::Info => "notice",
            Self::Warn => "warning",
            Self::Error => "error",
            Self::Off => "nothing",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shown_name_is_understood_again() {
        for name in [
            "trace", "debug", "verbose", "notice", "info", "warning", "warn", "error", "nothing",
            "OFF",
        ] {
            let level = LogLevel::parse(name.as_bytes()).unwrap();
            assert_eq!(LogLevel::parse(level.name().as_bytes()), Some(level));
        }
        assert_eq!(LogLevel::parse(b"loud"), None);
    }
}
