//! Channels, as the standard library's `mpsc`.
//!
//! A channel that is made by a thread that is recorded or explored is a queue under a mutex; otherwise it is the standard one.

use super::native::{call, call_in_drop, is_ordered};
use super::{Arc, Condvar, Mutex};
use crate::time::{Duration, Instant};
use std::collections::VecDeque;
use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::mpsc as standard;
pub use std::sync::mpsc::{RecvError, RecvTimeoutError, SendError, TryRecvError, TrySendError};

struct Queue<T> {
    items: VecDeque<T>,
    senders: usize,
    has_receiver: bool,
    /// How many items have been taken: a rendezvous is over when its own was.
    taken: u64,
    given: u64,
}

struct Channel<T> {
    queue: Mutex<Queue<T>>,
    /// Something came, or the last sender went.
    came: Condvar,
    /// Something was taken, or the receiver went.
    went: Condvar,
    /// None: as many as there are. Some(0): the sender waits until its item is taken.
    bound: Option<usize>,
}

type Guard<'a, T> = super::MutexGuard<'a, Queue<T>>;

impl<T> Channel<T> {
    fn new(bound: Option<usize>) -> Arc<Channel<T>> {
        let queue = Queue { items: VecDeque::new(), senders: 1, has_receiver: true, taken: 0, given: 0 };
        Arc::new(Channel { queue: Mutex::new(queue), came: Condvar::new(), went: Condvar::new(), bound })
    }

    #[track_caller]
    fn lock(&self) -> Guard<'_, T> {
        self.queue.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    #[track_caller]
    fn wait<'a>(condition: &Condvar, guard: Guard<'a, T>) -> Guard<'a, T> {
        condition.wait(guard).unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    #[cold]
    #[inline(never)]
    #[track_caller]
    fn send(&self, item: T, may_wait: bool) -> Result<(), TrySendError<T>> {
        let _call = call("send to channel", !may_wait);
        let mut queue = self.lock();
        loop {
            if !queue.has_receiver {
                return Err(TrySendError::Disconnected(item));
            }
            if self.bound.is_none_or(|bound| queue.items.len() < bound.max(1)) {
                break;
            }
            if !may_wait {
                return Err(TrySendError::Full(item));
            }
            queue = Channel::wait(&self.went, queue);
        }
        queue.items.push_back(item);
        queue.given += 1;
        let ours = queue.given;
        self.came.notify_one();
        while self.bound == Some(0) && may_wait && queue.has_receiver && queue.taken < ours {
            queue = Channel::wait(&self.went, queue);
        }
        Ok(())
    }

    #[track_caller]
    fn take(&self, queue: &mut Guard<'_, T>) -> Result<T, TryRecvError> {
        match queue.items.pop_front() {
            Some(item) => {
                queue.taken += 1;
                if self.bound.is_some() {
                    self.went.notify_all();
                }
                Ok(item)
            }
            None if queue.senders == 0 => Err(TryRecvError::Disconnected),
            None => Err(TryRecvError::Empty),
        }
    }

    #[cold]
    #[inline(never)]
    #[track_caller]
    fn receive(&self) -> Result<T, RecvError> {
        let _call = call("receive from channel", false);
        let mut queue = self.lock();
        loop {
            match self.take(&mut queue) {
                Ok(item) => return Ok(item),
                Err(TryRecvError::Disconnected) => return Err(RecvError),
                Err(TryRecvError::Empty) => queue = Channel::wait(&self.came, queue),
            }
        }
    }

    #[cold]
    #[inline(never)]
    #[track_caller]
    fn receive_for(&self, time: Duration) -> Result<T, RecvTimeoutError> {
        let _call = call("receive from channel with time-out", false);
        let start = Instant::now();
        let mut queue = self.lock();
        loop {
            match self.take(&mut queue) {
                Ok(item) => return Ok(item),
                Err(TryRecvError::Disconnected) => return Err(RecvTimeoutError::Disconnected),
                Err(TryRecvError::Empty) => {}
            }
            let Some(left) = time.checked_sub(start.elapsed()) else { return Err(RecvTimeoutError::Timeout) };
            let waited = self.came.wait_timeout(queue, left);
            queue = waited.unwrap_or_else(|poisoned| poisoned.into_inner()).0;
        }
    }

    #[track_caller]
    fn add_sender(&self) {
        let _call = call("clone sender of channel", false);
        self.lock().senders += 1;
    }

    #[track_caller]
    fn drop_sender(&self) {
        let _call = call_in_drop("drop sender of channel");
        let mut queue = self.lock();
        queue.senders -= 1;
        if queue.senders == 0 {
            self.came.notify_all();
        }
    }

    #[track_caller]
    fn drop_receiver(&self) {
        let call = call_in_drop("drop receiver of channel");
        let mut queue = self.lock();
        queue.has_receiver = false;
        let left = std::mem::take(&mut queue.items);
        self.went.notify_all();
        drop(queue);
        drop(call);
        drop(left);
    }
}

/// The standard half, or ours.
enum Half<S, T> {
    Standard(S),
    Own(Arc<Channel<T>>),
}

/// As [`std::sync::mpsc::Sender`].
pub struct Sender<T>(Half<standard::Sender<T>, T>);
/// As [`std::sync::mpsc::SyncSender`].
pub struct SyncSender<T>(Half<standard::SyncSender<T>, T>);
/// As [`std::sync::mpsc::Receiver`].
pub struct Receiver<T>(Half<standard::Receiver<T>, T>);

