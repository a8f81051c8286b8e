//! Options as environment variables, which is how the runtime library gets its settings, and the command line that the report
//! repeats.

use std::ffi::{OsStr, OsString};

use crate::args::{CheckArguments, Color, DisplayArguments, ExampleTarget, Races};
use crate::files::shell_quoted;

const PREFIX: &str = "FENCEPOST_";

/// Where a schedule goes in a command line that ends with the program's or the compiler's own arguments. At the end of any
/// other, `--replay SCHEDULE` is appended.
pub const REPLAY_MARK: &str = "{replay}";

/// The variables that options set, and their values.
pub fn variables(
    check: &CheckArguments,
    display: &DisplayArguments,
    is_json: bool,
) -> Vec<(String, OsString)> {
    let on = |is_on: bool| is_on.then(|| "on".to_owned());
    let number = |number: Option<u64>| number.map(|number| number.to_string());
    let target = |target| match target {
        ExampleTarget::X86 => "x86",
        ExampleTarget::Pso => "pso",
    };
    let races = |races| match races {
        Races::Error => "error",
        Races::Allow => "allow",
    };
    let fences = Some(check.insert_fence.join(",")).filter(|fences| !fences.is_empty());
    let report = if is_json { "json" } else { "text" };
    let set = [
        ("NATIVE", Some(report.to_owned())),
        ("TARGET", check.target.map(|t| target(t).to_owned())),
        ("STRATEGY", check.strategy.map(|s| s.word().to_owned())),
        (
            "PREEMPTION_BOUND",
            number(check.preemption_bound.map(u64::from)),
        ),
        ("EXECUTIONS", number(check.executions)),
        ("SEED", number(check.seed)),
        ("RACES", check.races.map(|r| races(r).to_owned())),
        ("CONFIRM", on(check.confirm)),
        ("INFER_FENCES", on(check.infer_fences)),
        ("INSERT_FENCE", fences),
        ("STORE_BUFFERS", on(check.store_buffers)),
        ("SPIN_BOUND", number(check.spin_bound.map(u64::from))),
        (
            "STACK_SIZE",
            number(check.stack_size.map(|bytes| bytes as u64)),
        ),
        (
            "LEAK_CHECK",
            check.leak_check.map(|switch| switch.word().to_owned()),
        ),
        ("CONTINUE_AFTER_FAILURE", on(check.continue_after_failure)),
        ("REPLAY", check.replay.clone()),
        ("WORKERS", check.workers.clone()),
        ("MAX_EXECUTIONS", number(check.max_executions)),
        ("MAX_STEPS", number(check.max_steps)),
        (
            "MAX_TIME",
            check
                .max_time()
                .map(|time| format!("{}s", time.as_secs_f64())),
        ),
        ("PROGRESS", display.quiet.then(|| "off".to_owned())),
    ];
    let set = set
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)));
    let mut set: Vec<(String, OsString)> = set
        .map(|(name, value)| (format!("{PREFIX}{name}"), value.into()))
        .collect();
    if let Some(path) = &check.checkpoint {
        set.push((format!("{PREFIX}CHECKPOINT"), path.into()));
    }
    match display.color {
        Color::Auto => {}
        Color::Always => set.push(("CLICOLOR_FORCE".to_owned(), "1".into())),
        Color::Never => set.push(("NO_COLOR".to_owned(), "1".into())),
    }
    set
}

/// The command line as one would type it to run the check again, without a schedule. `own` is how many arguments at its end
/// belong to the program or the compiler.
pub fn command_line(arguments: &[OsString], own: usize, set: &[(String, OsString)]) -> String {
    let (head, tail) = arguments.split_at(arguments.len().saturating_sub(own));
    let (head, separator) = match head.split_last() {
        Some((last, head)) if last == "--" => (head, Some("--")),
        _ => (head, None),
    };
    let mut words = environment(set);
    words.push("fencepost".to_owned());
    words.extend(without_progress(head));
    if !tail.is_empty() {
        words.push(REPLAY_MARK.to_owned());
    }
    words.extend(separator.map(str::to_owned));
    words.extend(
        tail.iter()
            .map(|word| shell_quoted(&word.to_string_lossy())),
    );
    words.join(" ")
}

/// Options but those that say where a check starts.
fn without_progress(options: &[OsString]) -> Vec<String> {
    let mut words = Vec::new();
    let mut options = options.iter().map(|option| option.to_string_lossy());
    while let Some(option) = options.next() {
        if option == "--replay" || option == "--checkpoint" {
            options.next();
        } else if !option.starts_with("--replay=") && !option.starts_with("--checkpoint=") {
            words.push(shell_quoted(&option));
        }
    }
    words
}

/// Our variables of this process, but those that an option overrides or that say where a check starts.
fn environment(set: &[(String, OsString)]) -> Vec<String> {
    let left_out = [
        "NATIVE",
        "COMMAND",
        "REPLAY",
        "CHECKPOINT",
        "CHECKPOINT_EVERY",
    ];
    let is_kept = |name: &OsStr| {
        let name = name.to_string_lossy();
        let suffix = name.strip_prefix(PREFIX);
        suffix.is_some_and(|suffix| !left_out.contains(&suffix) && !suffix.starts_with("TEST_"))
            && set.iter().all(|(own, _)| *own != name)
    };
    let ours = std::env::vars_os().filter(|(name, _)| is_kept(name));
    let mut words: Vec<String> = ours
        .map(|(name, value)| {
            format!(
                "{}={}",
                name.to_string_lossy(),
                shell_quoted(&value.to_string_lossy())
            )
        })
        .collect();
    words.sort();
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repeated(line: &str, own: usize) -> String {
        let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        command_line(&words, own, &[])
    }

    #[test]
    fn a_command_line_is_repeated_without_its_schedule() {
        assert_eq!(repeated("cc queue.c", 0), "fencepost cc queue.c");
        assert_eq!(repeated("cc --replay 1.2 a.c -q", 0), "fencepost cc a.c -q");
        assert_eq!(
            repeated("cc --replay=1.2 --checkpoint x a.c", 0),
            "fencepost cc a.c"
        );
        assert_eq!(
            repeated("cc a.c -- -O2 -DX='1'", 2),
            r"fencepost cc a.c {replay} -- -O2 '-DX='\''1'\'''"
        );
        assert_eq!(
            repeated("run --seed 1 ./a --replay 7", 3),
            "fencepost run --seed 1 {replay} ./a --replay 7"
        );
        assert_eq!(repeated("run -- ./a", 1), "fencepost run {replay} -- ./a");
    }
}
