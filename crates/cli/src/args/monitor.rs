//! The options of `fencepost monitor`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use fencepost_memory::{LockedDrains, MemoryModel};

use super::common::{ResourceLimits, ResultArguments};
use super::models::PsoLocked;

pub(super) const HELP: &str = "\
The trace is one sequentially consistent interleaving, one event per line:
    T0 st x =1 @app.c:10
    T0 ld y
or the binary format; either may be compressed (gzip, zstd). See docs/trace-format.md.

One interleaving can show a violation. That it shows none does not prove the program safe:
another interleaving may show one.

Examples:
  fencepost monitor run.trace
  fencepost monitor run.fpt.gz --model pso --max-findings 1
  my-tracer ./app | fencepost monitor - --json | tail -n 1";

/// The distinct violations that are shown in full by default.
pub const DEFAULT_MAX_FINDINGS: usize = 3;

#[derive(Args, Debug)]
#[command(mut_arg("max_memory", |argument| argument.default_value("4G")))]
pub struct MonitorArguments {
    /// The trace, or `-` for standard input
    #[arg(value_name = "FILE")]
    pub file: PathBuf,

    /// Find violations of this memory model [default: that of the monitor, else tso]
    #[arg(long, value_enum, value_name = "MODEL")]
    pub model: Option<ModelName>,

    /// Choose what a locked operation drains under PSO [default: everything; own-address for bss-pso]
    #[arg(long, value_enum, value_name = "WHAT")]
    pub pso_locked: Option<PsoLocked>,

    /// Use this monitor
    #[arg(long, value_enum, value_name = "NAME", default_value_t = MonitorName::RelaxedOrder)]
    pub monitor: MonitorName,

    #[command(flatten)]
    pub result: ResultArguments,

    /// Show the first N distinct violations in full, and count the others
    #[arg(long, value_name = "N", default_value_t = DEFAULT_MAX_FINDINGS)]
    pub max_findings: usize,

    /// Stop after N events
    #[arg(long, value_name = "N", help_heading = "Limits")]
    pub max_events: Option<u64>,

    #[command(flatten)]
    pub limits: ResourceLimits,

    /// Keep the latest N events for witnesses; a violation that spans more is read from the file
    /// again, which a pipe does not allow
    #[arg(
        long,
        value_name = "N",
        default_value_t = 65_536,
        help_heading = "Limits"
    )]
    pub witness_window: usize,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum ModelName {
    /// Total store order: x86, SPARC TSO
    Tso,
    /// Partial store order
    Pso,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum MonitorName {
    /// The default: exact, for TSO and PSO
    RelaxedOrder,
    /// As printed by Burckhardt and Musuvathi 2008; misses some violations; TSO
    Sober,
    /// As printed by Burnim, Sen and Stergiou 2010; TSO
    BssTso,
    /// As printed by Burnim, Sen and Stergiou 2010; PSO
    BssPso,
    /// No monitor, only the happens-before clock (the baseline of the benchmarks)
    HappensBefore,
}

/// A monitor and its memory model, resolved from the arguments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MonitorChoice {
    RelaxedTso,
    RelaxedPso(LockedDrains),
    Sober,
    BssTso,
    BssPso,
    HappensBefore(MemoryModel),
}

impl MonitorArguments {
    /// The monitor that these arguments name, or an error message.
    pub fn choice(&self) -> Result<MonitorChoice, String> {
        let model = self.model.unwrap_or(match (self.monitor, self.pso_locked) {
            (MonitorName::BssPso, _) => ModelName::Pso,
            _ => ModelName::Tso,
        });
        if let (ModelName::Tso, Some(_)) = (model, self.pso_locked) {
            return Err("--pso-locked needs --model pso".into());
        }
        let locked = match self.pso_locked {
            Some(PsoLocked::OwnAddress) => LockedDrains::OwnAddress,
            Some(PsoLocked::Everything) | None => LockedDrains::Everything,
        };
        let only = |name: &str, model: &str| {
            Err(format!(
                "the monitor {name} supports only {model}\nhelp: leave out --model, or use --monitor relaxed-order"
            ))
        };
        Ok(match (self.monitor, model) {
            (MonitorName::RelaxedOrder, ModelName::Tso) => MonitorChoice::RelaxedTso,
            (MonitorName::RelaxedOrder, ModelName::Pso) => MonitorChoice::RelaxedPso(locked),
            (MonitorName::Sober, ModelName::Tso) => MonitorChoice::Sober,
            (MonitorName::BssTso, ModelName::Tso) => MonitorChoice::BssTso,
            (MonitorName::BssPso, ModelName::Pso) => match self.pso_locked {
                Some(PsoLocked::Everything) => {
                    return Err("the monitor bss-pso supports only locked operations that drain their own address\nhelp: leave out --pso-locked, or use --monitor relaxed-order".into());
                }
                _ => MonitorChoice::BssPso,
            },
            (MonitorName::HappensBefore, ModelName::Tso) => {
                MonitorChoice::HappensBefore(MemoryModel::TSO)
            }
            (MonitorName::HappensBefore, ModelName::Pso) => {
                MonitorChoice::HappensBefore(match locked {
                    LockedDrains::Everything => MemoryModel::PSO,
                    LockedDrains::OwnAddress => MemoryModel::PSO_OWN_ADDRESS,
                })
            }
            (MonitorName::Sober, ModelName::Pso) => return only("sober", "TSO"),
            (MonitorName::BssTso, ModelName::Pso) => return only("bss-tso", "TSO"),
            (MonitorName::BssPso, ModelName::Tso) => return only("bss-pso", "PSO"),
        })
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::args::{Arguments, Command};

    fn choice(arguments: &[&str]) -> Result<MonitorChoice, String> {
        let words = ["fencepost", "monitor", "x"].iter().chain(arguments);
        match Arguments::try_parse_from(words).unwrap().command {
            Command::Monitor(arguments) => arguments.choice(),
            _ => unreachable!(),
        }
    }

    #[test]
    fn monitor_and_model_are_resolved_together() {
        use MonitorChoice::*;
        let own = LockedDrains::OwnAddress;
        assert_eq!(choice(&[]), Ok(RelaxedTso));
        assert_eq!(
            choice(&["--model", "pso"]),
            Ok(RelaxedPso(LockedDrains::Everything))
        );
        assert_eq!(
            choice(&["--model", "pso", "--pso-locked", "own-address"]),
            Ok(RelaxedPso(own))
        );
        assert_eq!(choice(&["--monitor", "bss-pso"]), Ok(BssPso));
        assert_eq!(
            choice(&["--monitor", "bss-pso", "--model", "pso"]),
            Ok(BssPso)
        );
        assert_eq!(choice(&["--monitor", "sober"]), Ok(Sober));
        for wrong in [
            &["--monitor", "sober", "--model", "pso"][..],
            &["--monitor", "bss-tso", "--model", "pso"],
            &["--monitor", "bss-pso", "--model", "tso"],
            &["--monitor", "bss-pso", "--pso-locked", "everything"],
            &["--pso-locked", "everything"],
        ] {
            assert!(choice(wrong).is_err(), "{wrong:?}");
        }
    }
}
