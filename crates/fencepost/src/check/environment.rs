//! Settings from the environment.

use std::cell::RefCell;
use std::ffi::OsString;
use std::time::Duration;

use fencepost_explore::Schedule;

use super::checker::{Checker, Strategy, WORKERS};
use super::fences;
use fencepost_runtime::{STACK_SIZES, Target, ThreadIdSpace};

/// Overrides settings by variables.
#[track_caller]
pub(super) fn apply(checker: Checker) -> Checker {
    if !checker.reads_environment {
        return checker;
    }
    let get = |variable: &str| match std::env::var(variable) {
        Ok(value) => Some(value),
        Err(std::env::VarError::NotPresent) => None,
        Err(std::env::VarError::NotUnicode(value)) => refuse(format!(
            "the environment variable {variable} is {value:?}, which is not UTF-8"
        )),
    };
    let is_ours = |variable: &OsString| variable.as_encoded_bytes().starts_with(PREFIX.as_bytes());
    let set = std::env::vars_os().map(|(variable, _)| variable);
    let set = set.filter(is_ours);
    let set = set.map(|variable| variable.to_string_lossy().into_owned());
    match apply_from(checker, &get, set) {
        Ok(checker) => checker,
        Err(complaint) => refuse(complaint),
    }
}

/// Fails the test with a message and nothing else: a backtrace would say nothing of a variable.
fn refuse(complaint: String) -> ! {
    eprintln!("error: {complaint}");
    std::panic::resume_unwind(Box::new(complaint))
}

/// What all our variables begin with.
const PREFIX: &str = "FENCEPOST_";

/// Variables of Fencepost's own tests and benchmarks.
const OWN: [&str; 3] = ["FENCEPOST_BLESS", "FENCEPOST_EVENTS", "FENCEPOST_PROGRAMS"];
const OWN_PREFIX: &str = "FENCEPOST_TEST_";

/// A complaint about the first variable that looks like one of ours, and is not.
fn unknown(known: &[&str], set: impl Iterator<Item = String>) -> Option<String> {
    let is_known = |variable: &str| {
        known.contains(&variable) || OWN.contains(&variable) || variable.starts_with(OWN_PREFIX)
    };
    let mut unknown: Vec<String> = set
        .filter(|variable| variable.starts_with(PREFIX) && !is_known(variable))
        .collect();
    unknown.sort();
    let variable = unknown.first()?;
    let distance = |known: &&&str| edit_distance(&known[PREFIX.len()..], &variable[PREFIX.len()..]);
    let nearest = known.iter().min_by_key(distance)?;
    // Where no letter is right, there is nothing that it could have been meant for.
    let has_something = distance(&nearest) < variable.len() - PREFIX.len();
    Some(match has_something && distance(&nearest) <= MOST_EDITS {
        true => format!(
            "the environment variable {variable} is not known; did you mean {nearest}? Rename it or unset it"
        ),
        false => format!(
            "the environment variable {variable} is not known; unset it, or choose from {}",
            known.join(", ")
        ),
    })
}

/// Up to so many typing mistakes are taken for such.
const MOST_EDITS: usize = 4;

/// How many letters have to be added, removed or replaced to get from one to the other.
fn edit_distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (index, letter) in from.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], index + 1);
        for column in 1..row.len() {
            let replaced = diagonal + usize::from(letter != to[column - 1]);
            diagonal = row[column];
            row[column] = replaced.min(diagonal + 1).min(row[column - 1] + 1);
        }
    }
    row[to.len()]
}

