//! Values of options: counts, sizes and times.

use std::num::IntErrorKind;
use std::time::Duration;

use fencepost_hardware::FixedParameters;
use fencepost_report::duration::parse_duration;

/// Parses a number of things, at least 1.
pub fn count(text: &str) -> Result<u64, String> {
    match text.parse() {
        Ok(0) => Err("expected at least 1".to_string()),
        Ok(number) => Ok(number),
        Err(error) => match error.kind() {
            IntErrorKind::PosOverflow => Err(format!("expected at most {}", u64::MAX)),
            _ => Err("expected a whole number".to_string()),
        },
    }
}

/// Parses a number of things, at least 1 and not very many.
pub fn small_count(text: &str) -> Result<u16, String> {
    u16::try_from(count(text)?).map_err(|_| format!("expected at most {}", u16::MAX))
}

/// Parses a number of worker threads. Elsewhere, 0 means as many as there are processors.
pub fn workers(text: &str) -> Result<u16, String> {
    small_count(text).map_err(|message| match text {
        "0" => format!("{message}; leave the option out for the default"),
        _ => message,
    })
}

/// Parses a number of worker threads of a check, or `all`, as the variable has it.
pub fn workers_or_all(text: &str) -> Result<String, String> {
    match text {
        "all" => Ok(text.to_owned()),
        _ => match workers(text)? {
            number if number <= MOST_CHECKERS => Ok(number.to_string()),
            _ => Err(format!("expected at most {MOST_CHECKERS}, or `all`")),
        },
    }
}

/// The most worker threads of a check.
const MOST_CHECKERS: u16 = 1024;

/// Parses the size of a thread's stack.
pub fn stack_size(text: &str) -> Result<usize, String> {
    let bytes = size(text)?;
    match (16 << 10..=1 << 30).contains(&bytes) {
        true => Ok(bytes),
        false => Err("expected a size from 16K to 1G".to_owned()),
    }
}

/// Parses a number of bytes with an optional unit.
pub fn size(text: &str) -> Result<usize, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let shift = match text[digits.len()..].to_ascii_uppercase().as_str() {
        "" | "B" => 0,
        "K" | "KB" | "KIB" => 10,
        "M" | "MB" | "MIB" => 20,
        "G" | "GB" | "GIB" => 30,
        "T" | "TB" | "TIB" => 40,
        unit => return Err(format!("unknown unit `{unit}`, expected K, M, G or T")),
    };
    let number: usize = digits
        .parse()
        .map_err(|_| "expected a number of bytes such as 500M or 4G".to_string())?;
    number
        .checked_mul(1 << shift)
        .ok_or_else(|| "more than this machine can address".to_string())
}

/// Parses a time with a unit, as the environment variables of checks do.
pub fn time(text: &str) -> Result<Duration, String> {
    parse_duration(text).map_err(|error| error.to_string())
}

/// Parses parameters of runs on the processor.
pub fn parameters(text: &str) -> Result<FixedParameters, String> {
    text.parse()
        .map_err(|error: fencepost_hardware::ParametersError| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_whole_numbers() {
        assert_eq!(count("12"), Ok(12));
        for text in ["1e6", "1.5", "-1", "", "x"] {
            assert_eq!(count(text), Err("expected a whole number".into()));
        }
        assert_eq!(count("0"), Err("expected at least 1".into()));
        assert!(count("99999999999999999999").is_err());
        assert_eq!(small_count("65535"), Ok(65_535));
        assert_eq!(small_count("65536"), Err("expected at most 65535".into()));
        assert_eq!(small_count("0"), Err("expected at least 1".into()));
    }

    #[test]
    fn sizes_have_units() {
        assert_eq!(size("12"), Ok(12));
        assert_eq!(size("4G"), Ok(4 << 30));
        assert_eq!(size("500MiB"), Ok(500 << 20));
        assert!(size("4X").unwrap_err().contains("unknown unit `X`"));
        assert!(size("G").is_err());
        assert!(size("99999999999T").is_err());
    }

    #[test]
    fn settings_of_checks_have_their_ranges() {
        assert_eq!(workers_or_all("all"), Ok("all".into()));
        assert_eq!(workers_or_all("1024"), Ok("1024".into()));
        assert!(workers_or_all("1025").is_err());
        assert!(workers_or_all("0").is_err());
        assert_eq!(stack_size("16K"), Ok(16_384));
        assert!(stack_size("16383").is_err());
        assert!(stack_size("2G").is_err());
    }

    #[test]
    fn times_have_units() {
        assert_eq!(time("90"), Ok(Duration::from_secs(90)));
        assert_eq!(time("1.5m"), Ok(Duration::from_secs(90)));
        assert_eq!(time("250ms"), Ok(Duration::from_millis(250)));
        assert_eq!(time("1d"), Ok(Duration::from_secs(86_400)));
        assert!(time("3y").unwrap_err().contains("unknown unit `y`"));
        assert!(time("-1s").is_err());
        assert!(time("1e300h").is_err());
    }
}
