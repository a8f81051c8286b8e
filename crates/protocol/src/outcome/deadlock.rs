//! The definition of deadlocks.

/// The states that count as deadlocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DeadlockRule {
    /// States that no rule leaves: none is enabled, or those that are change nothing. As in
    /// CMurphi.
    Stuttering,
    /// States in which no rule is enabled.
    Stuck,
    /// None.
    Off,
}
