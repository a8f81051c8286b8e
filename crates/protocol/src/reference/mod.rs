//! The semantics of models: a simple interpreter and search, written for correctness and not for
//! speed.
//!
//! Read in this order: `machine` with `evaluate` and `execute` (one rule in one state), `instances`
//! (the enabled rules), `encode` and `symmetry` (states as bytes, one per equivalence class),
//! [`search`](search()) (all states), `replay` (traces), `judge` (single steps, for the compiled
//! search).
//!
//! Tests compare the compiled search with this one, so the two share nothing but the model and the
//! vocabulary of results ([`crate::outcome`]). Nothing is packed, cached or skipped. This search
//! can be used by itself for models of some hundred thousand states.
//!
//! The semantics where CMurphi and Rumur differ, or where their manuals are silent:
//! - Reading an undefined boolean, enum or range is an error. An undefined scalarset or union
//!   value can be read, and is equal to undefined ones only, as in CMurphi.
//! - Assigning, passing or returning a composite variable copies its undefined parts.
//! - An error while a guard or an invariant is evaluated ends the search, like any other.
//! - States in which an assumption is false are not counted. Rules fired are counted for every
//!   enabled instance in every state, even if the state does not change; start states are not
//!   counted.
//! - A multiset has no order: states that differ by the order of elements only are one state. But
//!   `choose` has one instance for each of several equal elements, and each counts as a rule fired.

mod encode;
mod evaluate;
mod execute;
mod instances;
mod interruption;
mod judge;
mod machine;
mod options;
mod outcome;
mod replay;
mod search;
mod symmetry;

pub(crate) use judge::{Judgement, Stepper};
pub use options::{Options, Symmetry};
pub use outcome::ReferenceOutcome;
pub use search::{search, search_and_visit};
