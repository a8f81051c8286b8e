//! Names of C++ and Rust as people write them.

use std::fmt;

use cpp_demangle::{BorrowedSymbol, DemangleOptions};

/// Names may repeat parts of themselves, and so be very long.
pub(super) const LONGEST: usize = 1000;

/// The name without mangling, parameters and return type. A name that is not mangled stays as it is.
pub(super) fn demangle(name: &[u8]) -> String {
    let cut = &name[..name.len().min(LONGEST * 4)];
    let plain = String::from_utf8_lossy(cut);
    // Older names of Rust are C++ names that end with a hash.
    let has_hash = cut.len() > 20 && cut[..cut.len() - 17].ends_with(b"17h") && cut.ends_with(b"E");
    if (has_hash || plain.starts_with("_R"))
        && let Ok(rust) = rustc_demangle::try_demangle(&plain)
    {
        let mut limited = Limited(String::new());
        // What fits is kept.
        let _ = fmt::write(&mut limited, format_args!("{rust:#}"));
        return limited.0;
    }
    if cut.starts_with(b"_Z")
        && let Ok((symbol, _)) = BorrowedSymbol::with_tail(cut)
    {
        let mut limited = Limited(String::new());
        let options = DemangleOptions::new().no_params().no_return_type();
        if symbol.structured_demangle(&mut limited, &options).is_ok()
            || limited.0.len() >= LONGEST / 2
        {
            return limited.0.replace("(anonymous namespace)", "(anonymous)");
        }
    }
    let mut limited = Limited(String::new());
    let _ = limited.push(&plain);
    limited.0
}

/// Takes text up to the limit.
struct Limited(String);

impl Limited {
    fn push(&mut self, text: &str) -> fmt::Result {
        let mut end = text.len().min(LONGEST.saturating_sub(self.0.len()));
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        self.0.push_str(&text[..end]);
        if end < text.len() {
            Err(fmt::Error)
        } else {
            Ok(())
        }
    }
}

impl fmt::Write for Limited {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.push(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_all_languages() {
        for (mangled, name) in [
            ("push", "push"),
            ("_Z", "_Z"),
            ("_ZN2ns5StackIiE4pushEi", "ns::Stack<int>::push"),
            ("_ZN12_GLOBAL__N_17counterE", "(anonymous)::counter"),
            ("_ZZ1fvE5calls", "f()::calls"),
            ("_ZN4core3fmt5write17h0123456789abcdefE", "core::fmt::write"),
            ("_RNvC7mycrate3foo", "mycrate::foo"),
        ] {
            assert_eq!(demangle(mangled.as_bytes()), name);
        }
    }

    #[test]
    fn hostile_names_are_cut() {
        assert_eq!(demangle(&[b'a'; 100_000]).len(), LONGEST);
        assert!(demangle(&[0xff; 5000]).len() <= LONGEST);
        // Each part has the one before twice.
        let doubled = format!("_Z1f{}", "St4pairIS_S0_E".repeat(200));
        assert!(demangle(doubled.as_bytes()).len() <= LONGEST);
        assert!(demangle("_ZN".repeat(1000).as_bytes()).len() <= LONGEST);
    }
}
