//! A thread pool that returns results in the order of the inputs.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;

/// The capacity of the channel from the workers to this thread.
const MOST_WAITING: usize = 4096;

/// Applies `work` to each index below `count` with several workers, and `take` to each result, in
/// order, on this thread. `take` may stop it.
pub fn in_order<T: Send, E>(
    count: usize,
    workers: usize,
    work: impl Fn(usize) -> T + Sync,
    mut take: impl FnMut(usize, T) -> Result<ControlFlow<()>, E>,
) -> Result<(), E> {
    if workers <= 1 || count <= 1 {
        for index in 0..count {
            if take(index, work(index))?.is_break() {
                break;
            }
        }
        return Ok(());
    }
    let next = AtomicUsize::new(0);
    let is_over = AtomicBool::new(false);
    let (sender, receiver) = mpsc::sync_channel(MOST_WAITING);
    std::thread::scope(|scope| {
        for _ in 0..workers.min(count) {
            let sender = sender.clone();
            let (next, is_over, work) = (&next, &is_over, &work);
            scope.spawn(move || {
                while !is_over.load(Ordering::Relaxed) {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    if index >= count || sender.send((index, work(index))).is_err() {
                        return;
                    }
                }
            });
        }
        // Only workers hold senders, so the channel closes even if one of them panics.
        drop(sender);
        let result = take_in_order(count, &receiver, &mut take);
        is_over.store(true, Ordering::Relaxed);
        // Workers that are blocked in `send` return.
        drop(receiver);
        result
    })
}

fn take_in_order<T, E>(
    count: usize,
    receiver: &mpsc::Receiver<(usize, T)>,
    take: &mut impl FnMut(usize, T) -> Result<ControlFlow<()>, E>,
) -> Result<(), E> {
    let mut early = BTreeMap::new();
    for wanted in 0..count {
        while !early.contains_key(&wanted) {
            let Ok((index, result)) = receiver.recv() else {
                return Ok(());
            };
            early.insert(index, result);
        }
        let result = early.remove(&wanted).expect("it is there");
        if take(wanted, result)?.is_break() {
            return Ok(());
        }
    }
    Ok(())
}
