//! The text in the boxes of the nodes.

use fencepost_litmus::execution::{Action, Candidate, Event, EventId};
use fencepost_litmus::run::{Run, RunAction};
use fencepost_litmus::test::Test;

use super::metrics::TextStyle;
use super::words::{action, instruction, letter};
use crate::svg::wrapped;
use fencepost_litmus::event_graph::Node;

/// A line of text in a box.
#[derive(Clone, PartialEq, Debug)]
pub struct BoxLine {
    /// The role of the text.
    pub style: TextStyle,
    /// The text.
    pub text: String,
    /// A remark that follows on the same line.
    pub remark: Option<String>,
}

impl BoxLine {
    fn new(style: TextStyle, text: String) -> Self {
        BoxLine {
            style,
            text,
            remark: None,
        }
    }

    /// The width of the line.
    pub fn width(&self) -> f64 {
        let remark = self
            .remark
            .as_ref()
            .map_or(0.0, |text| TextStyle::Remark.width(text) + REMARK_GAP);
        self.style.width(&self.text) + remark
    }
}

/// The space before a remark on the same line.
pub const REMARK_GAP: f64 = 7.0;
/// The largest width of an instruction, in columns; longer ones are wrapped.
const LONGEST_INSTRUCTION: usize = 34;

/// The lines of a node: its events, its instruction, and when the run performs it.
pub fn box_lines(
    test: &Test,
    candidate: &Candidate,
    run: Option<&Run>,
    node: &Node,
) -> Vec<BoxLine> {
    let mut lines = Vec::new();
    for &id in &node.events {
        let text = format!("{}: {}", letter(id), action(test, candidate.event(id)));
        let mut line = BoxLine::new(TextStyle::Event, text);
        line.remark = reads_initial(candidate, id).then(|| "init".to_string());
        lines.push(line);
    }
    let event = candidate.event(node.events[0]);
    let text = instruction(test, event.thread, event.instruction);
    // The event of a fence says it already.
    if !node.is_fence || !text.eq_ignore_ascii_case(&action(test, event)) {
        let parts = wrapped(text, LONGEST_INSTRUCTION).into_iter();
        lines.extend(parts.map(|part| BoxLine::new(TextStyle::Instruction, part)));
    }
    if let Some(run) = run {
        let times = node
            .events
            .iter()
            .map(|&id| times(run, candidate.event(id)));
        let times: Vec<String> = times.filter(|time| !time.is_empty()).collect();
        let texts = wrapped(&times.join(", "), LONGEST_INSTRUCTION).into_iter();
        lines.extend(texts.map(|text| BoxLine::new(TextStyle::Remark, text)));
    }
    lines
}

fn reads_initial(candidate: &Candidate, id: EventId) -> bool {
    candidate.event(id).action.is_read() && candidate.reads_from[id.index()].is_none()
}

/// When the run performs an event, by the numbers of its steps: `step 1, commit 6`.
fn times(run: &Run, event: &Event) -> String {
    let mut times: Vec<String> = Vec::new();
    for (index, step) in run.steps.iter().enumerate() {
        if (step.thread, step.instance) != (event.thread, event.instance) {
            continue;
        }
        let number = index + 1;
        match (event.action, step.action) {
            (Action::Write(..), RunAction::Commit(..)) => times.push(format!("commit {number}")),
            (Action::Read(..), RunAction::ReadBuffer(..)) => {
                times.push(format!("step {number}, own buffer"));
            }
            (Action::Read(..), RunAction::ReadMemory(..) | RunAction::LockedRead(..))
            | (
                Action::Write(..),
                RunAction::Issue(..) | RunAction::Write(..) | RunAction::LockedWrite(..),
            )
            | (Action::Fence(_), RunAction::Fence(_)) => times.push(format!("step {number}")),
            _ => {}
        }
    }
    times.join(", ")
}
