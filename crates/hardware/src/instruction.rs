//! An instruction of a test as an instruction of the processor.
//!
//! All code is 64-bit code. Instructions of `X86` tests keep their operands of at most 32 bits, and
//! addresses that registers take part in are computed in 32 bits, as they are in 32-bit code.

use fencepost_litmus::assembly::{Argument, AssemblyInstruction, Idle, MemoryArgument, Mnemonic};
use fencepost_litmus::code::{Computation, Fence, FlagCondition, FlagTest, Width};
use fencepost_litmus::test::Architecture;
use iced_x86::{Code, Instruction, MemoryOperand, Register};

use crate::registers::RegisterMap;

/// Where named locations are.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Locations<'a> {
    /// At the addresses that the test says.
    Fixed,
    /// At an offset from a base register: the addresses of the test, each with its offset.
    Relative {
        base: Register,
        offset_of: &'a dyn OffsetOf,
    },
}

/// The offset from the base of what the test has at an address.
pub(crate) trait OffsetOf: std::fmt::Debug {
    fn offset_of(&self, address: u64) -> Option<i64>;
}

/// An instruction, or one that goes to another instruction of the test.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Encoded {
    Plain(Instruction),
    /// A jump: the code, and the index of the instruction that it goes to.
    Jump(Code, u32),
    /// The end of the thread.
    End,
}

/// Selects an instruction by width: those of `X_rm_r` and the like.
macro_rules! by_width {
    ($width:expr, $byte:ident, $word:ident, $long:ident, $quad:ident) => {
        match $width {
            Width::Byte => Code::$byte,
            Width::Word => Code::$word,
            Width::Long => Code::$long,
            Width::Quad => Code::$quad,
        }
    };
}

/// The forms of an instruction with two operands.
struct Forms {
    /// Memory or a register, and a register.
    to_memory: Code,
    /// A register, and memory or a register.
    from_memory: Code,
    /// Memory or a register, and a constant.
    constant: Code,
}

macro_rules! forms {
    ($width:expr, $rm8_r8:ident $rm16_r16:ident $rm32_r32:ident $rm64_r64:ident,
     $r8_rm8:ident $r16_rm16:ident $r32_rm32:ident $r64_rm64:ident,
     $rm8_imm8:ident $rm16_imm16:ident $rm32_imm32:ident $rm64_imm32:ident) => {
        Forms {
            to_memory: by_width!($width, $rm8_r8, $rm16_r16, $rm32_r32, $rm64_r64),
            from_memory: by_width!($width, $r8_rm8, $r16_rm16, $r32_rm32, $r64_rm64),
            constant: by_width!($width, $rm8_imm8, $rm16_imm16, $rm32_imm32, $rm64_imm32),
        }
    };
}

