//! The environment variables that override settings, as one table.
//!
//! `environment` applies the table. The table of variables in `docs/checking/settings.md` and the one in the
//! documentation of [`Checker`] are generated from it: after a change, run the tests of this file with
//! `FENCEPOST_BLESS=1`.

use std::time::Duration;

use fencepost_explore::SpinRule;
use fencepost_report::check::BadSchedule;
use fencepost_report::check::variables::{Values, VariableRefusal};
use fencepost_report::duration::parse_duration;
use fencepost_runtime::{STACK_SIZES, Target, ThreadIdSpace};

use super::checker::{Checker, Strategy, WORKERS};
use super::fences;

/// What the names of all variables start with.
pub(super) const PREFIX: &str = "FENCEPOST_";

/// An environment variable that overrides a setting.
pub(super) struct Variable {
    /// The method of [`Checker`] with the same effect. The variable is named after it.
    method: &'static str,
    values: Values,
    #[allow(
        dead_code,
        reason = "read by the tests that generate the documentation"
    )]
    /// The value of the setting if neither the method nor the variable sets it.
    default: &'static str,
    #[allow(
        dead_code,
        reason = "read by the tests that generate the documentation"
    )]
    /// One line for the table in the guide, in Markdown.
    description: &'static str,
    /// Sets the setting.
    set: fn(&mut Checker, &str) -> Result<(), Refused>,
}

const SMALL: Values = Values::Number {
    least: 0,
    most: u32::MAX as u64,
};
const LARGE: Values = Values::Number {
    least: 0,
    most: u64::MAX,
};

