//! Checks the queue. Run with `RUSTFLAGS="--cfg fencepost" cargo test`.
#![cfg(fencepost)]

use fencepost::thread;
use fencepost_example_shim::queue;

#[test]
fn what_is_sent_is_received() {
    fencepost::check(|| {
        let (mut sender, mut receiver) = queue(2);
        let receiving = thread::spawn(move || [receiver.receive(), receiver.receive()]);
        sender.send('a').unwrap();
        sender.send('b').unwrap();
        assert_eq!(receiving.join().unwrap(), ['a', 'b']);
    });
}

#[test]
fn a_full_queue_takes_nothing() {
    fencepost::check(|| {
        let (mut sender, mut receiver) = queue(1);
        let receiving = thread::spawn(move || (receiver.receive(), receiver.try_receive()));
        sender.send(1).unwrap();
        let second = sender.send(2).is_ok();
        let (first, next) = receiving.join().unwrap();
        assert_eq!(first, 1);
        assert!(next.is_none() || second && next == Some(2));
    });
}