#[rustfmt::skip]
fn forms(mnemonic: Mnemonic, width: Width) -> Option<Forms> {
    Some(match mnemonic {
        Mnemonic::Move => forms!(width,
            Mov_rm8_r8 Mov_rm16_r16 Mov_rm32_r32 Mov_rm64_r64,
            Mov_r8_rm8 Mov_r16_rm16 Mov_r32_rm32 Mov_r64_rm64,
            Mov_rm8_imm8 Mov_rm16_imm16 Mov_rm32_imm32 Mov_rm64_imm32),
        Mnemonic::Binary(Computation::Add) => forms!(width,
            Add_rm8_r8 Add_rm16_r16 Add_rm32_r32 Add_rm64_r64,
            Add_r8_rm8 Add_r16_rm16 Add_r32_rm32 Add_r64_rm64,
            Add_rm8_imm8 Add_rm16_imm16 Add_rm32_imm32 Add_rm64_imm32),
        Mnemonic::Binary(Computation::Subtract) => forms!(width,
            Sub_rm8_r8 Sub_rm16_r16 Sub_rm32_r32 Sub_rm64_r64,
            Sub_r8_rm8 Sub_r16_rm16 Sub_r32_rm32 Sub_r64_rm64,
            Sub_rm8_imm8 Sub_rm16_imm16 Sub_rm32_imm32 Sub_rm64_imm32),
        Mnemonic::Binary(Computation::And) => forms!(width,
            And_rm8_r8 And_rm16_r16 And_rm32_r32 And_rm64_r64,
            And_r8_rm8 And_r16_rm16 And_r32_rm32 And_r64_rm64,
            And_rm8_imm8 And_rm16_imm16 And_rm32_imm32 And_rm64_imm32),
        Mnemonic::Binary(Computation::Or) => forms!(width,
            Or_rm8_r8 Or_rm16_r16 Or_rm32_r32 Or_rm64_r64,
            Or_r8_rm8 Or_r16_rm16 Or_r32_rm32 Or_r64_rm64,
            Or_rm8_imm8 Or_rm16_imm16 Or_rm32_imm32 Or_rm64_imm32),
        Mnemonic::Binary(Computation::Xor) => forms!(width,
            Xor_rm8_r8 Xor_rm16_r16 Xor_rm32_r32 Xor_rm64_r64,
            Xor_r8_rm8 Xor_r16_rm16 Xor_r32_rm32 Xor_r64_rm64,
            Xor_rm8_imm8 Xor_rm16_imm16 Xor_rm32_imm32 Xor_rm64_imm32),
        Mnemonic::Compare(Computation::Subtract) => forms!(width,
            Cmp_rm8_r8 Cmp_rm16_r16 Cmp_rm32_r32 Cmp_rm64_r64,
            Cmp_r8_rm8 Cmp_r16_rm16 Cmp_r32_rm32 Cmp_r64_rm64,
            Cmp_rm8_imm8 Cmp_rm16_imm16 Cmp_rm32_imm32 Cmp_rm64_imm32),
        // There is one form with memory; which operand it is makes no difference.
        Mnemonic::Compare(Computation::And) => forms!(width,
            Test_rm8_r8 Test_rm16_r16 Test_rm32_r32 Test_rm64_r64,
            Test_rm8_r8 Test_rm16_r16 Test_rm32_r32 Test_rm64_r64,
            Test_rm8_imm8 Test_rm16_imm16 Test_rm32_imm32 Test_rm64_imm32),
        _ => return None,
    })
}

fn unary(computation: Computation, width: Width) -> Option<Code> {
    Some(match computation {
        Computation::Increment => by_width!(width, Inc_rm8, Inc_rm16, Inc_rm32, Inc_rm64),
        Computation::Decrement => by_width!(width, Dec_rm8, Dec_rm16, Dec_rm32, Dec_rm64),
        Computation::Not => by_width!(width, Not_rm8, Not_rm16, Not_rm32, Not_rm64),
        Computation::Negate => by_width!(width, Neg_rm8, Neg_rm16, Neg_rm32, Neg_rm64),
        _ => return None,
    })
}

/// The instructions of a condition: `CMOVcc` of three widths, `SETcc`, `Jcc`.
struct Conditional {
    moves: [Code; 3],
    set: Code,
    jump: Code,
}

macro_rules! conditional {
    ($word:ident $long:ident $quad:ident $set:ident $jump:ident) => {
        Conditional {
            moves: [Code::$word, Code::$long, Code::$quad],
            set: Code::$set,
            jump: Code::$jump,
        }
    };
}

