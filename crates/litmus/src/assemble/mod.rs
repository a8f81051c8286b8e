//! From a syntax tree to a test: names are resolved, memory is laid out, instructions are
//! lowered.
//!
//! Read in this order: `memory`, `observe` (registers and locations in conditions), and here, how
//! they come together.

pub(crate) mod memory;
mod observe;

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use crate::code::Part;
use crate::limits::Limits;
use crate::parse_error::SpannedError;
use crate::parse_error_kind::ParseErrorKind;
use crate::syntax::lexer::Span;
use crate::syntax::tree::{File, RegisterRef, Target};
use crate::test::{Architecture, Instruction, RegisterInfo, Test, Thread};
use crate::x86::lowering::lower_thread;
use crate::x86::register_file::RegisterFile;
use crate::x86::registers::{self, Which, WrittenRegister};
use fencepost_diagnostics::quoted;

use memory::MemoryMap;

/// Makes a test of a file without errors.
pub(crate) fn assemble(
    source: &str,
    file: File<'_>,
    limits: &Limits,
    errors: &mut Vec<SpannedError>,
) -> Result<Test, SpannedError> {
    let memory = MemoryMap::new(&file, limits, errors)?;
    let mut threads = ThreadTable::new(&file);
    let mut lowered = Vec::new();
    for column in &file.columns {
        let mut thread = lower_thread(column, file.architecture, &memory, errors)?;
        threads.files.push(std::mem::take(&mut thread.registers));
        threads.idle.push(thread.operations.len() <= 1);
        lowered.push(thread);
    }
    let initial = initial_registers(&file, &memory, &mut threads)?;
    let hash = crate::herd_hash::of_file(source, &file);
    let observed = observe::observe(&file, &memory, &mut threads, &initial)?;
    let cells = memory.cells()?;
    let mut test = Test {
        architecture: file.architecture,
        name: file.name,
        documentation: file.documentation,
        info: file.info,
        threads: Vec::new(),
        cells,
        observed: observed.printed,
        observed_by_filter: observed.by_filter,
        filter: observed.filter,
        quantifier: file.quantifier,
        condition: observed.condition,
        condition_text: observed.condition_text,
        hash,
    };
    let names = threads.names();
    for (index, (column, lowered)) in file.columns.into_iter().zip(lowered).enumerate() {
        let which = &threads.files[index].which;
        let infos = which
            .iter()
            .enumerate()
            .map(|(number, which)| RegisterInfo {
                name: which.map_or_else(String::new, |which| names[index].name(which)),
                initial: initial[index]
                    .get(&number)
                    .map_or(0, |initial| initial.content),
            });
        let instructions =
            column
                .instructions
                .into_iter()
                .zip(lowered.assembly)
                .map(|(instruction, assembly)| Instruction {
                    text: instruction.text(source),
                    position: instruction.span.position,
                    assembly,
                });
        test.threads.push(Thread {
            number: column.number,
            operations: lowered.operations,
            instruction_of: lowered.instruction_of,
            instructions: instructions.collect(),
            registers: infos.collect(),
        });
    }
    Ok(test)
}

/// The threads and their registers.
struct ThreadTable<'s> {
    architecture: Architecture,
    by_number: FxHashMap<u64, usize>,
    files: Vec<RegisterFile<'s>>,
    /// Whether each has no operation.
    idle: Vec<bool>,
}

impl<'s> ThreadTable<'s> {
    fn new(file: &File<'s>) -> Self {
        let columns = file.columns.iter().enumerate();
        ThreadTable {
            architecture: file.architecture,
            by_number: columns
                .map(|(index, column)| (u64::from(column.number), index))
                .collect(),
            files: Vec::new(),
            idle: Vec::new(),
        }
    }

    /// Which register of which thread is meant.
    fn resolve(
        &mut self,
        reference: &RegisterRef<'s>,
    ) -> Result<(usize, WrittenRegister<'s>), SpannedError> {
        let found = || quoted(reference.name);
        let register = match (
            registers::machine(reference.name, self.architecture),
            reference.has_percent,
        ) {
            (Some(register), _) => register,
            (None, true) => WrittenRegister {
                which: Which::Symbolic(reference.name),
                part: registers::whole(self.architecture),
            },
            (None, false) => {
                let is_wide = self.architecture == Architecture::X86
                    && registers::is_only_in_64_bits(reference.name);
                let kind = match is_wide {
                    true => ParseErrorKind::WideRegister { found: found() },
                    false => ParseErrorKind::UnknownRegister {
                        found: found(),
                        meant: registers::nearest(reference.name, self.architecture),
                    },
                };
                return Err(kind.at(reference.span));
            }
        };
        let thread = match reference.thread {
            Some(number) => match self.by_number.get(&number) {
                Some(thread) => *thread,
                None => return Err(ParseErrorKind::NoSuchThread { number }.at(reference.span)),
            },
            None => {
                let mut users =
                    (0..self.files.len()).filter(|thread| self.files[*thread].has(register.which));
                let user = users.next();
                if users.next().is_some() {
                    return Err(
                        ParseErrorKind::AmbiguousRegister { found: found() }.at(reference.span)
                    );
                }
                match user {
                    Some(user) => user,
                    None => return Err(self.unused(reference, None)),
                }
            }
        };
        let is_symbolic = matches!(register.which, Which::Symbolic(_));
        if is_symbolic && !self.files[thread].has(register.which) {
            return Err(self.unused(reference, Some(register)));
        }
        self.files[thread].number(register.which, reference.span)?;
        Ok((thread, register))
    }

