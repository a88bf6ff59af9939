//! `retake replay --only NAME` of a participant that sleeps at a checkpoint: the copy is woken, and a copy of it plays the
//! tail. Each time a fresh one does; the sleeper itself sleeps on.

use crate::Ending;
use crate::checkpoints::Copy;
use crate::facts::{Ended, Facts};
use crate::report::{Report, changed_program};
use crate::session::Mapped;
use crate::status::{Context, Failure, Result, Status, say};
use crate::symbols::Symbols;
use crate::take::{Origin, Take, TempDir};
use retake_tape::copy::{QUESTION_MAX, answer, answer_of, ask};
use retake_tape::session::{FILE as SESSION, flag};
use std::io::Read;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::sync::atomic::Ordering::Relaxed;

/// Plays the tail so many times.
pub fn main(copy: &Copy, patience: u32, times: u32) -> Result<Ending> {
    if copy.is_running() {
        let participant = &copy.participant;
        say(format_args!("{participant} still runs: this is what it has done so far behind event {}", copy.event));
    }
    let mut last = Ended::Exit(0);
    for _ in 0..times {
        last = play(copy, patience)?;
    }
    Ok(Ending::Like(last))
}

fn play(copy: &Copy, patience: u32) -> Result<Ended> {
    let place = TempDir::new()?;
    let path = place.path().join(SESSION);
    let session = Mapped::create(&path, flag::ALONE)?;
    session.patience_ms.store(if patience == 0 { u32::MAX } else { patience.saturating_mul(1000) }, Relaxed);
    let signal = match Facts::read(&copy.dir).ok().and_then(|facts| facts.ended) {
        Some(Ended::Signal(signal)) => signal,
        _ => libc::SIGKILL,
    };
    session.root_signal.store(signal as u32, Relaxed);
    let mut stream = copy.connect()?;
    let question = [&[ask::WAKE], path.as_os_str().as_bytes()].concat();
    let lost = || format!("the sleeping copy of {} has ended", copy.participant);
    send(&stream, &question).because(lost)?;
    loop {
        let mut bytes = [0; 8];
        stream.read_exact(&mut bytes).because(lost)?;
        match answer_of(&bytes) {
            (answer::STARTED, _) => {}
            (answer::BUSY, pid) => {
                let what = format!("somebody else plays the tail of {} now: process {pid}", copy.participant);
                return Err(Failure::own(what).next("the same command again, when that has ended"));
            }
            (answer::ENDED, status) => {
                went_well(copy, &session)?;
                return Ok(ended(status));
            }
            (_, errno) => {
                let why = crate::status::plain(&std::io::Error::from_raw_os_error(errno));
                return Err(Failure::own(format!("the sleeping copy of {} cannot play: {why}", copy.participant)));
            }
        }
    }
}

fn ended(status: i32) -> Ended {
    if libc::WIFSIGNALED(status) {
        Ended::Signal(libc::WTERMSIG(status))
    } else {
        Ended::Exit(libc::WEXITSTATUS(status))
    }
}

/// Words the report of a replay that went wrong.
fn went_well(copy: &Copy, session: &Mapped) -> Result<()> {
    let Some(text) = session.report() else { return Ok(()) };
    let report = Report::parse(&text);
    if !Mapped::in_use(&copy.dir.join(SESSION))
        && let Ok(take) = Take::open(&copy.dir, Origin::Elsewhere)
        && let Ok(tapes) = take.tapes()
    {
        let mut symbols = Symbols::of_replay(&tapes);
        return Err(report.failure(&take, &tapes, &mut symbols, changed_program(&take.facts), session.made()));
    }
    let (status, word) = if report.is_stuck() { (Status::Stuck, "stuck") } else { (Status::Diverged, "diverged") };
    let Report { thread, event, recorded, came, .. } = &report;
    let what = format!("{word} in {thread} at event {event}: recorded {recorded}; came {came}");
    Err(Failure::new(status, what).next(format!("retake show --participant {}", copy.participant)))
}

/// Sends the question, and this process's streams.
fn send(stream: &UnixStream, question: &[u8]) -> std::io::Result<()> {
    if question.len() > QUESTION_MAX {
        return Err(std::io::Error::from_raw_os_error(libc::ENAMETOOLONG));
    }
    let streams = [0i32, 1, 2];
    let mut room = [0u64; 8];
    let mut piece = libc::iovec { iov_base: question.as_ptr().cast_mut().cast(), iov_len: question.len() };
    // SAFETY: the message and its pieces live as long as the call; the room is long enough for three descriptors.
    let sent = unsafe {
        let mut message: libc::msghdr = std::mem::zeroed();
        (message.msg_iov, message.msg_iovlen) = (&raw mut piece, 1);
        message.msg_control = room.as_mut_ptr().cast();
        message.msg_controllen = libc::CMSG_SPACE(size_of_val(&streams) as u32) as usize;
        let head = libc::CMSG_FIRSTHDR(&raw const message);
        (*head).cmsg_level = libc::SOL_SOCKET;
        (*head).cmsg_type = libc::SCM_RIGHTS;
        (*head).cmsg_len = libc::CMSG_LEN(size_of_val(&streams) as u32) as usize;
        libc::CMSG_DATA(head).cast::<[i32; 3]>().write_unaligned(streams);
        libc::sendmsg(stream.as_raw_fd(), &raw const message, libc::MSG_NOSIGNAL)
    };
    if sent < 0 { Err(std::io::Error::last_os_error()) } else { Ok(()) }
}
