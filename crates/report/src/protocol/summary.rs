//! The numbers of a search.

use fencepost_protocol::outcome::Verdict;

use super::SearchedModel;
use crate::columns::aligned;
use crate::style::{HEADING, Styled};
use crate::text::{counted, grouped};

/// The numbers: states, rules fired, depth, workers, time and rate, memory, and the omission
/// probability.
pub fn summary(checked: &SearchedModel<'_>) -> String {
    let report = checked.report;
    let mut rows = Vec::new();
    let mut row = |name: &str, value: String| rows.push(vec![name.to_owned(), value]);
    row("states", grouped(report.states));
    row("rules fired", grouped(report.rules_fired));
    row("depth", grouped(report.depth));
    if let (Some(steps), Verdict::Incomplete(_)) = (report.covered, &report.verdict) {
        row(
            "covered",
            format!("all paths of up to {}", counted(steps, "step")),
        );
    }
    // A counterexample is one without symmetry too.
    if let (Some(symmetry), Verdict::NoError | Verdict::Incomplete(_)) =
        (report.symmetry, &report.verdict)
    {
        let name = symmetry.name();
        row(
            "symmetry",
            format!("{name} (the symmetry of the model was tested, not proved)"),
        );
    }
    row("workers", report.workers.to_string());
    let found = report.states - report.resumed_states.min(report.states);
    row("time", time(found, checked.seconds));
    if report.memory > 0 {
        row("memory", memory(report.memory, report.states));
    }
    if let Some(omission) = report.omission {
        let value = format!("states were missed with a probability of at most {omission:.1e}");
        row("compaction", value);
    }
    if let Some(error) = checked.checkpoint_error {
        row("checkpoint", format!("not written: {error}"));
    }
    let mut text = format!("{}\n", Styled(HEADING, "summary"));
    for line in aligned(&rows, "  ") {
        text += &line;
        text.push('\n');
    }
    text
}

fn time(states: u64, seconds: f64) -> String {
    // A rate from a few milliseconds is noise.
    match seconds >= 0.1 {
        true => {
            let rate = grouped((states as f64 / seconds) as u64);
            format!("{seconds:.1} s, {rate} states per second")
        }
        false => format!("{seconds:.2} s"),
    }
}

fn memory(count: u64, states: u64) -> String {
    // The initial allocation would dominate.
    match states >= 10_000 {
        true => {
            let each = count as f64 / states as f64;
            format!("{}, {each:.0} bytes per state", bytes(count))
        }
        false => bytes(count),
    }
}

/// A number of bytes with a unit: `12 MB`.
pub fn bytes(count: u64) -> String {
    const UNITS: [&str; 5] = ["bytes", "kB", "MB", "GB", "TB"];
    let mut value = count as f64;
    let mut unit = 0;
    while value >= 1000.0 && unit + 1 < UNITS.len() {
        value /= 1000.0;
        unit += 1;
    }
    match unit > 0 && value < 10.0 {
        true => format!("{value:.1} {}", UNITS[unit]),
        false => format!("{value:.0} {}", UNITS[unit]),
    }
}

#[cfg(test)]
mod tests {
    use super::{bytes, memory};

    #[test]
    fn bytes_have_a_unit() {
        assert_eq!(bytes(0), "0 bytes");
        assert_eq!(bytes(999), "999 bytes");
        assert_eq!(bytes(1_500), "1.5 kB");
        assert_eq!(bytes(64_000_000), "64 MB");
        assert_eq!(bytes(u64::MAX), "18446744 TB");
    }

    #[test]
    fn bytes_per_state_are_said_of_many_states() {
        assert_eq!(memory(131_072, 100), "131 kB");
        assert_eq!(memory(6_400_000, 100_000), "6.4 MB, 64 bytes per state");
    }
}