fn apply_from(
    mut checker: Checker,
    get: &dyn Fn(&str) -> Option<String>,
    set: impl Iterator<Item = String>,
) -> Result<Checker, String> {
    let known = RefCell::new(Vec::new());
    let read = |variable: &'static str, expected: &str, set: &mut dyn FnMut(&str) -> Option<()>| {
        known.borrow_mut().push(variable);
        let Some(value) = get(variable) else {
            return Ok(());
        };
        set(value.trim()).ok_or_else(|| {
            format!(
                "the environment variable {variable} is `{value}`, but must be {expected}; \
                 change it or unset it"
            )
        })
    };
    let number = |least: u64, most: u64| format!("a whole number from {least} to {most}");
    let (small, large) = (number(0, u32::MAX.into()), number(0, u64::MAX));
    let (small, large) = (small.as_str(), large.as_str());
    let switch = "`on` or `off`";
    let c = &mut checker;
    read("FENCEPOST_TARGET", "`x86` or `pso`", &mut |text| {
        c.setup.target = match text.to_ascii_lowercase().as_str() {
            "x86" | "tso" => Target::X86,
            "pso" => Target::Pso,
            _ => return None,
        };
        Some(())
    })?;
    read("FENCEPOST_PREEMPTION_BOUND", small, &mut |text| {
        c.preemption_bound = text.parse().ok()?;
        c.strategy = Strategy::Bounded;
        Some(())
    })?;
    let strategies = "`exhaustive`, `bounded`, `random` or `pct`";
    read("FENCEPOST_STRATEGY", strategies, &mut |text| {
        c.strategy = match text.to_ascii_lowercase().as_str() {
            "exhaustive" => Strategy::Exhaustive,
            "bounded" => Strategy::Bounded,
            "random" => Strategy::Random,
            "pct" => Strategy::Pct,
            _ => return None,
        };
        Some(())
    })?;
    read("FENCEPOST_EXECUTIONS", large, &mut |text| {
        c.executions = text.parse().ok()?;
        Some(())
    })?;
    let depth = number(1, u32::MAX.into());
    read("FENCEPOST_PCT_DEPTH", &depth, &mut |text| {
        c.pct_depth = text.parse().ok().filter(|&depth| depth > 0)?;
        Some(())
    })?;
    read("FENCEPOST_SEED", large, &mut |text| {
        c.seed = text.parse().ok()?;
        Some(())
    })?;
    read("FENCEPOST_MAX_EXECUTIONS", large, &mut |text| {
        c.settings.max_executions = Some(text.parse().ok()?);
        Some(())
    })?;
    let time = "a time such as `250ms`, `30s`, `10m` or `2h`";
    read("FENCEPOST_MAX_TIME", time, &mut |text| {
        c.settings.max_time = Some(duration(text)?);
        Some(())
    })?;
    read("FENCEPOST_MAX_STEPS", large, &mut |text| {
        c.settings.max_steps = text.parse().ok()?;
        Some(())
    })?;
    let workers = number(*WORKERS.start() as u64, *WORKERS.end() as u64) + ", or `all`";
    read("FENCEPOST_WORKERS", &workers, &mut |text| {
        c.settings.workers = match text {
            "all" => {
                let all = std::thread::available_parallelism().map_or(1, usize::from);
                all.min(*WORKERS.end())
            }
            text => text
                .parse()
                .ok()
                .filter(|number| WORKERS.contains(number))?,
        };
        Some(())
    })?;
    read("FENCEPOST_MONITOR", switch, &mut |text| {
        c.monitor = is_on(text)?;
        Some(())
    })?;
    read("FENCEPOST_STORE_BUFFERS", switch, &mut |text| {
        c.setup.store_buffers = is_on(text)?.then_some(ThreadIdSpace::FIRST);
        Some(())
    })?;
    read("FENCEPOST_CONFIRM", switch, &mut |text| {
        c.confirm = is_on(text)?;
        Some(())
    })?;
    read("FENCEPOST_CONTINUE_AFTER_FAILURE", switch, &mut |text| {
        c.settings.continue_after_failure = is_on(text)?;
        Some(())
    })?;
    read("FENCEPOST_SPIN_BOUND", small, &mut |text| {
        c.settings.spin = fencepost_explore::SpinRule::Bound(text.parse().ok()?);
        Some(())
    })?;
    read("FENCEPOST_SPURIOUS_WAKEUPS", switch, &mut |text| {
        c.setup.spurious_wakeups = is_on(text)?;
        Some(())
    })?;
    read("FENCEPOST_STRICT_BOUND", switch, &mut |text| {
        c.strict_bound = is_on(text)?;
        Some(())
    })?;
    read("FENCEPOST_LEAK_CHECK", switch, &mut |text| {
        c.setup.leak_check = is_on(text)?;
        Some(())
    })?;
    read("FENCEPOST_SUMMARY", switch, &mut |text| {
        c.summary = is_on(text)?;
        Some(())
    })?;
    read("FENCEPOST_FENCE_INFERENCE", switch, &mut |text| {
        c.fence_inference = is_on(text)?;
        Some(())
    })?;
    let places = "places such as `src/lock.rs:31:9` or `src/lock.rs:31`, with commas between them, each perhaps \
                  followed by `=release`";
    read("FENCEPOST_INSERT_FENCE", places, &mut |text| {
        c.tried = fences::chosen(text)?;
        Some(())
    })?;
    let bytes = number(*STACK_SIZES.start() as u64, *STACK_SIZES.end() as u64) + " (bytes)";
    read("FENCEPOST_STACK_SIZE", &bytes, &mut |text| {
        c.setup.stack_size = text
            .parse()
            .ok()
            .filter(|size| STACK_SIZES.contains(size))?;
        Some(())
    })?;
    read("FENCEPOST_PROGRESS", switch, &mut |text| {
        c.progress = Some(is_on(text)?);
        Some(())
    })?;
    read("FENCEPOST_CHECKPOINT", "a path", &mut |text| {
        c.checkpoint = Some(Some(text).filter(|text| !text.is_empty())?.into());
        Some(())
    })?;
    read("FENCEPOST_CHECKPOINT_EVERY", time, &mut |text| {
        c.checkpoint_every = duration(text)?;
        Some(())
    })?;
    let schedule = "a schedule such as `0x5.1.0`, as a report prints it";
    let mut mistake = None;
    let replayed = read("FENCEPOST_REPLAY", schedule, &mut |text| {
        let parsed = text.parse::<Schedule>();
        c.replayed = Some(parsed.map_err(|error| mistake = Some(error)).ok()?);
        c.setup.keeps_first_values = true;
        Some(())
    });
    replayed.map_err(|complaint| match &mistake {
        Some(mistake) => format!("{complaint}: {mistake}"),
        None => complaint,
    })?;
    match unknown(&known.borrow(), set) {
        Some(complaint) => Err(complaint),
        None => Ok(checker),
    }
}

