//! Every `console` block of `docs/litmus` is run and compared, and the pictures there are what the
//! command draws.
//!
//! As `docs.rs`, but with a comparison of our own: trycmd takes the `/\` of a condition for a path
//! of Windows, and would have it printed as `//`.

use crate::support;

use support::console::{check_pages, check_picture};

#[test]
fn every_console_block_prints_what_it_says() {
    check_pages("docs/litmus", 11);
}

#[test]
fn the_pictures_are_what_the_command_draws() {
    for (picture, arguments) in [
        ("SB.svg", "litmus/basic/SB.litmus"),
        ("n6.svg", "litmus/x86-tso/n6.litmus"),
        (
            "IRIW.svg",
            "--state \"1:rax=1; 1:rbx=0; 3:rax=1; 3:rbx=1;\" litmus/basic/IRIW.litmus",
        ),
        ("peterson.svg", "litmus/basic/peterson.litmus"),
        ("SB+mfences.svg", "litmus/basic/SB+mfences.litmus"),
        ("IRIW-forbidden.svg", "litmus/basic/IRIW.litmus"),
    ] {
        check_picture(
            &format!("docs/litmus/pictures/{picture}"),
            &format!("fencepost litmus --quiet --svg {{}} {arguments}"),
        );
    }
}