    /// Which register of which thread is asked about. It is one that the thread uses or
    /// initializes, unless the thread has no operation at all.
    fn resolve_observed(
        &mut self,
        reference: &RegisterRef<'s>,
    ) -> Result<(usize, WrittenRegister<'s>), SpannedError> {
        let thread = reference.thread.and_then(|n| self.by_number.get(&n));
        let register = registers::machine(reference.name, self.architecture);
        if let (Some(&thread), Some(register)) = (thread, register) {
            if !self.files[thread].has(register.which) && !self.idle[thread] {
                return Err(self.unused(reference, Some(register)));
            }
        }
        self.resolve(reference)
    }

    /// The error that no instruction uses a register. It was probably meant of another thread, or
    /// another of the same thread.
    fn unused(
        &self,
        reference: &RegisterRef<'s>,
        register: Option<WrittenRegister<'s>>,
    ) -> SpannedError {
        let percent = if reference.has_percent { "%" } else { "" };
        let name = format!("{percent}{}", quoted(reference.name));
        let of = |number: u64, name: &str| format!("{number}:{name}");
        let users = self.by_number.iter().filter(|&(_, &thread)| {
            register.is_some_and(|register| self.files[thread].has(register.which))
        });
        let user = users.map(|(number, _)| *number).min();
        let in_thread = || {
            let number = reference.thread?;
            let file = &self.files[*self.by_number.get(&number)?];
            let names = RegisterNames::new(file, self.architecture);
            let mut used = file.which.iter().flatten().map(|which| names.name(*which));
            let first = used.next()?;
            used.next().is_none().then(|| of(number, &first))
        };
        let found = match reference.thread {
            Some(number) => of(number, &name),
            None => name.clone(),
        };
        let meant = user.map(|number| of(number, &name)).or_else(in_thread);
        ParseErrorKind::UnusedRegister { found, meant }.at(reference.span)
    }

    fn names(&self) -> Vec<RegisterNames<'s>> {
        let files = self.files.iter();
        files
            .map(|file| RegisterNames::new(file, self.architecture))
            .collect()
    }
}

/// How the registers of a thread are printed.
///
/// As in herd7, symbolic registers get the first registers of the machine that the thread does not
/// name elsewhere, in the order of their names, and are printed so. When there are no more, they
/// keep their own names.
struct RegisterNames<'s> {
    architecture: Architecture,
    given: FxHashMap<&'s str, u8>,
}

impl<'s> RegisterNames<'s> {
    fn new(file: &RegisterFile<'s>, architecture: Architecture) -> Self {
        let named = file.which.iter().flatten();
        let symbolic: BTreeSet<&str> = named
            .clone()
            .filter_map(|which| match which {
                Which::Symbolic(name) => Some(*name),
                Which::Machine(_) => None,
            })
            .collect();
        let is_named = |number: &u8| named.clone().any(|which| *which == Which::Machine(*number));
        let free = registers::free_for_symbolic(architecture).filter(|number| !is_named(number));
        RegisterNames {
            architecture,
            given: symbolic.into_iter().zip(free).collect(),
        }
    }

    /// Its number in herd7's order, if it is one of the machine's.
    fn number(&self, which: Which<'s>) -> Option<u8> {
        match which {
            Which::Machine(number) => Some(number),
            Which::Symbolic(name) => self.given.get(name).copied(),
        }
    }

    fn part_name(&self, which: Which<'s>, part: Part) -> String {
        match (self.number(which), which) {
            (Some(number), _) => registers::printed(number, part, self.architecture),
            (None, Which::Symbolic(name)) => format!("%{name}"),
            (None, Which::Machine(_)) => String::new(),
        }
    }

    fn name(&self, which: Which<'s>) -> String {
        self.part_name(which, registers::whole(self.architecture))
    }
}

/// The initial value of a register, and whether it is printed as unsigned.
struct InitialRegister {
    content: u64,
    is_unsigned: bool,
    value_at: Option<Span>,
}

/// For each thread, by the number of the register.
type InitialRegisters = Vec<FxHashMap<usize, InitialRegister>>;

fn initial_registers<'s>(
    file: &File<'s>,
    memory: &MemoryMap<'s>,
    threads: &mut ThreadTable<'s>,
) -> Result<InitialRegisters, SpannedError> {
    let mut initial: InitialRegisters = Vec::new();
    initial.resize_with(file.columns.len(), FxHashMap::default);
    for entry in &file.initial {
        let Target::Register(reference) = &entry.target else {
            continue;
        };
        let (thread, register) = threads.resolve(reference)?;
        let number = threads.files[thread].number(register.which, reference.span)?;
        let known = initial[thread]
            .entry(number.index())
            .or_insert(InitialRegister {
                content: 0,
                is_unsigned: false,
                value_at: None,
            });
        known.is_unsigned |= entry.declared.is_some_and(|declared| declared.is_unsigned);
        let Some(value) = entry.values.first() else {
            continue;
        };
        if let Some(before) = known.value_at {
            let kind = ParseErrorKind::InitializedTwice {
                name: format!("{}:{}", file.columns[thread].number, quoted(reference.name)),
                before: before.position,
            };
            return Err(kind.at(reference.span));
        }
        known.value_at = Some(reference.span);
        let content = memory.content(value, register.part.width())?;
        known.content = register.part.replace(0, content);
    }
    Ok(initial)
}
