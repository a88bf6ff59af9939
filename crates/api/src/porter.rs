//! The porter: lets in at a listening socket whoever proves that it knows the secret, and nobody else.
//!
//! It stands in a thread of the library's own ([`unseen`]), so that a partner who knocks is answered at once, even while
//! the program computes or a debugger holds the participant's thread: whoever opens a way waits for the proof.
//!
//! Law: a stranger costs one descriptor for at most [`TIME_NS`], and there are never more than [`STRANGERS_MAX`].

use crate::forked;
use crate::proof::{self, Listening, Terms};
use crate::unseen;
use crate::waiting::now;
use crate::wire::{self, Fd};
use libc::{POLLIN, c_int, pollfd};
use retake_engine::sys;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

/// How long a stranger has to prove itself.
const TIME_NS: i64 = 2_000_000_000;
const STRANGERS_MAX: usize = 64;
/// A pause when the system has no descriptor left for a connection that waits.
const PAUSE_NS: u64 = 10_000_000;

#[derive(Debug, Default)]
struct Desk {
    /// Connections that have proved themselves.
    proved: Vec<Fd>,
    /// The thread is to end, and has ended.
    leave: bool,
    left: bool,
}

#[derive(Debug)]
struct Hall {
    desk: Mutex<Desk>,
    changed: Condvar,
    /// Rings when somebody has proved itself.
    bell: Fd,
    /// Rings when the thread is to end.
    end: Fd,
}

impl Hall {
    fn desk(&self) -> MutexGuard<'_, Desk> {
        self.desk.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// The participant's end.
#[derive(Debug)]
pub struct Porter {
    hall: Arc<Hall>,
    /// Which process has the thread: see [`forked`].
    generation: i32,
}

struct Stranger {
    fd: Fd,
    until: i64,
    listening: Listening,
    said: Vec<u8>,
}

impl Porter {
    /// Begins to let in at `listener`.
    pub fn start(listener: Fd, terms: Terms) -> Result<Porter, c_int> {
        let hall = Hall { desk: Mutex::default(), changed: Condvar::new(), bell: wire::bell()?, end: wire::bell()? };
        let hall = Arc::new(hall);
        let works = hall.clone();
        let started = unseen::start(move || {
            work(&works, listener, &terms);
            works.desk().left = true;
            works.changed.notify_all();
        });
        if started { Ok(Porter { hall, generation: forked::generation() }) } else { Err(libc::EAGAIN) }
    }

    /// Readable when there is somebody.
    pub fn fd(&self) -> &Fd {
        &self.hall.bell
    }

    /// Those who have proved themselves since.
    pub fn arrived(&self) -> Vec<Fd> {
        wire::hush(&self.hall.bell);
        std::mem::take(&mut self.hall.desk().proved)
    }

    /// Ends; the address is free when this returns.
    pub fn close(&self) {
        let mut desk = self.hall.desk();
        desk.leave = true;
        wire::ring(&self.hall.end);
        while !desk.left {
            desk = self.hall.changed.wait(desk).unwrap_or_else(|poisoned| poisoned.into_inner());
        }
        desk.proved.clear();
    }
}

impl Drop for Porter {
    fn drop(&mut self) {
        if self.generation == forked::generation() {
            self.close();
        }
    }
}

/// What the thread does.
fn work(hall: &Hall, listener: Fd, terms: &Terms) {
    let mut strangers: Vec<Stranger> = Vec::new();
    loop {
        let entry = |fd: &Fd| pollfd { fd: fd.0, events: POLLIN, revents: 0 };
        let mut polled = vec![entry(&hall.end), entry(&listener)];
        polled.extend(strangers.iter().map(|stranger| entry(&stranger.fd)));
        let nearest = strangers.iter().map(|stranger| stranger.until).min();
        if wire::poll(&mut polled, nearest.map_or(-1, wire::left_ms)).is_err() {
            sys::sleep_ns(PAUSE_NS);
        }
        if hall.desk().leave {
            return;
        }
        let mut ready = polled[2..].iter().map(|polled| polled.revents != 0);
        let mut proved = Vec::new();
        let mut waiting = Vec::new();
        for mut stranger in strangers {
            match ready.next() {
                Some(true) => match stranger.hear(terms) {
                    Heard::More => waiting.push(stranger),
                    Heard::Proved(third) => proved.push((stranger.fd, third)),
                    Heard::Bad => {}
                },
                _ => waiting.push(stranger),
            }
        }
        let moment = now();
        waiting.retain(|stranger| stranger.until > moment);
        strangers = waiting;
        for (fd, third) in proved {
            // Whoever is told that it is let in is at the desk before anybody else can look there.
            let mut desk = hall.desk();
            if wire::write(&fd, &third) {
                desk.proved.push(fd);
                wire::ring(&hall.bell);
            }
        }
        if polled[1].revents != 0 {
            let Some(fd) = wire::accept(&listener) else {
                sys::sleep_ns(PAUSE_NS);
                continue;
            };
            if strangers.len() == STRANGERS_MAX {
                // Whoever has stood there longest and said nothing good.
                strangers.remove(0);
            }
            strangers.extend(Stranger::greet(fd));
        }
    }
}

enum Heard {
    More,
    /// This is to be said to it.
    Proved(Vec<u8>),
    Bad,
}

impl Stranger {
    fn greet(fd: Fd) -> Option<Stranger> {
        wire::keep_alive(&fd);
        let (listening, first) = Listening::begin();
        let sent = wire::write(&fd, &first);
        sent.then(|| Stranger { fd, until: now() + TIME_NS, listening, said: Vec::new() })
    }

    /// Reads no more than the proof: what follows are frames.
    fn hear(&mut self, terms: &Terms) -> Heard {
        match wire::read_up_to(&self.fd, &mut self.said, proof::SECOND) {
            wire::Reading::More => Heard::More,
            wire::Reading::Closed => Heard::Bad,
            wire::Reading::Whole => {
                let (good, third) = self.listening.judge(terms, &self.said);
                if good {
                    return Heard::Proved(third);
                }
                wire::write(&self.fd, &third);
                Heard::Bad
            }
        }
    }
}
