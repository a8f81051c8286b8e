//! The code of a test: for each layout and thread a loop over the slots of a batch, with the
//! instructions of the thread in it.
//!
//! ```text
//! next:  if no result is left, go to done
//!        take the next result, slot and start time
//! wait:  read the counter; if it is early, go to wait; if it is too late, go to next
//!        clear the flags; fill the registers of the test
//!        the instructions of the test
//! end:   store the observed registers and the mark; go to next
//! done:  return
//! ```
//!
//! Between `wait` and `end` only registers that the test does not use belong to the harness: one
//! has the address of the slot, one that of the result. If the locations are at fixed addresses,
//! none does.

use fencepost_litmus::code::Register as ThreadRegister;
use fencepost_litmus::test::Test;
use iced_x86::{Code, MemoryOperand, Register};

use crate::assembler::{Assembler, Label};
use crate::error::Refusal;
use crate::geometry::{Geometry, Layout, context};
use crate::instruction::{Encoded, InstructionEncoder, Locations};
use crate::registers::RegisterMap;

/// The code of a test.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub geometry: Geometry,
    pub bytes: Vec<u8>,
    /// By layout and thread, where the loop begins.
    pub entries: Vec<Vec<u32>>,
    /// Where instructions of the test are: the first byte, the byte after the last, the thread, the
    /// instruction. In order.
    pub instructions: Vec<(u32, u32, usize, usize)>,
    /// Whether a jump goes back: a thread may then wait for another one.
    pub has_loops: bool,
}

/// The mark of a result that is there.
pub(crate) const MARK: u32 = 1;

const SAVED: [Register; 6] = [
    Register::RBX,
    Register::RBP,
    Register::R12,
    Register::R13,
    Register::R14,
    Register::R15,
];

/// The registers of the harness while a test runs.
#[derive(Clone, Copy)]
struct Reserved {
    slot: Register,
    result: Register,
}

impl Program {
    /// Encodes a test: with many slots if that can be, else with one.
    pub fn new(test: &Test) -> Result<Self, Refusal> {
        match Self::with(test, false) {
            Err(Attempt::NeedsFixed) => {}
            Err(Attempt::Refused(refusal)) => return Err(refusal),
            Ok(program) => return Ok(program),
        }
        Self::with(test, true).map_err(|attempt| match attempt {
            Attempt::Refused(refusal) => refusal,
            Attempt::NeedsFixed => {
                Refusal::Memory("it needs registers that it does not leave".into())
            }
        })
    }

    fn with(test: &Test, must_fix: bool) -> Result<Self, Attempt> {
        let geometry = Geometry::new(test, must_fix).map_err(Attempt::Refused)?;
        let mut program = Program {
            bytes: Vec::new(),
            entries: Vec::new(),
            instructions: Vec::new(),
            has_loops: has_loops(test),
            geometry,
        };
        for number in 0..program.geometry.layouts.len() {
            let mut entries = Vec::new();
            for thread in 0..test.threads.len() {
                // Loops begin at cache lines of their own.
                let begin = program.bytes.len().next_multiple_of(64);
                program.bytes.resize(begin, 0xcc);
                entries.push(begin as u32);
                program.add_thread(test, number, thread, begin as u32)?;
            }
            program.entries.push(entries);
        }
        Ok(program)
    }

    fn add_thread(
        &mut self,
        test: &Test,
        layout: usize,
        thread: usize,
        begin: u32,
    ) -> Result<(), Attempt> {
        let registers =
            RegisterMap::new(thread, &test.threads[thread]).map_err(Attempt::Refused)?;
        let reserved = match self.geometry.is_fixed {
            true => None,
            false => Some(reserve(&registers).ok_or(Attempt::NeedsFixed)?),
        };
        let mut writer = ThreadWriter {
            test,
            geometry: &self.geometry,
            layout: &self.geometry.layouts[layout],
            thread,
            registers,
            reserved,
            code: Assembler::default(),
            items: Vec::new(),
        };
        writer.write()?;
        let (bytes, offsets) = writer.code.finish().map_err(|error| {
            let place = writer
                .items
                .iter()
                .position(|(from, to)| (*from..*to).contains(&error.item));
            writer.refuse(place.unwrap_or(0), error.why)
        })?;
        for (instruction, (from, to)) in writer.items.iter().enumerate() {
            let (from, to) = (offsets[*from], offsets[*to]);
            self.instructions
                .push((begin + from, begin + to, thread, instruction));
        }
        self.bytes.extend(bytes);
        Ok(())
    }

