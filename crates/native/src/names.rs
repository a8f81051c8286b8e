//! What people call the memory of the program.

use crate::memory::heap;
use crate::state::State;
use crate::symbols::{Name, ScalarKind, Variable, heap_name};

/// The type of an atomic variable of so many bytes, by the name that it has in reports. The debug information knows whether it
/// has a sign.
pub(crate) fn atomic_kind(size: u8, scalar: Option<ScalarKind>) -> &'static str {
    match (size, scalar) {
        (1, Some(ScalarKind::Bool)) => "AtomicBool",
        (8, Some(ScalarKind::Pointer)) => "AtomicPtr",
        (1, Some(ScalarKind::Signed)) => "AtomicI8",
        (1, _) => "AtomicU8",
        (2, Some(ScalarKind::Signed)) => "AtomicI16",
        (2, _) => "AtomicU16",
        (4, Some(ScalarKind::Unsigned)) => "AtomicU32",
        // Most integers without a name are of type `int`.
        (4, _) => "AtomicI32",
        (_, Some(ScalarKind::Signed)) => "AtomicI64",
        _ => "AtomicU64",
    }
}

/// Whether values of a type of [`atomic_kind`] have a sign.
pub(crate) fn has_sign(kind: &str) -> bool {
    kind.starts_with("AtomicI")
}

impl State {
    /// The global or thread-local variable at an address.
    pub(crate) fn variable(&self, address: usize, size: usize) -> Option<Variable> {
        if let Some(variable) = self.symbols.variable(address, size) {
            return Some(variable);
        }
        let (thread, object, offset) = self.layout.find(&self.blocks, address)?;
        let variable = self.symbols.thread_local(&object, offset, size)?;
        let owner = if thread == 0 {
            "main".to_owned()
        } else {
            format!("T{thread}")
        };
        Some(Variable {
            name: Name::Known(format!("{} of {owner}", variable.name)),
            ..variable
        })
    }

    /// The name of the memory at an address.
    pub(crate) fn name(&mut self, address: usize, size: usize) -> String {
        if let Some(variable) = self.variable(address, size) {
            return variable.name.to_string();
        }
        let block = heap().block_at(address);
        if let Some(block) = block {
            let frames = self.symbols.call(block.pc);
            let of_user = frames.iter().find(|frame| frame.source.is_some());
            let function = of_user.or(frames.first());
            let function = function.map_or_else(|| "block".to_owned(), |f| f.function.to_string());
            let offset = address.wrapping_sub(block.start);
            return heap_name(&function, block.ordinal + 1, offset);
        }
        let mut threads = self.threads.iter().enumerate();
        let of_thread = threads.find(|(_, thread)| {
            thread.execution == self.execution && thread.stack.contains(&address)
        });
        match of_thread {
            Some((0, thread)) => format!("local of main at -{}", thread.stack.end - address),
            Some((number, thread)) => {
                format!("local of T{number} at -{}", thread.stack.end - address)
            }
            None => format!("{address:#x}"),
        }
    }
}

/// The name of the memory at an address, if nobody is computing anything else.
pub(crate) fn name_of(address: usize, size: usize) -> String {
    crate::state::state().name(address, size)
}
