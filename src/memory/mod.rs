//! What the process takes of memory.
//!
//! Every block that is asked of the allocator is counted (see [`Counting`]): tables, names, values, tickets, buffers
//! of connections, whoever asks. So nobody has to keep a sum beside what it holds, and nothing is left out. What is
//! there besides, the program itself above all, is what the system says.

mod allocator;
mod count;
mod process;

pub use allocator::Counting;
pub use count::{
    allocated_bytes, gap_bytes, look_outside, peak_bytes, started, startup_bytes, used_bytes,
    used_bytes_roughly,
};
pub use process::{resident_bytes, resident_bytes_peak, system_bytes, trim};
