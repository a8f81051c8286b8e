//! The names of the threads, addresses and source locations of a trace.
//!
//! Monitors work with dense numbers; a trace file calls its threads by the
//! operating system's numbers and its addresses and locations by any string.
//! [`Names`] keeps both, numbering everything in the order of first appearance.

use std::borrow::Cow;
use std::fmt::Write as _;

use fencepost_memory::{Address, LocationId, ThreadId};
use rustc_hash::FxHashMap;
use thiserror::Error;

use crate::limits::{
    Limit, Limits, MAX_ADDRESS_BYTES, MAX_ADDRESSES, MAX_LOCATION_BYTES, MAX_LOCATIONS, MAX_THREADS,
};
use crate::string_table::StringTable;

/// The names in a trace, each with its dense number.
///
/// ```
/// use fencepost_trace::Names;
///
/// let mut names = Names::new();
/// let worker = names.thread(4711)?;
/// let flag = names.address("flag")?;
/// assert_eq!((worker.0, flag.0), (0, 0));
/// assert_eq!(names.thread_name(worker), "T4711");
/// assert_eq!(names.address_name(flag), "flag");
/// # Ok::<(), fencepost_trace::NameError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Names {
    thread_numbers: Vec<u32>,
    thread_ids: FxHashMap<u32, u32>,
    addresses: StringTable,
    locations: StringTable,
    nameless_addresses: u32,
    /// Whether some address was given a name of the form of a default name.
    default_form_given: bool,
    limits: Limits,
}

/// Why a string cannot be the name of an address or a location.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum NameProblem {
    /// There is nothing in it.
    #[error("the name is empty")]
    Empty,
    /// An address is longer than [`MAX_ADDRESS_BYTES`], or a location than [`MAX_LOCATION_BYTES`].
    #[error("the name has {length} bytes, but at most {allowed} are allowed")]
    TooLong {
        /// How long it is.
        length: usize,
        /// How long it may be.
        allowed: usize,
    },
    /// An address has a character that means something else in a text trace.
    #[error("the name {} `{character}`", if *at == 0 { "begins with" } else { "contains" })]
    Reserved {
        /// The character.
        character: char,
        /// Its offset in the name, in bytes from 0.
        at: usize,
    },
    /// White space or a control character.
    #[error("the name contains U+{:04X}, which is {}", u32::from(*character), if character.is_control() { "a control character" } else { "white space" })]
    Forbidden {
        /// The character.
        character: char,
        /// Its offset in the name, in bytes from 0.
        at: usize,
    },
}

