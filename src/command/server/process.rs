//! What the operating system says of this process. What cannot be read is left out.

use std::fs;

/// Bytes of memory that are resident.
pub fn resident_bytes() -> Option<u64> {
    // Pages of 4 KiB on every Linux that Tollgate is built for; statm counts in them.
    const PAGE_BYTES: u64 = 4096;
    let statm = fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = statm.split_ascii_whitespace().nth(1)?.parse().ok()?;
    Some(pages * PAGE_BYTES)
}

/// Most bytes of memory that were ever resident.
pub fn resident_bytes_peak() -> Option<u64> {
    kilobytes("/proc/self/status", "VmHWM:")
}

/// Bytes of memory that the machine has.
pub fn system_bytes() -> Option<u64> {
    kilobytes("/proc/meminfo", "MemTotal:")
}

/// The number behind `name` in a file of lines such as `VmHWM:  1234 kB`, in bytes.
fn kilobytes(file: &str, name: &str) -> Option<u64> {
    let text = fs::read_to_string(file).ok()?;
    let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
    let number: u64 = rest.trim().trim_end_matches(" kB").parse().ok()?;
    number.checked_mul(1024)
}

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
        let resident = resident_bytes().expect("resident");
        assert!(resident_bytes_peak().expect("peak") >= resident / 2);
        assert!(system_bytes().expect("memory") > resident);
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
