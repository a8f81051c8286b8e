//! The default of `--max-memory` for a search.

/// The percentage of the available memory that a search may take.
const SHARE: u64 = 80;

/// A share of the memory that the machine or the container has available. Nothing if that is
/// unknown: then there is no bound.
pub fn default_bound() -> Option<u64> {
    let machine = std::fs::read_to_string("/proc/meminfo").ok();
    let machine = machine.as_deref().and_then(available);
    let read = |name: &str| {
        let text = std::fs::read_to_string(format!("/sys/fs/cgroup/{name}")).ok()?;
        text.trim().parse::<u64>().ok()
    };
    let container = read("memory.max")
        .zip(read("memory.current"))
        .map(|(most, used)| most.saturating_sub(used));
    let least = [machine, container].into_iter().flatten().min()?;
    Some(least / 100 * SHARE)
}

/// The bytes that `/proc/meminfo` says are available.
fn available(meminfo: &str) -> Option<u64> {
    let mut lines = meminfo.lines();
    let line = lines.find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kilobytes.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::available;

    #[test]
    fn the_available_memory_is_read() {
        let text = "MemTotal:       16331716 kB\nMemAvailable:    1024 kB\nBuffers: 3 kB\n";
        assert_eq!(available(text), Some(1 << 20));
        assert_eq!(available("MemTotal: 3 kB\n"), None);
        assert_eq!(available("MemAvailable: many kB\n"), None);
    }
}
