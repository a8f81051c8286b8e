//! The results as text and as JSON.

use serde_json::{Value, json};

use crate::machine::Machine;
use crate::measure::Measurement;
use crate::options::Options;
use crate::results::{Cell, Ratio, Row};
use crate::tools::Tool;

const HOW_TO_READ: &str = "\
An execution is one run of the program's closure. `classes` are the sequentially consistent
executions that differ in what was read from where or in the order of writes; a tool that tells
them all apart cannot do with fewer.

fencepost  exhaustive for x86 unless its column says otherwise: every class once.
loom       exhaustive under its own C11 model: it also runs executions that are not sequentially
           consistent, and it may run a class more than once. At most 5 threads, the main one too.
shuttle    dfs: every interleaving of the steps that it sees, beginnings and ends of threads
           among them; sequentially consistent only.
random     so many executions, with repetitions; they prove nothing, for any tool.
bound 2    only executions with at most two preemptions. Each tool counts them its own way.

sb         store buffering, which is not store-buffer safe: Fencepost runs what it finds again and checks it.
sb-seqcst  the same, and safe.

Each measurement is made in a process of its own. Time is its processor time unless it says
`wall`. > was stopped before its end, and measured once: it is at least that much; < is the other
way round. - cannot be run, or has no such number.
";

/// Prints everything as text.
pub fn print(rows: &[Row], options: &Options, before: &Machine, after: &Machine) {
    println!("{HOW_TO_READ}");
    println!("{before}; load {} at the end", after.load);
    println!(
        "{} rounds, in turns; medians. Stopped after {} ms, Fencepost after {} ms.",
        options.rounds,
        Tool::ShuttleDfs.budget(options).as_millis(),
        Tool::Fencepost.budget(options).as_millis(),
    );
    print_section("executions", rows, options, |cell| {
        let count = cell.median(|one| one.executions as f64)?;
        Some(marked(cell, count_text(count)))
    });
    print_section("executions per CPU second", rows, options, |cell| {
        Some(count_text(
            1.0 / cell.median(Measurement::seconds_per_execution)?,
        ))
    });
    print_section("CPU time to the end", rows, options, |cell| {
        let seconds = cell.median(|one| one.cpu_seconds)?;
        (!cell.tool.is_sample()).then(|| marked(cell, time_text(seconds)))
    });
    print_section("peak memory of the process, MB", rows, options, |cell| {
        cell.memory().map(|memory| format!("{memory:.1}"))
    });
    print_own_ratios(rows);
    print_peer_ratios(rows);
    print_bars(rows);
    print_failures(rows);
}

fn print_section(
    title: &str,
    rows: &[Row],
    options: &Options,
    text: impl Fn(&Cell) -> Option<String>,
) {
    println!("\n{title}");
    for line in 0..2 {
        let [first, second] = [["", "program"][line], ["", "classes"][line]];
        print!("{first:14} {second:>7} ");
        for tool in &options.tools {
            print!(" {:>9}", tool.heading()[line]);
        }
        println!();
    }
    for row in rows {
        print!(
            "{:14} {:>7} ",
            row.program.to_string(),
            row.program.classes()
        );
        for &tool in &options.tools {
            let text = row.cell(tool).and_then(&text);
            print!(" {:>9}", text.unwrap_or_else(|| "-".to_string()));
        }
        println!();
    }
}

/// A heading of two lines, and what is in the column.
type Column<'a> = ([&'a str; 2], &'a dyn Fn(&Row) -> Option<String>);

