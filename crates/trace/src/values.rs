//! Whether the values in a trace fit one sequentially consistent interleaving.
//!
//! In such an interleaving every load reads the last value written to its address.
//! If a trace has values, this can be checked; a trace that fails violates an assumption of
//! the monitors. Without values, the check costs nothing.

use fencepost_memory::{Access, Address};

use crate::limits::Limit;

/// The last known value of each address.
#[derive(Clone, Debug, Default)]
pub(crate) struct LastValues {
    /// Only as long as the highest address with a known value needs.
    known: Vec<Known>,
}

/// 16 bytes per address: how a value is known is packed beside where.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    value: u64,
    /// The line or event number shifted left by two, and one of the codes below.
    source: u64,
}

const UNKNOWN: u64 = 0;
const WRITTEN: u64 = 1;
const READ: u64 = 2;

/// A load that reads something else than the last value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ValueMismatch {
    /// The address.
    pub(crate) address: Address,
    /// The value that the load read.
    pub(crate) read: u64,
    /// The value of the address.
    pub(crate) held: u64,
    /// The line (in a text trace) or event number (in a binary one), from 1, that has this value.
    pub(crate) known_at: u64,
    /// Whether that was a write; otherwise it was an earlier load.
    pub(crate) known_by_write: bool,
}

/// Why an access was not accepted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ValueError {
    Mismatch(ValueMismatch),
    Limit(Limit),
}

impl LastValues {
    /// Whether any value is known, so that every access has to be shown to [`LastValues::check`].
    #[inline]
    pub(crate) fn any_known(&self) -> bool {
        !self.known.is_empty()
    }

    /// Checks an access against the last value of its address and remembers its own.
    /// `position` is that of the access; the table may use `allowed` bytes.
    #[inline]
    pub(crate) fn check(
        &mut self,
        access: &Access,
        position: u64,
        allowed: u64,
    ) -> Result<(), ValueError> {
        if access.value.is_none() && self.known.is_empty() {
            return Ok(());
        }
        self.check_known(access, position, allowed)
    }

    fn check_known(
        &mut self,
        access: &Access,
        position: u64,
        allowed: u64,
    ) -> Result<(), ValueError> {
        let Some(address) = access.operation.address() else {
            return Ok(());
        };
        let writes = access.operation.writes();
        let Some(value) = access.value else {
            if writes && let Some(known) = self.known.get_mut(address.index()) {
                known.source = UNKNOWN;
            }
            return Ok(());
        };
        if address.index() >= self.known.len() {
            self.grow(address, allowed).map_err(ValueError::Limit)?;
        }
        let known = &mut self.known[address.index()];
        let code = known.source & 3;
        if writes || code == UNKNOWN {
            known.value = value;
            known.source = position << 2 | if writes { WRITTEN } else { READ };
            return Ok(());
        }
        if known.value == value {
            return Ok(());
        }
        Err(ValueError::Mismatch(ValueMismatch {
            address,
            read: value,
            held: known.value,
            known_at: known.source >> 2,
            known_by_write: code == WRITTEN,
        }))
    }

    fn grow(&mut self, address: Address, allowed: u64) -> Result<(), Limit> {
        let length = (address.index() + 1).max(self.known.len() * 5 / 4).max(64);
        if (length * size_of::<Known>()) as u64 > allowed {
            return Err(Limit::NameBytes { allowed });
        }
        self.known.reserve_exact(length - self.known.len());
        self.known.resize(length, Known::default());
        Ok(())
    }

    /// The bytes in use.
    pub(crate) fn memory(&self) -> u64 {
        (self.known.capacity() * size_of::<Known>()) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fencepost_memory::{OperationKind, ThreadId};

    fn run(accesses: &[(OperationKind, u32, Option<u64>)]) -> Result<(), ValueError> {
        let mut values = LastValues::default();
        for (index, &(kind, address, value)) in accesses.iter().enumerate() {
            let mut access = Access::new(ThreadId(0), kind.at(Address(address)));
            access.value = value;
            values.check(&access, index as u64 + 1, 1 << 20)?;
        }
        Ok(())
    }

    use OperationKind::{Interlocked, Load, LockedLoad, LockedStore, Store};

    #[test]
    fn a_load_reads_the_last_value() {
        assert_eq!(run(&[(Store, 3, Some(1)), (Load, 3, Some(1))]), Ok(()));
        assert_eq!(
            run(&[(Store, 3, Some(1)), (LockedLoad, 3, Some(2))]),
            Err(ValueError::Mismatch(ValueMismatch {
                address: Address(3),
                read: 2,
                held: 1,
                known_at: 1,
                known_by_write: true,
            }))
        );
    }

    #[test]
    fn the_first_load_tells_the_initial_value() {
        let loads = [(Load, 0, None), (Load, 0, Some(7)), (Load, 0, Some(8))];
        let Err(ValueError::Mismatch(mismatch)) = run(&loads) else {
            panic!("two loads read different initial values");
        };
        assert_eq!((mismatch.known_at, mismatch.known_by_write), (2, false));
    }

    #[test]
    fn the_value_of_an_interlocked_operation_is_what_it_writes() {
        let il = [
            (Store, 0, Some(1)),
            (Interlocked, 0, Some(2)),
            (Load, 0, Some(2)),
        ];
        assert_eq!(run(&il), Ok(()));
    }

    #[test]
    fn a_write_of_unknown_value_forgets_the_last() {
        for kind in [Store, Interlocked, LockedStore] {
            let writes = [(Store, 0, Some(1)), (kind, 0, None), (Load, 0, Some(5))];
            assert_eq!(run(&writes), Ok(()));
        }
        let load = [(Store, 0, Some(1)), (Load, 0, None), (Load, 0, Some(5))];
        assert!(run(&load).is_err());
    }

    #[test]
    fn the_table_is_limited() {
        let far = [(Store, 1 << 20, Some(1))];
        let allowed = 1 << 20;
        assert_eq!(
            run(&far),
            Err(ValueError::Limit(Limit::NameBytes { allowed }))
        );
        assert_eq!(run(&[(Store, 1 << 20, None)]), Ok(()));
    }
}
