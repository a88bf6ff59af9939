//! Replay: waiting for what descriptors brought when it was recorded.

use crate::sys;
use crate::watch;
use libc::{c_int, pollfd};

/// What came of waiting.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Waited {
    /// It is ready.
    Ready,
    /// A signal has come.
    Ended,
    /// It does not come: nothing moves any more, or there is no such descriptor.
    InVain,
}

/// Whether what is waited for must come: then it is waited for as long as it takes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Patience {
    Endless,
    /// Only as long as anything moves: what others send may differ.
    Limited,
}

/// How long nothing may move where patience is limited.
const STILL_NS: i64 = 2_000_000_000;
/// How often it is looked whether anything moves.
const LOOK_MS: usize = 100;
const PAUSE_NS: u64 = 20_000;
const PAUSE_NS_MAX: u64 = 1_000_000;

/// Waits until `fd` is ready for any of `events`, and is all that `wanted` says.
pub fn wait(fd: c_int, events: i16, wanted: i16, patience: Patience) -> Waited {
    let mut pause = Pause::new(patience);
    loop {
        let mut one = pollfd { fd, events, revents: 0 };
        // SAFETY: a structure of ours.
        let answer = unsafe { sys::poll(&raw mut one as usize, 1, LOOK_MS) };
        if sys::error(answer) == Some(libc::EINTR) {
            return Waited::Ended;
        }
        if answer > 0 && one.revents & wanted == wanted {
            return Waited::Ready;
        }
        // What is closed cannot be asked.
        if one.revents & libc::POLLNVAL != 0 || !pause.goes_on(answer > 0) {
            return Waited::InVain;
        }
    }
}

/// Whether `fd` is ready for any of `events` now.
pub fn is_ready(fd: c_int, events: i16) -> bool {
    let mut one = pollfd { fd, events, revents: 0 };
    // SAFETY: a structure of ours.
    unsafe { sys::poll(&raw mut one as usize, 1, 0) > 0 }
}

/// Between two looks for something.
pub struct Pause {
    patience: Patience,
    next_ns: u64,
}

impl Pause {
    pub fn new(patience: Patience) -> Pause {
        Pause { patience, next_ns: PAUSE_NS }
    }

    /// Waits a moment, if the kernel has not done so; whether to look again.
    pub fn goes_on(&mut self, waits: bool) -> bool {
        if waits {
            sys::sleep_ns(self.next_ns);
            self.next_ns = (self.next_ns * 2).min(PAUSE_NS_MAX);
        }
        self.patience == Patience::Endless || !watch::is_still(STILL_NS)
    }
}

/// Whether bytes come from `fd` in pieces that mean nothing: then those of several reads may be read by one.
pub fn is_stream(fd: c_int) -> bool {
    match sys::status_of(fd).st_mode & libc::S_IFMT {
        libc::S_IFIFO => true,
        libc::S_IFSOCK => {
            let (mut kind, mut length) = (0, size_of::<c_int>() as libc::socklen_t);
            let (at, length_at) = (&raw mut kind as usize, &raw mut length as usize);
            // SAFETY: variables of ours.
            unsafe { sys::getsockopt(fd as usize, libc::SOL_SOCKET as usize, libc::SO_TYPE as usize, at, length_at) };
            kind == libc::SOCK_STREAM
        }
        _ => false,
    }
}

/// How many bytes can be read from `fd` now.
pub fn available(fd: c_int) -> usize {
    let mut many: c_int = 0;
    // SAFETY: a variable of ours.
    unsafe { sys::ioctl(fd as usize, libc::FIONREAD as usize, &raw mut many as usize) };
    many.max(0) as usize
}