fn print_columns(title: &str, rows: &[Row], columns: &[Column<'_>]) {
    println!("\n{title}");
    for line in 0..2 {
        print!("{:14}", ["", "program"][line]);
        for (heading, _) in columns {
            print!(" {:>17}", heading[line]);
        }
        println!();
    }
    for row in rows {
        print!("{:14}", row.program.to_string());
        for (_, text) in columns {
            print!(" {:>17}", text(row).unwrap_or_else(|| "-".to_string()));
        }
        println!();
    }
}

fn cpu(one: &Measurement) -> f64 {
    one.cpu_seconds
}

fn print_own_ratios(rows: &[Row]) {
    print_columns(
        "Fencepost compared with itself: medians of the rounds (least to greatest)",
        rows,
        &[
            (["monitor for x86", "/ no monitor"], &|row| {
                Some(ratio_text(monitor_ratio(row)?))
            }),
            (["the same, random", "per execution"], &|row| {
                Some(ratio_text(random_monitor_ratio(row)?))
            }),
            (["monitor for PSO", "/ no monitor"], &|row| {
                let ratio = row.ratio_to_end(Tool::Pso, Tool::NoMonitor, cpu)?;
                Some(ratio_text(ratio))
            }),
            (["bound 2 / none,", "per execution"], &|row| {
                Some(ratio_text(bound_ratio(row)?))
            }),
            (["the same with", "those given up"], &|row| {
                let begun =
                    |one: &Measurement| one.cpu_seconds / (one.executions + one.abandoned) as f64;
                Some(ratio_text(row.ratio(
                    Tool::Bounded,
                    Tool::Fencepost,
                    begun,
                )?))
            }),
            (["1 worker / 2,", "wall"], &|row| {
                let wall = |one: &Measurement| one.wall_seconds;
                let ratio = row.ratio_to_end(Tool::Fencepost, Tool::TwoWorkers, wall)?;
                Some(ratio_text(ratio))
            }),
            (["2 workers / 1,", "CPU"], &|row| {
                let ratio = row.ratio_to_end(Tool::TwoWorkers, Tool::Fencepost, cpu)?;
                Some(ratio_text(ratio))
            }),
        ],
    );
}

fn print_peer_ratios(rows: &[Row]) {
    let per_execution = |row: &Row, peer, own| {
        let ratio = row.ratio(peer, own, Measurement::seconds_per_execution)?;
        Some(short_ratio_text(ratio))
    };
    let to_end = |row: &Row, peer, own| Some(short_ratio_text(row.ratio_to_end(peer, own, cpu)?));
    print_columns(
        "CPU time of the peer / that of Fencepost: above 1, Fencepost is faster",
        rows,
        &[
            (["loom,", "per execution"], &|row| {
                per_execution(row, Tool::Loom, Tool::Fencepost)
            }),
            (["shuttle dfs,", "per execution"], &|row| {
                per_execution(row, Tool::ShuttleDfs, Tool::Fencepost)
            }),
            (["shuttle random /", "random"], &|row| {
                per_execution(row, Tool::ShuttleRandom, Tool::Random)
            }),
            (["loom,", "to the end"], &|row| {
                to_end(row, Tool::Loom, Tool::Fencepost)
            }),
            (["loom / fencepost", "bound 2, to end"], &|row| {
                to_end(row, Tool::LoomBounded, Tool::Bounded)
            }),
            (["shuttle dfs,", "to the end"], &|row| {
                to_end(row, Tool::ShuttleDfs, Tool::Fencepost)
            }),
        ],
    );
}

fn monitor_ratio(row: &Row) -> Option<Ratio> {
    row.ratio(
        Tool::Fencepost,
        Tool::NoMonitor,
        Measurement::seconds_per_execution,
    )
}

/// The number of executions from which on the fixed cost of a check and a finding does not matter.
fn random_monitor_ratio(row: &Row) -> Option<Ratio> {
    row.ratio(
        Tool::Random,
        Tool::RandomNoMonitor,
        Measurement::seconds_per_execution,
    )
}

fn bound_ratio(row: &Row) -> Option<Ratio> {
    row.ratio(
        Tool::Bounded,
        Tool::Fencepost,
        Measurement::seconds_per_execution,
    )
}

/// The claims that should hold. A claim that does not is reported, and is not an error: machines are noisy.
fn print_bars(rows: &[Row]) {
    println!("\nwhat Fencepost is held to");
    let bar = |title: &str, values: Vec<(String, f64)>, is_met: &dyn Fn(f64) -> bool, unit| {
        if values.is_empty() {
            return;
        }
        let missed: Vec<String> = values
            .iter()
            .filter(|(_, value)| !is_met(*value))
            .map(|(name, value)| format!("{name} {value:.2}{unit}"))
            .collect();
        let met = values.len() - missed.len();
        println!("  {title}: {met} of {}", values.len());
        if !missed.is_empty() {
            println!("    not: {}", missed.join(", "));
        }
    };
    let ratios = |of: fn(&Row) -> Option<Ratio>| -> Vec<(String, f64)> {
        let rows = rows.iter();
        rows.filter_map(|row| Some((row.program.to_string(), of(row)?.median)))
            .collect()
    };
    bar(
        "monitor for x86 / no monitor at most 1.25",
        ratios(monitor_ratio),
        &|value| value <= 1.25,
        "",
    );
    bar(
        "the same per execution, over many at random",
        ratios(random_monitor_ratio),
        &|value| value <= 1.25,
        "",
    );
    bar(
        "bound 2 / none, per execution, below 2",
        ratios(bound_ratio),
        &|value| value < 2.0,
        "",
    );
    let memory = rows.iter().flat_map(|row| {
        let cells = row.cells.iter().filter(|cell| cell.tool.is_ours());
        cells.filter_map(|cell| {
            let name = format!("{} {}", cell.tool.name(), row.program);
            Some((name, cell.memory()?))
        })
    });
    bar(
        "peak memory below 50 MB",
        memory.collect(),
        &|value| value < 50.0,
        " MB",
    );
}

fn print_failures(rows: &[Row]) {
    for row in rows {
        for cell in &row.cells {
            if let Some(failure) = &cell.failure {
                println!(
                    "\n{} failed on {}: {failure}",
                    cell.tool.name(),
                    row.program
                );
            }
        }
    }
}

fn marked(cell: &Cell, text: String) -> String {
    match cell.is_stopped() {
        true => format!(">{text}"),
        false => text,
    }
}

fn count_text(count: f64) -> String {
    match count {
        10e6.. => format!("{:.0}M", count / 1e6),
        1e6.. => format!("{:.1}M", count / 1e6),
        _ => format!("{count:.0}"),
    }
}

fn time_text(seconds: f64) -> String {
    match seconds {
        1.0.. => format!("{seconds:.2}s"),
        1e-3.. => format!("{:.1}ms", seconds * 1e3),
        _ => format!("{:.0}us", seconds * 1e6),
    }
}

fn ratio_text(ratio: Ratio) -> String {
    if ratio.is_single {
        return short_ratio_text(ratio);
    }
    let Ratio {
        median,
        least,
        greatest,
        mark,
        ..
    } = ratio;
    match greatest {
        10.0.. => format!("{mark}{median:.0} ({least:.0}-{greatest:.0})"),
        _ => format!("{mark}{median:.2} ({least:.2}-{greatest:.2})"),
    }
}

fn short_ratio_text(Ratio { median, mark, .. }: Ratio) -> String {
    match median {
        10.0.. => format!("{mark}{median:.0}"),
        ..0.1 => format!("{mark}{median:.3}"),
        _ => format!("{mark}{median:.2}"),
    }
}

/// Every measurement.
pub fn to_json(rows: &[Row], options: &Options, before: &Machine, after: &Machine) -> Value {
    let cells = rows.iter().flat_map(|row| {
        row.cells.iter().map(move |cell| {
            let measurements = cell
                .measurements
                .iter()
                .map(|(round, one)| json!({ "round": round, "measured": one }));
            json!({
                "program": row.program.to_string(),
                "classes": row.program.classes(),
                "tool": cell.tool.name(),
                "failure": cell.failure,
                "measurements": measurements.collect::<Vec<_>>(),
            })
        })
    });
    json!({
        "processor": before.processor,
        "cores": before.cores,
        "load_before": before.load,
        "load_after": after.load,
        "rounds": options.rounds,
        "budget_ms": options.budget.as_millis() as u64,
        "random_executions": options.random,
        "rows": cells.collect::<Vec<_>>(),
    })
}
