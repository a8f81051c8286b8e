//! Times that users write: in options and in environment variables.

use std::error::Error;
use std::fmt;
use std::time::Duration;

/// Why a text is no time.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum DurationError {
    /// There is no number.
    NotANumber,
    /// The number has a unit that does not exist.
    UnknownUnit(String),
    /// The time is negative or too long.
    OutOfRange,
}

impl Error for DurationError {}

impl fmt::Display for DurationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DurationError::NotANumber => {
                f.write_str("expected a number with a unit (ms, s, m, h or d)")
            }
            DurationError::UnknownUnit(unit) => {
                write!(f, "unknown unit `{unit}`, expected ms, s, m, h or d")
            }
            DurationError::OutOfRange => {
                f.write_str("expected a time that is not negative and not too long")
            }
        }
    }
}

/// Parses a time such as `250ms`, `1.5m` or `1d`; without a unit, seconds.
pub fn parse_duration(text: &str) -> Result<Duration, DurationError> {
    let number = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &text[number.len()..] {
        "ms" => 0.001,
        "" | "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        "d" => 86400.0,
        _ if number.is_empty() => return Err(DurationError::NotANumber),
        unit => return Err(DurationError::UnknownUnit(unit.to_owned())),
    };
    let number = number.trim().parse::<f64>();
    let number = number.map_err(|_| DurationError::NotANumber)?;
    Duration::try_from_secs_f64(number * unit).map_err(|_| DurationError::OutOfRange)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        let seconds = |text| parse_duration(text).map(|time| time.as_secs_f64());
        assert_eq!(seconds("90"), Ok(90.0));
        assert_eq!(seconds("1.5m"), Ok(90.0));
        assert_eq!(seconds("2min"), Ok(120.0));
        assert_eq!(seconds("2 h"), Ok(7200.0));
        assert_eq!(seconds("1d"), Ok(86400.0));
        assert_eq!(seconds("250ms"), Ok(0.25));
        let unknown = DurationError::UnknownUnit("y".into());
        assert_eq!(unknown, parse_duration("3y").unwrap_err());
        for text in ["s", "abc", "", "x3s"] {
            assert_eq!(
                parse_duration(text),
                Err(DurationError::NotANumber),
                "{text}"
            );
        }
        assert!(parse_duration("1e").is_err());
        for text in ["-1s", "1e300h"] {
            assert_eq!(
                parse_duration(text),
                Err(DurationError::OutOfRange),
                "{text}"
            );
        }
    }
}
