//! The memory of a test: which locations there are, how wide they are and where they lie.
//!
//! A location exists if it is named anywhere. Its width is that of the accesses that name it, which
//! win over the declared type, because tests for herd7 declare `int x` and access it with `movq`.
//! Without such accesses:
//!
//! - a location has the width of its type, if that is not 4 bytes (`int` means little, as above);
//! - else, if its address is taken, that of the accesses through registers, if all of the test have
//!   the same;
//! - else that of its type;
//! - else 8 bytes in `X86_64` if it holds an address at first, and 4 bytes, herd7's `int`.
//!
//! An access without a width (`incl` has a suffix, `inc (x)` none) has that of the location that it
//! names; through a register, that of all locations if they have the same, and else 4 bytes.

use std::collections::BTreeMap;

use crate::code::Width;
use crate::limits::Limits;
use crate::parse_error::SpannedError;
use crate::parse_error_kind::ParseErrorKind;
use crate::syntax::MAX_ERRORS;
use crate::syntax::lexer::Span;
use crate::syntax::tree::{
    Claim, Compared, DeclaredType, File, Initial, MemoryRef, Number, Target, Value,
};
use crate::test::{Architecture, Cell, CellId};
use crate::x86::instruction::WrittenInstruction;
use crate::x86::operands::Operand;
use crate::x86::registers;
use fencepost_diagnostics::{nearest, quoted};

/// Locations begin at multiples of this, so that no test is about sharing a cache line.
const SEPARATION: u64 = 64;

/// Addresses lie from here on, if no constant of the test is in the way, and below
/// [`LAST_ADDRESS`]: they fit 4 bytes, and are positive there.
const FIRST_ADDRESS: u64 = 0x1000_0000;
const LAST_ADDRESS: u64 = 0x8000_0000;

/// A location.
#[derive(Clone, Debug, Default)]
struct Location<'s> {
    declared: Option<DeclaredType>,
    length: Option<usize>,
    initial: Vec<Value<'s>>,
    initialized_at: Option<Span>,
    /// The first access that names it and has a width.
    accessed: Option<(Width, Span)>,
    is_address_taken: bool,
    width: Option<Width>,
    address: u64,
    first_cell: u32,
}

impl Location<'_> {
    fn cells(&self) -> usize {
        self.length.unwrap_or(1)
    }
}

/// The memory of a test.
#[derive(Clone, Debug)]
pub(crate) struct MemoryMap<'s> {
    architecture: Architecture,
    locations: BTreeMap<&'s str, Location<'s>>,
    /// The width of accesses through registers, if all have the same.
    indirect: Option<Width>,
    /// The width of all locations, if all have the same.
    common: Option<Width>,
    addresses: rustc_hash::FxHashSet<u64>,
}

impl<'s> MemoryMap<'s> {
    /// Finds out about all locations of a file.
    pub fn new(
        file: &File<'s>,
        limits: &Limits,
        errors: &mut Vec<SpannedError>,
    ) -> Result<Self, SpannedError> {
        let mut map = MemoryMap {
            architecture: file.architecture,
            locations: BTreeMap::new(),
            indirect: None,
            common: None,
            addresses: rustc_hash::FxHashSet::default(),
        };
        let mut constants = Constants::default();
        for entry in &file.initial {
            map.initialize(entry)?;
            for value in &entry.values {
                map.mention_value(value, &mut constants);
            }
        }
        map.mention_program(file, &mut constants, errors);
        let mut asked = Asked {
            known: map.locations.keys().copied().collect(),
            reported: rustc_hash::FxHashSet::default(),
            architecture: file.architecture,
            errors,
        };
        for claim in file.filter.iter().chain([&file.condition]) {
            map.mention_claim(claim, &mut constants, &mut asked);
        }
        // To show what the test does not have does no harm.
        for target in &file.locations {
            if let Target::Memory(reference) = target {
                map.locations.entry(reference.name).or_default();
            }
        }
        map.settle_widths();
        map.reference(constants, limits)?;
        Ok(map)
    }

