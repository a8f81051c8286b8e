//! How much a trace may make a reader remember.
//!
//! A trace of any length is read in constant memory except for what its names
//! take, so names are what is bounded. Reaching a bound says nothing about the
//! trace being wrong, which is why it is an error of its own kind.

use std::fmt;

use thiserror::Error;

/// The most threads that a trace may have.
pub const MAX_THREADS: u32 = 1024;

/// The most addresses that a trace may have.
pub const MAX_ADDRESSES: u32 = 1 << 24;

/// The most source locations that a trace may have.
pub const MAX_LOCATIONS: u32 = 1 << 24;

/// The longest name of an address, in bytes.
pub const MAX_ADDRESS_BYTES: usize = 255;

/// The longest source location, in bytes.
pub const MAX_LOCATION_BYTES: usize = 1024;

/// The bounds that a caller may choose.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// The most memory that names and the last values of addresses may take together.
    pub max_name_bytes: u64,
    /// The largest window that a zstd frame may ask the decompressor to keep.
    pub max_window_bytes: u64,
}

impl Default for Limits {
    /// 1 GiB of names, and the 128 MiB window that the `zstd` command accepts unasked.
    fn default() -> Self {
        Limits {
            max_name_bytes: 1 << 30,
            max_window_bytes: 128 << 20,
        }
    }
}

/// Where in a trace something is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Position {
    /// A line of a text trace, from 1.
    Line(u64),
    /// A byte offset in the (decompressed) trace, from 0.
    Byte(u64),
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Position::Line(line) => write!(f, "line {line}"),
            Position::Byte(offset) => write!(f, "byte {offset}"),
        }
    }
}

/// A bound that was reached.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum Limit {
    /// [`MAX_THREADS`].
    #[error("the trace has more than {MAX_THREADS} threads, the most that are supported")]
    Threads,
    /// [`MAX_ADDRESSES`].
    #[error("the trace has more than {MAX_ADDRESSES} addresses, the most that are supported")]
    Addresses,
    /// [`MAX_LOCATIONS`].
    #[error(
        "the trace has more than {MAX_LOCATIONS} source locations, the most that are supported"
    )]
    Locations,
    /// [`Limits::max_name_bytes`].
    #[error("the names in the trace take more than the {allowed} bytes allowed for them")]
    NameBytes {
        /// The bound.
        allowed: u64,
    },
    /// [`Limits::max_window_bytes`].
    #[error("a zstd frame asks for a window of {wanted} bytes, more than the {allowed} allowed")]
    Window {
        /// The size that the frame asks for.
        wanted: u64,
        /// The bound.
        allowed: u64,
    },
}

/// A bound that was reached while reading, and where.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error("{position}: {limit}")]
pub struct LimitReached {
    /// Which bound.
    pub limit: Limit,
    /// Where the trace went past it.
    pub position: Position,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_limit_has_its_message() {
        let cases = [
            (
                Limit::Threads,
                "the trace has more than 1024 threads, the most that are supported",
            ),
            (
                Limit::Addresses,
                "the trace has more than 16777216 addresses, the most that are supported",
            ),
            (
                Limit::Locations,
                "the trace has more than 16777216 source locations, the most that are supported",
            ),
            (
                Limit::NameBytes { allowed: 10 },
                "the names in the trace take more than the 10 bytes allowed for them",
            ),
            (
                Limit::Window {
                    wanted: 20,
                    allowed: 10,
                },
                "a zstd frame asks for a window of 20 bytes, more than the 10 allowed",
            ),
        ];
        for (limit, message) in cases {
            assert_eq!(limit.to_string(), message);
        }
        let reached = LimitReached {
            limit: Limit::Threads,
            position: Position::Line(7),
        };
        assert_eq!(
            reached.to_string(),
            "line 7: the trace has more than 1024 threads, the most that are supported"
        );
        assert_eq!(Position::Byte(9).to_string(), "byte 9");
    }
}
