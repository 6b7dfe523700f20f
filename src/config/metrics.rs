//! The flags of the port for metrics.

use clap::{ArgAction, Args};

use super::ConfigError;
use super::network::{BindAddress, BindAddresses, ListenPort};
use crate::metrics::{PREFIX_BYTES_MAX, PREFIXES_MAX};
use crate::settings;

/// How metrics are served.
#[derive(Args, Clone, Debug)]
pub struct MetricsFlags {
    /// Address and port of metrics and the page (HTTP: /, /metrics, /healthz, /readyz), 'no' for none; port 0 takes a free one.
    /// With '-' before it, it may be taken by somebody else: then there are none, and a warning
    #[arg(long, env = "TOLLGATE_METRICS_BIND", value_name = "ADDR:PORT", default_value = "-127.0.0.1:9121", allow_hyphen_values = true, value_parser = MetricsBind::parse, help_heading = "Metrics")]
    pub metrics_bind: MetricsBind,

    /// Count the calls on keys that begin with PREFIX under that name, in metrics. Can be given several times, or as a
    /// list separated by spaces; a key counts under the longest
    #[arg(long, env = "TOLLGATE_METRICS_KEY_PREFIX", value_name = "PREFIX", value_delimiter = ' ', action = ArgAction::Append, value_parser = prefix, help_heading = "Metrics")]
    pub metrics_key_prefix: Vec<String>,

    /// Let the page pause, resume and reset keys, as the user that looks at it may
    #[arg(long, env = "TOLLGATE_UI_ACTIONS", value_name = "yes|no", default_value = "no", default_missing_value = "yes", num_args = 0..=1, action = ArgAction::Set, value_parser = |v: &str| settings::yes_no(v.as_bytes()), help_heading = "Metrics")]
    pub ui_actions: bool,
}

impl MetricsFlags {
    /// The prefixes, each once.
    pub(super) fn prefixes(&self) -> Result<Vec<String>, ConfigError> {
        let mut prefixes = self.metrics_key_prefix.clone();
        prefixes.sort();
        prefixes.dedup();
        // An empty one is what a list of spaces leaves between two.
        prefixes.retain(|prefix| !prefix.is_empty());
        if prefixes.len() > PREFIXES_MAX {
            return Err(ConfigError(format!(
                "{} prefixes are more than {PREFIXES_MAX}; see --metrics-key-prefix",
                prefixes.len()
            )));
        }
        Ok(prefixes)
    }
}

/// Where metrics are served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MetricsBind {
    /// Nowhere.
    Off,
    /// There; if the address is optional, also nowhere.
    At(BindAddress, ListenPort),
}

impl MetricsBind {
    fn parse(value: &str) -> Result<Self, String> {
        const TAKES: &str = "an address and a port, such as 127.0.0.1:9121, or 'no'";
        if value == "no" {
            return Ok(Self::Off);
        }
        let (address, port) = value.rsplit_once(':').ok_or(TAKES)?;
        // Of an IPv6 address without brackets the last group is no port.
        let is_bare = address.contains(':') && !address.ends_with(']');
        let mut addresses = BindAddresses::parse(address)?.0;
        let (Some(address), true) = (addresses.pop(), addresses.is_empty() && !is_bare) else {
            return Err(TAKES.to_owned());
        };
        let port = match port.parse().map_err(|_| TAKES)? {
            0 => ListenPort::Any,
            port => ListenPort::Number(port),
        };
        Ok(Self::At(address, port))
    }
}

fn prefix(value: &str) -> Result<String, String> {
    if value.len() <= PREFIX_BYTES_MAX {
        Ok(value.to_owned())
    } else {
        Err(format!("a prefix has at most {PREFIX_BYTES_MAX} bytes"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_a_port() {
        let at = |name: &str, optional, port| {
            let name = name.to_owned();
            Ok(MetricsBind::At(BindAddress { name, optional }, port))
        };
        let parse = MetricsBind::parse;
        assert_eq!(parse("no"), Ok(MetricsBind::Off));
        assert_eq!(
            parse("-127.0.0.1:9121"),
            at("127.0.0.1", true, ListenPort::Number(9121))
        );
        assert_eq!(parse("[::1]:0"), at("::1", false, ListenPort::Any));
        assert_eq!(parse("*:1"), at("0.0.0.0", false, ListenPort::Number(1)));
        for wrong in [
            "",
            "9121",
            "::1",
            ":9121",
            "a b:1",
            "127.0.0.1:",
            "127.0.0.1:65536",
        ] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
