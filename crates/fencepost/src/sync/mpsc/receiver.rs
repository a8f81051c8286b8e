//! The receiving end of a channel.

use fencepost_runtime::LocationRef;
use std::fmt;
use std::sync::Arc;
use std::sync::mpsc::{RecvError, RecvTimeoutError, TryRecvError};
use std::time::Duration;

use super::channel::Channel;

/// The receiving half of a channel, as [`std::sync::mpsc::Receiver`].
pub struct Receiver<T> {
    inner: Inner<T>,
}

enum Inner<T> {
    Std(std::sync::mpsc::Receiver<T>),
    Checked(Only<T>),
}

/// The only receiver of a channel in a check.
struct Only<T>(Arc<Channel<T>>);

impl<T> Drop for Only<T> {
    fn drop(&mut self) {
        self.0.remove_receiver();
    }
}

impl<T> Receiver<T> {
    pub(super) fn outside(receiver: std::sync::mpsc::Receiver<T>) -> Self {
        Receiver {
            inner: Inner::Std(receiver),
        }
    }

    pub(super) fn of(channel: Arc<Channel<T>>) -> Self {
        Receiver {
            inner: Inner::Checked(Only(channel)),
        }
    }

    /// Names the channel in reports.
    #[must_use]
    pub fn named(self, name: &str) -> Self {
        if let Inner::Checked(receiver) = &self.inner {
            receiver.0.set_name(name);
        }
        self
    }

    /// Receives a value, and waits for one.
    ///
    /// # Errors
    /// Fails if the channel is empty and all senders have been dropped.
    #[track_caller]
    pub fn recv(&self) -> Result<T, RecvError> {
        match &self.inner {
            Inner::Std(receiver) => receiver.recv(),
            Inner::Checked(receiver) => receiver.0.recv(LocationRef::caller()),
        }
    }

    /// Receives a value if there is one.
    ///
    /// # Errors
    /// Fails if the channel is empty; the error says whether all senders have been dropped.
    #[track_caller]
    pub fn try_recv(&self) -> Result<T, TryRecvError> {
        match &self.inner {
            Inner::Std(receiver) => receiver.try_recv(),
            Inner::Checked(receiver) => receiver.0.try_recv(LocationRef::caller()),
        }
    }

    /// Receives a value, and waits for one with a timeout. In a check it may return at any time.
    ///
    /// # Errors
    /// Fails if the channel is empty; the error says whether all senders have been dropped.
    #[track_caller]
    pub fn recv_timeout(&self, timeout: Duration) -> Result<T, RecvTimeoutError> {
        match &self.inner {
            Inner::Std(receiver) => receiver.recv_timeout(timeout),
            Inner::Checked(receiver) => receiver.0.recv_timeout(LocationRef::caller()),
        }
    }

    /// Returns an iterator that waits for values, until all senders have been dropped.
    pub fn iter(&self) -> Iter<'_, T> {
        Iter { receiver: self }
    }

    /// Returns an iterator over the values that can be received without waiting.
    pub fn try_iter(&self) -> TryIter<'_, T> {
        TryIter { receiver: self }
    }
}

/// An iterator that waits for values; see [`Receiver::iter`].
#[derive(Debug)]
pub struct Iter<'a, T: 'a> {
    receiver: &'a Receiver<T>,
}

/// An iterator that does not wait; see [`Receiver::try_iter`].
#[derive(Debug)]
pub struct TryIter<'a, T: 'a> {
    receiver: &'a Receiver<T>,
}

/// An iterator that waits for values and owns the receiver.
#[derive(Debug)]
pub struct IntoIter<T> {
    receiver: Receiver<T>,
}

impl<T> Iterator for Iter<'_, T> {
    type Item = T;

    #[track_caller]
    fn next(&mut self) -> Option<T> {
        self.receiver.recv().ok()
    }
}

impl<T> Iterator for TryIter<'_, T> {
    type Item = T;

    #[track_caller]
    fn next(&mut self) -> Option<T> {
        self.receiver.try_recv().ok()
    }
}

impl<T> Iterator for IntoIter<T> {
    type Item = T;

    #[track_caller]
    fn next(&mut self) -> Option<T> {
        self.receiver.recv().ok()
    }
}

impl<'a, T> IntoIterator for &'a Receiver<T> {
    type Item = T;
    type IntoIter = Iter<'a, T>;

    fn into_iter(self) -> Iter<'a, T> {
        self.iter()
    }
}

impl<T> IntoIterator for Receiver<T> {
    type Item = T;
    type IntoIter = IntoIter<T>;

    fn into_iter(self) -> IntoIter<T> {
        IntoIter { receiver: self }
    }
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver").finish_non_exhaustive()
    }
}
