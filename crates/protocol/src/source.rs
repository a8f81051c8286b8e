//! Spans of the text of a model.

/// A part of the source, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Span {
    /// Its first byte.
    pub start: u32,
    /// The byte after it.
    pub end: u32,
}

impl Span {
    /// From byte `start` to before byte `end`. Sources are smaller than 4 GiB: see
    /// [`Limits::LARGEST_FILE`](crate::Limits::LARGEST_FILE).
    pub(crate) fn new(start: usize, end: usize) -> Span {
        Span {
            start: start as u32,
            end: end as u32,
        }
    }

    /// From the beginning of this to the end of the other.
    pub(crate) fn to(self, last: Span) -> Span {
        Span {
            start: self.start,
            end: last.end.max(self.end),
        }
    }
}