/// All variables, in the order in which they are applied: `strategy` overrides what `preemption_bound` implies.
pub(super) const VARIABLES: [Variable; 26] = [
    Variable {
        method: "target",
        values: Values::Words(&["x86", "pso"]),
        default: "`x86`",
        description: "[the machine](what-verified-means.md#the-target)",
        set: |checker, text| {
            checker.setup.target = match text.to_ascii_lowercase().as_str() {
                "x86" | "tso" => Target::X86,
                "pso" => Target::Pso,
                _ => return refused(),
            };
            Ok(())
        },
    },
    Variable {
        method: "preemption_bound",
        values: SMALL,
        default: "2",
        description: "sets the strategy `bounded` too",
        set: |checker, text| {
            checker.preemption_bound = number(text)?;
            checker.strategy = Strategy::Bounded;
            Ok(())
        },
    },
    Variable {
        method: "strategy",
        values: Values::Words(&["exhaustive", "bounded", "random", "pct"]),
        default: "`exhaustive`",
        description: "[which executions](#strategies)",
        set: |checker, text| {
            checker.strategy = match text.to_ascii_lowercase().as_str() {
                "exhaustive" => Strategy::Exhaustive,
                "bounded" => Strategy::Bounded,
                "random" => Strategy::Random,
                "pct" => Strategy::Pct,
                _ => return refused(),
            };
            Ok(())
        },
    },
    Variable {
        method: "strict_bound",
        values: Values::Switch,
        default: "`off`",
        description: "run and count nothing beyond the bound",
        set: |checker, text| switch(text, &mut checker.strict_bound),
    },
    Variable {
        method: "executions",
        values: LARGE,
        default: "10,000",
        description: "how many, for `random`, `pct` and `confirm`",
        set: |checker, text| number(text).map(|count| checker.executions = count),
    },
    Variable {
        method: "pct_depth",
        values: Values::Number {
            least: 1,
            most: u32::MAX as u64,
        },
        default: "3",
        description: "for `pct`; at least 1",
        set: |checker, text| {
            let depth = number(text)?;
            if depth == 0 {
                return refused();
            }
            checker.pct_depth = depth;
            Ok(())
        },
    },
    Variable {
        method: "seed",
        values: LARGE,
        default: "0",
        description: "for `random` and `pct`",
        set: |checker, text| number(text).map(|seed| checker.seed = seed),
    },
    Variable {
        method: "max_executions",
        values: LARGE,
        default: "none",
        description: "[budgets](#budgets)",
        set: |checker, text| number(text).map(|most| checker.settings.max_executions = Some(most)),
    },
    Variable {
        method: "max_time",
        values: Values::Time,
        default: "none",
        description: "[budgets](#budgets)",
        set: |checker, text| duration(text).map(|most| checker.settings.max_time = Some(most)),
    },
    Variable {
        method: "max_steps",
        values: LARGE,
        default: "100,000",
        description: "per execution; [one with more is reported](reading-a-report.md#too-many-steps)",
        set: |checker, text| number(text).map(|most| checker.settings.max_steps = most),
    },
    Variable {
        method: "workers",
        values: Values::NumberOrAll {
            least: *WORKERS.start() as u64,
            most: *WORKERS.end() as u64,
        },
        default: "1",
        description: "[threads that explore](#workers)",
        set: |checker, text| {
            checker.settings.workers = match text {
                "all" => {
                    let all = std::thread::available_parallelism().map_or(1, usize::from);
                    all.min(*WORKERS.end())
                }
                text => {
                    let workers = number(text)?;
                    if !WORKERS.contains(&workers) {
                        return refused();
                    }
                    workers
                }
            };
            Ok(())
        },
    },
    Variable {
        method: "monitor",
        values: Values::Switch,
        default: "`on`",
        description: "[store buffers](#without-the-monitor)",
        set: |checker, text| switch(text, &mut checker.monitor),
    },
    Variable {
        method: "confirm",
        values: Values::Switch,
        default: "`off`",
        description: "[the consequence of a violation](consequences.md)",
        set: |checker, text| switch(text, &mut checker.confirm),
    },
    Variable {
        method: "store_buffers",
        values: Values::Switch,
        default: "`off`",
        description: "[run the program with store buffers](consequences.md#programs-that-tolerate-store-buffers)",
        set: |checker, text| {
            let mut is_on = false;
            switch(text, &mut is_on)?;
            checker.setup.store_buffers = is_on.then_some(ThreadIdSpace::FIRST);
            Ok(())
        },
    },
    Variable {
        method: "continue_after_failure",
        values: Values::Switch,
        default: "`off`",
        description: "continue after the first finding, and count them",
        set: |checker, text| switch(text, &mut checker.settings.continue_after_failure),
    },
    Variable {
        method: "spin_bound",
        values: SMALL,
        default: "none",
        description: "[loops that wait](what-verified-means.md#loops-that-wait)",
        set: |checker, text| number(text).map(|most| checker.settings.spin = SpinRule::Bound(most)),
    },
    Variable {
        method: "spurious_wakeups",
        values: Values::Switch,
        default: "`on`",
        description: "[condition variables](what-verified-means.md#waiting-that-ends-by-itself)",
        set: |checker, text| switch(text, &mut checker.setup.spurious_wakeups),
    },
    Variable {
        method: "leak_check",
        values: Values::Switch,
        default: "`on`",
        description: "[an `Arc` that was not dropped](reading-a-report.md#a-leak) is an error",
        set: |checker, text| switch(text, &mut checker.setup.leak_check),
    },
    Variable {
        method: "summary",
        values: Values::Switch,
        default: "`off`",
        description: "[the summary of a check](#the-summary), on standard error",
        set: |checker, text| switch(text, &mut checker.summary),
    },
    Variable {
        method: "infer_fences",
        values: Values::Switch,
        default: "`off`",
        description: "the report ends with [the fences that are missing](fences.md#in-reports)",
        set: |checker, text| switch(text, &mut checker.infer_fences),
    },
    Variable {
        method: "insert_fence",
        values: Values::FencePositions,
        default: "none",
        description: "[a fence that the program does not have](fences.md#fences-of-your-own)",
        set: |checker, text| {
            checker.inserted_fences = fences::parse_insertions(text).ok_or(Refused(None))?;
            Ok(())
        },
    },
    Variable {
        method: "stack_size",
        values: Values::Bytes {
            least: *STACK_SIZES.start() as u64,
            most: *STACK_SIZES.end() as u64,
        },
        default: "256 KiB",
        description: "per thread of the program; from 16 KiB to 1 GiB",
        set: |checker, text| {
            let bytes = number(text)?;
            if !STACK_SIZES.contains(&bytes) {
                return refused();
            }
            checker.setup.stack_size = bytes;
            Ok(())
        },
    },
    Variable {
        method: "progress",
        values: Values::Switch,
        default: "`on`",
        description: "a line on standard error if a check takes long, with an estimate of what is left (a lower bound until it is steady)",
        set: |checker, text| {
            let mut is_on = false;
            switch(text, &mut is_on)?;
            checker.progress = Some(is_on);
            Ok(())
        },
    },
    Variable {
        method: "checkpoint",
        values: Values::Path,
        default: "none",
        description: "[interrupt and resume](#checkpoints)",
        set: |checker, text| {
            if text.is_empty() {
                return refused();
            }
            checker.checkpoint = Some(text.into());
            Ok(())
        },
    },
    Variable {
        method: "checkpoint_every",
        values: Values::Time,
        default: "60 s",
        description: "[how often](#checkpoints) a checkpoint is written",
        set: |checker, text| duration(text).map(|time| checker.checkpoint_every = time),
    },
    Variable {
        method: "replay",
        values: Values::Schedule,
        default: "none",
        description: "[one execution again](reading-a-report.md#replay)",
        set: |checker, text| {
            checker.replayed = Some(text.parse()?);
            checker.setup.keeps_first_values = true;
            Ok(())
        },
    },
];

