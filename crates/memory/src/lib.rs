//! What an event, a trace and a memory model are.
//!
//! Read in this order: [`event`] (what processors do), [`trace`] (sets of events,
//! validated), [`order`] (program order, conflict order, happens-before), [`model`]
//! (SC, TSO and PSO as values), [`axioms`] (which traces a model allows),
//! [`machine`] (the same models as store-buffer machines that emit traces),
//! [`load_buffer`] (TSO-LB), [`program`] (straight-line programs, to run and to
//! enumerate) and [`candidates`] (every trace that a program could have). Two tools
//! stand apart: [`graph`] finds cycles, [`random`] makes seeded numbers.
//!
//! This crate knows nothing of files, operating-system threads or monitors. The
//! definitions are those of SOBER (Burckhardt and Musuvathi, MSR-TR-2008-12), BSS
//! (Burnim, Sen and Stergiou, UCB/EECS-2010-31), x86-TSO (Owens, Sarkar and Sewell,
//! 2009) and, for TSO-LB, the verification of TSO-CC (Banks and others, 2017); every
//! deviation is stated where it is made.

pub mod axioms;
pub mod candidates;
pub mod event;
pub mod graph;
pub mod load_buffer;
pub mod machine;
pub mod model;
pub mod order;
pub mod program;
pub mod random;
pub mod trace;

pub use event::{
    Access, Address, CoherenceIndex, Event, IssueIndex, LocationId, Operation, OperationKind,
    ThreadId,
};
pub use model::{Buffering, Drain, LockedDrains, MemoryModel};
pub use program::{ProgramShape, StraightLineProgram};
pub use random::{Random, SplitMix64};
pub use trace::{Indexer, Trace, TraceError};
