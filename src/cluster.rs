//! What a cluster of Redis knows of keys and of addresses: the slot of a key, and where a node says that it is.

use std::fmt;

/// How many slots a cluster shares out.
pub const SLOTS: u16 = 16_384;
/// Longest host that is announced, in bytes: that of a name in DNS.
const HOST_BYTES_MAX: usize = 253;

/// The slot of a key, below [`SLOTS`]: of what stands between its first `{` and the next `}` if that is anything, else
/// of all of it. (CRC16 of XMODEM, as in the specification of Redis Cluster.)
pub fn slot(key: &[u8]) -> u16 {
    crc16(tag(key)) % SLOTS
}

/// The part of a key that counts.
fn tag(key: &[u8]) -> &[u8] {
    let open = memchr::memchr(b'{', key);
    open.and_then(|open| {
        let rest = &key[open + 1..];
        let end = memchr::memchr(b'}', rest)?;
        (end > 0).then(|| &rest[..end])
    })
    .unwrap_or(key)
}

const POLYNOMIAL: u16 = 0x1021;

const TABLE: [u16; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let (mut value, mut bit) = ((byte as u16) << 8, 0);
        while bit < 8 {
            let carries = value & 0x8000 != 0;
            value <<= 1;
            if carries {
                value ^= POLYNOMIAL;
            }
            bit += 1;
        }
        table[byte] = value;
        byte += 1;
    }
    table
};

fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |crc, &byte| {
        (crc << 8) ^ TABLE[usize::from((crc >> 8) as u8 ^ byte)]
    })
}

/// Where clients are told to find the server.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Announced {
    /// An address or a host name.
    pub host: String,
    /// The port, if it is not the one that the client came to.
    pub port: Option<u16>,
}

impl Announced {
    /// From `host`, `host:port`, `[v6]` or `[v6]:port`; an IPv6 address without brackets is one without a port.
    ///
    /// # Errors
    /// What it takes.
    pub fn parse(text: &str) -> Result<Self, String> {
        const TAKES: &str = "takes a host or host:port that clients reach, such as 10.0.0.5:6379";
        let (host, port) = match text.strip_prefix('[') {
            Some(rest) => {
                let (host, behind) = rest.split_once(']').ok_or(TAKES)?;
                match behind {
                    "" => (host, None),
                    _ => (host, Some(behind.strip_prefix(':').ok_or(TAKES)?)),
                }
            }
            None => match text.split_once(':') {
                Some((host, port)) if !port.contains(':') => (host, Some(port)),
                _ => (text, None),
            },
        };
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte);
        if !(1..=HOST_BYTES_MAX).contains(&host.len()) || !host.bytes().all(allowed) {
            return Err(TAKES.to_owned());
        }
        let port = match port {
            Some(port) => match port.parse() {
                Ok(0) | Err(_) => return Err(TAKES.to_owned()),
                Ok(port) => Some(port),
            },
            None => None,
        };
        let host = host.to_owned();
        Ok(Self { host, port })
    }
}

impl fmt::Display for Announced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, port } = self;
        match port {
            Some(port) if host.contains(':') => write!(f, "[{host}]:{port}"),
            Some(port) => write!(f, "{host}:{port}"),
            None => f.write_str(host),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_those_of_redis() {
        // CLUSTER KEYSLOT of Redis 7.0.
        let known: [(&[u8], u16); 9] = [
            (b"", 0),
            (b"a", 15495),
            (b"b", 3300),
            (b"a{b}c", 3300),
            (b"{b}{a}", 3300),
            (b"123456789", 12739),
            (b"foo{}{bar}", 8363),
            (b"foo{{bar}}zap", 4015),
            (b"{b", 6215),
        ];
        for (key, wanted) in known {
            assert_eq!(slot(key), wanted, "{}", key.escape_ascii());
        }
    }

    #[test]
    fn addresses_are_read_and_shown() {
        let read = |text| Announced::parse(text).map(|announced| (announced.host, announced.port));
        let is = |host: &str, port| Ok((host.to_owned(), port));
        assert_eq!(read("10.0.0.5:6379"), is("10.0.0.5", Some(6379)));
        assert_eq!(read("limits.example"), is("limits.example", None));
        assert_eq!(read("::1"), is("::1", None));
        assert_eq!(read("[::1]"), is("::1", None));
        assert_eq!(read("[::1]:7000"), is("::1", Some(7000)));
        for wrong in [
            "", ":6379", "h:", "h:0", "h:65536", "h:x", "[::1", "[::1]7", "a b", "a,b:1", "h@1",
        ] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
        for text in ["h", "h:1", "::1", "[::1]:1"] {
            let shown = Announced::parse(text).map(|announced| announced.to_string());
            assert_eq!(shown.as_deref(), Ok(text));
        }
    }
}
