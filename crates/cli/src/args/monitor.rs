//! The options of `fencepost monitor`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use fencepost_memory::{LockedDrains, MemoryModel};

use super::models::PsoLocked;
use super::values::size;

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

/// How many distinct violations are shown in full.
pub const DEFAULT_MAX_FINDINGS: usize = 3;

#[derive(Args, Debug)]
pub struct MonitorArguments {
    /// The trace, or `-` for standard input
    #[arg(value_name = "FILE")]
    pub file: PathBuf,

    /// The memory model to watch for [default: that of the monitor, else tso]
    #[arg(long, value_enum, value_name = "MODEL")]
    pub model: Option<ModelName>,

    /// What a locked operation drains under PSO [default: everything; own-address for bss-pso]
    #[arg(long, value_enum, value_name = "WHAT")]
    pub pso_locked: Option<PsoLocked>,

    /// The monitor
    #[arg(long, value_enum, value_name = "NAME", default_value_t = MonitorName::RelaxedOrder)]
    pub monitor: MonitorName,

    /// Print JSON, one object per line; the last line is the summary
    #[arg(long)]
    pub json: bool,

    /// How many distinct violations to show in full; the rest is counted
    #[arg(long, value_name = "N", default_value_t = DEFAULT_MAX_FINDINGS)]
    pub max_findings: usize,

    /// Stop after this many events
    #[arg(long, value_name = "N", help_heading = "Limits")]
    pub max_events: Option<u64>,

    /// The most memory for clocks, history and names, such as 500M or 4G
    #[arg(long, value_name = "SIZE", default_value = "4G", value_parser = size, help_heading = "Limits")]
    pub memory_limit: usize,

    /// How many of the latest events are kept for witnesses; if a violation spans more, a file is
    /// read again, a pipe cannot be
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

/// A monitor and the model that it watches for, resolved from the arguments.
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
    /// The monitor that these arguments ask for, or why there is none.
    pub fn choice(&self) -> Result<MonitorChoice, String> {
        let model = self.model.unwrap_or(match (self.monitor, self.pso_locked) {
            (MonitorName::BssPso, _) => ModelName::Pso,
            _ => ModelName::Tso,
        });
        if let (ModelName::Tso, Some(_)) = (model, self.pso_locked) {
            return Err("--pso-locked is about PSO; add --model pso".into());
        }
        let locked = match self.pso_locked {
            Some(PsoLocked::OwnAddress) => LockedDrains::OwnAddress,
            Some(PsoLocked::Everything) | None => LockedDrains::Everything,
        };
        let only = |name: &str, model: &str| {
            Err(format!(
                "the monitor {name} knows only {model}; leave out --model, or use --monitor relaxed-order"
            ))
        };
        Ok(match (self.monitor, model) {
            (MonitorName::RelaxedOrder, ModelName::Tso) => MonitorChoice::RelaxedTso,
            (MonitorName::RelaxedOrder, ModelName::Pso) => MonitorChoice::RelaxedPso(locked),
            (MonitorName::Sober, ModelName::Tso) => MonitorChoice::Sober,
            (MonitorName::BssTso, ModelName::Tso) => MonitorChoice::BssTso,
            (MonitorName::BssPso, ModelName::Pso) => match self.pso_locked {
                Some(PsoLocked::Everything) => {
                    return Err("the monitor bss-pso knows only locked operations that drain their own address; leave out --pso-locked, or use --monitor relaxed-order".into());
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