/// Why a name was not taken into the table.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum NameError {
    /// The string cannot be a name.
    #[error(transparent)]
    Problem(#[from] NameProblem),
    /// There are too many names.
    #[error(transparent)]
    Limit(#[from] Limit),
}

impl Default for Names {
    fn default() -> Self {
        Names::new()
    }
}

impl Names {
    /// No names yet, with the default limits.
    pub fn new() -> Self {
        Names::with_limits(Limits::default())
    }

    /// No names yet, to stay within `limits`.
    pub fn with_limits(limits: Limits) -> Self {
        Names {
            thread_numbers: Vec::new(),
            thread_ids: FxHashMap::default(),
            addresses: StringTable::new(),
            locations: StringTable::new(),
            nameless_addresses: 0,
            default_form_given: false,
            limits,
        }
    }

    /// The thread with this number in the file, with a new id if it was not seen before.
    pub fn thread(&mut self, number: u32) -> Result<ThreadId, Limit> {
        if let Some(&id) = self.thread_ids.get(&number) {
            return Ok(ThreadId(id));
        }
        let id = self.thread_count();
        if id >= MAX_THREADS {
            return Err(Limit::Threads);
        }
        self.thread_numbers.push(number);
        self.thread_ids.insert(number, id);
        Ok(ThreadId(id))
    }

    /// The address with this name, with a new id if it was not seen before.
    #[inline]
    pub fn address(&mut self, name: &str) -> Result<Address, NameError> {
        match self.addresses.find(name) {
            Some(id) => Ok(Address(id as u32)),
            None => self.new_address(name),
        }
    }

    fn new_address(&mut self, name: &str) -> Result<Address, NameError> {
        if let Some(id) = self.nameless_called(name) {
            return Ok(Address(id));
        }
        check_address(name)?;
        if self.address_count() >= MAX_ADDRESSES {
            return Err(Limit::Addresses.into());
        }
        self.allow(self.addresses.growth(name), self.addresses.has_room(name))?;
        self.default_form_given |= default_address(name).is_some();
        Ok(Address(self.addresses.add(name) as u32))
    }

    /// The location with this name, with a new id if it was not seen before.
    #[inline]
    pub fn location(&mut self, name: &str) -> Result<LocationId, NameError> {
        match self.locations.find(name) {
            Some(id) => Ok(LocationId::from_index(id as u32)),
            None => self.new_location(name),
        }
    }

    fn new_location(&mut self, name: &str) -> Result<LocationId, NameError> {
        check_location(name)?;
        if self.location_count() >= MAX_LOCATIONS {
            return Err(Limit::Locations.into());
        }
        self.allow(self.locations.growth(name), self.locations.has_room(name))?;
        Ok(LocationId::from_index(self.locations.add(name) as u32))
    }

    /// Adds `count` addresses that have no name of their own: the address with
    /// number 7 is called `a7`. `Ok(Some(name))` if that name was already given to
    /// another address, and then nothing is added.
    pub fn add_nameless_addresses(&mut self, count: u32) -> Result<Option<String>, Limit> {
        let first = self.address_count();
        let end = first
            .checked_add(count)
            .filter(|&end| end <= MAX_ADDRESSES)
            .ok_or(Limit::Addresses)?;
        self.allow(self.addresses.nameless_growth(count as usize), true)?;
        if self.default_form_given {
            let mut name = String::new();
            for id in first..end {
                name.clear();
                let _ = write!(name, "a{id}");
                if self.addresses.find(&name).is_some() {
                    return Ok(Some(name));
                }
            }
        }
        self.addresses.add_nameless(count as usize);
        self.nameless_addresses += count;
        Ok(None)
    }

    fn allow(&self, growth: u64, has_room: bool) -> Result<(), Limit> {
        let allowed = self.limits.max_name_bytes;
        match has_room && self.memory() + growth <= allowed {
            true => Ok(()),
            false => Err(Limit::NameBytes { allowed }),
        }
    }

    /// The nameless address with this default name.
    fn nameless_called(&self, name: &str) -> Option<u32> {
        if self.nameless_addresses == 0 {
            return None;
        }
        default_address(name).filter(|&id| self.addresses.get(id as usize) == Some(""))
    }

    /// Whether an address of this name exists.
    pub fn find_address(&self, name: &str) -> Option<Address> {
        let named = self.addresses.find(name).map(|id| id as u32);
        named.or_else(|| self.nameless_called(name)).map(Address)
    }

    /// Whether a location of this name exists.
    pub fn find_location(&self, name: &str) -> Option<LocationId> {
        let found = self.locations.find(name)?;
        Some(LocationId::from_index(found as u32))
    }

    /// Whether a thread with this number in the file exists.
    pub fn find_thread(&self, number: u32) -> Option<ThreadId> {
        self.thread_ids.get(&number).copied().map(ThreadId)
    }

    /// How many threads there are.
    pub fn thread_count(&self) -> u32 {
        self.thread_numbers.len() as u32
    }

    /// How many addresses there are.
    pub fn address_count(&self) -> u32 {
        self.addresses.len() as u32
    }

    /// How many source locations there are.
    pub fn location_count(&self) -> u32 {
        self.locations.len() as u32
    }

    /// The number of a thread in the file; that of an unknown thread is its own.
    pub fn thread_number(&self, thread: ThreadId) -> u32 {
        let number = self.thread_numbers.get(thread.index());
        number.copied().unwrap_or(thread.0)
    }

    /// The name of a thread: `T` and its number in the file.
    pub fn thread_name(&self, thread: ThreadId) -> String {
        format!("T{}", self.thread_number(thread))
    }

    /// The name that the file gave to an address, if it gave one.
    pub fn given_address_name(&self, address: Address) -> Option<&str> {
        let name = self.addresses.get(address.index());
        name.filter(|name| !name.is_empty())
    }

    /// The name of an address: the one in the file, or else `a` and its number.
    pub fn address_name(&self, address: Address) -> Cow<'_, str> {
        match self.given_address_name(address) {
            Some(name) => Cow::Borrowed(name),
            None => Cow::Owned(address.to_string()),
        }
    }

    /// The name of a source location, if there is such a location.
    pub fn location_name(&self, location: LocationId) -> Option<&str> {
        self.locations.get(location.index())
    }

    /// The bytes that the names take.
    #[inline]
    pub fn memory(&self) -> u64 {
        let threads = self.thread_numbers.capacity() * size_of::<u32>()
            + self.thread_ids.capacity() * (2 * size_of::<u32>() + 1);
        self.addresses.memory() + self.locations.memory() + threads as u64
    }

    /// The limits that the table keeps to.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }
}

/// The number in a default name such as `a7`, if `name` is one.
fn default_address(name: &str) -> Option<u32> {
    let digits = name.strip_prefix('a')?;
    let canonical = digits == "0" || !digits.starts_with('0');
    let plain = digits.bytes().all(|byte| byte.is_ascii_digit());
    match canonical && plain {
        true => digits.parse().ok(),
        false => None,
    }
}

