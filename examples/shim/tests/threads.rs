//! Tries the queue on the threads of the machine.
#![cfg(not(fencepost))]

use fencepost_example_shim::queue;

#[test]
fn many_values_arrive_in_order() {
    let (mut sender, mut receiver) = queue(4);
    let receiving = std::thread::spawn(move || (0..10_000).all(|n| receiver.receive() == n));
    for mut value in 0..10_000 {
        while let Err(back) = sender.send(value) {
            value = back;
            std::thread::yield_now();
        }
    }
    assert!(receiving.join().unwrap());
}