    fn initialize(&mut self, entry: &Initial<'s>) -> Result<(), SpannedError> {
        let Target::Memory(reference) = entry.target else {
            return Ok(());
        };
        let location = self.locations.entry(reference.name).or_default();
        let twice = |before: Option<Span>| {
            let kind = ParseErrorKind::InitializedTwice {
                name: quoted(reference.name),
                before: before.unwrap_or(reference.span).position,
            };
            kind.at(reference.span)
        };
        let has_other_type = location
            .declared
            .is_some_and(|declared| entry.declared.is_some_and(|other| other != declared));
        let has_values = !location.initial.is_empty() && !entry.values.is_empty();
        let has_other_length = location.initialized_at.is_some() && location.length != entry.length;
        if has_other_type || has_values || has_other_length {
            return Err(twice(location.initialized_at));
        }
        location.declared = location.declared.or(entry.declared);
        location.length = entry.length;
        location.initialized_at = location.initialized_at.or(Some(reference.span));
        if !entry.values.is_empty() {
            location.initial.clone_from(&entry.values);
        }
        Ok(())
    }

    fn mention_value(&mut self, value: &Value<'s>, constants: &mut Constants) {
        match value {
            Value::Number(number, _) => constants.add(*number),
            Value::Address(reference) => self.take_address(reference),
        }
    }

    fn take_address(&mut self, reference: &MemoryRef<'s>) {
        self.locations
            .entry(reference.name)
            .or_default()
            .is_address_taken = true;
    }

    fn mention_target(&mut self, target: &Target<'s>, asked: &mut Asked<'_, 's>) {
        if let Target::Memory(reference) = target {
            asked.check(reference);
            self.locations.entry(reference.name).or_default();
        }
    }

    fn mention_compared(
        &mut self,
        value: &Value<'s>,
        constants: &mut Constants,
        asked: &mut Asked<'_, 's>,
    ) {
        if let Value::Address(reference) = value {
            asked.check(reference);
        }
        self.mention_value(value, constants);
    }

    fn mention_claim(
        &mut self,
        claim: &Claim<'s>,
        constants: &mut Constants,
        asked: &mut Asked<'_, 's>,
    ) {
        match claim {
            Claim::Constant(_) => {}
            Claim::Equal(target, compared) => {
                self.mention_target(target, asked);
                match compared {
                    Compared::Value(value) => self.mention_compared(value, constants, asked),
                    Compared::Content(target) => self.mention_target(target, asked),
                    Compared::Elements(values) => {
                        for value in values {
                            self.mention_compared(value, constants, asked);
                        }
                    }
                }
            }
            Claim::Not(inner) => self.mention_claim(inner, constants, asked),
            Claim::And(parts) | Claim::Or(parts) => {
                for part in parts {
                    self.mention_claim(part, constants, asked);
                }
            }
            Claim::Implies(left, right) => {
                self.mention_claim(left, constants, asked);
                self.mention_claim(right, constants, asked);
            }
        }
    }

    fn mention_program(
        &mut self,
        file: &File<'s>,
        constants: &mut Constants,
        errors: &mut Vec<SpannedError>,
    ) {
        let mut indirect = Agreement::default();
        let instructions = file.columns.iter().flat_map(|column| &column.instructions);
        for instruction in instructions {
            for operand in instruction.operands() {
                match operand {
                    Operand::Register(..) => {}
                    Operand::Number(number, _) => constants.add(*number),
                    Operand::Address(reference) => self.take_address(reference),
                    Operand::Memory(memory) => match (memory.direct(), memory.symbol) {
                        (Some(reference), _) => {
                            if let Err(error) =
                                self.access(&reference, instruction.width, memory.span)
                            {
                                if errors.len() + 1 < MAX_ERRORS {
                                    errors.push(error);
                                }
                            }
                        }
                        (None, symbol) => {
                            if let Some(reference) = symbol {
                                self.take_address(&reference);
                            }
                            indirect.add(instruction.width);
                        }
                    },
                }
            }
        }
        self.indirect = indirect.agreed();
    }

    fn access(
        &mut self,
        reference: &MemoryRef<'s>,
        width: Option<Width>,
        span: Span,
    ) -> Result<(), SpannedError> {
        let location = self.locations.entry(reference.name).or_default();
        let Some(width) = width else {
            return Ok(());
        };
        match location.accessed {
            None => {
                location.accessed = Some((width, span));
                Ok(())
            }
            Some((other, _)) if other == width => Ok(()),
            Some((other, before)) => {
                let kind = ParseErrorKind::MixedSize {
                    name: quoted(reference.name),
                    bytes: width.bytes(),
                    other: other.bytes(),
                    before: before.position,
                };
                Err(kind.at(span))
            }
        }
    }

