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
        .mut_subcommand("monitor", |monitor| {
            monitor.arg(renamed("memory-limit", "--max-memory"))
        })
        .mut_subcommand("example", |example| {
            example.arg(renamed("fences", "--infer-fences"))
        })
        .mut_subcommand("litmus", |litmus| {
            litmus
                .arg(renamed("jobs", "--workers"))
                .arg(renamed("timeout", "--max-time"))
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

/// An option that has another name now: the error suggests the new one, with or without a value.
fn renamed(old: &'static str, new: &'static str) -> Arg {
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
