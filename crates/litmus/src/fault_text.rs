//! A fault as compilers show errors: with its line.

use crate::test::{Position, Test};
use crate::thread::{Fault, FaultKind};
use fencepost_diagnostics::{Diagnostic, Excerpt, Severity};

impl Fault {
    /// The fault with the instruction's line and a caret below it. `source` is what the test was
    /// read from.
    pub fn render(&self, test: &Test, source: &str, path: &str) -> String {
        let thread = &test.threads[self.thread];
        let number = thread.number;
        let Some(instruction) = thread.instructions.get(self.instruction) else {
            return format!("error: {path}: P{number}: {}", self.kind);
        };
        let Position { line, column } = instruction.position;
        let start = offset(source, instruction.position);
        let length = source[start..].find(['|', ';', '\n']).unwrap_or(0);
        let length = source[start..start + length].trim_end().len();
        let (what, help) = self.words(test);
        let diagnostic = Diagnostic {
            severity: Severity::Error,
            message: &what,
            line: line.into(),
            column: column.into(),
            excerpt: &Excerpt::around(source, start, start + length),
            label: &format!("in an execution of P{number}"),
            help,
        };
        diagnostic.render(path)
    }

    fn words(&self, test: &Test) -> (String, &'static str) {
        match self.kind {
            FaultKind::NoSuchCell { address } => (
                format!("there is no location at address {address:#x}"),
                "an address is that of a location (`0:EAX=x;` in the initial state) or of an element of an array",
            ),
            FaultKind::MixedWidth {
                cell,
                accessed,
                declared,
            } => (
                format!(
                    "`{}` is accessed with {} bytes, elsewhere with {}",
                    test.cells[cell.index()].name,
                    accessed.bytes(),
                    declared.bytes()
                ),
                "accesses of several sizes to one location are not modelled; they would need a memory of bytes",
            ),
            FaultKind::SilentLoop => (
                "a loop that touches no memory and does not end".to_owned(),
                "a thread must come to its end, or to memory",
            ),
        }
    }
}

/// Where a position is in the source, in bytes.
fn offset(source: &str, position: Position) -> usize {
    let before = source
        .split_inclusive('\n')
        .take(position.line as usize - 1);
    let line_start: usize = before.map(str::len).sum();
    let rest = &source[line_start.min(source.len())..];
    let column = rest.char_indices().nth(position.column as usize - 1);
    line_start + column.map_or(rest.len(), |(index, _)| index)
}
