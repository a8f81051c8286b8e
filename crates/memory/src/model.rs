//! A memory model as a value: what it keeps of program order, and how it buffers.
//!
//! The two halves of a model are stated apart and used apart. The axioms and the
//! monitors ask [`MemoryModel::keeps`]; the machine asks [`MemoryModel::buffering`]
//! and [`MemoryModel::drains`]. That they describe the same model is tested
//! exhaustively, not assumed.
//!
//! Adding a model means adding a constant here and, if it buffers in a new way, a
//! [`Buffering`].

use crate::event::Operation;

/// What a locked operation waits for before it acts on memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LockedDrains {
    /// Every buffered store of its thread has committed (x86, SPARC).
    Everything,
    /// The buffered stores to its own address, and those before the last
    /// store-store barrier, have committed (BSS Fig. 3).
    OwnAddress,
}

/// How a processor holds back its stores.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Buffering {
    /// Not at all: a store is performed as it is issued.
    None,
    /// One first-in first-out buffer per processor.
    Fifo,
    /// One first-in first-out buffer per processor and address; a store-store
    /// barrier separates what was buffered before it from what comes after.
    PerAddress,
}

/// What must leave a processor's buffer before an operation may be performed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Drain {
    /// Nothing.
    Nothing,
    /// Every buffered store.
    Everything,
    /// Stores to the operation's address and stores before the last barrier.
    OwnAddress,
}

/// A store-buffer memory model.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MemoryModel {
    name: &'static str,
    buffering: Buffering,
    locked_drains: LockedDrains,
}

impl MemoryModel {
    /// Sequential consistency (SOBER Def. 2).
    pub const SC: MemoryModel = MemoryModel {
        name: "sc",
        buffering: Buffering::None,
        locked_drains: LockedDrains::Everything,
    };

    /// Total store order, as in x86 and SPARC: a load may read its own processor's
    /// store early (litmus test `n6` is allowed).
    pub const TSO: MemoryModel = MemoryModel {
        name: "tso",
        buffering: Buffering::Fifo,
        locked_drains: LockedDrains::Everything,
    };

    /// Partial store order in which a locked operation drains the whole buffer.
    pub const PSO: MemoryModel = MemoryModel {
        name: "pso",
        buffering: Buffering::PerAddress,
        locked_drains: LockedDrains::Everything,
    };

    /// Partial store order as the machine of BSS Fig. 3 has it: a locked operation
    /// drains its own address only.
    pub const PSO_OWN_ADDRESS: MemoryModel = MemoryModel {
        name: "pso",
        buffering: Buffering::PerAddress,
        locked_drains: LockedDrains::OwnAddress,
    };

    /// Every model, strictest first.
    pub const ALL: [MemoryModel; 4] = [Self::SC, Self::TSO, Self::PSO, Self::PSO_OWN_ADDRESS];

    /// The model's name. The two forms of PSO share one; see
    /// [`locked_drains`](Self::locked_drains).
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// How the model's processors buffer stores.
    pub fn buffering(&self) -> Buffering {
        self.buffering
    }

    /// What locked operations wait for.
    pub fn locked_drains(&self) -> LockedDrains {
        self.locked_drains
    }

    /// What must have left the buffer before `operation` is performed.
    pub fn drains(&self, operation: Operation) -> Drain {
        match operation {
            Operation::Load(_) | Operation::Store(_) | Operation::StoreBarrier => Drain::Nothing,
            Operation::Fence => Drain::Everything,
            Operation::Interlocked(_) | Operation::LockedLoad(_) | Operation::LockedStore(_) => {
                match self.locked_drains {
                    LockedDrains::Everything => Drain::Everything,
                    LockedDrains::OwnAddress => Drain::OwnAddress,
                }
            }
        }
    }

    /// Whether the model keeps the program order from `earlier` to `later`, two
    /// operations of one thread; `barrier_between` says that a store-store barrier
    /// stands between them.
    ///
    /// A store-store barrier itself is no node of the order: it only changes which
    /// pairs around it are kept. Asked about a barrier, the answer is `false` (for
    /// SC, where everything is in order, `true`).
    ///
    /// ```
    /// use fencepost_memory::{Address, MemoryModel, Operation};
    /// let (store, load) = (Operation::Store(Address(0)), Operation::Load(Address(1)));
    /// assert!(MemoryModel::SC.keeps(store, load, false));
    /// assert!(!MemoryModel::TSO.keeps(store, load, false));
    /// assert!(MemoryModel::TSO.keeps(load, store, false));
    /// ```
    pub fn keeps(&self, earlier: Operation, later: Operation, barrier_between: bool) -> bool {
        use Operation::*;
        let stores_in_order = match self.buffering {
            Buffering::None => return true,
            Buffering::Fifo => true,
            Buffering::PerAddress => barrier_between || earlier.address() == later.address(),
        };
        match (earlier, later) {
            (StoreBarrier, _) | (_, StoreBarrier) => false,
            (Store(_), Load(_)) => false,
            (Store(_), Fence) => true,
            (Store(_), Store(_)) => stores_in_order,
            (Store(_), Interlocked(_) | LockedLoad(_) | LockedStore(_)) => {
                stores_in_order || self.locked_drains == LockedDrains::Everything
            }
            (Load(_) | Interlocked(_) | LockedLoad(_) | LockedStore(_) | Fence, _) => true,
        }
    }
}
