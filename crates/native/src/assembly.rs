//! What the compiler has not announced: locked instructions, fences and system calls in the code of the program.
//!
//! Where a compiler instruments a function, atomic operations are calls. So every such instruction in the executable is inline
//! assembly, or in code that was not instrumented: the check would know nothing of what it does.

use std::ops::Range;

use iced_x86::{Code, Decoder, DecoderOptions, Instruction, Mnemonic, OpKind};

/// An instruction that a check does not see.
pub(crate) struct Unseen {
    /// The address of the instruction after it.
    pub(crate) returns_to: usize,
    /// What it is, as people call it: `lock cmpxchg`.
    pub(crate) name: String,
}

/// More say nothing new.
const MOST: usize = 5;

/// The first such instructions in a range of code.
///
/// # Safety
/// The range must be mapped and readable.
pub(crate) unsafe fn unseen(code: &Range<usize>) -> Vec<Unseen> {
    let start = std::ptr::with_exposed_provenance::<u8>(code.start);
    // SAFETY: the promise of the caller.
    let bytes = unsafe { std::slice::from_raw_parts(start, code.len()) };
    find(bytes, code.start)
}

fn find(bytes: &[u8], address: usize) -> Vec<Unseen> {
    let mut decoder = Decoder::with_ip(64, bytes, address as u64, DecoderOptions::NONE);
    let mut instruction = Instruction::default();
    let mut found = Vec::new();
    while decoder.can_decode() && found.len() < MOST {
        decoder.decode_out(&mut instruction);
        if let Some(name) = name(&instruction) {
            found.push(Unseen {
                returns_to: instruction.next_ip() as usize,
                name,
            });
        }
    }
    found
}

/// What a check has to know of.
fn name(instruction: &Instruction) -> Option<String> {
    // Between functions there may be anything.
    if instruction.code() == Code::INVALID {
        return None;
    }
    let mnemonic = format!("{:?}", instruction.mnemonic()).to_lowercase();
    let touches_memory = || {
        (0..instruction.op_count()).any(|operand| instruction.op_kind(operand) == OpKind::Memory)
    };
    if instruction.has_lock_prefix() {
        return Some(format!("lock {mnemonic}"));
    }
    let is_unseen = match instruction.mnemonic() {
        Mnemonic::Xchg => touches_memory(),
        Mnemonic::Mfence | Mnemonic::Syscall | Mnemonic::Xbegin => true,
        _ => false,
    };
    is_unseen.then_some(mnemonic)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_of_assembly_are_found() {
        let names = |bytes: &[u8]| {
            let found = find(bytes, 0x1000);
            found
                .into_iter()
                .map(|unseen| unseen.name)
                .collect::<Vec<_>>()
        };
        // lock cmpxchg [rdi], esi; mfence; xchg [rdi], eax; syscall; lock or dword [rsp], 0
        let bytes = [
            0xf0, 0x0f, 0xb1, 0x37, 0x0f, 0xae, 0xf0, 0x87, 0x07, 0x0f, 0x05, 0xf0, 0x83, 0x0c,
            0x24, 0x00,
        ];
        let expected = ["lock cmpxchg", "mfence", "xchg", "syscall", "lock or"];
        assert_eq!(names(&bytes), expected);
        // xchg ax, ax (a no-operation); pause; mov [rdi], eax; lfence; ret; rep movsb
        let bytes = [
            0x66, 0x90, 0xf3, 0x90, 0x89, 0x07, 0x0f, 0xae, 0xe8, 0xc3, 0xf3, 0xa4,
        ];
        assert!(names(&bytes).is_empty());
        assert!(names(&[0xf0, 0xf0]).is_empty(), "what is cut off");
        assert_eq!(find(&[0x0f, 0xae, 0xf0], 0x1000)[0].returns_to, 0x1003);
    }
}
