//! Channels, as in [`std::sync::mpsc`].
//!
//! The errors are those of `std`. In a check [`Receiver::recv_timeout`] may return whenever there
//! is nothing to receive, since time does not pass.
//!
//! - `channel`: a channel in a check;
//! - `senders` and `receiver`: its ends, in a check and outside.

mod channel;
mod receiver;
mod senders;

use std::sync::Arc;

pub use receiver::{IntoIter, Iter, Receiver, TryIter};
pub use senders::{Sender, SyncSender};
pub use std::sync::mpsc::{RecvError, RecvTimeoutError, SendError, TryRecvError, TrySendError};

use channel::Channel;
use fencepost_runtime::{Current, LocationRef};

/// Creates a channel with an unbounded buffer, as [`std::sync::mpsc::channel`].
#[must_use]
#[track_caller]
pub fn channel<T>() -> (Sender<T>, Receiver<T>) {
    if Current::get().is_none() {
        let (sender, receiver) = std::sync::mpsc::channel();
        return (Sender::outside(sender), Receiver::outside(receiver));
    }
    let channel = Arc::new(Channel::new(None, LocationRef::caller()));
    (Sender::of(channel.clone()), Receiver::of(channel))
}

/// Creates a channel with a bounded buffer, as [`std::sync::mpsc::sync_channel`]. With a bound of 0
/// each send waits for a receive (a rendezvous channel).
#[must_use]
#[track_caller]
pub fn sync_channel<T>(bound: usize) -> (SyncSender<T>, Receiver<T>) {
    if Current::get().is_none() {
        let (sender, receiver) = std::sync::mpsc::sync_channel(bound);
        return (SyncSender::outside(sender), Receiver::outside(receiver));
    }
    let channel = Arc::new(Channel::new(Some(bound), LocationRef::caller()));
    (SyncSender::of(channel.clone()), Receiver::of(channel))
}
