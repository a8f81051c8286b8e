//! All tests of reports and pictures, as one binary.

mod support;

mod check_errors;
mod check_hints;
mod check_in_c;
mod check_odd_input;
mod check_summary;
mod check_violations;
mod litmus_cycles;
mod litmus_layout;
mod litmus_pictures;
mod native_errors;
mod protocol_chart;
mod protocol_text;
