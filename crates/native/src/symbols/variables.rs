//! The static and thread-local variables that debug information describes.

use std::collections::HashMap;
use std::sync::Arc;

use gimli::{
    AttributeValue, DebuggingInformationEntry, Dwarf, Operation, Unit, UnitOffset,
    UnitSectionOffset,
};

use super::demangle::{LONGEST, demangle};
use super::file::{Reader, Symbol};

/// An entry of the debug information: the unit by its index, and where in it.
pub(super) type Die = (usize, UnitOffset);
pub(super) type Entry = DebuggingInformationEntry<Reader>;

/// How long chains of references may be.
pub(super) const CHAIN: usize = 32;

/// A variable with an address, or with an offset into thread-local storage.
#[derive(Debug, Clone)]
pub(super) struct Declared {
    pub(super) start: u64,
    pub(super) size: u64,
    pub(super) name: String,
    pub(super) kind: Option<Die>,
    /// How many bytes of the variable are elsewhere before this part: optimisation may take a structure apart.
    pub(super) skipped: u64,
    /// The declaration that it completes.
    origin: Option<Die>,
}

/// All variables of an object, sorted by address.
pub(super) struct Variables {
    pub(super) dwarf: Arc<Dwarf<Reader>>,
    pub(super) units: Vec<Unit<Reader>>,
    pub(super) statics: Vec<Declared>,
    pub(super) thread_local: Vec<Declared>,
}

/// Where a part of a variable is.
struct Home {
    start: u64,
    is_thread_local: bool,
    /// How many bytes of the variable are before the part, and its size, if it is not the whole variable.
    part: Option<(u64, u64)>,
}

impl Variables {
    /// From the debug information, with sizes from the symbols of data too.
    pub(super) fn read(dwarf: Arc<Dwarf<Reader>>, symbols: &[Symbol]) -> Self {
        let mut units = Vec::new();
        let mut headers = dwarf.units();
        // What follows a damaged header is lost; the others stay.
        while let Ok(Some(header)) = headers.next() {
            units.extend(dwarf.unit(header));
        }
        let mut found = Variables {
            dwarf,
            units,
            statics: Vec::new(),
            thread_local: Vec::new(),
        };
        let mut declarations = HashMap::new();
        for unit in 0..found.units.len() {
            // A damaged unit has the variables up to the damage.
            let _ = found.read_unit(unit, &mut declarations);
        }
        // A class may be described after its static members are.
        for variable in found.statics.iter_mut().chain(&mut found.thread_local) {
            if let Some(name) = variable.origin.and_then(|origin| declarations.get(&origin)) {
                variable.name.clone_from(name);
            }
        }
        found.extend(symbols);
        found.statics.sort_by_key(|variable| variable.start);
        found.thread_local.sort_by_key(|variable| variable.start);
        found
    }

    /// Sets the sizes that the symbol table knows better: those of variables that end with an array without a bound.
    fn extend(&mut self, symbols: &[Symbol]) {
        for variable in &mut self.statics {
            let first = symbols.partition_point(|symbol| symbol.address < variable.start);
            let same = symbols[first..]
                .iter()
                .take_while(|symbol| symbol.address == variable.start);
            variable.size = same.map(|symbol| symbol.size).fold(variable.size, u64::max);
        }
    }

    fn read_unit(
        &mut self,
        index: usize,
        declarations: &mut HashMap<Die, String>,
    ) -> gimli::Result<()> {
        let mut statics = Vec::new();
        let mut thread_local = Vec::new();
        let unit = &self.units[index];
        let mut cursor = unit.entries();
        // The entries that the current one is in, with their depths.
        let mut scopes: Vec<(isize, UnitOffset)> = Vec::new();
        let result = loop {
            let entry = match cursor.next_dfs() {
                Ok(Some(entry)) => entry,
                Ok(None) => break Ok(()),
                Err(error) => break Err(error),
            };
            let depth = entry.depth();
            while scopes.last().is_some_and(|scope| scope.0 >= depth) {
                scopes.pop();
            }
            match entry.tag() {
                gimli::DW_TAG_namespace
                | gimli::DW_TAG_structure_type
                | gimli::DW_TAG_class_type
                | gimli::DW_TAG_union_type
                | gimli::DW_TAG_subprogram
                | gimli::DW_TAG_inlined_subroutine => scopes.push((depth, entry.offset())),
                gimli::DW_TAG_variable | gimli::DW_TAG_member => {}
                _ => continue,
            }
            if !matches!(entry.tag(), gimli::DW_TAG_variable | gimli::DW_TAG_member) {
                continue;
            }
            let die = (index, entry.offset());
            let homes = self.homes(index, entry);
            if homes.is_empty() {
                if entry.attr(gimli::DW_AT_declaration).is_some() {
                    declarations.insert(die, self.qualified_name(die, &scopes));
                }
                continue;
            }
            let origin = self.origin(index, entry);
            let name = self.qualified_name(die, &scopes);
            let kind = self.kind_of(die);
            let whole = kind.and_then(|kind| self.size_of(kind)).unwrap_or(0);
            for home in homes {
                let (skipped, size) = home.part.unwrap_or((0, whole));
                let list = if home.is_thread_local {
                    &mut thread_local
                } else {
                    &mut statics
                };
                list.push(Declared {
                    start: home.start,
                    size,
                    name: name.clone(),
                    kind,
                    skipped,
                    origin,
                });
            }
        };
        self.statics.append(&mut statics);
        self.thread_local.append(&mut thread_local);
        result
    }