fn is_on(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "on" | "1" | "true" | "yes" => Some(true),
        "off" | "0" | "false" | "no" => Some(false),
        _ => None,
    }
}

fn duration(text: &str) -> Option<Duration> {
    let split = text.find(|c: char| c.is_ascii_alphabetic());
    let (number, unit) = text.split_at(split.unwrap_or(text.len()));
    let number: f64 = number.trim().parse().ok()?;
    let seconds = match unit {
        "ms" => 0.001,
        "" | "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return None,
    };
    Duration::try_from_secs_f64(number * seconds).ok()
}

#[cfg(test)]
mod tests {
    use super::fences::FenceStrength;
    use super::*;

    fn with(variable: &str, value: &str) -> Result<Checker, String> {
        let get = |asked: &str| (asked == variable).then(|| value.to_owned());
        apply_from(Checker::new(), &get, std::iter::once(variable.to_owned()))
    }

    #[test]
    fn each_variable_sets_what_its_method_sets() {
        type Same = fn(&Checker) -> bool;
        let cases: [(&str, &str, Same); 23] = [
            ("TARGET", "pso", |c| c.setup.target == Target::Pso),
            ("STRATEGY", "pct", |c| c.strategy == Strategy::Pct),
            ("PREEMPTION_BOUND", "4", |c| {
                c.preemption_bound == 4 && c.strategy == Strategy::Bounded
            }),
            ("EXECUTIONS", "77", |c| c.executions == 77),
            ("PCT_DEPTH", "5", |c| c.pct_depth == 5),
            ("SEED", "9", |c| c.seed == 9),
            ("MAX_EXECUTIONS", "8", |c| {
                c.settings.max_executions == Some(8)
            }),
            ("MAX_TIME", "250ms", |c| {
                c.settings.max_time == Some(Duration::from_millis(250))
            }),
            ("MAX_STEPS", "6", |c| c.settings.max_steps == 6),
            ("WORKERS", "2", |c| c.settings.workers == 2),
            ("MONITOR", "off", |c| !c.monitor),
            ("STORE_BUFFERS", "on", |c| {
                c.setup.store_buffers == Some(ThreadIdSpace::FIRST)
            }),
            ("CONFIRM", "on", |c| c.confirm),
            ("CONTINUE_AFTER_FAILURE", "on", |c| {
                c.settings.continue_after_failure
            }),
            ("SPIN_BOUND", "3", |c| {
                c.settings.spin == fencepost_explore::SpinRule::Bound(3)
            }),
            ("SPURIOUS_WAKEUPS", "off", |c| !c.setup.spurious_wakeups),
            ("STRICT_BOUND", "on", |c| c.strict_bound),
            ("LEAK_CHECK", "off", |c| !c.setup.leak_check),
            ("STACK_SIZE", "65536", |c| c.setup.stack_size == 65536),
            ("PROGRESS", "off", |c| c.progress == Some(false)),
            ("CHECKPOINT", "target/a.checkpoint", |c| {
                c.checkpoint == Some("target/a.checkpoint".into())
            }),
            ("CHECKPOINT_EVERY", "5m", |c| {
                c.checkpoint_every == Duration::from_secs(300)
            }),
            ("REPLAY", "0x2.1", |c| {
                c.replayed.as_ref().is_some_and(|s| s.0.len() == 3)
            }),
        ];
        for (name, value, is_set) in cases {
            let checker = with(&format!("FENCEPOST_{name}"), value);
            assert!(is_set(&checker.expect(name)), "{name}");
        }
    }

