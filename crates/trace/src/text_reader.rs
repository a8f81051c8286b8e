//! Reading text traces: one event per line.
//!
//! `docs/trace-format.md` describes the format. Only one line is ever held, and
//! only if it is of a sensible length.

use fencepost_diagnostics::{Excerpt, quoted};
use fencepost_memory::{Access, Address, OperationKind, ThreadId};

use crate::error::ReadError;
use crate::limits::{Limit, LimitReached, Position};
use crate::names::{NameError, NameProblem, Names};
use crate::source::Source;
use crate::text_error::{TextError, TextProblem};
use crate::values::{LastValues, ValueError, ValueMismatch};

/// The longest line of a text trace, in bytes, without its end.
pub const MAX_LINE_BYTES: usize = 64 << 10;

/// The word that begins the optional first line.
pub(crate) const TEXT_HEADER: &str = "fencepost-trace";

/// The version of the text format.
pub const TEXT_VERSION: u32 = 1;

const BUFFER_BYTES: usize = 4 * MAX_LINE_BYTES;

/// The byte order mark, which some editors write at the start of a file.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Reads lines and parses them.
pub(crate) struct TextReader {
    buffer: Vec<u8>,
    /// The unread bytes are `buffer[start..end]`.
    start: usize,
    end: usize,
    /// No line ends before this offset, so it need not be searched again.
    searched: usize,
    at_end_of_input: bool,
    line_number: u64,
    parser: LineParser,
}

impl TextReader {
    /// How many lines have been read.
    pub(crate) fn lines(&self) -> u64 {
        self.line_number
    }

    /// A reader of `first`, which was read to recognise the format, and what follows it.
    pub(crate) fn new(first: &[u8]) -> Self {
        let first = first.strip_prefix(BYTE_ORDER_MARK).unwrap_or(first);
        let mut buffer = vec![0; BUFFER_BYTES];
        buffer[..first.len()].copy_from_slice(first);
        TextReader {
            buffer,
            start: 0,
            end: first.len(),
            searched: 0,
            at_end_of_input: false,
            line_number: 0,
            parser: LineParser::default(),
        }
    }

    /// Appends the next accesses to `batch`, at most `most`. It waits for input
    /// only while it has none to give. `false` at the end of the trace.
    pub(crate) fn read(
        &mut self,
        source: &mut Source,
        names: &mut Names,
        batch: &mut Vec<Access>,
        most: usize,
    ) -> Result<bool, ReadError> {
        while batch.len() < most {
            match self.find_line()? {
                Some((length, terminator)) => {
                    let line = &self.buffer[self.start..self.start + length];
                    self.line_number += 1;
                    if let Some(access) = self.parser.parse(line, self.line_number, names)? {
                        batch.push(access);
                    }
                    self.start += length + terminator;
                    self.searched = self.start;
                }
                None if self.at_end_of_input => return Ok(!batch.is_empty()),
                None if !batch.is_empty() => return Ok(true),
                None => self.fill(source)?,
            }
        }
        Ok(true)
    }

    /// The length of the next line and of what ends it, if all of it is in the buffer.
    fn find_line(&mut self) -> Result<Option<(usize, usize)>, ReadError> {
        let unsearched = &self.buffer[self.searched..self.end];
        let found = match unsearched.iter().position(|&byte| byte == b'\n') {
            Some(offset) => Some((self.searched + offset - self.start, 1)),
            None if self.at_end_of_input && self.start < self.end => {
                Some((self.end - self.start, 0))
            }
            None => None,
        };
        self.searched = self.end;
        let length = found.map_or(self.end - self.start, |(length, _)| length);
        if length > MAX_LINE_BYTES {
            let start = &self.buffer[self.start..self.start + MAX_LINE_BYTES + 1];
            let fault = Fault::new(MAX_LINE_BYTES, 1, TextProblem::LineTooLong);
            return Err(fault.in_line(start, self.line_number + 1));
        }
        Ok(found)
    }

    fn fill(&mut self, source: &mut Source) -> Result<(), ReadError> {
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.searched -= self.start;
            self.start = 0;
        }
        let count = source.read(&mut self.buffer[self.end..])?;
        self.end += count;
        self.at_end_of_input = count == 0;
        Ok(())
    }

    pub(crate) fn memory(&self) -> u64 {
        self.parser.values.memory()
    }
}

/// The state that is kept from line to line.
#[derive(Default)]
struct LineParser {
    /// How many events each thread has had.
    issued: Vec<u64>,
    values: LastValues,
}

/// An error at some bytes of the current line.
struct Fault {
    at: usize,
    length: usize,
    kind: FaultKind,
}

enum FaultKind {
    Problem(TextProblem),
    Limit(Limit),
}

impl Fault {
    fn new(at: usize, length: usize, problem: TextProblem) -> Self {
        let kind = FaultKind::Problem(problem);
        Fault { at, length, kind }
    }

