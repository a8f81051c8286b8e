//! What is said to rule a cycle out does: in random executions, with the fences put in, the same
//! cycle is not found again. And whatever is found can be shown, in any width.

use crate::support;

use fencepost_memory::{Access, Address, Operation, OperationKind, Random, ThreadId};
use fencepost_memory::{Drain, LockedDrains, MemoryModel};
use fencepost_monitor::{Finding, Monitor, MonitorRunner, RelaxedOrderMonitor};
use fencepost_report::SourcePosition;
use fencepost_report::check::{CheckFinding, Problem};
use fencepost_report::json::check::problem::{ProblemObject, RepairObject};
use fencepost_report::json::check::{AccessObject, FindingObject};
use support::{Program, plain};

/// An access, and the number of its line, which nothing else has.
type Line = (Access, u32);

fn random_execution(random: &mut Random) -> Vec<Line> {
    let kinds = [
        OperationKind::Load,
        OperationKind::Load,
        OperationKind::Load,
        OperationKind::Store,
        OperationKind::Store,
        OperationKind::Store,
        OperationKind::Interlocked,
        OperationKind::LockedStore,
        OperationKind::LockedLoad,
        OperationKind::Fence,
        OperationKind::StoreBarrier,
    ];
    let access = |line: u32| {
        let kind = kinds[random.below(kinds.len() as u64) as usize];
        let thread = ThreadId(random.below(3) as u32);
        let address = Address(random.below(3) as u32);
        (Access::new(thread, kind.at(address)), line)
    };
    (0..12).map(access).collect()
}

fn program(execution: &[Line]) -> Program {
    let mut program = Program::new("src/random.rs", &"    X.store(1, Relaxed);\n".repeat(12));
    for (access, line) in execution {
        let kind = access.operation.kind();
        let address = access.operation.address();
        let variable = address.map_or(String::new(), |a| format!("v{}", a.0));
        let what = format!("{} {kind} {variable}", access.thread);
        program.perform(&what, SourcePosition::new("src/random.rs", *line, 7));
    }
    program
}

/// The first violation whose cycle satisfies the condition, in an execution.
fn first<M: Monitor>(
    program: &Program,
    monitor: M,
    condition: impl Fn(&Finding) -> bool,
) -> Option<CheckFinding> {
    let mut runner = MonitorRunner::new(monitor);
    for access in &program.accesses {
        if let Some(violation) = runner.observe(*access).unwrap() {
            let explained = runner.explain(&violation);
            if explained.as_ref().is_ok_and(&condition) {
                return Some(program.with_problem(Problem::StoreBuffer {
                    violation,
                    explained,
                }));
            }
        }
    }
    None
}

/// The lines of a cycle, from the pending write.
fn lines(program: &Program, finding: &Finding) -> Vec<u32> {
    let locations = finding.cycle.iter().map(|s| s.event.event.access.location);
    let position = |location| fencepost_report::Naming::position(program, location);
    locations
        .map(|location| location.and_then(position).map_or(0, |p| p.line))
        .collect()
}

/// What the repair does to the execution: with fences, or in the other way.
fn repaired(execution: &[Line], repair: &RepairObject, with_fences: bool) -> Option<Vec<Line>> {
    let index = |access: &AccessObject| access.event.position as usize - 1;
    let mut before: Vec<(usize, Operation)> = Vec::new();
    let mut result: Vec<Line> = execution.to_vec();
    for fence in &repair.fences {
        match (with_fences, repair.alternative) {
            (true, _) => before.push((index(&fence.before), Operation::Fence)),
            (false, Some("seq-cst")) => {
                let store = &mut result[index(&fence.after)].0;
                let Operation::Store(address) = store.operation else {
                    panic!("not a plain store: {store:?}");
                };
                store.operation = Operation::LockedStore(address);
            }
            (false, Some("release")) => {
                before.push((index(&fence.before), Operation::StoreBarrier));
            }
            (false, _) => return None,
        }
    }
    before.sort_by_key(|(index, _)| std::cmp::Reverse(*index));
    for (index, operation) in before {
        let thread = result[index].0.thread;
        result.insert(index, (Access::new(thread, operation), 0));
    }
    Some(result)
}

fn check<M: Monitor>(model: MemoryModel, monitor: impl Fn() -> M) {
    let mut random = Random::new(1);
    let (mut hints, mut others) = (0, 0);
    for round in 0..12_000 {
        let execution = random_execution(&mut random);
        let original = program(&execution);
        let Some(found) = first(&original, monitor(), |_| true) else {
            continue;
        };
        let mut reporter = original.reporter(model);
        reporter.width = 20 + round % 120;
        let text = plain(&reporter.finding(&found));
        let object = FindingObject::new(1, &found, &reporter);
        let ProblemObject::StoreBuffer { repair, .. } = object.problem else {
            panic!("not a violation");
        };
        assert!(text.contains("to rule out this cycle"), "{text}");
        let fences = &repair.as_ref().expect("a hint").fences;
        for gap in fences {
            let index = |access: &AccessObject| access.event.position as usize - 1;
            let (after, before) = (index(&gap.after), index(&gap.before));
            let thread = execution[after].0.thread;
            let between = execution[after + 1..before].iter();
            let mut own = between.filter(|(access, _)| access.thread == thread);
            let drains = |operation| model.drains(operation) == Drain::Everything;
            assert!(!own.any(|(access, _)| drains(access.operation)), "{text}");
        }
        let Problem::StoreBuffer {
            explained: Ok(finding),
            ..
        } = &found.problem
        else {
            panic!("not explained");
        };
        let cycle = lines(&original, finding);
        for with_fences in [true, false] {
            let repaired = repair
                .as_ref()
                .and_then(|repair| repaired(&execution, repair, with_fences));
            let Some(repaired) = repaired else {
                continue;
            };
            let changed = program(&repaired);
            let again = first(&changed, monitor(), |f| lines(&changed, f) == cycle);
            assert!(again.is_none(), "{text}");
            *if with_fences { &mut hints } else { &mut others } += 1;
        }
    }
    assert!(hints > 500 && others > 100, "{hints} {others}");
}

#[test]
fn hints_are_true_under_tso() {
    check(MemoryModel::TSO, RelaxedOrderMonitor::tso);
}

#[test]
fn hints_are_true_under_pso() {
    check(MemoryModel::PSO, || {
        RelaxedOrderMonitor::pso(LockedDrains::Everything)
    });
    check(MemoryModel::PSO_OWN_ADDRESS, || {
        RelaxedOrderMonitor::pso(LockedDrains::OwnAddress)
    });
}