    /// The thread and the instruction at an offset in the code.
    pub fn instruction_at(&self, offset: u64) -> Option<(usize, usize)> {
        let mut all = self.instructions.iter();
        let found = all.find(|(from, to, ..)| (u64::from(*from)..u64::from(*to)).contains(&offset));
        found.map(|(_, _, thread, instruction)| (*thread, *instruction))
    }
}

/// Why a way to encode a test does not do.
enum Attempt {
    /// Only with locations at fixed addresses.
    NeedsFixed,
    Refused(Refusal),
}

/// Whether a jump goes back.
pub(crate) fn has_loops(test: &Test) -> bool {
    test.threads.iter().any(|thread| {
        let instructions = thread.instructions.iter().enumerate();
        let mut targets = instructions.filter_map(|(index, i)| Some((index, i.assembly.target?)));
        targets.any(|(index, target)| target as usize <= index)
    })
}

/// Two registers that the test does not use, and that reading the counter does not change.
fn reserve(registers: &RegisterMap) -> Option<Reserved> {
    let not_counter =
        |register: &Register| !matches!(register, Register::RAX | Register::RDX | Register::RSP);
    let mut free = registers.free().filter(not_counter);
    Some(Reserved {
        slot: free.next()?,
        result: free.next()?,
    })
}

struct ThreadWriter<'a> {
    test: &'a Test,
    geometry: &'a Geometry,
    layout: &'a Layout,
    thread: usize,
    registers: RegisterMap,
    reserved: Option<Reserved>,
    code: Assembler,
    /// By instruction of the test, the items that it is.
    items: Vec<(usize, usize)>,
}