/// As [`std::sync::mpsc::channel`].
pub fn channel<T>() -> (Sender<T>, Receiver<T>) {
    if is_ordered() {
        let channel = Channel::new(None);
        return (Sender(Half::Own(channel.clone())), Receiver(Half::Own(channel)));
    }
    let (sender, receiver) = standard::channel();
    (Sender(Half::Standard(sender)), Receiver(Half::Standard(receiver)))
}

/// As [`std::sync::mpsc::sync_channel`].
pub fn sync_channel<T>(bound: usize) -> (SyncSender<T>, Receiver<T>) {
    if is_ordered() {
        let channel = Channel::new(Some(bound));
        return (SyncSender(Half::Own(channel.clone())), Receiver(Half::Own(channel)));
    }
    let (sender, receiver) = standard::sync_channel(bound);
    (SyncSender(Half::Standard(sender)), Receiver(Half::Standard(receiver)))
}

fn plain<T>(error: TrySendError<T>) -> SendError<T> {
    match error {
        TrySendError::Full(item) | TrySendError::Disconnected(item) => SendError(item),
    }
}

impl<T> Sender<T> {
    /// # Errors
    /// As the standard library's.
    #[inline]
    #[track_caller]
    pub fn send(&self, item: T) -> Result<(), SendError<T>> {
        match &self.0 {
            Half::Standard(sender) => sender.send(item),
            Half::Own(channel) => channel.send(item, true).map_err(plain),
        }
    }
}

impl<T> SyncSender<T> {
    /// # Errors
    /// As the standard library's.
    #[inline]
    #[track_caller]
    pub fn send(&self, item: T) -> Result<(), SendError<T>> {
        match &self.0 {
            Half::Standard(sender) => sender.send(item),
            Half::Own(channel) => channel.send(item, true).map_err(plain),
        }
    }

    /// # Errors
    /// As the standard library's.
    #[inline]
    #[track_caller]
    pub fn try_send(&self, item: T) -> Result<(), TrySendError<T>> {
        match &self.0 {
            Half::Standard(sender) => sender.try_send(item),
            Half::Own(channel) => channel.send(item, false),
        }
    }
}

macro_rules! senders {
    ($($sender:ident)*) => {$(
        impl<T> Clone for $sender<T> {
            fn clone(&self) -> $sender<T> {
                $sender(match &self.0 {
                    Half::Standard(sender) => Half::Standard(sender.clone()),
                    Half::Own(channel) => {
                        channel.add_sender();
                        Half::Own(channel.clone())
                    }
                })
            }
        }

        impl<T> Drop for $sender<T> {
            fn drop(&mut self) {
                if let Half::Own(channel) = &self.0 {
                    channel.drop_sender();
                }
            }
        }
    )*};
}

senders! { Sender SyncSender }

impl<T> Receiver<T> {
    /// # Errors
    /// As the standard library's.
    #[inline]
    #[track_caller]
    pub fn recv(&self) -> Result<T, RecvError> {
        match &self.0 {
            Half::Standard(receiver) => receiver.recv(),
            Half::Own(channel) => channel.receive(),
        }
    }

    /// # Errors
    /// As the standard library's.
    #[inline]
    #[track_caller]
    pub fn try_recv(&self) -> Result<T, TryRecvError> {
        match &self.0 {
            Half::Standard(receiver) => receiver.try_recv(),
            Half::Own(channel) => {
                let _call = call("try to receive from channel", true);
                channel.take(&mut channel.lock())
            }
        }
    }

    /// # Errors
    /// As the standard library's.
    #[inline]
    #[track_caller]
    pub fn recv_timeout(&self, time: Duration) -> Result<T, RecvTimeoutError> {
        match &self.0 {
            Half::Standard(receiver) => receiver.recv_timeout(time),
            Half::Own(channel) => channel.receive_for(time),
        }
    }

    /// Items until all senders are gone.
    pub fn iter(&self) -> Iter<'_, T> {
        Iter(self)
    }

    /// Items that are there.
    pub fn try_iter(&self) -> TryIter<'_, T> {
        TryIter(self)
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        if let Half::Own(channel) = &self.0 {
            channel.drop_receiver();
        }
    }
}

/// Nobody sees what is inside, and no panic leaves it half done.
macro_rules! ends {
    ($($end:ident)*) => {$(
        impl<T> UnwindSafe for $end<T> {}
        impl<T> RefUnwindSafe for $end<T> {}

        impl<T> fmt::Debug for $end<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($end)).finish_non_exhaustive()
            }
        }
    )*};
}

ends! { Sender SyncSender Receiver }

/// As [`std::sync::mpsc::Iter`].
#[derive(Debug)]
pub struct Iter<'a, T>(&'a Receiver<T>);
/// As [`std::sync::mpsc::TryIter`].
#[derive(Debug)]
pub struct TryIter<'a, T>(&'a Receiver<T>);
/// As [`std::sync::mpsc::IntoIter`].
#[derive(Debug)]
pub struct IntoIter<T>(Receiver<T>);

impl<T> Iterator for Iter<'_, T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.0.recv().ok()
    }
}

impl<T> Iterator for TryIter<'_, T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.0.try_recv().ok()
    }
}

impl<T> Iterator for IntoIter<T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.0.recv().ok()
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
        IntoIter(self)
    }
}
