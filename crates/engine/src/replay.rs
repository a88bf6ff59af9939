//! Replay: the next step of this thread's tape, and waiting until it may be taken.

use crate::end;
use crate::halt;
use crate::report;
use crate::settled;
use crate::signals;
use crate::stops;
use crate::thread::{Thread, fast};
use core::sync::atomic::Ordering::Relaxed;
use retake_tape::entry::{Entry, INSIDE, Place, Signal};
use retake_tape::op::Op;

/// When an event may happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The object was this thread's before: at once.
    Own,
    /// When the object has this version.
    Version(u64),
    /// When the other thread has committed so many events.
    Edge { thread: u32, count: u64 },
    /// When the object has this version and that many have read it.
    Write { version: u64, readers: u64 },
}

/// How the next event came out when it was recorded.
pub struct Step {
    /// 0, or what the call returned instead.
    pub result: i64,
    pub order: Order,
    pub created: u64,
    pub bytes: &'static [u8],
    /// A result was on the tape, even if it was 0.
    pub has_result: bool,
}

impl Thread {
    /// The next step of the tape, for an event of kind `op`. `None` if the thread runs without a tape from here on.
    pub fn step(&mut self, op: Op) -> Option<Step> {
        self.step_at(op, 0)
    }

    /// The same, for an event on `object`.
    pub fn step_at(&mut self, op: Op, object: usize) -> Option<Step> {
        if self.live {
            return None;
        }
        self.begin();
        let step = self.next_step(op, object);
        self.finish();
        step
    }

    fn next_step(&mut self, op: Op, object: usize) -> Option<Step> {
        self.pass_soft();
        let event = self.count() + 1;
        stops::before(self, op, event);
        settled::before(self);
        if event > self.reader.total {
            end::reached(self, op, object);
            return None;
        }
        let mut step = Step { result: 0, order: Order::Own, created: 0, bytes: &[], has_result: false };
        if self.reader.polls_left > 0 {
            self.reader.polls_left -= 1;
            if self.reader.polls_op != op as u8 {
                report::wrong_op(self, op, "a poll", self.reader.polls_op, self.reader.polls_code);
            }
            step.result = self.reader.polls_code;
            step.has_result = true;
            return Some(step);
        }
        while let Some((at, entry)) = self.reader.next {
            if at > event || entry.is_soft() {
                break;
            }
            if at < event {
                report::left_over(self, op, at);
            }
            match entry {
                Entry::HandOver(version) => step.order = Order::Version(version),
                Entry::Edge { thread, count } => step.order = Order::Edge { thread, count },
                Entry::WriteTurn { version, readers } => step.order = Order::Write { version, readers },
                Entry::Created(number) => step.created = number,
                Entry::Bytes(bytes) => step.bytes = bytes,
                Entry::Result(recorded, code) => {
                    if recorded != op {
                        report::wrong_op(self, op, "a result", recorded as u8, code);
                    }
                    (step.result, step.has_result) = (code, true);
                }
                Entry::Polls(recorded, code, many) => {
                    if recorded != op {
                        report::wrong_op(self, op, "a poll", recorded as u8, code);
                    }
                    let reader = &mut self.reader;
                    (reader.polls_op, reader.polls_code) = (recorded as u8, code);
                    reader.polls_left = many.saturating_sub(1);
                    (step.result, step.has_result) = (code, true);
                }
                _ => {}
            }
            self.reader.advance();
        }
        Some(step)
    }

    /// The next signal on the tape, if it is `number` and its handler is to run now; then it is taken off.
    pub fn take_due(&mut self, number: u8) -> Option<Signal> {
        self.pass_slept();
        match self.reader.next {
            Some((at, Entry::Signal(signal)))
                if at <= self.count() + 1
                    && signal.number == number
                    && self.releases >= signal.releases
                    && !self.live
                    && signals::is_sent(&signal) =>
            {
                self.reader.advance();
                self.set_stops();
                Some(signal)
            }
            _ => None,
        }
    }

    /// The version of the next event, if it is a hand-over and nothing else; then it is taken off. And whether the next
    /// entry is a hand-over, too, so that [`Self::counts`] may follow in place of [`Self::happened`].
    #[inline(always)]
    pub fn take_hand_over(&mut self) -> Option<(u64, bool)> {
        match self.reader.next {
            Some((at, Entry::HandOver(version))) if at == self.count() + 1 && self.busy == 0 && !self.live => {
                self.begin();
                let among = self.reader.advance_near();
                if among {
                    // Before the wait, so that it takes no time behind it. Until then this event is stopped at anyway.
                    self.stop = self.reader.stop();
                } else {
                    self.reader.advance();
                }
                self.finish();
                Some((version, among))
            }
            _ => None,
        }
    }

    /// The event counts, and who waits for it is woken. Handlers that ran next come with [`Self::look_ahead`]; not if the
    /// next entry is a hand-over, too.
    #[inline(always)]
    pub fn counts(&mut self) {
        self.commit();
        self.tell_count();
        // SAFETY: seats live as long as the process.
        if let Some(seat) = unsafe { self.seat.as_ref() } {
            crate::park::reached(seat, self.count());
        }
    }

