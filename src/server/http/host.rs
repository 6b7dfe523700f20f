//! Under which names the server answers.
//!
//! A page on the web can have its own name resolve to 127.0.0.1, and then its script may ask whatever listens there as if
//! that were its own server (DNS rebinding). What a script cannot do is to leave its name out of `Host`. So a request
//! under a name that may be somebody else's is refused, unless it comes with a password, which such a page does not
//! have. An address is nobody's name.

use std::net::{IpAddr, Ipv6Addr};

/// True if a `Host` is an address, this machine's own name for itself, or `own`.
pub(super) fn is_ours(host: &str, own: Option<&str>) -> bool {
    let (name, port) = match host.strip_prefix('[') {
        Some(rest) => rest.split_once(']').unwrap_or_default(),
        None => host.split_at(host.find(':').unwrap_or(host.len())),
    };
    let port_is_one = match port.strip_prefix(':') {
        Some(digits) => digits.bytes().all(|digit| digit.is_ascii_digit()),
        None => port.is_empty(),
    };
    if !port_is_one {
        return false;
    }
    if host.starts_with('[') {
        return name.parse::<Ipv6Addr>().is_ok();
    }
    let name = name.strip_suffix('.').unwrap_or(name);
    let is = |other: &str| name.eq_ignore_ascii_case(other);
    let below_localhost = name
        .rsplit_once('.')
        .is_some_and(|(_, last)| last.eq_ignore_ascii_case("localhost"));
    name.parse::<IpAddr>().is_ok() || is("localhost") || below_localhost || own.is_some_and(is)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_others_are_not_ours() {
        for ours in [
            "127.0.0.1",
            "127.0.0.1:9121",
            "10.0.0.7:80",
            "[::1]:9121",
            "localhost",
            "LocalHost.:9121",
            "a.localhost:1",
            "localhost:",
            "tollgate:9121",
        ] {
            assert!(is_ours(ours, Some("tollgate")), "{ours}");
        }
        for other in [
            "",
            ":80",
            "evil.example",
            "evil.example:9121",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "notlocalhost",
            "[evil]:1",
            "[::1",
            "[::1]evil.example",
            "[::1].evil.example:9121",
            "localhost:80@evil.example",
            "127.0.0.1:9121.evil.example",
            "tollgate.evil.example",
            "0x7f000001",
        ] {
            assert!(!is_ours(other, Some("tollgate")), "{other}");
        }
    }
}
