//! The settings of a runtime.

use std::ops::RangeInclusive;

use super::boundary::IS_SUPPORTED;
use super::buffers::ThreadIdSpace;
use super::mapping::Target;

/// The stack sizes that a thread can have, in bytes.
pub const STACK_SIZES: RangeInclusive<usize> = 16 * 1024..=1 << 30;

/// When the states of threads are compared, to prove that a loop only waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ComparedStates {
    /// Never: a loop with a hint that changes nothing is assumed to wait. The only possibility on
    /// platforms for which there is no code that captures states.
    Never,
    /// When a thread comes back to an operation before it has changed anything: then the check
    /// [restarts](super::Restart::ComparedStates).
    OnDemand,
    /// At every operation that a loop that waits can consist of.
    Always,
}

/// Errors in the comparison of states, for the tests that show that they are noticed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StateMutation {
    /// Saved registers are not compared.
    IgnoreRegisters,
    /// What is passed to an operation is not compared, wherever it is on the way: in the lowest frames, or
    /// in a saved register.
    IgnoreOperands,
    /// The lowest frames of the stack are not compared.
    IgnoreLowestFrame,
    /// Hashes of 8 bits are compared, and no bytes.
    CompareHashes,
}

/// How a runtime runs a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Setup {
    /// The machine that the program is compiled for.
    pub target: Target,
    /// The stack size of a thread in bytes, unless its builder sets another one.
    pub stack_size: usize,
    /// Whether the end of a thread is a step of its own. Only programs that ask whether a thread
    /// has finished can observe the difference.
    pub are_ends_visible: bool,
    /// Whether a wait on a condition variable may return without a notification, and a park without
    /// its token.
    pub spurious_wakeups: bool,
    /// Whether statics are initialized in steps. This matters only if an initializer does more than
    /// construct values.
    pub are_statics_visible: bool,
    /// Whether a writer that waits for an `RwLock` blocks new readers. This matters only if a
    /// reader blocks while it holds the lock, or does not wait for it.
    pub are_writers_announced: bool,
    /// Whether the states of threads are compared at their operations, to prove that loops only
    /// wait.
    pub compared_states: ComparedStates,
    /// An error in that comparison; none, except in tests.
    pub state_mutation: Option<StateMutation>,
    /// Whether a scope can end, and a thread be finished, before the thread-local values of the thread
    /// are dropped, as in `std`. The return of a thread's function is a step then, and its end is
    /// none. This matters only if destructors do something that other threads can observe.
    pub are_destructors_late: bool,
    /// Whether the end of a scope and a wait of a channel may take the park token of their thread, as
    /// in `std`. This matters only if the thread parks later.
    pub do_waits_take_tokens: bool,
    /// Whether the front end hands over the accesses to memory, to be checked for data races.
    pub tracks_memory: bool,
    /// Whether a value that was not dropped by the end of the execution is an error.
    pub leak_check: bool,
    /// The thread ids of the program if stores wait in store buffers, as on the target; none
    /// without store buffers.
    pub store_buffers: Option<ThreadIdSpace>,
    /// Whether the threads of an execution that is over are given up where they are, instead of being
    /// unwound: their frames are those of another language. Nothing on their stacks is dropped.
    pub abandons_threads: bool,
    /// Whether the registry records the initial values of objects.
    pub keeps_first_values: bool,
    /// The most steps of an execution. The explorer counts them. Spawning a thread is not a step,
    /// so the runtime applies the same limit to the number of threads.
    pub max_steps: u64,
}

impl Setup {
    /// Whether the end of a thread is a step. If destructors are late, the return of its function is
    /// one instead.
    #[inline]
    pub(crate) fn do_threads_end_in_steps(&self) -> bool {
        self.are_ends_visible && !self.are_destructors_late
    }
}

impl Default for Setup {
    fn default() -> Self {
        Setup {
            target: Target::X86,
            stack_size: 256 * 1024,
            are_ends_visible: false,
            are_statics_visible: false,
            are_writers_announced: false,
            compared_states: match IS_SUPPORTED {
                true => ComparedStates::OnDemand,
                false => ComparedStates::Never,
            },
            state_mutation: None,
            are_destructors_late: false,
            do_waits_take_tokens: false,
            spurious_wakeups: true,
            tracks_memory: false,
            leak_check: true,
            store_buffers: None,
            abandons_threads: false,
            keeps_first_values: false,
            max_steps: u64::MAX,
        }
    }
}
