//! Control flow: missing returns and recursion.

use super::Resolver;
use crate::model::FunctionId;
use crate::model::code::{ExprKind, Statement, StatementKind, ValueType};
use crate::model::types::Types;
use crate::model_error_kind::ModelErrorKind;
use crate::source::Span;
use fencepost_diagnostics::quoted;

/// Whether the end of the statements may be reached, as far as can be seen.
pub(super) fn falls_through(types: &Types, statements: &[Statement]) -> bool {
    statements.iter().all(|s| statement_falls_through(types, s))
}

fn statement_falls_through(types: &Types, statement: &Statement) -> bool {
    let falls = |body: &[Statement]| falls_through(types, body);
    match &statement.kind {
        StatementKind::Return(_) | StatementKind::Error(_) => false,
        StatementKind::Assert { condition, .. } => !matches!(condition.kind, ExprKind::Constant(0)),
        StatementKind::If { branches } => {
            let has_else = branches.last().is_some_and(|b| b.test.is_none());
            !has_else || branches.iter().any(|branch| falls(&branch.body))
        }
        StatementKind::Switch {
            subject,
            arms,
            otherwise,
        } => {
            let mut values: Vec<i64> = Vec::new();
            for value in arms.iter().flat_map(|arm| &arm.values) {
                if let ExprKind::Constant(value) = value.kind {
                    values.push(value);
                }
            }
            values.sort_unstable();
            values.dedup();
            let is_exhaustive = match subject.value_type {
                ValueType::Of(id) => types[id].cardinality() == Some(values.len() as u128),
                _ => false,
            };
            let others = match otherwise {
                Some((_, body)) => falls(body),
                None => !is_exhaustive,
            };
            others || arms.iter().any(|arm| falls(&arm.body))
        }
        StatementKind::While { test, .. } => !matches!(test.kind, ExprKind::Constant(1)),
        StatementKind::Alias { body, .. } => falls(body),
        _ => true,
    }
}

/// The progress of the depth-first search of calls.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Visit {
    New,
    Open,
    /// Finished, with the depth of its calls.
    Done(usize),
}

impl Resolver<'_, '_> {
    /// Reports functions that call themselves, and calls that are nested too deeply. `calls` has,
    /// for each function, those that it calls.
    pub(super) fn check_recursion(&mut self, calls: &[Vec<(FunctionId, Span)>]) {
        let mut visits = vec![Visit::New; calls.len()];
        for start in 0..calls.len() {
            if visits[start] != Visit::New {
                continue;
            }
            // The functions that are open, each with how many of its calls were followed.
            let mut path = vec![(start, 0_usize)];
            visits[start] = Visit::Open;
            while let Some((at, followed)) = path.pop() {
                let Some((called, span)) = calls[at].get(followed) else {
                    self.close(at, calls, &mut visits);
                    continue;
                };
                path.push((at, followed + 1));
                let called = called.0 as usize;
                match visits[called] {
                    Visit::New => {
                        visits[called] = Visit::Open;
                        path.push((called, 0));
                    }
                    Visit::Open => self.note_recursion(called, &path, *span),
                    Visit::Done(_) => {}
                }
            }
        }
    }

    /// Finds the functions that may find an assumption false, also in functions that they call.
    pub(super) fn find_assumes(&mut self, calls: &[Vec<(FunctionId, Span)>]) {
        loop {
            let before = self.assumes.clone();
            for (at, called) in calls.iter().enumerate() {
                self.assumes[at] |= called.iter().any(|(of, _)| before[of.0 as usize]);
            }
            if self.assumes == before {
                return;
            }
        }
    }

    fn close(&mut self, at: usize, calls: &[Vec<(FunctionId, Span)>], visits: &mut [Visit]) {
        let depth = |(called, _): &(FunctionId, Span)| match visits[called.0 as usize] {
            Visit::Done(depth) => depth + 1,
            _ => 0,
        };
        let deepest = calls[at].iter().map(depth).max().unwrap_or(0);
        visits[at] = Visit::Done(deepest);
        if deepest > self.limits.calls {
            let error = ModelErrorKind::limit("calls within each other", self.limits.calls as u64);
            self.report(error, self.signatures[at].name.span);
        }
    }

    fn note_recursion(&mut self, called: usize, path: &[(usize, usize)], span: Span) {
        let from = path.iter().position(|(at, _)| *at == called).unwrap_or(0);
        let between = path[from + 1..].iter();
        let names: Vec<String> = between
            .map(|(at, _)| format!("`{}`", quoted(self.signatures[*at].name.text)))
            .take(8)
            .collect();
        let error = ModelErrorKind::Recursion {
            name: quoted(self.signatures[called].name.text),
            path: names.join(", "),
        };
        self.report(error, span);
    }
}
