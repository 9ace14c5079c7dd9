//! What computation costs, on whatever machine and beside whatever else runs.

use std::time::Instant;

/// Measures processor time of the thread it is made on. Where the system does
/// not tell, time that passes stands in.
pub struct CpuClock {
    start: Instant,
    cpu: Option<u64>,
}

impl CpuClock {
    /// Starts it.
    pub fn start() -> Self {
        Self { start: Instant::now(), cpu: thread_nanoseconds() }
    }

    /// The seconds since the start.
    pub fn seconds(&self) -> f64 {
        match (self.cpu, thread_nanoseconds()) {
            (Some(start), Some(now)) => now.saturating_sub(start) as f64 / 1e9,
            _ => self.start.elapsed().as_secs_f64(),
        }
    }
}

/// Linux tells how long a thread was on a processor, in nanoseconds.
fn thread_nanoseconds() -> Option<u64> {
    std::fs::read_to_string("/proc/thread-self/schedstat").ok()?.split(' ').next()?.parse().ok()
}
