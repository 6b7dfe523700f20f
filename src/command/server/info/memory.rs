//! The section about memory, by Redis's names where the number is the same thing.

use super::super::process::human;
use super::Lines;
use crate::command::context::Context;
use crate::memory;

/// `used_memory` is what is counted against `maxmemory`, `used_memory_rss` what the system says. What is not there for
/// keys is the overhead, as far as it was there when the server started; connections count with the keys.
pub(super) fn section(lines: &mut Lines, context: &Context<'_>) {
    let used = memory::used_bytes() as u64;
    let peak = memory::peak_bytes() as u64;
    let startup = memory::startup_bytes() as u64;
    let dataset = used.saturating_sub(startup);
    let resident = memory::resident_bytes();
    both(lines, "used_memory", used);
    if let Some(resident) = resident {
        both(lines, "used_memory_rss", resident);
    }
    both(lines, "used_memory_peak", peak);
    let of_peak = hundredths(used * 100, peak);
    lines.line("used_memory_peak_perc", format_args!("{of_peak}%"));
    lines.line("used_memory_overhead", startup);
    lines.line("used_memory_startup", startup);
    lines.line("used_memory_dataset", dataset);
    let of_dataset = hundredths(dataset * 100, used - startup.min(used));
    lines.line("used_memory_dataset_perc", format_args!("{of_dataset}%"));
    if let Some(bytes) = memory::system_bytes() {
        both(lines, "total_system_memory", bytes);
    }
    both(
        lines,
        "maxmemory",
        context.shared.settings.maxmemory() as u64,
    );
    lines.line("maxmemory_policy", "noeviction");
    if let Some(resident) = resident {
        lines.line("mem_fragmentation_ratio", hundredths(resident, used));
        let bytes = resident as i64 - used as i64;
        lines.line("mem_fragmentation_bytes", bytes);
    }
    lines.line("mem_allocator", "libc");
}

/// A number of bytes, for programs and for people.
fn both(lines: &mut Lines, name: &str, bytes: u64) {
    lines.line(name, bytes);
    lines.line(&format!("{name}_human"), human(bytes));
}

/// A quotient with two decimals.
fn hundredths(of: u64, by: u64) -> String {
    let quotient = u128::from(of) * 100 / u128::from(by.max(1));
    format!("{}.{:02}", quotient / 100, quotient % 100)
}
