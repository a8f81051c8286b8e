//! Runs one thread of a test alone, on a memory without buffers.

use fencepost_litmus::test::{CellId, Observable, Test};
use fencepost_litmus::thread::{Fault, Layout, Pending, Runner};
use fencepost_litmus::{Limits, parse};

/// Reads a test that is right.
pub fn read(source: &str) -> Test {
    match parse(source.as_bytes(), &Limits::default()) {
        Ok(test) => test,
        Err(error) => panic!("{}", error.render("test")),
    }
}

/// What a single thread did.
pub struct Run {
    /// The final state as it is printed.
    pub state: String,
    /// Its accesses: `R x`, `W x`, `(` and `)` around those of a locked instruction, fences.
    pub events: Vec<String>,
}

/// Runs the only thread of a test.
pub fn run(test: &Test) -> Result<Run, Fault> {
    assert_eq!(test.threads.len(), 1);
    let layout = Layout::new(test);
    let mut memory: Vec<u64> = test.cells.iter().map(|cell| cell.initial).collect();
    let mut registers: Vec<u64> = test.threads[0]
        .registers
        .iter()
        .map(|r| r.initial)
        .collect();
    let mut position = 0;
    let mut events = Vec::new();
    let name = |cell: CellId| test.cells[cell.index()].name.clone();
    let mut runner = Runner {
        thread: 0,
        test,
        layout: &layout,
        position: &mut position,
        registers: &mut registers,
    };
    loop {
        match runner.advance()? {
            Pending::Load(cell) => {
                events.push(format!("R {}", name(cell)));
                runner.loaded(memory[cell.index()]);
            }
            Pending::Store(cell, value) => {
                events.push(format!("W {}", name(cell)));
                memory[cell.index()] = value;
                runner.passed();
            }
            Pending::Fence(fence) => {
                events.push(format!("{fence:?}"));
                runner.passed();
            }
            Pending::BeginLocked => {
                events.push("(".into());
                runner.passed();
            }
            Pending::EndLocked => {
                events.push(")".into());
                runner.passed();
            }
            Pending::Ended => break,
        }
    }
    let state: Vec<u64> = test
        .observables()
        .map(|observable| match observable {
            Observable::Register {
                register, width, ..
            } => registers[register.index()] & width.mask(),
            Observable::Cell { cell, .. } => {
                memory[cell.index()] & test.cells[cell.index()].width.mask()
            }
        })
        .collect();
    Ok(Run {
        state: test.format_state(&state),
        events,
    })
}
