//! What the heap says of blocks, and of uses that are wrong.

/// Where and by whom a block was freed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Freed {
    /// Who freed it.
    pub owner: u32,
    /// The program counter of the call.
    pub pc: usize,
}

/// Where an address is, seen from a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeapPosition {
    /// That many bytes after the block's start.
    Inside(usize),
    /// That many bytes before its start.
    Before(usize),
    /// That many bytes after its last byte; 0 is the byte that follows it.
    Behind(usize),
}

/// A block, and where the address that was asked for is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockInfo {
    /// Its first address.
    pub start: usize,
    /// Its bytes, as they were asked for.
    pub size: usize,
    /// Who allocated it.
    pub owner: u32,
    /// How many blocks this owner had allocated before.
    pub ordinal: usize,
    /// The program counter of the allocation.
    pub pc: usize,
    /// Who freed it, if it was.
    pub freed: Option<Freed>,
    /// Whether it was allocated before `main`.
    pub is_initial: bool,
    /// Where the address is.
    pub place: HeapPosition,
}

/// A block that was allocated in this execution and not freed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Leak {
    /// Its first address.
    pub start: usize,
    /// Its bytes.
    pub size: usize,
    /// Who allocated it.
    pub owner: u32,
    /// How many blocks this owner had allocated before.
    pub ordinal: usize,
    /// The program counter of the allocation.
    pub pc: usize,
}

/// Why a block cannot be freed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BadFree {
    /// It was freed before: [`BlockInfo::freed`] says where.
    Twice(BlockInfo),
    /// The address is not the start of a block. The nearest block is there if the owner of the address has any.
    NotStart(Option<BlockInfo>),
    /// The address is none of the heap.
    NotOurs,
}

/// An access that is not within a block that is allocated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BadAccess {
    /// The first byte of the access that is not allowed.
    pub address: usize,
    /// The block which that byte is in, or is next to. None if the owner of the address has none.
    pub block: Option<BlockInfo>,
}

impl BadAccess {
    /// Whether the byte is in a block that was freed.
    pub fn is_use_after_free(&self) -> bool {
        self.block.is_some_and(|block| {
            block.freed.is_some() && matches!(block.place, HeapPosition::Inside(_))
        })
    }
}

/// Why there is no memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AllocationError {
    /// The execution would have allocated more than it may. Freed blocks count, since their addresses are not given out again.
    Limit {
        /// The bytes that were asked for.
        requested: usize,
        /// What was allocated before.
        used: usize,
        /// The most that may be.
        limit: usize,
    },
    /// The addresses of this owner are used up.
    Region {
        /// The bytes that were asked for.
        requested: usize,
    },
    /// There are no addresses for so many owners.
    Owner {
        /// Which was asked for.
        owner: u32,
        /// How many there are.
        owners: u32,
    },
    /// The alignment is not a power of two.
    Alignment(usize),
    /// The system has no memory.
    System {
        /// The system's number for the reason.
        code: i32,
    },
}

/// Why a block cannot be given another size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReallocationError {
    /// There is no block to be had.
    Allocation(AllocationError),
    /// There is none at the address.
    Free(BadFree),
}

impl From<AllocationError> for ReallocationError {
    fn from(error: AllocationError) -> Self {
        ReallocationError::Allocation(error)
    }
}

impl From<BadFree> for ReallocationError {
    fn from(error: BadFree) -> Self {
        ReallocationError::Free(error)
    }
}