    fn settle_widths(&mut self) {
        let mut common = Agreement::default();
        for location in self.locations.values_mut() {
            let accessed = location.accessed.map(|(width, _)| width);
            let indirect = self.indirect.filter(|_| location.is_address_taken);
            let declared = location.declared.map(|declared| declared.width);
            let deliberate = declared.filter(|width| *width != Width::Long);
            let holds_address = location
                .initial
                .iter()
                .any(|value| matches!(value, Value::Address(_)));
            let default = match holds_address && self.architecture == Architecture::X86_64 {
                true => Width::Quad,
                false => Width::Long,
            };
            let stated = accessed.or(deliberate).or(indirect).or(declared);
            let width = stated.unwrap_or(default);
            location.width = Some(width);
            common.add(Some(width));
        }
        self.common = common.agreed();
    }

    /// Gives addresses, in the order of names.
    fn reference(&mut self, constants: Constants, limits: &Limits) -> Result<(), SpannedError> {
        let mut cells = 0_usize;
        let mut size = 0_u64;
        for location in self.locations.values_mut() {
            location.first_cell = cells as u32;
            location.address = size;
            cells = cells.saturating_add(location.cells());
            if cells > limits.cells {
                let span = location.initialized_at.unwrap_or(Span::START);
                return Err(ParseErrorKind::limit("cells of memory", limits.cells).at(span));
            }
            let width = location.width.unwrap_or(Width::Long);
            let bytes = location.cells() as u64 * width.bytes();
            size += bytes.next_multiple_of(SEPARATION);
        }
        let Some(base) = constants.gap(size) else {
            return Err(ParseErrorKind::NoRoom.at(Span::START));
        };
        for location in self.locations.values_mut() {
            location.address += base;
            let width = location.width.unwrap_or(Width::Long).bytes();
            let cells = location.cells() as u64;
            let addresses = (0..cells).map(|index| location.address + index * width);
            self.addresses.extend(addresses);
        }
        Ok(())
    }

    /// Whether a cell begins at an address.
    pub fn is_cell(&self, address: u64) -> bool {
        self.addresses.contains(&address)
    }

    /// The width of an access that does not say it.
    pub fn width_of_unsized(&self, instruction: &WrittenInstruction<'s>) -> Width {
        let memory = instruction.operands().find_map(|operand| match operand {
            Operand::Memory(memory) => Some(memory),
            _ => None,
        });
        let named = memory
            .and_then(|memory| memory.direct())
            .and_then(|reference| self.locations.get(reference.name)?.width);
        named.or(self.common).unwrap_or(Width::Long)
    }

    /// The address of a location or an element. An array's is that of its first element.
    pub fn address(&self, reference: &MemoryRef<'s>) -> Result<u64, SpannedError> {
        let location = &self.locations[reference.name];
        let width = location.width.unwrap_or(Width::Long);
        Ok(location.address + self.index(reference)? * width.bytes())
    }

    fn index(&self, reference: &MemoryRef<'s>) -> Result<u64, SpannedError> {
        let name = || quoted(reference.name);
        let Some(index) = reference.index else {
            return Ok(0);
        };
        match self.locations[reference.name].length {
            None => Err(ParseErrorKind::NotAnArray { name: name() }.at(reference.span)),
            Some(length) if index >= length as u64 => {
                let kind = ParseErrorKind::NoSuchElement {
                    name: name(),
                    length,
                    index,
                };
                Err(kind.at(reference.span))
            }
            Some(_) => Ok(index),
        }
    }

    /// The cell of a location or an element.
    pub fn cell(&self, reference: &MemoryRef<'s>) -> Result<CellId, SpannedError> {
        let location = &self.locations[reference.name];
        if reference.index.is_none() && location.length.is_some() {
            let name = quoted(reference.name);
            return Err(ParseErrorKind::ArrayAlone { name }.at(reference.span));
        }
        Ok(CellId(location.first_cell + self.index(reference)? as u32))
    }

    /// The width of a location's cells.
    pub fn width(&self, name: &str) -> Width {
        let width = self.locations.get(name).and_then(|location| location.width);
        width.unwrap_or(Width::Long)
    }

