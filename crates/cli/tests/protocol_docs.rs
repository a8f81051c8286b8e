//! Every `console` block of `docs/protocols` is run and compared, and the pictures there are what
//! the command draws.

use crate::support;

use support::console::{check_pages, check_picture};

#[test]
fn every_console_block_prints_what_it_says() {
    check_pages("docs/protocols", 9);
}

#[test]
fn the_pictures_are_what_the_command_draws() {
    check_picture(
        "docs/protocols/pictures/late-data.svg",
        "fencepost protocol --quiet --workers 1 --output {} docs/protocols/models/directory-race.m",
    );
    check_picture(
        "docs/protocols/pictures/tso-cc-stale-read.svg",
        "fencepost protocol --quiet --workers 1 --output {} --const CHECK=2 --const ADDRESSES=2 models/tso-cc/tso-cc.m",
    );
    check_picture(
        "docs/protocols/pictures/tso-cc-store-buffering.svg",
        "fencepost protocol --quiet --workers 1 --output {} --const CHECK=4 --const ADDRESSES=2 --const STORE_BUFFER=1 models/tso-cc/tso-cc.m",
    );
}
