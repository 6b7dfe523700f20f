//! What the operating system says of the memory of this process. What cannot be read is left out.

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

/// Gives what has been freed back to the system, as far as whole pages of it are free. Takes milliseconds for some
/// hundred megabytes, during which other threads wait when they allocate.
pub fn trim() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: it takes any number, and locks what it changes.
    unsafe {
        libc::malloc_trim(0);
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
    }
}