    /// Cold, so that building messages stays out of the parser's way.
    #[cold]
    fn in_line(self, line: &[u8], number: u64) -> ReadError {
        let problem = match self.kind {
            FaultKind::Problem(problem) => problem,
            FaultKind::Limit(limit) => {
                let position = Position::Line(number);
                return LimitReached { limit, position }.into();
            }
        };
        let (excerpt, column) = Excerpt::in_line(line, self.at, self.length);
        Box::new(TextError {
            line: number,
            column,
            excerpt,
            problem,
        })
        .into()
    }
}

/// A word of a line.
#[derive(Clone, Copy)]
struct Word<'line> {
    text: &'line str,
    at: usize,
}

impl Word<'_> {
    #[cold]
    fn fault(&self, problem: impl FnOnce(String) -> TextProblem) -> Fault {
        Fault::new(self.at, self.text.len(), problem(quoted(self.text)))
    }

    /// The offset after the word.
    fn end(&self) -> usize {
        self.at + self.text.len()
    }

    /// The word without its first `count` bytes.
    fn without_first(&self, count: usize) -> Self {
        Word {
            text: &self.text[count..],
            at: self.at + count,
        }
    }

    #[cold]
    fn limit_fault(&self, limit: Limit) -> Fault {
        Fault {
            at: self.at,
            length: self.text.len(),
            kind: FaultKind::Limit(limit),
        }
    }

    #[cold]
    fn fault_of(&self, error: NameError, wrap: fn(NameProblem) -> TextProblem) -> Fault {
        match error {
            NameError::Limit(limit) => self.limit_fault(limit),
            NameError::Problem(
                problem @ (NameProblem::Forbidden { character, at }
                | NameProblem::Reserved { character, at }),
            ) => Fault::new(self.at + at, character.len_utf8(), wrap(problem)),
            NameError::Problem(problem) => Fault::new(self.at, self.text.len(), wrap(problem)),
        }
    }
}

/// The words of a line up to a comment.
struct Words<'line> {
    line: &'line str,
    at: usize,
}

impl<'line> Iterator for Words<'line> {
    type Item = Word<'line>;

    #[inline]
    fn next(&mut self) -> Option<Word<'line>> {
        let bytes = self.line.as_bytes();
        let blank = |byte: u8| byte == b' ' || byte == b'\t';
        while self.at < bytes.len() && blank(bytes[self.at]) {
            self.at += 1;
        }
        if self.at == bytes.len() || bytes[self.at] == b'#' {
            self.at = bytes.len();
            return None;
        }
        let at = self.at;
        while self.at < bytes.len() && !blank(bytes[self.at]) {
            self.at += 1;
        }
        let text = &self.line[at..self.at];
        Some(Word { text, at })
    }
}

impl LineParser {
    fn parse(
        &mut self,
        line: &[u8],
        number: u64,
        names: &mut Names,
    ) -> Result<Option<Access>, ReadError> {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let parsed = match std::str::from_utf8(line) {
            Ok(text) => self.parse_text(text, number, names),
            Err(error) => {
                let at = error.valid_up_to();
                let byte = line[at];
                Err(Fault::new(at, 1, TextProblem::NotUtf8 { byte }))
            }
        };
        parsed.map_err(|fault| fault.in_line(line, number))
    }

    #[inline]
    fn parse_text(
        &mut self,
        line: &str,
        number: u64,
        names: &mut Names,
    ) -> Result<Option<Access>, Fault> {
        let mut words = Words { line, at: 0 };
        let Some(first) = words.next() else {
            return Ok(None);
        };
        if number == 1 && first.text == TEXT_HEADER {
            return check_header(first, words).map(|()| None);
        }
        let thread = self.parse_thread(first, names)?;
        let Some(operation) = words.next() else {
            return Err(Fault::new(first.end(), 1, TextProblem::MissingOperation));
        };
        let kind = OperationKind::from_mnemonic(operation.text)
            .ok_or_else(|| operation.fault(|found| TextProblem::UnknownOperation { found }))?;
        let mut next = words.next();

        let mut address = Address(0);
        if kind.has_address() {
            let Some(word) = next.filter(|word| !word.text.starts_with(['=', '@'])) else {
                let at = next.map_or(operation.end(), |word| word.at);
                return Err(Fault::new(at, 1, TextProblem::MissingAddress { kind }));
            };
            let bad_address = |problem| TextProblem::BadAddress { problem };
            let found = names.address(word.text);
            address = found.map_err(|error| word.fault_of(error, bad_address))?;
            next = words.next();
        }
        let mut access = Access::new(thread, kind.at(address));
        let mut value_word = None;
        if let Some(word) = next.filter(|word| word.text.starts_with('=') && kind.has_address()) {
            access.value = Some(parse_value(word.without_first(1))?);
            value_word = Some(word);
            next = words.next();
        }
        if let Some(word) = next.filter(|word| word.text.starts_with('@')) {
            let name = word.without_first(1);
            let location = names.location(name.text);
            let bad_location = |problem| TextProblem::BadLocation { problem };
            access.location = Some(location.map_err(|error| name.fault_of(error, bad_location))?);
            next = words.next();
        }
        if let Some(word) = next {
            return Err(unexpected(word, &access));
        }

        if access.value.is_some() || self.values.any_known() {
            let allowed = names.limits().max_name_bytes.saturating_sub(names.memory());
            let checked = self.values.check(&access, number, allowed);
            checked
                .map_err(|error| value_fault(value_word.unwrap_or(first), error, kind, names))?;
        }
        self.issued[thread.index()] += 1;
        Ok(Some(access))
    }

