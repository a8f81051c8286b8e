//! How often each kind of operation occurs in a generated trace.

use std::fmt;
use std::str::FromStr;

use fencepost_memory::OperationKind;
use thiserror::Error;

/// A weight for each kind of operation, such as `ld=50,st=40,fence=10`.
///
/// ```
/// use fencepost_memory::OperationKind;
/// use fencepost_trace::Mix;
///
/// let mix: Mix = "ld=3,st=1".parse()?;
/// assert_eq!(mix.weight(OperationKind::Load), 3);
/// assert_eq!(mix.weight(OperationKind::Fence), 0);
/// assert_eq!(mix.to_string(), "ld=3,st=1");
/// # Ok::<(), fencepost_trace::MixError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mix {
    weights: [u32; KINDS],
}

const KINDS: usize = OperationKind::ALL.len();

/// The largest weight of a kind.
pub const MAX_WEIGHT: u32 = 1_000_000;

/// Why a string is not a mix.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum MixError {
    /// A part is not of the form `KIND=WEIGHT`.
    #[error("`{part}` is not a weight, expected KIND=WEIGHT as in `ld=50,st=40,fence=10`")]
    NotAWeight {
        /// The part.
        part: String,
    },
    /// A kind that does not exist.
    #[error(
        "unknown operation `{found}` in the mix, expected one of ld, st, il, lld, lst, fence, stbar"
    )]
    UnknownOperation {
        /// The word before `=`.
        found: String,
    },
    /// A weight that is not a number or too large.
    #[error("`{found}` is not a weight for `{kind}`, expected a number from 0 to {MAX_WEIGHT}")]
    BadWeight {
        /// The kind.
        kind: OperationKind,
        /// The word after `=`.
        found: String,
    },
    /// A kind that occurs twice.
    #[error("`{kind}` has two weights in the mix, expected one")]
    Twice {
        /// The kind.
        kind: OperationKind,
    },
    /// No kind has a weight above 0.
    #[error("every weight of the mix is 0, expected at least one above 0")]
    Nothing,
}

impl Default for Mix {
    /// `ld=50,st=40,il=4,lld=1,lst=1,fence=3,stbar=1`
    fn default() -> Self {
        Mix {
            weights: [50, 40, 4, 1, 1, 3, 1],
        }
    }
}

impl FromStr for Mix {
    type Err = MixError;

    fn from_str(text: &str) -> Result<Self, MixError> {
        let mut weights = [None; KINDS];
        for part in text.split(',').map(str::trim) {
            let (name, weight) = part.split_once('=').ok_or_else(|| MixError::NotAWeight {
                part: part.to_string(),
            })?;
            let (name, weight) = (name.trim(), weight.trim());
            let kind = OperationKind::from_mnemonic(name).ok_or_else(|| {
                let found = name.to_string();
                MixError::UnknownOperation { found }
            })?;
            let parsed = weight.parse().ok().filter(|&weight| weight <= MAX_WEIGHT);
            let slot = &mut weights[kind as usize];
            if slot.is_some() {
                return Err(MixError::Twice { kind });
            }
            *slot = Some(parsed.ok_or_else(|| MixError::BadWeight {
                kind,
                found: weight.to_string(),
            })?);
        }
        let weights: [u32; KINDS] = weights.map(Option::unwrap_or_default);
        match weights.iter().any(|&weight| weight > 0) {
            true => Ok(Mix { weights }),
            false => Err(MixError::Nothing),
        }
    }
}

impl fmt::Display for Mix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for kind in OperationKind::ALL {
            if self.weight(kind) > 0 {
                write!(f, "{separator}{kind}={}", self.weight(kind))?;
                separator = ",";
            }
        }
        Ok(())
    }
}

impl Mix {
    /// The weight of a kind.
    pub fn weight(&self, kind: OperationKind) -> u32 {
        self.weights[kind as usize]
    }