/// Whether `name` can be the name of an address.
pub(crate) fn check_address(name: &str) -> Result<(), NameProblem> {
    check_name(name, MAX_ADDRESS_BYTES)?;
    // A value or a location without a blank before it would otherwise pass as a name.
    let reserved = |&(at, c): &(usize, char)| matches!(c, '=' | '@') || (at, c) == (0, '#');
    match name.char_indices().find(reserved) {
        Some((at, character)) => Err(NameProblem::Reserved { character, at }),
        None => Ok(()),
    }
}

/// Whether `name` can be the name of a source location.
pub(crate) fn check_location(name: &str) -> Result<(), NameProblem> {
    check_name(name, MAX_LOCATION_BYTES)
}

fn check_name(name: &str, allowed: usize) -> Result<(), NameProblem> {
    if name.is_empty() {
        return Err(NameProblem::Empty);
    }
    let length = name.len();
    if length > allowed {
        return Err(NameProblem::TooLong { length, allowed });
    }
    let forbidden = |character: char| character.is_whitespace() || character.is_control();
    match name.char_indices().find(|&(_, c)| forbidden(c)) {
        Some((at, character)) => Err(NameProblem::Forbidden { character, at }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_numbered_by_first_appearance() {
        let mut names = Names::new();
        assert_eq!(names.thread(9), Ok(ThreadId(0)));
        assert_eq!(names.thread(u32::MAX), Ok(ThreadId(1)));
        assert_eq!(names.thread(9), Ok(ThreadId(0)));
        assert_eq!(names.address("x"), Ok(Address(0)));
        assert_eq!(names.address("0x7fff"), Ok(Address(1)));
        assert_eq!(names.address("x"), Ok(Address(0)));
        let line = names.location("a.c:3").unwrap();
        assert_eq!(names.location("a.c:3"), Ok(line));
        assert_eq!(names.location_name(line), Some("a.c:3"));
        assert_eq!(names.thread_name(ThreadId(1)), "T4294967295");
        assert_eq!(names.find_address("x"), Some(Address(0)));
        assert_eq!(names.find_address("y"), None);
        assert_eq!(names.find_location("a.c:3"), Some(line));
        assert_eq!(names.find_thread(9), Some(ThreadId(0)));
    }

    #[test]
    fn the_nameless_are_called_by_their_number_and_never_collide() {
        let mut names = Names::new();
        names.address("x").unwrap();
        assert_eq!(names.add_nameless_addresses(3), Ok(None));
        assert_eq!(names.address_name(Address(2)), "a2");
        assert_eq!(names.given_address_name(Address(2)), None);
        assert_eq!(names.address("a2"), Ok(Address(2)));
        assert_eq!(names.find_address("a2"), Some(Address(2)));
        assert_eq!(
            names.address("a02"),
            Ok(Address(4)),
            "not the default form, so another name"
        );
        assert_eq!(names.address("a6"), Ok(Address(5)));
        assert_eq!(
            names.add_nameless_addresses(2),
            Ok(Some("a6".to_string())),
            "6 would be called a6, as 5 is"
        );
        assert_eq!(names.address_name(Address(77)), "a77");
    }

    #[test]
    fn bad_names_have_their_messages() {
        let mut names = Names::new();
        let long = "x".repeat(256);
        let cases = [
            ("", "the name is empty"),
            (
                long.as_str(),
                "the name has 256 bytes, but at most 255 are allowed",
            ),
            ("=x", "the name begins with `=`"),
            ("#x", "the name begins with `#`"),
            ("x=1", "the name contains `=`"),
            ("x@a.c:3", "the name contains `@`"),
            ("a b", "the name contains U+0020, which is white space"),
            (
                "a\0b",
                "the name contains U+0000, which is a control character",
            ),
            (
                "a\u{2003}b",
                "the name contains U+2003, which is white space",
            ),
        ];
        for (name, message) in cases {
            assert_eq!(names.address(name).unwrap_err().to_string(), message);
        }
        assert!(names.location("=x").is_ok());
        assert!(names.location(&"x".repeat(1024)).is_ok());
        assert_eq!(
            names.location(&"x".repeat(1025)).unwrap_err().to_string(),
            "the name has 1025 bytes, but at most 1024 are allowed"
        );
    }

    #[test]
    fn threads_and_bytes_are_limited() {
        let mut names = Names::with_limits(Limits {
            max_name_bytes: 100_000,
            ..Limits::default()
        });
        for number in 0..MAX_THREADS {
            names.thread(number * 3).unwrap();
        }
        assert_eq!(names.thread(1), Err(Limit::Threads));
        assert_eq!(
            names.add_nameless_addresses(MAX_ADDRESSES + 1),
            Err(Limit::Addresses)
        );
        let full = (0..)
            .find_map(|number| names.address(&format!("address{number}")).err())
            .unwrap();
        assert_eq!(
            full,
            NameError::Limit(Limit::NameBytes { allowed: 100_000 })
        );
        assert!(names.memory() <= 100_000);
        assert!(names.memory() > 50_000);
        assert!(
            names.address("address0").is_ok(),
            "a known name costs nothing"
        );
    }
}
