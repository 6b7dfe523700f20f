//! What the operating system says of this process. What cannot be read is left out.

use std::fs;

/// Time on the processors, in hundredths of a second.
pub struct Cpu {
    /// In this program.
    pub user: u64,
    /// In the kernel on its behalf.
    pub system: u64,
}

/// What all threads have used so far.
pub fn cpu_hundredths() -> Option<Cpu> {
    // Linux shows programs a clock of 100 ticks a second on every processor that Tollgate is built for.
    let text = fs::read_to_string("/proc/self/stat").ok()?;
    // The name in parentheses may hold anything; the fields behind it begin with the third.
    let fields = text.rsplit_once(')')?.1;
    let mut fields = fields.split_ascii_whitespace().skip(11);
    let mut ticks = || fields.next()?.parse().ok();
    Some(Cpu {
        user: ticks()?,
        system: ticks()?,
    })
}

/// The operating system, its release, and the processor.
pub fn system() -> String {
    let line = |name: &str, otherwise: &str| {
        let text = fs::read_to_string(format!("/proc/sys/kernel/{name}"));
        text.map_or(otherwise.to_owned(), |text| text.trim().to_owned())
    };
    let (system, release) = (line("ostype", std::env::consts::OS), line("osrelease", ""));
    let text = format!("{system} {release} {}", std::env::consts::ARCH);
    text.split_ascii_whitespace().collect::<Vec<_>>().join(" ")
}

/// Bytes as Redis writes them for people: `1.47M`.
pub fn human(bytes: u64) -> String {
    const UNITS: [(&str, u64); 4] = [
        ("T", 1 << 40),
        ("G", 1 << 30),
        ("M", 1 << 20),
        ("K", 1 << 10),
    ];
    match UNITS.iter().find(|(_, size)| bytes >= *size) {
        Some((unit, size)) => {
            let hundredths = u128::from(bytes) * 100 / u128::from(*size);
            format!("{}.{:02}{unit}", hundredths / 100, hundredths % 100)
        }
        None => format!("{bytes}B"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_system_says_is_read() {
        assert!(cpu_hundredths().is_some());
    }

    #[test]
    fn bytes_are_written_as_in_redis() {
        assert_eq!(human(0), "0B");
        assert_eq!(human(1023), "1023B");
        assert_eq!(human(1024), "1.00K");
        assert_eq!(human(1_545_664), "1.47M");
        assert_eq!(human(u64::MAX), "16777215.99T");
    }
}
