//! Types as debug information describes them: from an offset into a variable to a member, and what is there.

use std::fmt::Write;

use gimli::{AttributeValue, Operation};

use super::demangle::LONGEST;
use super::variables::{CHAIN, Die, Entry, Variables};

/// What a scalar is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScalarKind {
    /// An address.
    Pointer,
    /// False or true.
    Bool,
    /// An integer, also of an enumeration.
    Signed,
    /// An integer without sign, also of an enumeration.
    Unsigned,
    /// A character.
    Char,
    /// A number with a binary exponent.
    Float,
}

/// A scalar, which is what one access reads or writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scalar {
    /// Its bytes.
    pub size: usize,
    /// How its value is to be read.
    pub kind: ScalarKind,
}

/// How many arrays may be in one another other than as dimensions of one.
const ARRAYS: usize = 4;

/// What an array is made of.
struct Array {
    element: Die,
    element_size: u64,
    /// How many there are in each dimension; the first may be unknown.
    dimensions: Vec<Option<u64>>,
}

/// A part of a structure.
struct Part {
    kind: Die,
    start: u64,
    /// Unknown for arrays without a bound at the end of a structure.
    size: Option<u64>,
    /// None for bases, and for structures without a name.
    name: Option<String>,
    is_bit_field: bool,
}

impl Variables {
    /// How many bytes values of a type have.
    pub(super) fn size_of(&self, kind: Die) -> Option<u64> {
        let kind = self.plain(kind)?;
        let entry = self.entry(kind)?;
        if let Some(size) = entry
            .attr_value(gimli::DW_AT_byte_size)
            .and_then(|value| value.udata_value())
        {
            return Some(size);
        }
        match entry.tag() {
            gimli::DW_TAG_array_type => {
                let array = self.array(kind, ARRAYS)?;
                array
                    .dimensions
                    .iter()
                    .try_fold(array.element_size, |size, count| {
                        size.checked_mul((*count)?)
                    })
            }
            _ if is_pointer(&entry) => Some(8),
            _ => None,
        }
    }

    /// Appends to a variable's name what is at an offset into it: members and indices as far as the access of `size` bytes (0 if
    /// that is not known) is within them, and then the bytes that are left. What is there, if it is a scalar and all of it.
    pub(super) fn describe(
        &self,
        kind: Option<Die>,
        mut offset: u64,
        size: u64,
        name: &mut String,
    ) -> Option<Scalar> {
        let mut at = kind.and_then(|kind| self.plain(kind));
        let mut found = None;
        for _ in 0..CHAIN * 2 {
            let Some((kind, entry)) = at.and_then(|kind| Some((kind, self.entry(kind)?))) else {
                break;
            };
            let is_whole =
                offset == 0 && size > 8 && self.size_of(kind).is_some_and(|whole| size >= whole);
            if let Some(scalar) = self.scalar(&entry, kind) {
                found =
                    (offset == 0 && (size == 0 || size == scalar.size as u64)).then_some(scalar);
                break;
            }
            if is_whole || name.len() > LONGEST {
                break;
            }
            let inner = match entry.tag() {
                gimli::DW_TAG_array_type => self.step_into_array(kind, &mut offset, size, name),
                gimli::DW_TAG_structure_type
                | gimli::DW_TAG_class_type
                | gimli::DW_TAG_union_type => {
                    self.step_into_structure(kind, &entry, &mut offset, size, name)
                }
                _ => None,
            };
            let Some(inner) = inner else { break };
            at = self.plain(inner);
        }
        if offset > 0 {
            // A `String` takes all text.
            let _ = write!(name, "+{offset}");
        }
        found
    }

    fn step_into_array(
        &self,
        kind: Die,
        offset: &mut u64,
        size: u64,
        name: &mut String,
    ) -> Option<Die> {
        let array = self.array(kind, ARRAYS)?;
        let index = offset.checked_div(array.element_size)?;
        let rest = *offset % array.element_size;
        if rest.checked_add(size)? > array.element_size {
            return None;
        }
        // The last dimension changes fastest.
        let mut indices = Vec::new();
        let mut left = index;
        for count in array.dimensions.iter().skip(1).rev() {
            let count = (*count).filter(|&count| count > 0)?;
            indices.push(left % count);
            left /= count;
        }
        indices.push(left);
        for index in indices.iter().rev() {
            let _ = write!(name, "[{index}]");
        }
        *offset = rest;
        Some(array.element)
    }