#[rustfmt::skip]
fn conditional(condition: FlagCondition) -> Conditional {
    use FlagTest::{
        Below, BelowOrEqual, Equal, Less, LessOrEqual, Overflow, Parity, Sign,
    };
    match (condition.test, condition.negated) {
        (Overflow, false) => conditional!(Cmovo_r16_rm16 Cmovo_r32_rm32 Cmovo_r64_rm64 Seto_rm8 Jo_rel32_64),
        (Overflow, true) => conditional!(Cmovno_r16_rm16 Cmovno_r32_rm32 Cmovno_r64_rm64 Setno_rm8 Jno_rel32_64),
        (Below, false) => conditional!(Cmovb_r16_rm16 Cmovb_r32_rm32 Cmovb_r64_rm64 Setb_rm8 Jb_rel32_64),
        (Below, true) => conditional!(Cmovae_r16_rm16 Cmovae_r32_rm32 Cmovae_r64_rm64 Setae_rm8 Jae_rel32_64),
        (Equal, false) => conditional!(Cmove_r16_rm16 Cmove_r32_rm32 Cmove_r64_rm64 Sete_rm8 Je_rel32_64),
        (Equal, true) => conditional!(Cmovne_r16_rm16 Cmovne_r32_rm32 Cmovne_r64_rm64 Setne_rm8 Jne_rel32_64),
        (BelowOrEqual, false) => conditional!(Cmovbe_r16_rm16 Cmovbe_r32_rm32 Cmovbe_r64_rm64 Setbe_rm8 Jbe_rel32_64),
        (BelowOrEqual, true) => conditional!(Cmova_r16_rm16 Cmova_r32_rm32 Cmova_r64_rm64 Seta_rm8 Ja_rel32_64),
        (Sign, false) => conditional!(Cmovs_r16_rm16 Cmovs_r32_rm32 Cmovs_r64_rm64 Sets_rm8 Js_rel32_64),
        (Sign, true) => conditional!(Cmovns_r16_rm16 Cmovns_r32_rm32 Cmovns_r64_rm64 Setns_rm8 Jns_rel32_64),
        (Parity, false) => conditional!(Cmovp_r16_rm16 Cmovp_r32_rm32 Cmovp_r64_rm64 Setp_rm8 Jp_rel32_64),
        (Parity, true) => conditional!(Cmovnp_r16_rm16 Cmovnp_r32_rm32 Cmovnp_r64_rm64 Setnp_rm8 Jnp_rel32_64),
        (Less, false) => conditional!(Cmovl_r16_rm16 Cmovl_r32_rm32 Cmovl_r64_rm64 Setl_rm8 Jl_rel32_64),
        (Less, true) => conditional!(Cmovge_r16_rm16 Cmovge_r32_rm32 Cmovge_r64_rm64 Setge_rm8 Jge_rel32_64),
        (LessOrEqual, false) => conditional!(Cmovle_r16_rm16 Cmovle_r32_rm32 Cmovle_r64_rm64 Setle_rm8 Jle_rel32_64),
        (LessOrEqual, true) => conditional!(Cmovg_r16_rm16 Cmovg_r32_rm32 Cmovg_r64_rm64 Setg_rm8 Jg_rel32_64),
    }
}

/// An operand of the processor.
#[derive(Clone, Copy)]
enum Operand {
    Register(Register),
    Memory(MemoryOperand),
    Constant(i64),
}

/// Encodes the instructions of one thread.
pub(crate) struct InstructionEncoder<'a> {
    pub architecture: Architecture,
    pub registers: &'a RegisterMap,
    pub locations: Locations<'a>,
}