    #[test]
    fn a_summary_can_be_asked_for() {
        assert!(with("FENCEPOST_SUMMARY", "1").is_ok_and(|checker| checker.summary));
        assert!(with("FENCEPOST_SUMMARY", "off").is_ok_and(|checker| !checker.summary));
    }

    #[test]
    fn fences_can_be_asked_for() {
        assert!(
            with("FENCEPOST_FENCE_INFERENCE", "1").is_ok_and(|checker| checker.fence_inference)
        );
        assert!(
            with("FENCEPOST_FENCE_INFERENCE", "off").is_ok_and(|checker| !checker.fence_inference)
        );
    }

    #[test]
    fn fences_can_be_inserted() {
        let text = "src/lock.rs:31:9, lock.rs:40=release";
        let checker = with("FENCEPOST_INSERT_FENCE", text).unwrap();
        let by_method = Checker::new()
            .insert_fence("src/lock.rs:31:9", FenceStrength::SeqCst)
            .insert_fence("lock.rs:40", FenceStrength::Release);
        assert_eq!(checker.tried, by_method.tried);
        for wrong in ["", "lock.rs", "lock.rs:4,", "lock.rs:4=acquire"] {
            let complaint = with("FENCEPOST_INSERT_FENCE", wrong).unwrap_err();
            assert!(complaint.contains("`src/lock.rs:31`"), "{complaint}");
        }
    }

    #[test]
    fn a_value_that_cannot_be_read_is_named() {
        for name in [
            "TARGET", "STRATEGY", "SEED", "MAX_TIME", "WORKERS", "MONITOR", "REPLAY",
        ] {
            let variable = format!("FENCEPOST_{name}");
            let complaint = with(&variable, "zero").unwrap_err();
            assert!(complaint.contains(&variable), "{complaint}");
            assert!(complaint.contains("`zero`"), "{complaint}");
        }
        assert!(with("FENCEPOST_WORKERS", "0").is_err());
        assert!(with("FENCEPOST_MAX_TIME", "-1s").is_err());
        let complaint = with("FENCEPOST_REPLAY", "0.1x1000000000").unwrap_err();
        let count = "unset it: the count in `1x1000000000` is too large";
        assert!(complaint.contains(count), "{complaint}");
    }