    /// A way to pick from the kinds that `wanted` accepts; always `otherwise` if
    /// those have no weight.
    pub(crate) fn picker(
        &self,
        wanted: impl Fn(OperationKind) -> bool,
        otherwise: OperationKind,
    ) -> Picker {
        let mut weights = [0; KINDS];
        for kind in OperationKind::ALL.into_iter().filter(|&kind| wanted(kind)) {
            weights[kind as usize] = self.weight(kind);
        }
        if weights.iter().all(|&weight| weight == 0) {
            weights[otherwise as usize] = 1;
        }
        let mut total = 0;
        let upper = weights.map(|weight| {
            total += weight;
            total
        });
        Picker { upper, total }
    }

    /// The share of the kinds that `wanted` accepts, of 2^32.
    pub(crate) fn share(&self, wanted: impl Fn(OperationKind) -> bool) -> u64 {
        let total: u64 = self.weights.iter().map(|&weight| u64::from(weight)).sum();
        let wanted: u64 = OperationKind::ALL
            .into_iter()
            .filter(|&kind| wanted(kind))
            .map(|kind| u64::from(self.weight(kind)))
            .sum();
        (wanted << 32) / total
    }
}

/// Turns random bits into kinds by their weights.
#[derive(Clone, Debug)]
pub(crate) struct Picker {
    /// The sum of the weights up to and including each kind.
    upper: [u32; KINDS],
    total: u32,
}

impl Picker {
    #[inline]
    pub(crate) fn pick(&self, bits: u32) -> OperationKind {
        let place = ((u64::from(bits) * u64::from(self.total)) >> 32) as u32;
        // Counting instead of searching: no branch that could be predicted wrongly.
        let index = self.upper.iter().filter(|&&upper| upper <= place).count();
        OperationKind::ALL[index]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mixes_survive_printing() {
        for text in ["ld=1", "ld=50,st=40,il=4,lld=1,lst=1,fence=3,stbar=1"] {
            let mix: Mix = text.parse().unwrap();
            assert_eq!(mix.to_string(), text);
        }
        assert_eq!(Mix::default().to_string().parse(), Ok(Mix::default()));
        assert_eq!(" st = 2 , ld=0".parse::<Mix>().unwrap().to_string(), "st=2");
    }

    #[test]
    fn bad_mixes_have_their_messages() {
        let cases = [
            (
                "",
                "`` is not a weight, expected KIND=WEIGHT as in `ld=50,st=40,fence=10`",
            ),
            (
                "ld=1,st",
                "`st` is not a weight, expected KIND=WEIGHT as in `ld=50,st=40,fence=10`",
            ),
            (
                "load=1",
                "unknown operation `load` in the mix, expected one of ld, st, il, lld, lst, \
                 fence, stbar",
            ),
            (
                "ld=-1",
                "`-1` is not a weight for `ld`, expected a number from 0 to 1000000",
            ),
            (
                "st=1000001",
                "`1000001` is not a weight for `st`, expected a number from 0 to 1000000",
            ),
            ("ld=1,ld=2", "`ld` has two weights in the mix, expected one"),
            (
                "ld=0,st=0",
                "every weight of the mix is 0, expected at least one above 0",
            ),
        ];
        for (text, message) in cases {
            assert_eq!(text.parse::<Mix>().unwrap_err().to_string(), message);
        }
    }

    #[test]
    fn picks_follow_the_weights() {
        let mix: Mix = "ld=1,st=2,fence=1".parse().unwrap();
        let picker = mix.picker(|_| true, OperationKind::Load);
        let quarter = 1 << 30;
        assert_eq!(picker.pick(0), OperationKind::Load);
        assert_eq!(picker.pick(quarter - 1), OperationKind::Load);
        assert_eq!(picker.pick(quarter), OperationKind::Store);
        assert_eq!(picker.pick(3 * quarter - 1), OperationKind::Store);
        assert_eq!(picker.pick(3 * quarter), OperationKind::Fence);
        assert_eq!(picker.pick(u32::MAX), OperationKind::Fence);
        let none = mix.picker(
            |kind| kind == OperationKind::LockedLoad,
            OperationKind::Load,
        );
        assert_eq!(none.pick(77), OperationKind::Load);
        assert_eq!(mix.share(|kind| !kind.has_address()), 1 << 30);
    }
}
