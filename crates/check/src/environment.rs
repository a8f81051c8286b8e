//! Settings from the environment.

use std::ffi::OsString;

use fencepost_report::check::variables::VariableRefusal;

use super::checker::Checker;
use super::invocation::Invocation;
use super::variables::{PREFIX, VARIABLES};

/// Overrides settings by environment variables, unless the checker ignores them.
#[track_caller]
pub(super) fn apply(checker: Checker) -> Checker {
    if !checker.reads_environment {
        return checker;
    }
    let get = |variable: &str| match std::env::var(variable) {
        Ok(value) => Some(value),
        Err(std::env::VarError::NotPresent) => None,
        Err(std::env::VarError::NotUnicode(value)) => refuse(&VariableRefusal::NotUnicode {
            variable: variable.to_owned(),
            found: value,
        }),
    };
    // Windows does not tell apart upper and lower case.
    let is_ours = |variable: &OsString| {
        let start = variable.as_encoded_bytes().get(..PREFIX.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(PREFIX.as_bytes()))
    };
    let set = std::env::vars_os().map(|(variable, _)| variable);
    let set = set.filter(is_ours);
    let set: Vec<String> = set
        .map(|variable| variable.to_string_lossy().into_owned())
        .collect();
    // Mostly none is set. Asking for each of them would take longer than a small check.
    if set.is_empty() {
        return Checker {
            invocation: Invocation::of(&checker, &checker, false),
            ..checker
        };
    }
    match apply_from(checker.clone(), &get, set.into_iter()) {
        Ok(applied) => Checker {
            invocation: Invocation::of(&checker, &applied, true),
            ..applied
        },
        Err(refusal) => refuse(&refusal),
    }
}

/// Fails the test with a message and nothing else: a backtrace would say nothing about a variable.
fn refuse(refusal: &VariableRefusal) -> ! {
    eprintln!("error: {refusal}");
    std::panic::resume_unwind(Box::new(refusal.to_string()))
}

fn apply_from(
    mut checker: Checker,
    get: &dyn Fn(&str) -> Option<String>,
    set: impl Iterator<Item = String>,
) -> Result<Checker, VariableRefusal> {
    for variable in &VARIABLES {
        if let Some(value) = get(&variable.name()) {
            variable.apply(&mut checker, &value)?;
        }
    }
    match unknown(set) {
        Some(refusal) => Err(refusal),
        None => Ok(checker),
    }
}

/// Variables that are for others: for Fencepost's own tests and benchmarks, and for C and C++ programs.
const OWN: [&str; 11] = [
    "FENCEPOST_BLESS",
    "FENCEPOST_EVENTS",
    "FENCEPOST_PROGRAMS",
    "FENCEPOST_NATIVE",
    "FENCEPOST_NONDET",
    "FENCEPOST_WATCHED",
    "FENCEPOST_COMMAND",
    "FENCEPOST_RACES",
    "FENCEPOST_RUNTIME",
    "FENCEPOST_COMPILER",
    "FENCEPOST_COMPILER_CXX",
];
const OWN_PREFIX: &str = "FENCEPOST_TEST_";