impl ThreadWriter<'_> {
    fn refuse(&self, instruction: usize, why: String) -> Attempt {
        let Self { thread, .. } = *self;
        match self.reserved {
            // With fixed addresses there is no register of the harness to be in the way.
            Some(_) => Attempt::NeedsFixed,
            None => Attempt::Refused(Refusal::NoSuchInstruction {
                thread,
                instruction,
                why,
            }),
        }
    }

    fn state(&self, word: u64) -> MemoryOperand {
        absolute(self.geometry.context(self.thread) + word)
    }

    /// A word of the result.
    fn result(&self, word: usize) -> MemoryOperand {
        let offset = 8 * word as u64;
        match self.reserved {
            Some(reserved) => MemoryOperand::with_base_displ(reserved.result, offset as i64),
            None => absolute(self.geometry.results[self.thread] + offset),
        }
    }

    fn write(&mut self) -> Result<(), Attempt> {
        let [next, end, done] = [(); 3].map(|()| self.code.label());
        for register in SAVED {
            self.code.one(Code::Push_r64, register);
        }
        self.code.store(
            Code::Mov_rm64_r64,
            self.state(context::STACK),
            Register::RSP,
        );
        self.code.here(next);
        self.take_next(done);
        self.wait(next);
        self.fill_registers()?;
        self.write_instructions(end)?;
        self.code.here(end);
        self.store_result();
        self.code.jump(Code::Jmp_rel32_64, next);
        self.code.here(done);
        self.code.load(
            Code::Mov_r64_rm64,
            Register::RSP,
            self.state(context::STACK),
        );
        for register in SAVED.iter().rev() {
            self.code.one(Code::Pop_r64, *register);
        }
        self.code.plain(Code::Retnq);
        Ok(())
    }

    /// A register for the harness between slots, when the test's registers have nothing.
    fn scratch(&self) -> Register {
        let taken = self
            .reserved
            .map(|reserved| [reserved.slot, reserved.result]);
        let free = |register: &&Register| taken.is_none_or(|taken| !taken.contains(register));
        // Three candidates for two that can be taken.
        let candidates = [Register::RBX, Register::RCX, Register::RSI];
        *candidates.iter().find(free).unwrap_or(&Register::RBX)
    }

    /// Takes the next result, slot and start time, which then is in the scratch register.
    fn take_next(&mut self, done: Label) {
        let scratch = self.scratch();
        let entry = self.geometry.result_bytes(self.thread) as i32;
        let code = &mut self.code;
        let context = self.geometry.context(self.thread);
        let state = |word: u64| absolute(context + word);
        code.load(Code::Mov_r64_rm64, scratch, state(context::RESULT));
        code.load(Code::Cmp_r64_rm64, scratch, state(context::RESULT_END));
        code.jump(Code::Jae_rel32_64, done);
        if let Some(Reserved { slot, result }) = self.reserved {
            code.two(Code::Mov_r64_rm64, result, scratch);
            code.load(Code::Mov_r64_rm64, slot, state(context::CELLS));
            code.load(Code::Mov_r64_rm64, scratch, state(context::STRIDE));
            code.two(Code::Add_r64_rm64, scratch, slot);
            code.store(Code::Mov_rm64_r64, state(context::CELLS), scratch);
        }
        code.store_constant(Code::Add_rm64_imm32, state(context::RESULT), entry);
        code.load(Code::Mov_r64_rm64, scratch, state(context::STARTS));
        code.store_constant(Code::Add_rm64_imm32, state(context::STARTS), 8);
        code.load(
            Code::Mov_r64_rm64,
            scratch,
            MemoryOperand::with_base(scratch),
        );
        code.load(Code::Add_r64_rm64, scratch, state(context::ORIGIN));
    }

    /// Waits until the counter is at the number in the scratch register.
    fn wait(&mut self, next: Label) {
        let scratch = self.scratch();
        let late = self.state(context::LATE);
        let code = &mut self.code;
        let wait = code.label();
        code.here(wait);
        code.plain(Code::Rdtsc);
        code.constant(Code::Shl_rm64_imm8, Register::RDX, 32);
        code.two(Code::Or_r64_rm64, Register::RAX, Register::RDX);
        code.two(Code::Sub_r64_rm64, Register::RAX, scratch);
        code.jump(Code::Jb_rel32_64, wait);
        code.load(Code::Cmp_r64_rm64, Register::RAX, late);
        code.jump(Code::Ja_rel32_64, next);
    }

    fn fill_registers(&mut self) -> Result<(), Attempt> {
        // 1 is not zero, not negative, and has an odd number of ones: no flag is set.
        self.code.constant(Code::Mov_r32_imm32, Register::EAX, 1);
        self.code
            .two(Code::Test_rm32_r32, Register::EAX, Register::EAX);
        let infos = &self.test.threads[self.thread].registers;
        let used: Vec<(usize, Register)> = self.registers.used().collect();
        for (number, register) in used {
            let initial = infos[number].initial;
            let is_address = self.test.cell_at(initial).is_some();
            match self.reserved {
                Some(reserved) if is_address => {
                    use crate::instruction::OffsetOf as _;
                    let Some(offset) = self.layout.offset_of(initial) else {
                        return Err(Attempt::NeedsFixed);
                    };
                    let at = MemoryOperand::with_base_displ(reserved.slot, offset);
                    self.code.load(Code::Lea_r64_m, register, at);
                }
                _ => self.code.number(register, initial),
            }
        }
        Ok(())
    }

    fn write_instructions(&mut self, end: Label) -> Result<(), Attempt> {
        let thread = &self.test.threads[self.thread];
        let labels: Vec<Label> = thread
            .instructions
            .iter()
            .map(|_| self.code.label())
            .collect();
        for (index, instruction) in thread.instructions.iter().enumerate() {
            let locations = match self.reserved {
                Some(reserved) => Locations::Relative {
                    base: reserved.slot,
                    offset_of: self.layout,
                },
                None => Locations::Fixed,
            };
            let encoder = InstructionEncoder {
                architecture: self.test.architecture,
                registers: &self.registers,
                locations,
            };
            let encoded = encoder.encode(&instruction.assembly);
            let encoded = encoded.map_err(|why| self.refuse(index, why))?;
            self.code.here(labels[index]);
            let from = self.code.next();
            match encoded {
                Encoded::Plain(instruction) => self.code.push(instruction),
                Encoded::Jump(code, target) => {
                    let target = labels.get(target as usize).copied().unwrap_or(end);
                    self.code.jump(code, target);
                }
                Encoded::End => self.code.jump(Code::Jmp_rel32_64, end),
            }
            self.items.push((from, self.code.next()));
        }
        Ok(())
    }

    fn store_result(&mut self) {
        let captured = &self.geometry.captured[self.thread];
        for (word, number) in captured.iter().enumerate() {
            let to = self.result(1 + word);
            match self.registers.whole(*number) {
                Some(register) => self.code.store(Code::Mov_rm64_r64, to, register),
                None if *number == ThreadRegister::FLAGS => {
                    // The registers are stored, so RAX is free. Moves do not change flags.
                    self.code.plain(Code::Lahf);
                    self.code.one(Code::Seto_rm8, Register::AL);
                    self.code.store(Code::Mov_rm64_r64, to, Register::RAX);
                }
                None => self.code.store_constant(Code::Mov_rm64_imm32, to, 0),
            }
        }
        let mark = self.result(0);
        self.code
            .store_constant(Code::Mov_rm32_imm32, mark, MARK as i32);
    }
}

fn absolute(address: u64) -> MemoryOperand {
    MemoryOperand::with_displ(address, 8)
}
