//! The machine and its load. Only on Linux; unknown elsewhere.

use std::fmt;

/// A machine at some time.
#[derive(Clone, Debug)]
pub struct Machine {
    /// The name of the processor.
    pub processor: String,
    /// How many threads can run at once.
    pub cores: usize,
    /// The load averages of 1, 5 and 15 minutes.
    pub load: String,
}

impl Machine {
    /// This machine, now.
    pub fn now() -> Machine {
        let read = |path| std::fs::read_to_string(path).unwrap_or_default();
        let info = read("/proc/cpuinfo");
        let mut lines = info.lines();
        let model = lines.find_map(|line| line.strip_prefix("model name")?.split_once(": "));
        let load = read("/proc/loadavg");
        let load: Vec<&str> = load.split(' ').take(3).collect();
        Machine {
            processor: model
                .map_or("unknown processor", |(_, name)| name)
                .to_string(),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            load: load.join(" "),
        }
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Machine {
            processor,
            cores,
            load,
        } = self;
        write!(
            f,
            "{processor}, {cores} cores; load {load} at the beginning"
        )
    }
}
