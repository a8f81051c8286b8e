//! The loop over all executions.

use std::ops::ControlFlow;

use rustc_hash::FxHashSet;

use super::coherence::{Completions, last_writes, with_last};
use super::found::{self, Found};
use super::graph::Graph;
use super::growth::{Grown, Growth};
use super::order::Order;
use super::{Cut, Error, Summary};
use crate::test::Observable;

/// The number of steps between two polls of the stop function.
const STEPS_BETWEEN_QUESTIONS: u64 = 256;

/// Grows all executions. `on_whole` receives each one, and returns whether to continue; if not,
/// whether something was cut.
pub(super) fn search(
    growth: &Growth<'_>,
    mut on_whole: impl FnMut(&Graph, &mut u64) -> ControlFlow<Option<Cut>>,
) -> Result<Summary, Error> {
    let mut summary = Summary::default();
    let mut stack = vec![Graph::new(growth.test)];
    let mut steps = 0u64;
    while let Some(graph) = stack.pop() {
        steps += 1;
        if steps % STEPS_BETWEEN_QUESTIONS == 0 && (growth.limits.should_stop)() {
            summary.cut = Some(Cut::Stopped);
            break;
        }
        match growth.grow(graph, &mut stack)? {
            Grown::Whole(_) if summary.executions >= growth.limits.executions => {
                summary.cut = Some(Cut::Executions);
                break;
            }
            Grown::Whole(graph) => {
                if let ControlFlow::Break(cut) = on_whole(&graph, &mut summary.executions) {
                    summary.cut = cut.or(summary.cut);
                    break;
                }
            }
            Grown::Faulty(graph, fault) => {
                let is_valid = || {
                    let cells = growth.test.cells.len();
                    let order = graph.order.clone();
                    Completions::new(&graph, cells, order).next().is_some()
                };
                if !summary.faults.contains(&fault) && is_valid() {
                    summary.faults.push(fault);
                }
            }
            Grown::Nothing => {}
            Grown::Cut(cut) => summary.cut = Some(cut),
        }
    }
    Ok(summary)
}

/// Hands out every order of the writes to each cell.
pub(super) fn for_all_completions(
    growth: &Growth<'_>,
    graph: &Graph,
    executions: &mut u64,
    visitor: &mut impl FnMut(&Found<'_>) -> ControlFlow<()>,
) -> ControlFlow<Option<Cut>> {
    let cells = growth.test.cells.len();
    for order in Completions::new(graph, cells, graph.order.clone()) {
        if *executions >= growth.limits.executions {
            return ControlFlow::Break(Some(Cut::Executions));
        }
        *executions += 1;
        let found = Found {
            growth,
            graph,
            order: &order,
        };
        if visitor(&found).is_break() {
            return ControlFlow::Break(None);
        }
        if *executions % STEPS_BETWEEN_QUESTIONS == 0 && (growth.limits.should_stop)() {
            return ControlFlow::Break(Some(Cut::Stopped));
        }
    }
    ControlFlow::Continue(())
}

/// Decides which write is the last to each observed cell, in all ways that make a difference, and
/// then whether there is a valid execution.
pub(super) fn for_new_states(
    growth: &Growth<'_>,
    graph: &Graph,
    known: &mut FxHashSet<Vec<u64>>,
    on_new_state: &mut impl FnMut(&Found<'_>),
) {
    let test = growth.test;
    let mut cells: Vec<usize> = test
        .observables()
        .filter_map(|observable| match observable {
            Observable::Cell { cell, .. } => Some(cell.index()),
            Observable::Register { .. } => None,
        })
        .collect();
    cells.sort_unstable();
    cells.dedup();
    let mut stack: Vec<(Order, usize)> = vec![(graph.order.clone(), 0)];
    while let Some((order, decided)) = stack.pop() {
        if let Some(&cell) = cells.get(decided) {
            let candidates = last_writes(&order, cell);
            let value = |&write: &usize| graph.nodes[write].written;
            let makes_no_difference = candidates.windows(2).all(|w| value(&w[0]) == value(&w[1]));
            if makes_no_difference {
                stack.push((order, decided + 1));
                continue;
            }
            for &last in &candidates {
                let with = with_last(graph, &order, cell, last);
                stack.extend(with.map(|order| (order, decided + 1)));
            }
            continue;
        }
        let state = found::observed(growth, graph, |cell| {
            last_writes(&order, cell.index()).first().copied()
        });
        if known.contains(&state) {
            continue;
        }
        let completed = Completions::new(graph, test.cells.len(), order).next();
        if let Some(order) = completed {
            on_new_state(&Found {
                growth,
                graph,
                order: &order,
            });
            known.insert(state);
        }
    }
}
