//! Options that had another name once.
//!
//! Only who parses the command line knows them: they are in no help text and no completion.

use std::ffi::OsStr;

use clap::builder::{TypedValueParser, UnknownArgumentValueParser};
use clap::error::{ContextKind, ContextValue};
use clap::{Arg, ArgAction, Command, Error};

/// Adds the old names, each of which is an error that suggests the new one.
pub fn with_old_names(command: Command) -> Command {
    command
        .mut_subcommand("monitor", |monitor| monitor.arg(renamed("memory-limit")))
        .mut_subcommand("example", |example| example.arg(renamed("fences")))
        .mut_subcommand("litmus", |litmus| {
            litmus.arg(renamed("jobs")).arg(renamed("timeout"))
        })
        .mut_subcommand("protocol", |protocol| {
            protocol.arg(
                Arg::new("w")
                    .short('w')
                    .hide(true)
                    .action(ArgAction::SetTrue)
                    .value_parser(UnknownArgumentValueParser::suggest_arg("-j")),
            )
        })
}

/// The old and the new names of options.
const RENAMED: [(&str, &str); 4] = [
    ("memory-limit", "--max-memory"),
    ("fences", "--infer-fences"),
    ("jobs", "--workers"),
    ("timeout", "--max-time"),
];

fn new_name(old: &str) -> Option<&'static str> {
    let renamed = RENAMED.iter().find(|(renamed, _)| *renamed == old);
    renamed.map(|&(_, new)| new)
}

/// The error, which suggests a new name where it would suggest an old one, for a mistyped option.
pub fn with_new_suggestion(mut error: Error) -> Error {
    let new = match error.get(ContextKind::SuggestedArg) {
        Some(ContextValue::String(suggested)) => suggested.strip_prefix("--").and_then(new_name),
        _ => None,
    };
    if let Some(new) = new {
        error.insert(
            ContextKind::SuggestedArg,
            ContextValue::String(new.to_owned()),
        );
    }
    error
}

/// An option that has another name now: the error suggests the new one, with or without a value.
fn renamed(old: &'static str) -> Arg {
    let new = new_name(old).expect("it is in the table");
    Arg::new(old)
        .long(old)
        .hide(true)
        .num_args(0..=1)
        .default_missing_value("")
        .value_parser(RenamedOption { old, new })
}

/// Fails for every value.
#[derive(Clone)]
struct RenamedOption {
    old: &'static str,
    new: &'static str,
}

impl TypedValueParser for RenamedOption {
    type Value = String;

    fn parse_ref(
        &self,
        command: &Command,
        option: Option<&Arg>,
        value: &OsStr,
    ) -> Result<String, Error> {
        let parser = UnknownArgumentValueParser::suggest_arg(self.new);
        parser
            .parse_ref(command, option, value)
            .map_err(|mut error| {
                // Otherwise it is shown as `--old [<old>]`.
                let name = ContextValue::String(format!("--{}", self.old));
                error.insert(ContextKind::InvalidArg, name);
                error
            })
    }
}