    #[test]
    fn a_number_out_of_its_range_is_told_the_range() {
        for (name, value, range) in [
            ("WORKERS", "1000000", "from 1 to 1024, or `all`"),
            ("STACK_SIZE", "0", "from 16384 to 1073741824 (bytes)"),
            ("STACK_SIZE", "100", "from 16384 to 1073741824 (bytes)"),
            (
                "STACK_SIZE",
                "18446744073709551615",
                "to 1073741824 (bytes)",
            ),
            ("PCT_DEPTH", "0", "from 1 to 4294967295"),
            ("PREEMPTION_BOUND", "99999999999", "from 0 to 4294967295"),
            ("SPIN_BOUND", "-1", "from 0 to 4294967295"),
            (
                "SEED",
                "99999999999999999999",
                "from 0 to 18446744073709551615",
            ),
        ] {
            let variable = format!("FENCEPOST_{name}");
            let complaint = with(&variable, value).unwrap_err();
            let said = format!("{variable} is `{value}`, but must be a whole number");
            assert!(complaint.contains(&said), "{complaint}");
            assert!(complaint.contains(range), "{complaint}");
        }
    }

    #[test]
    fn methods_take_the_nearest_number_of_the_range() {
        let checker = Checker::new()
            .workers(usize::MAX)
            .stack_size(1)
            .pct_depth(0);
        assert_eq!(checker.settings.workers, 1024);
        assert_eq!(checker.setup.stack_size, 16384);
        assert_eq!(checker.pct_depth, 1);
        assert_eq!(
            Checker::new().stack_size(usize::MAX).setup.stack_size,
            1 << 30
        );
    }

    #[test]
    fn a_variable_that_is_not_known_is_named_with_the_nearest() {
        let complaint = with("FENCEPOST_WORKER", "2").unwrap_err();
        assert_eq!(
            complaint,
            "the environment variable FENCEPOST_WORKER is not known; did you mean \
             FENCEPOST_WORKERS? Rename it or unset it"
        );
        let complaint = with("FENCEPOST_MAXTIME", "2s").unwrap_err();
        assert!(complaint.contains("FENCEPOST_MAX_TIME?"), "{complaint}");
        for strange in ["FENCEPOST_COFFEE_MACHINE", "FENCEPOST_", "FENCEPOST_X"] {
            let complaint = with(strange, "on").unwrap_err();
            let beginning = format!(
                "the environment variable {strange} is not known; unset it, or choose from FENCEPOST_TARGET, "
            );
            assert!(complaint.starts_with(&beginning), "{complaint}");
        }
        for fine in [
            "FENCEPOST_BLESS",
            "FENCEPOST_TEST_ANYTHING",
            "OTHER_WORKER",
            "FENCEPOST",
        ] {
            assert!(with(fine, "1").is_ok(), "{fine}");
        }
    }

    #[test]
    fn distances_count_letters() {
        assert_eq!(edit_distance("", "abc"), 3);
        assert_eq!(edit_distance("SEED", "SEDE"), 2);
        assert_eq!(edit_distance("MAX_TIME", "MAXTIME"), 1);
        assert_eq!(edit_distance("kitten", "sitting"), 3);
    }

    #[test]
    fn times_have_units() {
        assert_eq!(duration("1.5m"), Some(Duration::from_secs(90)));
        assert_eq!(duration("2"), Some(Duration::from_secs(2)));
        assert_eq!(duration("2 h"), Some(Duration::from_secs(7200)));
        assert_eq!(duration("2 weeks"), None);
    }
}