    /// The thread of `THREAD[:ISSUE]`, whose issue index must be the next one.
    fn parse_thread(&mut self, word: Word<'_>, names: &mut Names) -> Result<ThreadId, Fault> {
        let (name, issue) = match word.text.find(':') {
            Some(colon) => (&word.text[..colon], Some(word.without_first(colon + 1))),
            None => (word.text, None),
        };
        let number = Word {
            text: name.strip_prefix('T').unwrap_or(name),
            ..word
        };
        let thread_number = match parse_decimal(number.text) {
            Ok(value) => u32::try_from(value).map_err(|_| Number::TooLarge),
            Err(problem) => Err(problem),
        };
        let thread_number = thread_number.map_err(|problem| match problem {
            Number::TooLarge => {
                let found = quoted(number.text);
                Fault::new(word.at, name.len(), TextProblem::ThreadTooLarge { found })
            }
            Number::Malformed => {
                let found = quoted(name);
                Fault::new(word.at, name.len(), TextProblem::BadThread { found })
            }
        })?;
        let thread = names
            .thread(thread_number)
            .map_err(|limit| word.limit_fault(limit))?;
        if thread.index() >= self.issued.len() {
            self.issued.resize(thread.index() + 1, 0);
        }
        if let Some(word) = issue {
            // An index beyond 64 bits is out of order like any other that is too high.
            let found = match parse_decimal(word.text) {
                Ok(found) => found,
                Err(Number::TooLarge) => u64::MAX,
                Err(Number::Malformed) => {
                    return Err(word.fault(|found| TextProblem::BadIssue { found }));
                }
            };
            let had = self.issued[thread.index()];
            if found != had + 1 {
                return Err(word.fault(|_| TextProblem::IssueOutOfOrder {
                    found,
                    thread: thread_number,
                    had,
                }));
            }
        }
        Ok(thread)
    }
}

fn check_header(first: Word<'_>, mut words: Words<'_>) -> Result<(), Fault> {
    let Some(version) = words.next() else {
        let found = String::new();
        let problem = TextProblem::UnsupportedVersion { found };
        return Err(Fault::new(first.end(), 1, problem));
    };
    if parse_decimal(version.text) != Ok(u64::from(TEXT_VERSION)) {
        return Err(version.fault(|found| TextProblem::UnsupportedVersion { found }));
    }
    match words.next() {
        None => Ok(()),
        Some(word) => Err(word.fault(|found| TextProblem::Unexpected {
            found,
            allowed: "the end of the line",
        })),
    }
}

/// Why a word is not a number.
#[derive(PartialEq, Eq, Debug)]
enum Number {
    Malformed,
    TooLarge,
}

/// Digits only: `str::parse` would also take a sign.
#[inline]
fn parse_decimal(text: &str) -> Result<u64, Number> {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(Number::Malformed);
    }
    text.parse().map_err(|_| Number::TooLarge)
}

fn parse_value(word: Word<'_>) -> Result<u64, Fault> {
    let hexadecimal = word
        .text
        .strip_prefix("0x")
        .or(word.text.strip_prefix("0X"));
    let value = match hexadecimal {
        Some("") => Err(Number::Malformed),
        Some(digits) if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) => {
            Err(Number::Malformed)
        }
        Some(digits) => u64::from_str_radix(digits, 16).map_err(|_| Number::TooLarge),
        None => parse_decimal(word.text),
    };
    value.map_err(|problem| match problem {
        Number::Malformed => word.fault(|found| TextProblem::BadValue { found }),
        Number::TooLarge => word.fault(|found| TextProblem::ValueTooLarge { found }),
    })
}

#[cold]
fn unexpected(word: Word<'_>, access: &Access) -> Fault {
    let kind = access.operation.kind();
    word.fault(|found| match access {
        Access {
            location: Some(_), ..
        } => TextProblem::Unexpected {
            found,
            allowed: "the end of the line",
        },
        Access { value: Some(_), .. } => TextProblem::Unexpected {
            found,
            allowed: "`@LOCATION` or the end of the line",
        },
        _ if kind.has_address() => TextProblem::Unexpected {
            found,
            allowed: "`=VALUE`, `@LOCATION` or the end of the line",
        },
        _ => TextProblem::NothingAccessed { kind, found },
    })
}

#[cold]
fn value_fault(word: Word<'_>, error: ValueError, kind: OperationKind, names: &Names) -> Fault {
    let ValueMismatch {
        address,
        read,
        held,
        known_at,
        known_by_write,
    } = match error {
        ValueError::Mismatch(mismatch) => mismatch,
        ValueError::Limit(limit) => return word.limit_fault(limit),
    };
    word.fault(|_| TextProblem::ReadsOtherValue {
        kind,
        address: quoted(&names.address_name(address)),
        read,
        held,
        known_at,
        known_by_write,
    })
}