    /// Where a variable is, if it is there for the whole time. Damaged descriptions give what was read before the damage.
    fn homes(&self, unit: usize, entry: &Entry) -> Vec<Home> {
        /// More parts than any compiler makes.
        const MOST: usize = 1000;
        let unit = &self.units[unit];
        let mut homes = Vec::new();
        let Some(expression) = entry
            .attr(gimli::DW_AT_location)
            .and_then(|location| location.exprloc_value())
        else {
            return homes;
        };
        let mut operations = expression.operations(unit.encoding());
        // A number is an offset into thread-local storage if the next operation says so.
        let (mut address, mut number, mut is_thread_local, mut skipped) =
            (None, None, false, 0_u64);
        while let Ok(Some(operation)) = operations.next() {
            match operation {
                Operation::Address { address: known } => address = Some(known),
                Operation::AddressIndex { index } => address = self.dwarf.address(unit, index).ok(),
                Operation::UnsignedConstant { value } => number = Some(value),
                Operation::TLS => {
                    address = number.take().or(address.take());
                    is_thread_local = true;
                }
                Operation::PlusConstant { value } => {
                    address = address.map(|start| start.wrapping_add(value))
                }
                Operation::Piece {
                    size_in_bits,
                    bit_offset: None,
                } if homes.len() < MOST => {
                    let part = Some((skipped, size_in_bits / 8));
                    homes.extend(address.take().map(|start| Home {
                        start,
                        is_thread_local,
                        part,
                    }));
                    skipped = skipped.saturating_add(size_in_bits / 8);
                    (number, is_thread_local) = (None, false);
                }
                // A value that is computed, or in a register.
                _ => return homes,
            }
        }
        if skipped == 0 {
            homes.extend(address.map(|start| Home {
                start,
                is_thread_local,
                part: None,
            }));
        }
        homes
    }

    /// The name with those of the namespaces, classes and functions that it is in.
    fn qualified_name(&self, die: Die, scopes: &[(isize, UnitOffset)]) -> String {
        let mut name = self
            .name_of(die)
            .unwrap_or_else(|| "(anonymous)".to_owned());
        for &(_, scope) in scopes.iter().rev().take(CHAIN) {
            let scope = (die.0, scope);
            let Some(entry) = self.entry(scope) else {
                break;
            };
            // A class or function that is itself in others has a name that says so.
            let linkage = self.through(scope, gimli::DW_AT_linkage_name);
            let text = linkage
                .and_then(|(unit, value)| self.string(unit, value))
                .map(|raw| demangle(&raw));
            let is_function = matches!(
                entry.tag(),
                gimli::DW_TAG_subprogram | gimli::DW_TAG_inlined_subroutine
            );
            let is_whole = text.is_some() && is_function;
            let text = if is_whole { text } else { self.name_of(scope) };
            name = format!("{}::{name}", text.as_deref().unwrap_or("(anonymous)"));
            if is_whole || name.len() > LONGEST {
                break;
            }
        }
        name
    }

    /// The plain name of an entry.
    pub(super) fn name_of(&self, die: Die) -> Option<String> {
        let (unit, value) = self.through(die, gimli::DW_AT_name)?;
        let raw = self.string(unit, value)?;
        let raw = &raw[..raw.len().min(LONGEST)];
        (!raw.is_empty()).then(|| String::from_utf8_lossy(raw).into_owned())
    }

    fn string(&self, unit: usize, value: AttributeValue<Reader>) -> Option<Vec<u8>> {
        let text = self.dwarf.attr_string(&self.units[unit], value).ok()?;
        Some(text.slice()[..text.slice().len().min(LONGEST * 4)].to_vec())
    }

    pub(super) fn entry(&self, die: Die) -> Option<Entry> {
        self.units.get(die.0)?.entry(die.1).ok()
    }

    /// The type of an entry.
    pub(super) fn kind_of(&self, die: Die) -> Option<Die> {
        let (unit, value) = self.through(die, gimli::DW_AT_type)?;
        self.referred(unit, value)
    }

    /// An attribute of an entry, or of the declaration that it completes.
    pub(super) fn through(
        &self,
        die: Die,
        name: gimli::DwAt,
    ) -> Option<(usize, AttributeValue<Reader>)> {
        let mut at = die;
        for _ in 0..CHAIN {
            let entry = self.entry(at)?;
            if let Some(value) = entry.attr_value(name) {
                return Some((at.0, value));
            }
            at = self.origin(at.0, &entry)?;
        }
        None
    }

    fn origin(&self, unit: usize, entry: &Entry) -> Option<Die> {
        let value = entry
            .attr_value(gimli::DW_AT_specification)
            .or_else(|| entry.attr_value(gimli::DW_AT_abstract_origin));
        self.referred(unit, value?)
    }

    /// The entry that an attribute refers to.
    fn referred(&self, unit: usize, value: AttributeValue<Reader>) -> Option<Die> {
        match value {
            AttributeValue::UnitRef(offset) => Some((unit, offset)),
            AttributeValue::DebugInfoRef(offset) => {
                let start = |unit: &Unit<Reader>| {
                    unit.header.debug_info_offset().map_or(0, |offset| offset.0)
                };
                let index = self
                    .units
                    .partition_point(|unit| start(unit) <= offset.0)
                    .checked_sub(1)?;
                let found =
                    UnitSectionOffset(offset.0).to_unit_offset(&self.units[index].header)?;
                Some((index, found))
            }
            _ => None,
        }
    }
}

/// The variable that an address is in, and how far.
pub(super) fn variable_at(variables: &[Declared], address: u64) -> Option<(&Declared, u64)> {
    let end = variables.partition_point(|variable| variable.start <= address);
    let near = variables[..end].iter().rev().take(16);
    near.map(|variable| (variable, address - variable.start))
        .find(|(variable, offset)| *offset < variable.size.max(1))
}
