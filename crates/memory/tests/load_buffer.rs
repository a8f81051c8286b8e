//! TSO allows everything that the TSO-LB machine emits, and more.

use crate::common;

use common::{SmallPrograms, in_parallel, show};
use fencepost_memory::candidates::for_each_candidate;
use fencepost_memory::load_buffer;
use fencepost_memory::machine::{RunEnumerator, emitted_traces};
use fencepost_memory::{MemoryModel, ProgramShape, Random, StraightLineProgram};
use rustc_hash::FxHashSet;

#[test]
fn every_trace_of_a_small_program_is_allowed_by_tso() {
    let programs = SmallPrograms::up_to(3);
    let state = || (RunEnumerator::default(), FxHashSet::default(), [0_usize; 2]);
    let counts = in_parallel(programs.len(), state, |(runs, by_tso, counts), index| {
        let program = programs.get(index);
        runs.emitted_traces_into(&MemoryModel::TSO, &program, by_tso)
            .unwrap();
        let by_load_buffers = load_buffer::emitted_traces(&program).unwrap();
        assert!(by_load_buffers.is_subset(by_tso), "{}", show(&program));
        counts[0] += by_load_buffers.len();
        counts[1] += by_tso.len();
    });
    let sum = |which: usize| counts.iter().map(|(_, _, c)| c[which]).sum::<usize>();
    println!("{} traces of TSO-LB, {} of TSO", sum(0), sum(1));
    // 42 programs are large enough to show that TSO-LB is stricter, by one trace each.
    assert_eq!((sum(0), sum(1)), (3_724_538, 3_724_580));
}

#[test]
fn the_targeted_search_agrees_with_the_enumeration() {
    let mut random = Random::new(17);
    let mut emitted = [0_usize; 2];
    for _ in 0..300 {
        let shape = ProgramShape {
            threads: 2,
            operations: 4,
            addresses: 2,
        };
        let program = StraightLineProgram::random(&mut random, shape);
        let keys = load_buffer::emitted_traces(&program).unwrap();
        for_each_candidate(&program, |trace, key| {
            let expected = keys.contains(&key);
            assert_eq!(
                load_buffer::emits(trace),
                Ok(expected),
                "{}",
                show(&program)
            );
            emitted[usize::from(expected)] += 1;
        })
        .unwrap();
        let by_tso = emitted_traces(&MemoryModel::TSO, &program).unwrap();
        assert!(keys.is_subset(&by_tso), "{}", show(&program));
        let by_sc = emitted_traces(&MemoryModel::SC, &program).unwrap();
        assert!(by_sc.is_subset(&keys), "{}", show(&program));
    }
    assert!(emitted.iter().all(|&n| n > 1_000), "{emitted:?}");
}