    /// The length of an array.
    pub fn length(&self, reference: &MemoryRef<'s>) -> Option<usize> {
        self.locations[reference.name].length
    }

    /// All cells, in the order of names.
    pub fn cells(&self) -> Result<Vec<Cell>, SpannedError> {
        let mut cells = Vec::new();
        for (name, location) in &self.locations {
            let width = location.width.unwrap_or(Width::Long);
            for index in 0..location.cells() {
                let initial = match location.initial.get(index) {
                    None => 0,
                    Some(value) => self.content(value, width)?,
                };
                cells.push(Cell {
                    name: match location.length {
                        Some(_) => format!("{name}[{index}]"),
                        None => (*name).to_owned(),
                    },
                    address: location.address + index as u64 * width.bytes(),
                    width,
                    initial,
                    unsigned: location
                        .declared
                        .is_some_and(|declared| declared.is_unsigned),
                });
            }
        }
        Ok(cells)
    }

    /// A value in so many bytes.
    pub fn content(&self, value: &Value<'s>, width: Width) -> Result<u64, SpannedError> {
        let (content, found, span) = match value {
            Value::Number(number, span) => match number.fits(width) {
                true => return Ok(number.value & width.mask()),
                false => (0, number.to_string(), *span),
            },
            Value::Address(reference) => {
                let found = format!("the address of `{}`", quoted(reference.name));
                (self.address(reference)?, found, reference.span)
            }
        };
        if matches!(value, Value::Address(_)) && content <= width.mask() {
            return Ok(content);
        }
        let bytes = width.bytes();
        Err(ParseErrorKind::DoesNotFit { found, bytes }.at(span))
    }
}

/// The most locations that an error lists.
const MOST_LISTED: usize = 8;

/// Checks that the condition and the filter ask about what the test has.
struct Asked<'e, 's> {
    /// The locations of the instructions and of the initial state.
    known: std::collections::BTreeSet<&'s str>,
    reported: rustc_hash::FxHashSet<&'s str>,
    architecture: Architecture,
    errors: &'e mut Vec<SpannedError>,
}

impl<'s> Asked<'_, 's> {
    fn check(&mut self, reference: &MemoryRef<'s>) {
        // Each unknown name is reported once.
        let is_known = self.known.contains(reference.name);
        if is_known || self.errors.len() + 1 >= MAX_ERRORS || !self.reported.insert(reference.name)
        {
            return;
        }
        let known = &self.known;
        let meant = match registers::machine(reference.name, self.architecture) {
            Some(_) => Some(format!("0:{}", quoted(reference.name))),
            None => nearest(reference.name, known.iter().copied()).map(|name| quoted(&name)),
        };
        let kind = ParseErrorKind::UnknownLocation {
            found: quoted(reference.name),
            meant,
            known: match known.len() {
                ..=MOST_LISTED => known.iter().map(|name| quoted(name)).collect(),
                _ => Vec::new(),
            },
        };
        self.errors.push(kind.at(reference.span));
    }
}

/// Whether all have the same.
#[derive(Default)]
struct Agreement {
    first: Option<Width>,
    is_broken: bool,
}

impl Agreement {
    fn add(&mut self, width: Option<Width>) {
        match (self.first, width) {
            (None, _) => self.first = width,
            (Some(first), Some(width)) if first != width => self.is_broken = true,
            _ => {}
        }
    }

    fn agreed(self) -> Option<Width> {
        self.first.filter(|_| !self.is_broken)
    }
}

/// The constants of a test that could be taken for addresses.
#[derive(Default)]
struct Constants {
    found: Vec<u64>,
}

impl Constants {
    fn add(&mut self, number: Number) {
        for candidate in [number.value, number.value & Width::Long.mask()] {
            if (FIRST_ADDRESS..LAST_ADDRESS).contains(&candidate) {
                self.found.push(candidate);
            }
        }
    }

    /// Where so many bytes lie between constants.
    fn gap(mut self, size: u64) -> Option<u64> {
        self.found.sort_unstable();
        let mut base = FIRST_ADDRESS;
        for constant in self.found {
            if constant >= base && constant < base + size {
                base = (constant + 1).next_multiple_of(SEPARATION);
            }
        }
        (base + size <= LAST_ADDRESS).then_some(base)
    }
}
