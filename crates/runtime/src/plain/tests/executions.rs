//! Executions of a program that hands over its accesses.
#![allow(unsafe_code)] // It gives a thread its body.

use std::ops::ControlFlow;
use std::sync::Arc;

use fencepost_explore::{Failure, Fault, Settings, explore};

use super::super::super::{
    Checked, Current, LocationRef, ProgramError, Registry, Runtime, Setup, SpawnOptions,
};
use super::super::AccessKind::{Read, Write};
use super::super::*;
use super::{BASE, access};

fn note(kind: AccessKind, place: u64) {
    let current = Current::get().expect("it is in a check");
    let noted = current.note_accesses(&[access(kind, BASE, 4, place)]);
    if let Err(finding) = noted {
        current.fail(finding.into_error(|_| None, |_| Some("x".to_owned())));
    }
}

/// The race of a program whose first thread writes, and writes again after it has spawned one that reads.
fn race(tracks_memory: bool, writes_again: bool) -> Option<MemoryRace> {
    let checked: Checked = Arc::new(move || {
        note(Write, 1);
        let current = Current::get().expect("it is in a check");
        let spawned = current.create_thread(&SpawnOptions::default(), LocationRef::caller());
        if let Some(thread) = spawned {
            // SAFETY: the thread was just created, and its body borrows nothing.
            unsafe { current.give_body(thread, || note(Read, 2)) };
        }
        if writes_again {
            note(Write, 3);
        }
    });
    let setup = Setup {
        tracks_memory,
        ..Setup::default()
    };
    let registry = Arc::new(Registry::new(LocationRef::caller()));
    let runtime = || Runtime::new(checked.clone(), setup, registry.clone());
    let report = explore(runtime, &Settings::default(), &mut |_| {
        ControlFlow::Continue(())
    });
    let found = report.findings.first()?;
    match &found.failure {
        Failure::Fault(Fault::Program(ProgramError::MemoryRace(race))) => Some((**race).clone()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_a_thread_does_alone_happens_before_all_others() {
    assert_eq!(race(true, false), None);
    assert_eq!(race(false, true), None);
    let race = race(true, true).expect("the second write is not ordered");
    let kinds = (race.first.kind, race.second.kind);
    assert_eq!(kinds, (Write, Read));
    assert_eq!(race.name.as_deref(), Some("x"));
}
