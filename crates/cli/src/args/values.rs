//! Values of options that have a unit: sizes and times.

use std::time::Duration;

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

/// Parses a time with a unit.
pub fn time(text: &str) -> Result<Duration, String> {
    let number = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &text[number.len()..] {
        "ms" => 0.001,
        "" | "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        "d" => 86400.0,
        unit => return Err(format!("unknown unit `{unit}`, expected s, m, h or d")),
    };
    let number: f64 = number
        .parse()
        .map_err(|_| "expected a time such as 30s, 10m or 2h".to_string())?;
    Duration::try_from_secs_f64(number * unit)
        .map_err(|_| "expected a time that is not negative and not too long".to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn times_have_units() {
        assert_eq!(time("90"), Ok(Duration::from_secs(90)));
        assert_eq!(time("1.5m"), Ok(Duration::from_secs(90)));
        assert_eq!(time("250ms"), Ok(Duration::from_millis(250)));
        assert!(time("3y").unwrap_err().contains("unknown unit `y`"));
        assert!(time("s").is_err());
        assert!(time("-1s").is_err());
        assert!(time("1e300h").is_err());
    }
}
