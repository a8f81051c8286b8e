//! A random test as a file.

use std::fmt::Write as _;

use super::Location;
use super::thread::{DATA_REGISTERS, POINTERS, ThreadWriter};
use crate::code::Width;
use crate::test::Architecture;

/// The file.
pub(super) fn render(
    name: &str,
    architecture: Architecture,
    locations: &[Location],
    threads: &[ThreadWriter<'_>],
) -> String {
    let (syntax, whole) = match architecture {
        Architecture::X86 => ("X86", 1),
        Architecture::X86_64 => ("X86_64", 0),
    };
    let register_name = |register: &str| match architecture {
        Architecture::X86 => register.to_uppercase(),
        Architecture::X86_64 => register.to_owned(),
    };
    let mut text = format!("{syntax} {name}\n{{\n");
    let mut observed = Vec::new();
    for location in locations {
        let kind = match location.width {
            Width::Byte => "uint8_t",
            Width::Word => "uint16_t",
            Width::Long => "int",
            Width::Quad => "uint64_t",
        };
        let _ = writeln!(text, "{kind} {}={};", location.name, location.initial);
        observed.push(format!("{};", location.name));
    }
    for (number, thread) in threads.iter().enumerate() {
        for (index, register) in DATA_REGISTERS.iter().enumerate() {
            if thread.uses_register[index] {
                let register = register_name(register[whole]);
                let _ = writeln!(text, "{number}:{register}={};", thread.initial[index]);
                observed.push(format!("{number}:{register};"));
            }
        }
        for (index, pointer) in POINTERS.iter().enumerate() {
            if thread.uses_pointer[index] {
                let location = locations[thread.pointers[index]].name;
                let pointer = register_name(pointer[whole]);
                let _ = writeln!(text, "{number}:{pointer}={location};");
            }
        }
    }
    text.push_str("}\n");
    render_table(&mut text, threads);
    let _ = writeln!(text, "locations [{}]\nforall (true)", observed.join(" "));
    text
}

fn render_table(text: &mut String, threads: &[ThreadWriter<'_>]) {
    let rows = threads.iter().map(|thread| thread.rows.len());
    let height = rows.max().unwrap_or(0);
    let cell = |thread: usize, row: usize| match row.checked_sub(1) {
        None => format!("P{thread}"),
        Some(row) => threads[thread].rows.get(row).cloned().unwrap_or_default(),
    };
    let width_of = |thread: usize| (0..=height).map(|row| cell(thread, row).len()).max();
    let widths: Vec<usize> = (0..threads.len())
        .map(|thread| width_of(thread).unwrap_or(0))
        .collect();
    for row in 0..=height {
        let cells: Vec<String> = widths
            .iter()
            .enumerate()
            .map(|(thread, &width)| format!(" {:<width$} ", cell(thread, row)))
            .collect();
        let _ = writeln!(text, "{};", cells.join("|"));
    }
}