    /// Passes over soft entries that stand before the next event; signals among them are delivered.
    fn pass_soft(&mut self) {
        self.pass_soft_but(|_| false);
    }

    /// The same, up to a signal that is not to be delivered yet.
    fn pass_soft_but(&mut self, is_later: fn(&Signal) -> bool) {
        while let Some((at, entry)) = self.reader.next {
            if !entry.is_soft() || at > self.count() + 1 {
                return;
            }
            match entry {
                Entry::Signal(signal) => {
                    if is_later(&signal) {
                        return;
                    }
                    signals::wait_for(&signal);
                    self.reader.advance();
                    signals::deliver(self, signal);
                }
                Entry::Halts { thread, count, .. } => self.halts(thread, count),
                Entry::Asks { thread } => {
                    self.halt.asks = thread;
                    self.reader.advance();
                }
                _ => self.reader.advance(),
            }
        }
    }

    /// Halts, as the next entry says.
    fn halts(&mut self, thread: u32, count: u64) {
        self.reader.advance();
        halt::replay(self, thread, count);
    }

    /// Whether the next event has a result of `op` on the tape: then it is an event, otherwise it is none.
    pub fn next_is(&self, op: Op) -> bool {
        self.next_result(op).is_some()
    }

    /// The result of `op` that the next event has on the tape.
    pub fn next_result(&self, op: Op) -> Option<i64> {
        match self.reader.next {
            Some((at, Entry::Result(recorded, code))) if at == self.count() + 1 && recorded == op && !self.live => {
                Some(code)
            }
            _ => None,
        }
    }

    /// Whether it is this thread that makes the variable of `guard` next. The order in which it came to be its turn may
    /// stand before the result on the tape.
    pub fn makes(&mut self, guard: i64) -> bool {
        let due = |at: u64, count: u64| at == count + 1;
        if let Some((at, Entry::Edge { .. })) = self.reader.next
            && due(at, self.count())
        {
            return self.reader.peek_result() == Some((Op::Once as u8, guard));
        }
        self.next_result(Op::Once) == Some(guard)
    }

    /// Whether a sleep that comes now was ended by a signal or a cancellation; handlers run then.
    pub fn is_woken(&mut self) -> bool {
        self.begin();
        let woken = self.wake_up();
        self.finish();
        woken
    }

    fn wake_up(&mut self) -> bool {
        while let Some((at, entry)) = self.reader.next {
            if at > self.count() + 1 || self.live {
                return false;
            }
            match entry {
                Entry::Slept(many) if u64::from(self.rests().sleeps) < many => return false,
                Entry::Slept(_) => self.reader.advance(),
                // One that did not come inside had come before.
                Entry::Signal(signal) if signal.number & INSIDE != 0 || self.releases >= signal.releases => {
                    signals::wait_for(&signal);
                    self.reader.advance();
                    signals::deliver(self, signal);
                }
                _ => break,
            }
        }
        self.next_is(Op::Sleep)
    }

    /// The event happened: commits it and looks ahead. A signal that was handled next is delivered now, so that a
    /// program which only waits for it, without any event, goes on.
    pub fn happened(&mut self) {
        self.counts();
        self.look_ahead();
    }

    /// Where the short cuts must stop: before the next entry, and where a handler is due.
    pub fn set_stops(&mut self) {
        self.stop = self.reader.stop();
        self.release_stop = match self.reader.next {
            Some((at, Entry::Signal(signal))) if at <= self.count() + 1 => signal.releases,
            Some((at, Entry::Halts { place: Place::Behind { releases, .. }, .. })) if at <= self.count() + 1 => {
                releases
            }
            _ => u64::MAX,
        };
        if self.next_unlock().is_some() {
            self.fast.store(fast::NONE, Relaxed);
        }
    }

    /// What comes of it, if the next event is that this thread unlocks a mutex that it does not have.
    pub fn next_unlock(&self) -> Option<i64> {
        let (op, code) = match self.reader.next {
            Some((at, _)) if at != self.count() + 1 || self.live => return None,
            Some((_, Entry::Result(op, code))) => (op as u8, code),
            Some((_, entry)) if entry.is_soft() => self.reader.peek_result()?,
            _ => return None,
        };
        (op == Op::MutexUnlock as u8).then_some(code)
    }

    /// The thread is about to release an object: handlers that ran before it run now. So none can come in the middle of it.
    #[inline(always)]
    pub fn about_to_release(&mut self) {
        if self.is_due() && self.busy == 0 && !self.live {
            self.wait_for_due();
        }
    }

    #[cold]
    #[inline(never)]
    fn wait_for_due(&mut self) {
        self.begin();
        while let Some((at, Entry::Signal(signal))) = self.reader.next {
            let is_inside = signal.number & INSIDE != 0 || self.is_own_call(&signal);
            if at > self.count() + 1 || is_inside || self.releases < signal.releases || signals::is_full(self) {
                break;
            }
            signals::wait_for(&signal);
            self.reader.advance();
            signals::deliver(self, signal);
        }
        self.set_stops();
        self.finish();
    }

