//! The registers of the code that a signal has interrupted.

use corosensei::trap::TrapHandlerRegs;
use libc::ucontext_t;

pub(super) use machine::*;

#[cfg(target_arch = "x86_64")]
mod machine {
    use super::*;

    /// Traps after each instruction.
    const TRAP_FLAG: i64 = 1 << 8;
    /// Copies from higher addresses to lower ones.
    const DIRECTION_FLAG: i64 = 1 << 10;

    /// A repeated instruction traps after each repetition. More than these would take too long.
    const MOST_REPETITIONS: i64 = 1 << 16;

    pub(in super::super) fn stack_pointer(context: &ucontext_t) -> usize {
        register(context, libc::REG_RSP) as usize
    }

    pub(in super::super) fn program_counter(context: &ucontext_t) -> usize {
        register(context, libc::REG_RIP) as usize
    }

    fn register(context: &ucontext_t, register: i32) -> i64 {
        context.uc_mcontext.gregs[register as usize]
    }

    pub(in super::super) fn set_registers(context: &mut ucontext_t, registers: TrapHandlerRegs) {
        let TrapHandlerRegs {
            rip,
            rsp,
            rbp,
            rdi,
            rsi,
        } = registers;
        let to = &mut context.uc_mcontext.gregs;
        to[libc::REG_RIP as usize] = rip as i64;
        to[libc::REG_RSP as usize] = rsp as i64;
        to[libc::REG_RBP as usize] = rbp as i64;
        to[libc::REG_RDI as usize] = rdi as i64;
        to[libc::REG_RSI as usize] = rsi as i64;
        to[libc::REG_EFL as usize] &= !(TRAP_FLAG | DIRECTION_FLAG);
    }

    /// Requests a SIGTRAP after each instruction.
    pub(in super::super) fn start_stepping(context: &mut ucontext_t) {
        context.uc_mcontext.gregs[libc::REG_EFL as usize] |= TRAP_FLAG;
    }

    pub(in super::super) fn stop_stepping(context: &mut ucontext_t) {
        context.uc_mcontext.gregs[libc::REG_EFL as usize] &= !TRAP_FLAG;
    }

    /// Whether the next instruction can be stepped over: it does not block SIGTRAP, nor create a
    /// process or thread that would trap too, nor take too long.
    ///
    /// # Safety
    /// The context must be that of code that is about to run.
    pub(in super::super) unsafe fn can_step(context: &ucontext_t) -> bool {
        let code = program_counter(context) as *const u8;
        // SAFETY: none of the bytes that are read comes after the instruction: no instruction
        // consists of an operand-size or repeat prefix, a REX prefix or 0x0f alone.
        let byte = |index: usize| unsafe { code.add(index).read() };
        match byte(0) {
            0x0f if byte(1) == 0x05 => !matches!(
                register(context, libc::REG_RAX),
                libc::SYS_rt_sigprocmask
                    | libc::SYS_clone
                    | libc::SYS_clone3
                    | libc::SYS_fork
                    | libc::SYS_vfork
            ),
            0xf2 | 0xf3 => {
                let operation = match byte(1) {
                    0x40..=0x4f => byte(2),
                    other => other,
                };
                let is_repeated = matches!(operation, 0xa4..=0xa7 | 0xaa..=0xaf);
                let count = register(context, libc::REG_RCX);
                !is_repeated || (0..=MOST_REPETITIONS).contains(&count)
            }
            _ => true,
        }
    }
}

#[cfg(target_arch = "aarch64")]
mod machine {
    use super::*;

    pub(in super::super) fn stack_pointer(context: &ucontext_t) -> usize {
        context.uc_mcontext.sp as usize
    }

    pub(in super::super) fn program_counter(context: &ucontext_t) -> usize {
        context.uc_mcontext.pc as usize
    }

    pub(in super::super) fn set_registers(context: &mut ucontext_t, registers: TrapHandlerRegs) {
        let TrapHandlerRegs {
            pc,
            sp,
            x0,
            x1,
            x29,
            lr,
        } = registers;
        let to = &mut context.uc_mcontext;
        to.pc = pc;
        to.sp = sp;
        to.regs[0] = x0;
        to.regs[1] = x1;
        to.regs[29] = x29;
        to.regs[30] = lr;
    }

    /// A program cannot request a signal after each of its instructions on this processor.
    pub(in super::super) fn start_stepping(_: &mut ucontext_t) {}
}