impl InstructionEncoder<'_> {
    /// The instruction of the processor. `Err` says why there is none.
    pub fn encode(&self, instruction: &AssemblyInstruction) -> Result<Encoded, String> {
        let plain = match instruction.mnemonic {
            Mnemonic::Return | Mnemonic::Lock => return Ok(Encoded::End),
            Mnemonic::Jump => return self.jump(Code::Jmp_rel32_64, instruction),
            Mnemonic::JumpIf(condition) => {
                return self.jump(conditional(condition).jump, instruction);
            }
            Mnemonic::Fence(Fence::Full) => Instruction::with(Code::Mfence),
            Mnemonic::Fence(Fence::Store) => Instruction::with(Code::Sfence),
            Mnemonic::Fence(Fence::Load) => Instruction::with(Code::Lfence),
            Mnemonic::Nothing(Idle::Nop) => Instruction::with(Code::Nopd),
            Mnemonic::Nothing(Idle::Pause) => Instruction::with(Code::Pause),
            Mnemonic::Nothing(Idle::EndBranch) => Instruction::with(Code::Endbr64),
            Mnemonic::Move
            | Mnemonic::Binary(_)
            | Mnemonic::Compare(_)
            | Mnemonic::Unary(_)
            | Mnemonic::ShiftLeft
            | Mnemonic::Exchange
            | Mnemonic::ExchangeAdd
            | Mnemonic::CompareExchange
            | Mnemonic::MoveIf(_)
            | Mnemonic::SetIf(_) => self.with_operands(instruction)?,
        };
        Ok(Encoded::Plain(plain))
    }

    fn jump(&self, code: Code, instruction: &AssemblyInstruction) -> Result<Encoded, String> {
        let target = instruction.target.ok_or("a jump without a label")?;
        Ok(Encoded::Jump(code, target))
    }

    fn with_operands(&self, instruction: &AssemblyInstruction) -> Result<Instruction, String> {
        let width = instruction.width;
        let destination = instruction.destination.ok_or("an operand is missing")?;
        let destination = self.place(&destination, width)?;
        let source = instruction.source.as_ref();
        let source_width = match instruction.mnemonic {
            Mnemonic::ShiftLeft => Width::Byte,
            _ => width,
        };
        let source = source
            .map(|source| self.place(source, source_width))
            .transpose()?;
        let mut encoded = match (instruction.mnemonic, source) {
            (Mnemonic::Unary(computation), _) => one(
                unary(computation, width).ok_or("no such computation")?,
                destination,
            ),
            (Mnemonic::SetIf(condition), _) => one(conditional(condition).set, destination),
            (Mnemonic::ShiftLeft, source) => shift(width, destination, source),
            (Mnemonic::MoveIf(condition), Some(source)) => {
                let moves = conditional(condition).moves;
                let code = match width {
                    Width::Byte => return Err("CMOV of one byte".into()),
                    Width::Word => moves[0],
                    Width::Long => moves[1],
                    Width::Quad => moves[2],
                };
                two(code, destination, source)
            }
            (Mnemonic::Exchange, Some(source)) => {
                let code = by_width!(
                    width,
                    Xchg_rm8_r8,
                    Xchg_rm16_r16,
                    Xchg_rm32_r32,
                    Xchg_rm64_r64
                );
                two(code, destination, source)
            }
            (Mnemonic::ExchangeAdd, Some(source)) => {
                let code = by_width!(
                    width,
                    Xadd_rm8_r8,
                    Xadd_rm16_r16,
                    Xadd_rm32_r32,
                    Xadd_rm64_r64
                );
                two(code, destination, source)
            }
            (Mnemonic::CompareExchange, Some(source)) => {
                let code = by_width!(
                    width,
                    Cmpxchg_rm8_r8,
                    Cmpxchg_rm16_r16,
                    Cmpxchg_rm32_r32,
                    Cmpxchg_rm64_r64
                );
                two(code, destination, source)
            }
            (mnemonic, Some(source)) => computing(mnemonic, width, destination, source),
            (_, None) => return Err("an operand is missing".into()),
        }?;
        encoded.set_has_lock_prefix(instruction.is_locked);
        Ok(encoded)
    }

    fn place(&self, argument: &Argument, width: Width) -> Result<Operand, String> {
        Ok(match argument {
            Argument::Register(register, part) => {
                let found = self.registers.part(*register, *part);
                Operand::Register(found.ok_or("the register has no such part")?)
            }
            Argument::Constant(value) => Operand::Constant(width.signed(*value)),
            Argument::Address(address) => match self.locations {
                Locations::Fixed => Operand::Constant(width.signed(*address)),
                Locations::Relative { .. } => return Err("an address as a constant".into()),
            },
            Argument::Memory(memory) => Operand::Memory(self.memory(memory)?),
        })
    }

    fn memory(&self, memory: &MemoryArgument) -> Result<MemoryOperand, String> {
        let has_registers = memory.base.is_some() || memory.index.is_some();
        let register = |number| {
            let whole = self
                .registers
                .whole(number)
                .ok_or("an address without a register")?;
            Ok::<_, String>(self.in_address(whole))
        };
        let mut base = memory
            .base
            .map(register)
            .transpose()?
            .unwrap_or(Register::None);
        let (mut index, mut scale) = match memory.index {
            Some((number, scale)) => (register(number)?, u32::from(scale)),
            None => (Register::None, 1),
        };
        let mut displacement = memory.offset as i64;
        if let Some(symbol) = memory.symbol {
            match self.locations {
                Locations::Fixed => displacement = displacement.wrapping_add(symbol as i64),
                Locations::Relative {
                    base: slot,
                    offset_of,
                } => {
                    // Without registers the sum is another location, maybe; with some, the
                    // location that is named is where they count from.
                    let (named, rest) = match has_registers {
                        true => (symbol, displacement),
                        false => (symbol.wrapping_add(memory.offset), 0),
                    };
                    let offset = offset_of
                        .offset_of(named)
                        .ok_or("no location at the address")?;
                    displacement = offset.wrapping_add(rest);
                    let slot = match has_registers {
                        true => self.in_address(slot),
                        false => slot,
                    };
                    match (base, index) {
                        (Register::None, _) => base = slot,
                        (_, Register::None) => (index, scale) = (slot, 1),
                        _ => return Err("an address of three registers".into()),
                    }
                }
            }
        }
        // In 32-bit code displacements are of 32 bits, and negative ones look large.
        if self.architecture == Architecture::X86 {
            displacement = i64::from(displacement as i32);
        }
        if i32::try_from(displacement).is_err() {
            return Err("a displacement of more than 32 bits".into());
        }
        if matches!(index, Register::RSP | Register::ESP) {
            if scale != 1 {
                return Err("the stack pointer as an index".into());
            }
            (base, index) = (index, base);
        }
        // Without registers, 8 is the address without a prefix; its number has 32 bits all the same.
        let size = match (base, index) {
            (Register::None, Register::None) => 8,
            _ => 1,
        };
        Ok(MemoryOperand::new(
            base,
            index,
            scale,
            displacement,
            size,
            false,
            Register::None,
        ))
    }

    /// A register as a part of an address: addresses of 32-bit code have 32 bits.
    fn in_address(&self, whole: Register) -> Register {
        use fencepost_litmus::code::Part;
        match self.architecture {
            Architecture::X86 => {
                crate::registers::part_of(whole, Part::Low(Width::Long)).unwrap_or(whole)
            }
            Architecture::X86_64 => whole,
        }
    }
}

