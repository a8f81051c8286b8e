//! The sending ends of channels.

use fencepost_runtime::LocationRef;
use std::fmt;
use std::sync::Arc;
use std::sync::mpsc::{SendError, TrySendError};

use super::channel::Channel;

/// The sending half of a [`channel`](super::channel()), as [`std::sync::mpsc::Sender`].
pub struct Sender<T> {
    inner: Inner<T, std::sync::mpsc::Sender<T>>,
}

/// The sending half of a [`sync_channel`](super::sync_channel), as [`std::sync::mpsc::SyncSender`].
pub struct SyncSender<T> {
    inner: Inner<T, std::sync::mpsc::SyncSender<T>>,
}

enum Inner<T, S> {
    Std(S),
    Checked(Counted<T>),
}

/// One of the senders that a channel in a check counts.
struct Counted<T>(Arc<Channel<T>>);

impl<T> Clone for Counted<T> {
    fn clone(&self) -> Self {
        self.0.add_sender();
        Counted(self.0.clone())
    }
}

impl<T> Drop for Counted<T> {
    fn drop(&mut self) {
        self.0.remove_sender();
    }
}

impl<T, S: Clone> Clone for Inner<T, S> {
    fn clone(&self) -> Self {
        match self {
            Inner::Std(sender) => Inner::Std(sender.clone()),
            Inner::Checked(sender) => Inner::Checked(sender.clone()),
        }
    }
}

impl<T> Sender<T> {
    pub(super) fn outside(sender: std::sync::mpsc::Sender<T>) -> Self {
        Sender {
            inner: Inner::Std(sender),
        }
    }

    pub(super) fn of(channel: Arc<Channel<T>>) -> Self {
        Sender {
            inner: Inner::Checked(Counted(channel)),
        }
    }

    /// Names the channel in reports.
    #[must_use]
    pub fn named(self, name: &str) -> Self {
        if let Inner::Checked(sender) = &self.inner {
            sender.0.set_name(name);
        }
        self
    }

    /// Sends a value. Never waits.
    ///
    /// # Errors
    /// Returns the value if the receiver has been dropped.
    #[track_caller]
    pub fn send(&self, value: T) -> Result<(), SendError<T>> {
        match &self.inner {
            Inner::Std(sender) => sender.send(value),
            Inner::Checked(sender) => sender.0.send(value, LocationRef::caller()),
        }
    }
}

impl<T> SyncSender<T> {
    pub(super) fn outside(sender: std::sync::mpsc::SyncSender<T>) -> Self {
        SyncSender {
            inner: Inner::Std(sender),
        }
    }

    pub(super) fn of(channel: Arc<Channel<T>>) -> Self {
        SyncSender {
            inner: Inner::Checked(Counted(channel)),
        }
    }

    /// Names the channel in reports.
    #[must_use]
    pub fn named(self, name: &str) -> Self {
        if let Inner::Checked(sender) = &self.inner {
            sender.0.set_name(name);
        }
        self
    }

    /// Sends a value, and waits while the channel is full. If the bound is 0, waits until the value
    /// is received.
    ///
    /// # Errors
    /// Returns the value if the receiver has been dropped.
    #[track_caller]
    pub fn send(&self, value: T) -> Result<(), SendError<T>> {
        match &self.inner {
            Inner::Std(sender) => sender.send(value),
            Inner::Checked(sender) => sender.0.send(value, LocationRef::caller()),
        }
    }

    /// Sends a value if that is possible without waiting.
    ///
    /// # Errors
    /// Returns the value if the channel is full or the receiver has been dropped.
    #[track_caller]
    pub fn try_send(&self, value: T) -> Result<(), TrySendError<T>> {
        match &self.inner {
            Inner::Std(sender) => sender.try_send(value),
            Inner::Checked(sender) => sender.0.try_send(value, LocationRef::caller()),
        }
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        Sender {
            inner: self.inner.clone(),
        }
    }
}

impl<T> Clone for SyncSender<T> {
    fn clone(&self) -> Self {
        SyncSender {
            inner: self.inner.clone(),
        }
    }
}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender").finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for SyncSender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SyncSender").finish_non_exhaustive()
    }
}
