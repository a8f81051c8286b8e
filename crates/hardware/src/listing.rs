//! The bytes of a test, to look at.

use fencepost_litmus::test::Test;

use crate::error::Refusal;
use crate::program::Program;

/// An encoded instruction of a test.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ListedInstruction {
    /// The thread, as an index.
    pub thread: usize,
    /// The instruction, as an index.
    pub instruction: usize,
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// Where they are, to see where a jump goes.
    pub offset: u64,
}

/// The instructions of a test as they are run, once for each way in which locations may lie.
pub fn listing(test: &Test) -> Result<Vec<ListedInstruction>, Refusal> {
    let program = Program::new(test)?;
    let listed = program
        .instructions
        .iter()
        .map(|&(from, to, thread, instruction)| ListedInstruction {
            thread,
            instruction,
            bytes: program.bytes[from as usize..to as usize].to_vec(),
            offset: u64::from(from),
        });
    Ok(listed.collect())
}