fn one(code: Code, place: Operand) -> Result<Instruction, String> {
    let instruction = match place {
        Operand::Register(register) => Instruction::with1(code, register),
        Operand::Memory(memory) => Instruction::with1(code, memory),
        Operand::Constant(_) => return Err("a constant as the destination".into()),
    };
    instruction.map_err(|error| error.to_string())
}

fn two(code: Code, destination: Operand, source: Operand) -> Result<Instruction, String> {
    let instruction = match (destination, source) {
        (Operand::Register(to), Operand::Register(from)) => Instruction::with2(code, to, from),
        (Operand::Register(to), Operand::Memory(from)) => Instruction::with2(code, to, from),
        (Operand::Memory(to), Operand::Register(from)) => Instruction::with2(code, to, from),
        _ => return Err("operands that do not go together".into()),
    };
    instruction.map_err(|error| error.to_string())
}

fn computing(
    mnemonic: Mnemonic,
    width: Width,
    to: Operand,
    from: Operand,
) -> Result<Instruction, String> {
    let forms = forms(mnemonic, width).ok_or("no such computation")?;
    let is_test = mnemonic == Mnemonic::Compare(Computation::And);
    match (to, from) {
        (_, Operand::Constant(value)) => constant(mnemonic, &forms, to, value),
        (Operand::Register(_), Operand::Memory(_)) if is_test => two(forms.to_memory, from, to),
        (Operand::Register(_), Operand::Memory(_)) => two(forms.from_memory, to, from),
        _ => two(forms.to_memory, to, from),
    }
}

fn constant(
    mnemonic: Mnemonic,
    forms: &Forms,
    to: Operand,
    value: i64,
) -> Result<Instruction, String> {
    let instruction = match (to, i32::try_from(value)) {
        (Operand::Register(register), Ok(value)) => {
            Instruction::with2(forms.constant, register, value)
        }
        (Operand::Memory(memory), Ok(value)) => Instruction::with2(forms.constant, memory, value),
        (Operand::Register(register), Err(_)) if mnemonic == Mnemonic::Move => {
            Instruction::with2(Code::Mov_r64_imm64, register, value)
        }
        (Operand::Constant(_), _) => return Err("a constant as the destination".into()),
        _ => return Err("a constant of more than 32 bits".into()),
    };
    instruction.map_err(|error| error.to_string())
}

fn shift(width: Width, to: Operand, count: Option<Operand>) -> Result<Instruction, String> {
    let with = |code, count: i32| match to {
        Operand::Register(register) => Instruction::with2(code, register, count),
        Operand::Memory(memory) => Instruction::with2(code, memory, count),
        Operand::Constant(_) => Instruction::with2(code, Register::None, count),
    };
    let instruction = match count {
        // The form without a count has it as an operand, which is always 1.
        None => with(
            by_width!(width, Shl_rm8_1, Shl_rm16_1, Shl_rm32_1, Shl_rm64_1),
            1,
        ),
        Some(Operand::Constant(count)) => {
            let code = by_width!(
                width,
                Shl_rm8_imm8,
                Shl_rm16_imm8,
                Shl_rm32_imm8,
                Shl_rm64_imm8
            );
            with(code, i32::from(count as i8))
        }
        Some(Operand::Register(count)) => {
            let code = by_width!(width, Shl_rm8_CL, Shl_rm16_CL, Shl_rm32_CL, Shl_rm64_CL);
            match to {
                Operand::Register(register) => Instruction::with2(code, register, count),
                Operand::Memory(memory) => Instruction::with2(code, memory, count),
                Operand::Constant(_) => return Err("a constant as the destination".into()),
            }
        }
        Some(Operand::Memory(_)) => return Err("memory as the count".into()),
    };
    instruction.map_err(|error| error.to_string())
}