    fn step_into_structure(
        &self,
        kind: Die,
        entry: &Entry,
        offset: &mut u64,
        size: u64,
        name: &mut String,
    ) -> Option<Die> {
        let parts = self.parts(kind);
        let end = offset.checked_add(size.max(1))?;
        let holds = |part: &&Part| {
            let has_end = |size| part.start.checked_add(size).is_some_and(|past| end <= past);
            part.start <= *offset && part.size.is_none_or(has_end)
        };
        let holding: Vec<&Part> = parts.iter().filter(holds).collect();
        if holding.len() > 1 && holding.iter().any(|part| part.is_bit_field) {
            // An access says which bytes it is to, and not which bits.
            return None;
        }
        // In a union, the part of the size of the access is the one that is meant, if any.
        let fitting = holding.iter().find(|part| part.size == Some(size));
        let part = fitting.or(holding.first())?;
        if let Some(member) = part
            .name
            .as_ref()
            .filter(|member| !self.is_inside_atomic(kind, entry, member))
        {
            let _ = write!(name, ".{member}");
        }
        *offset -= part.start;
        Some(part.kind)
    }

    /// Whether a member is how a standard library keeps the value of an atomic: the atomic itself is what people know.
    fn is_inside_atomic(&self, kind: Die, entry: &Entry, member: &str) -> bool {
        let is_class = entry.tag() != gimli::DW_TAG_union_type;
        let is_value = matches!(
            member,
            "_M_i" | "_M_p" | "_M_b" | "_M_base" | "_M_fp" | "__a_" | "__a_value"
        );
        let starts = [
            "atomic<",
            "atomic_flag",
            "__atomic_base<",
            "__atomic_flag_base",
            "__atomic_float<",
            "__cxx_atomic",
        ];
        is_class
            && is_value
            && self
                .name_of(kind)
                .is_some_and(|name| starts.iter().any(|start| name.starts_with(start)))
    }

    fn parts(&self, structure: Die) -> Vec<Part> {
        /// More members than any access is looked up in.
        const MOST: usize = 1 << 16;
        let mut parts = Vec::new();
        self.for_children(structure, MOST, |entry| {
            let is_member = match entry.tag() {
                // A static member is elsewhere.
                gimli::DW_TAG_member => {
                    !entry.has_attr(gimli::DW_AT_external)
                        && !entry.has_attr(gimli::DW_AT_declaration)
                }
                gimli::DW_TAG_inheritance => true,
                _ => false,
            };
            let Some(kind) = self
                .kind_of((structure.0, entry.offset()))
                .filter(|_| is_member)
            else {
                return;
            };
            let number = |name| entry.attr_value(name).and_then(|value| value.udata_value());
            let bits = number(gimli::DW_AT_bit_size);
            let located = self.member_start(structure.0, entry);
            let first_bit = number(gimli::DW_AT_data_bit_offset).or_else(|| {
                // Before DWARF 5, bits were counted from the most significant one of the unit that they are in.
                let unit = number(gimli::DW_AT_byte_size)
                    .or_else(|| self.size_of(kind))?
                    .checked_mul(8)?;
                let last = unit.checked_sub(number(gimli::DW_AT_bit_offset)?)?;
                located?
                    .checked_mul(8)?
                    .checked_add(last.checked_sub(bits?)?)
            });
            let Some(start) = first_bit.map(|bit| bit / 8).or(located) else {
                return;
            };
            let size = match (bits, first_bit) {
                (Some(bits), Some(first)) => Some((first % 8).saturating_add(bits).div_ceil(8)),
                _ => self.size_of(kind),
            };
            let is_name = entry.tag() == gimli::DW_TAG_member;
            let name = self
                .name_of((structure.0, entry.offset()))
                .filter(|_| is_name);
            parts.push(Part {
                kind,
                start,
                size,
                name,
                is_bit_field: bits.is_some(),
            });
        });
        parts
    }

    /// Where a member is. None if that depends on the object, as for virtual bases.
    fn member_start(&self, unit: usize, entry: &Entry) -> Option<u64> {
        let Some(value) = entry.attr_value(gimli::DW_AT_data_member_location) else {
            return (entry.tag() == gimli::DW_TAG_member).then_some(0);
        };
        if let Some(start) = value.udata_value() {
            return Some(start);
        }
        let AttributeValue::Exprloc(expression) = value else {
            return None;
        };
        let mut operations = expression.operations(self.units[unit].encoding());
        match (operations.next().ok()??, operations.next().ok()?) {
            (Operation::PlusConstant { value }, None) => Some(value),
            _ => None,
        }
    }