impl Variable {
    /// The name of the variable.
    pub(super) fn name(&self) -> String {
        format!("{PREFIX}{}", self.suffix())
    }

    /// The name of the variable, without [`PREFIX`].
    pub(super) fn suffix(&self) -> String {
        self.method.to_ascii_uppercase()
    }

    /// Sets the setting.
    pub(super) fn apply(&self, checker: &mut Checker, value: &str) -> Result<(), VariableRefusal> {
        (self.set)(checker, value.trim()).map_err(|Refused(why)| VariableRefusal::BadValue {
            variable: self.name(),
            expected: self.values,
            found: value.to_owned(),
            why,
        })
    }
}

/// A value is not accepted. A schedule says why.
#[derive(PartialEq, Eq, Debug)]
struct Refused(Option<Box<BadSchedule>>);

impl From<BadSchedule> for Refused {
    fn from(why: BadSchedule) -> Self {
        Refused(Some(Box::new(why)))
    }
}

fn refused<T>() -> Result<T, Refused> {
    Err(Refused(None))
}

fn number<N: std::str::FromStr>(text: &str) -> Result<N, Refused> {
    text.parse().or_else(|_| refused())
}

fn switch(text: &str, setting: &mut bool) -> Result<(), Refused> {
    *setting = match text.to_ascii_lowercase().as_str() {
        "on" | "1" | "true" | "yes" => true,
        "off" | "0" | "false" | "no" => false,
        _ => return refused(),
    };
    Ok(())
}

fn duration(text: &str) -> Result<Duration, Refused> {
    parse_duration(text).or_else(|_| refused())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As documentation has it.
    fn documented(values: Values) -> String {
        match values {
            Values::Number { least: 0, .. } => "a number".to_owned(),
            Values::Number { least, .. } => format!("a number from {least} on"),
            Values::Time => format!("{values}; seconds without a unit"),
            Values::Path => "a file or a folder".to_owned(),
            Values::FencePositions => {
                "places such as `src/lock.rs:31:9`, separated by commas, each optionally with `=release`".to_owned()
            }
            Values::Schedule => "a schedule such as `0x5.1.0`".to_owned(),
            _ => values.to_string(),
        }
    }

    /// Replaces what is between the header of a table and the next empty line, or compares it.
    fn assert_table(file: &str, header: &str, rows: &[String]) {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
        let text = std::fs::read_to_string(&path).unwrap();
        let start = text.find(header).expect("the table is there") + header.len();
        let rest = &text[start..];
        let end = start + rest.find("\n\n").map_or(rest.len(), |end| end + 1);
        let rows = rows.concat();
        if std::env::var_os("FENCEPOST_BLESS").is_some() {
            let text = format!("{}{rows}{}", &text[..start], &text[end..]);
            return std::fs::write(path, text).unwrap();
        }
        let differs = "the table differs from `VARIABLES`: run this test with FENCEPOST_BLESS=1";
        assert_eq!(text[start..end], rows, "{file}: {differs}");
    }

    #[test]
    fn the_guide_has_the_table() {
        let rows = VARIABLES.map(|variable| {
            let Variable {
                method,
                default,
                description,
                ..
            } = variable;
            let (name, values) = (variable.name(), documented(variable.values));
            format!("| `{method}` | `{name}`: {values} | {default} | {description} |\n")
        });
        let header = "| method | variable | default | |\n| --- | --- | --- | --- |\n";
        assert_table("../../docs/checking/settings.md", header, &rows);
    }

    #[test]
    fn the_documentation_of_the_checker_has_the_table() {
        let rows = VARIABLES.map(|variable| {
            let (name, method) = (variable.name(), variable.method);
            let values = documented(variable.values);
            format!("| `{name}` | {values} | [`{method}`](Self::{method}) |\n")
        });
        let header = "| variable | value | method |\n| --- | --- | --- |\n";
        assert_table("src/variables.md", header, &rows);
    }

    #[test]
    fn times_have_units() {
        assert_eq!(duration("1.5m"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("2"), Ok(Duration::from_secs(2)));
        assert_eq!(duration("2 h"), Ok(Duration::from_secs(7200)));
        assert_eq!(duration("1d"), Ok(Duration::from_secs(86_400)));
        assert!(duration("2 weeks").is_err());
    }
}