/// Refuses the first variable that starts with [`PREFIX`] and does not exist.
fn unknown(set: impl Iterator<Item = String>) -> Option<VariableRefusal> {
    let known = VARIABLES.map(|variable| variable.name());
    let is_known = |variable: &String| {
        known.contains(variable)
            || OWN.contains(&variable.as_str())
            || variable.starts_with(OWN_PREFIX)
    };
    let unknown = set.filter(|variable| variable.starts_with(PREFIX) && !is_known(variable));
    let variable = unknown.min()?;
    let suffixes = VARIABLES.map(|variable| variable.suffix());
    let suffixes = suffixes.iter().map(String::as_str);
    let nearest = fencepost_diagnostics::nearest(&variable[PREFIX.len()..], suffixes);
    Some(VariableRefusal::Unknown {
        meant: nearest.map(|suffix| format!("{PREFIX}{suffix}")),
        known: known.into(),
        variable,
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use fencepost_runtime::{Target, ThreadIdSpace};

    use super::*;
    use crate::checker::Strategy;
    use crate::fences::FenceStrength;

    fn with(variable: &str, value: &str) -> Result<Checker, String> {
        let get = |asked: &str| (asked == variable).then(|| value.to_owned());
        let set = std::iter::once(variable.to_owned());
        apply_from(Checker::new(), &get, set).map_err(|refusal| refusal.to_string())
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
                c.replayed.as_ref().is_some_and(|s| s.schedule.0.len() == 3)
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
        assert!(with("FENCEPOST_INFER_FENCES", "1").is_ok_and(|checker| checker.infer_fences));
        assert!(with("FENCEPOST_INFER_FENCES", "off").is_ok_and(|checker| !checker.infer_fences));
    }

    #[test]
    fn fences_can_be_inserted() {
        let text = "src/lock.rs:31:9, lock.rs:40=release";
        let checker = with("FENCEPOST_INSERT_FENCE", text).unwrap();
        let by_method = Checker::new()
            .insert_fence("src/lock.rs:31:9", FenceStrength::SeqCst)
            .insert_fence("lock.rs:40", FenceStrength::Release);
        assert_eq!(checker.inserted_fences, by_method.inserted_fences);
        for wrong in ["", "lock.rs", "lock.rs:4,", "lock.rs:4=acquire"] {
            let message = with("FENCEPOST_INSERT_FENCE", wrong).unwrap_err();
            assert!(message.contains("`src/lock.rs:31`"), "{message}");
        }
    }

    #[test]
    fn a_value_that_cannot_be_read_is_named() {
        for name in [
            "TARGET", "STRATEGY", "SEED", "MAX_TIME", "WORKERS", "MONITOR", "REPLAY",
        ] {
            let variable = format!("FENCEPOST_{name}");
            let message = with(&variable, "zero").unwrap_err();
            assert!(message.contains(&variable), "{message}");
            assert!(message.contains("`zero`"), "{message}");
        }
        assert!(with("FENCEPOST_WORKERS", "0").is_err());
        assert!(with("FENCEPOST_MAX_TIME", "-1s").is_err());
        let message = with("FENCEPOST_REPLAY", "0.1x1000000000").unwrap_err();
        let count = "found `0.1x1000000000`: the count in `1x1000000000` is too large";
        assert!(message.contains(count), "{message}");
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
            let message = with(&variable, value).unwrap_err();
            let said = format!("{variable}: expected a whole number");
            assert!(message.contains(&said), "{message}");
            assert!(message.contains(range), "{message}");
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
        let message = with("FENCEPOST_WORKER", "2").unwrap_err();
        assert_eq!(
            message,
            "unknown environment variable FENCEPOST_WORKER; did you mean FENCEPOST_WORKERS?\n\
             help: rename it or unset it"
        );
        let message = with("FENCEPOST_MAXTIME", "2s").unwrap_err();
        assert!(message.contains("FENCEPOST_MAX_TIME?"), "{message}");
        for strange in ["FENCEPOST_COFFEE_MACHINE", "FENCEPOST_", "FENCEPOST_X"] {
            let message = with(strange, "on").unwrap_err();
            let beginning = format!(
                "unknown environment variable {strange}\nhelp: unset it, or use one of FENCEPOST_TARGET, "
            );
            assert!(message.starts_with(&beginning), "{message}");
        }
        for fine in [
            "FENCEPOST_BLESS",
            "FENCEPOST_COMPILER_CXX",
            "FENCEPOST_RACES",
            "FENCEPOST_TEST_ANYTHING",
            "OTHER_WORKER",
            "FENCEPOST",
        ] {
            assert!(with(fine, "1").is_ok(), "{fine}");
        }
    }
}
