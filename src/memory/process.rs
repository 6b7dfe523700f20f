//! The memory of this process, as the operating system has it. What cannot be read is left out.

use std::{fs, ptr};

/// Bytes of a page on every Linux that Tollgate is built for.
pub(super) const PAGE_BYTES: usize = 4096;

/// Bytes of memory that are resident.
pub fn resident_bytes() -> Option<u64> {
    pages(1)
}

/// Bytes of files that are resident: of the program and its libraries, as far as they were needed.
pub(super) fn file_bytes() -> Option<u64> {
    pages(2)
}

/// A number of pages, by its place, in bytes.
fn pages(place: usize) -> Option<u64> {
    let statm = fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = statm.split_ascii_whitespace().nth(place)?.parse().ok()?;
    pages.checked_mul(PAGE_BYTES as u64)
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

/// Maps so many bytes, all zeros, at the beginning of a page; null if there is no room.
pub(super) fn map(bytes: usize) -> *mut u8 {
    let (access, kind) = (
        libc::PROT_READ | libc::PROT_WRITE,
        libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
    );
    // SAFETY: it asks for new memory wherever there is some, and touches no other.
    let block = unsafe { libc::mmap(ptr::null_mut(), bytes, access, kind, -1, 0) };
    match block {
        libc::MAP_FAILED => ptr::null_mut(),
        block => block.cast(),
    }
}

/// Gives a mapping back.
///
/// # Safety
/// `block` came from [`map`] with the same number of bytes, and is not used any more.
pub(super) unsafe fn unmap(block: *mut u8, bytes: usize) {
    // SAFETY: as the caller promises. It cannot fail for a mapping that is there.
    unsafe { libc::munmap(block.cast(), bytes) };
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
