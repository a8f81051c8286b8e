//! What is said of how many executions there will be, compared with how many there are.

use crate::model;

use std::ops::ControlFlow;
use std::sync::Arc;

use fencepost_explore::{Estimate, MonitoredModel, Settings, explore};

use model::families;
use model::language::Model;
use model::running::ModelProgram;

/// What was said, and after how many executions.
type Said = Vec<(u64, Estimate)>;

/// How many executions there are, and what was said meanwhile.
fn said(model: &Arc<Model>, most: Option<u64>, workers: usize) -> (u64, Said) {
    let program = ModelProgram::new(model);
    let settings = Settings {
        monitored_model: MonitoredModel::None,
        max_executions: most,
        workers,
        ..Settings::default()
    };
    let mut said = Vec::new();
    let report = explore(|| program.clone(), &settings, &mut |progress| {
        let estimate = progress.estimate.expect("all are explored");
        said.push((progress.executions, estimate));
        ControlFlow::Continue(())
    });
    (report.executions, said)
}

#[test]
fn an_end_that_is_promised_is_near_the_truth() {
    for (name, model, all) in [
        ("counter(3, 2)", families::counter(3, 2), 90),
        ("counter(4, 2)", families::counter(4, 2), 2520),
        ("counter(5, 2)", families::counter(5, 2), 113_400),
        ("last_zero(10)", families::last_zero(10), 3328),
        ("last_zero(13)", families::last_zero(13), 32_768),
        ("readers(13)", families::readers(13), 8192),
        (
            "store_buffering(13)",
            families::store_buffering(13, false),
            8191,
        ),
    ] {
        for workers in [1, 2] {
            let (executions, said) = said(&model, None, workers);
            assert_eq!(executions, all, "{name}");
            for (after, estimate) in said {
                let factor = estimate.executions / all as f64;
                let is_near = (0.1..10.0).contains(&factor);
                // With several workers, it depends on when each of them reports.
                let is_half = after >= all / 2 && workers == 1;
                assert!(
                    is_near || !estimate.is_steady && !is_half,
                    "{name}, {workers} workers: after {after}, {estimate:?}"
                );
            }
        }
    }
}

#[test]
fn an_end_is_promised_where_all_branches_are_alike() {
    for (model, all) in [
        (families::counter(4, 2), 2520),
        (families::counter(5, 2), 113_400),
    ] {
        let (_, said) = said(&model, None, 1);
        let first = said.iter().find(|(_, estimate)| estimate.is_steady);
        let (after, estimate) = first.expect("it becomes known");
        assert!(*after < all * 7 / 10, "{after} of {all}");
        let factor = estimate.executions / all as f64;
        assert!((0.9..1.1).contains(&factor), "{estimate:?} of {all}");
    }
}

#[test]
fn no_end_is_promised_that_is_far_away() {
    // 3 * 10^15 and 9 * 10^9 executions.
    for model in [families::counter(6, 4), families::counter(3, 8)] {
        for workers in [1, 2] {
            let (executions, said) = said(&model, Some(300_000), workers);
            assert_eq!(executions, 300_000);
            for (after, estimate) in said {
                assert!(!estimate.is_steady, "{workers} workers: after {after}");
            }
        }
    }
}
