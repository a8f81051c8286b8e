//! What a model means: a slow interpreter and search, made to be right.
//!
//! Read in this order: [`value`] (states as trees), `fault` (what can go wrong in a state),
//! `machine` with `evaluate` and `execute` (one rule in one state), `instances` (the rules that
//! are enabled), `encode` (states as bytes, and symmetry), [`search`](search()) (all states),
//! [`trace`] and `replay` (how a state is reached), `judge` (single steps).
//!
//! The compiled search is compared with this one, so nothing here is shared with it but the
//! model. Nothing is packed, cached or skipped. It is usable by itself for models of some hundred
//! thousand states.
//!
//! Where CMurphi and Rumur differ, or where their manuals are silent:
//! - Reading an undefined boolean, enum or range is an error. An undefined scalarset or union
//!   value can be read, and is equal to undefined ones only, as in CMurphi.
//! - Assigning, passing or returning a variable as a whole copies what is undefined in it.
//! - An error while a guard or an invariant is evaluated ends the search, like any other.
//! - The states are those that were reached and not dropped by an assumption, start states
//!   included. Rules fired are counted for every enabled instance in every state, also if the
//!   state stays the same; start states are not counted.
//! - A multiset has no order: states that differ by the order of elements only are one state. But
//!   equal elements are chosen each by itself, and each counts as a rule fired.

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