    /// What a thread sends itself comes by itself, inside the call that sends it.
    fn is_own_call(&self, signal: &Signal) -> bool {
        signal.sender == self.number && signal.sent_at >= self.count()
    }

    /// The thread has released an object, and woken who waits for it: a handler that is due only now runs.
    #[inline]
    pub fn released(&mut self) {
        if self.is_due() && self.busy == 0 && !self.live {
            self.look_ahead();
        }
    }

    /// The signal whose handler is due, as soon as it is sent.
    pub fn due_signal(&self) -> Option<i32> {
        match self.reader.next {
            Some((_, Entry::Signal(signal))) if self.is_due() && !self.live => Some(i32::from(signal.number & !INSIDE)),
            _ => None,
        }
    }

    /// Whether as much has been released as there was when the next handler ran.
    #[inline(always)]
    pub fn is_due(&self) -> bool {
        self.releases >= self.release_stop
    }

    /// The thread is about to end: handlers that ran after its last event run now.
    pub fn settle(&mut self) {
        if !self.live && self.reader.polls_left == 0 {
            self.begin();
            self.pass_soft();
            self.finish();
        }
    }

    /// As many sleeps have ended as there were: what comes next is due.
    fn pass_slept(&mut self) {
        while let Some((at, Entry::Slept(many))) = self.reader.next {
            if at > self.count() + 1 || u64::from(self.rests().sleeps) < many {
                break;
            }
            self.reader.advance();
        }
    }

    /// Sets the next stop and delivers signals that are due now.
    pub fn look_ahead(&mut self) {
        self.begin();
        self.pass_slept();
        while let Some((at, entry)) = self.reader.next {
            if at > self.count() + 1 || self.live {
                break;
            }
            let signal = match entry {
                Entry::Signal(signal) if signal.number & INSIDE == 0 => signal,
                Entry::Halts { thread, count, place: Place::Behind { releases, worked_us } }
                    if self.releases >= releases =>
                {
                    self.reader.advance();
                    halt::replay_behind(self, thread, count, worked_us);
                    continue;
                }
                _ => break,
            };
            if self.is_own_call(&signal) || self.releases < signal.releases {
                break;
            }
            // The rest of a burst that the program blocks stays on the tape until some of it has been let in.
            if signals::is_full(self) || !signals::is_sent(&signal) && !signals::arrives(&signal) {
                break;
            }
            self.reader.advance();
            signals::deliver(self, signal);
        }
        self.set_stops();
        self.finish();
    }

    /// Whether the tape has no more events.
    pub fn is_at_end(&self) -> bool {
        self.count() >= self.reader.total && !self.live
    }

    /// Whether a handler ran inside the call that comes now; those that ran before it run.
    pub fn is_handled_inside(&mut self) -> bool {
        if self.live || self.reader.polls_left > 0 {
            return false;
        }
        self.begin();
        self.pass_soft_but(|signal| signal.number & INSIDE != 0);
        self.finish();
        self.is_signal_next()
    }

    /// Whether a handler ran before the next event.
    pub fn is_signal_next(&self) -> bool {
        matches!(self.reader.next, Some((at, Entry::Signal(_))) if at <= self.count() + 1)
    }

    /// After how many uses of a stream by which other thread this one's next use came, if the tape says so.
    pub fn recorded_after(&mut self) -> Option<(u32, u64)> {
        let mut found = None;
        self.begin();
        while let Some((at, Entry::After { own, thread, uses })) = self.reader.next {
            if at > self.count() + 1 || own > self.uses + 1 || self.live {
                break;
            }
            found = Some((thread, uses));
            self.reader.advance();
        }
        self.uses += 1;
        self.finish();
        self.look_ahead();
        found
    }

    /// The recorded value of clock `id`, if the tape has one here. Clock values that this run did not ask for are passed
    /// over; those that it asks for beyond the tape are the caller's to make up.
    pub fn recorded_clock(&mut self, wanted: u8) -> Option<i64> {
        if self.live {
            return None;
        }
        self.begin();
        let ns = self.next_clock(wanted);
        self.finish();
        self.look_ahead();
        ns
    }

    fn next_clock(&mut self, wanted: u8) -> Option<i64> {
        while let Some((at, entry)) = self.reader.next {
            if at > self.count() + 1 {
                return None;
            }
            match entry {
                Entry::Clock { id, ns } => {
                    self.reader.advance();
                    if id == wanted {
                        return Some(ns);
                    }
                }
                Entry::Signal(signal)
                    if self.releases < signal.releases || signals::is_full(self) || !signals::is_sent(&signal) =>
                {
                    return None;
                }
                Entry::Signal(signal) => {
                    self.reader.advance();
                    signals::deliver(self, signal);
                }
                Entry::Halts { thread, count, place: Place::Before } => self.halts(thread, count),
                Entry::After { .. } | Entry::Slept(_) | Entry::Outward { .. } => self.reader.advance(),
                _ => return None,
            }
        }
        None
    }
}