    fn array(&self, kind: Die, depth: usize) -> Option<Array> {
        /// More than anyone uses. Each array variable is looked at when an object is read.
        const DIMENSIONS: usize = 8;
        let element = self.plain(self.kind_of(kind)?)?;
        let mut dimensions = Vec::new();
        self.for_children(kind, DIMENSIONS, |entry| {
            if entry.tag() == gimli::DW_TAG_subrange_type {
                let number = |name| entry.attr_value(name).and_then(|value| value.udata_value());
                let count = number(gimli::DW_AT_count);
                dimensions.push(count.or_else(|| number(gimli::DW_AT_upper_bound)?.checked_add(1)));
            }
        });
        let is_array = self.entry(element)?.tag() == gimli::DW_TAG_array_type;
        let element_size = if is_array && depth == 0 {
            None
        } else if is_array {
            let inner = self.array(element, depth - 1)?;
            inner
                .dimensions
                .iter()
                .try_fold(inner.element_size, |size, count| {
                    size.checked_mul((*count)?)
                })
        } else {
            self.size_of(element)
        };
        Some(Array {
            element,
            element_size: element_size?,
            dimensions,
        })
    }

    /// Calls `f` for the first `most` entries that are directly in another one, which must not contain much else.
    fn for_children(&self, parent: Die, most: usize, mut f: impl FnMut(&Entry)) {
        /// How many entries are passed over for each of those.
        const INNER: usize = 16;

        let Some(Ok(mut cursor)) = self
            .units
            .get(parent.0)
            .map(|unit| unit.entries_at_offset(parent.1))
        else {
            return;
        };
        let (mut count, mut passed) = (0, 0);
        // What is damaged ends the list.
        while let Ok(Some(entry)) = cursor.next_dfs() {
            match entry.depth() {
                0 if entry.offset() == parent.1 => {
                    if !entry.has_children() {
                        return;
                    }
                }
                1 if count < most => {
                    count += 1;
                    f(entry);
                }
                2.. if passed < most.saturating_mul(INNER) => passed += 1,
                _ => return,
            }
        }
    }

    /// The type without names that stand for it and without qualifiers.
    fn plain(&self, kind: Die) -> Option<Die> {
        let mut at = kind;
        for _ in 0..CHAIN {
            let entry = self.entry(at)?;
            match entry.tag() {
                gimli::DW_TAG_typedef
                | gimli::DW_TAG_const_type
                | gimli::DW_TAG_volatile_type
                | gimli::DW_TAG_restrict_type
                | gimli::DW_TAG_atomic_type => at = self.kind_of(at)?,
                _ => return Some(at),
            }
        }
        None
    }

    fn scalar(&self, entry: &Entry, kind: Die) -> Option<Scalar> {
        let encoding = || match entry.attr_value(gimli::DW_AT_encoding)? {
            AttributeValue::Encoding(encoding) => Some(encoding),
            _ => None,
        };
        let meaning = match entry.tag() {
            gimli::DW_TAG_base_type => match encoding()? {
                gimli::DW_ATE_address => ScalarKind::Pointer,
                gimli::DW_ATE_boolean => ScalarKind::Bool,
                gimli::DW_ATE_signed => ScalarKind::Signed,
                gimli::DW_ATE_unsigned => ScalarKind::Unsigned,
                // Small numbers have these encodings too.
                gimli::DW_ATE_signed_char | gimli::DW_ATE_unsigned_char
                    if self.name_of(kind).as_deref() == Some("char") =>
                {
                    ScalarKind::Char
                }
                gimli::DW_ATE_signed_char => ScalarKind::Signed,
                gimli::DW_ATE_unsigned_char => ScalarKind::Unsigned,
                gimli::DW_ATE_UTF => ScalarKind::Char,
                gimli::DW_ATE_float => ScalarKind::Float,
                _ => return None,
            },
            gimli::DW_TAG_enumeration_type => {
                let inner = self.kind_of(kind).and_then(|inner| self.plain(inner));
                let inner = inner.and_then(|inner| Some((self.entry(inner)?, inner)));
                match inner.filter(|(inner, _)| inner.tag() == gimli::DW_TAG_base_type) {
                    Some((inner, kind)) => self.scalar(&inner, kind)?.kind,
                    None => ScalarKind::Unsigned,
                }
            }
            _ if is_pointer(entry) => ScalarKind::Pointer,
            _ => return None,
        };
        Some(Scalar {
            size: usize::try_from(self.size_of(kind)?).ok()?,
            kind: meaning,
        })
    }
}

fn is_pointer(entry: &Entry) -> bool {
    let tags = [
        gimli::DW_TAG_pointer_type,
        gimli::DW_TAG_reference_type,
        gimli::DW_TAG_rvalue_reference_type,
    ];
    tags.contains(&entry.tag())
        || entry.tag() == gimli::DW_TAG_unspecified_type && entry.has_attr(gimli::DW_AT_byte_size)
}
