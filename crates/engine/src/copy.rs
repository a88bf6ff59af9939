//! A copy of a recorded process, made by the library at a checkpoint: it sleeps, and woken it plays what the process went on
//! to do.
//!
//! The copy has one thread, whose place on its tape is known to the byte: there its reader begins. Every other thread that
//! had been recorded by then has ended; those that were made later are made again.
//!
//! Law: nothing is written into the take. The maps of its files must be the copy's own before it comes here.

use crate::process::{self, mode};
use crate::thread;
use crate::writer::Writer;
use crate::{deadlock, objects, park, schedule, sys};
use core::ptr::null_mut;
use core::sync::atomic::Ordering::{AcqRel, Relaxed};

/// This process is about to be copied. A run of polls must not go on in an entry that lies before the copy's place.
pub fn before() {
    if let Some(thread) = thread::current().filter(|_| process::mode() == mode::RECORD) {
        thread.writer.polls = null_mut();
    }
}

/// In the copy: plays from here on, as a part of the run whose session lies at `session`. False if it is not recorded.
pub fn play_on(session: &[u8]) -> bool {
    let process = process::get();
    let Some(thread) = thread::current().filter(|_| process::mode() == mode::RECORD) else { return false };
    let (count, context, (chunk, skip)) = (thread.count(), thread.writer.context, thread.writer.standing());
    let numbers = process.session().map_or(0, |session| session.next_number.load(Relaxed));
    if !process::change_session(session) {
        return false;
    }
    if let Some(session) = process.session() {
        session.processes.fetch_add(1, AcqRel);
    }
    thread::forget_others(thread);
    park::reset();
    deadlock::reset();
    schedule::reset();
    objects::reset();
    process.pid = sys::getpid_now();
    thread.tid = sys::gettid_now();
    if !process::begin_replay() {
        return false;
    }
    for seat in process.seats().iter().filter(|seat| seat.number < numbers) {
        seat.header.count.store(seat.total, Relaxed);
    }
    let Some(seat) = process.seat(thread.number) else { return false };
    seat.header.count.store(count, Relaxed);
    seat.uses.store(thread.uses, Relaxed);
    thread.header = &raw mut seat.header;
    thread.seat = seat;
    thread.writer = Writer::new();
    thread.clocks[..context.clocks.len()].copy_from_slice(&context.clocks);
    if !thread.reader.open_at(process.bytes, seat.at, chunk, skip, context) {
        return false;
    }
    process::set_replay();
    thread.set_stops();
    process::set_short_cut(thread);
    true
}
