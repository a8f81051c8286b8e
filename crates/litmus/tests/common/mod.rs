//! Helpers of the whole-test tests: tests made by hand, random tests, and brute force.

pub mod alone;
pub mod brute_force;
pub mod builder;

#[allow(unused_imports, reason = "each test uses its part")]
pub use alone::*;

/// The seeds of so many tests, unless `FENCEPOST_SEED` or `FENCEPOST_PROGRAMS` says otherwise.
pub fn seeds(programs: u64) -> std::ops::Range<u64> {
    let number_from = |variable: &str, otherwise| {
        let value = std::env::var(variable).ok();
        value.map_or(otherwise, |text| text.parse().expect("a number"))
    };
    let first = number_from("FENCEPOST_SEED", 0);
    first..first + number_from("FENCEPOST_PROGRAMS", programs)
}
