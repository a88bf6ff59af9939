//! What came of calls that wait for the outside: how many bytes, which descriptors, or nothing.
//!
//! They are no events, since a program that was changed a little may read once more or less. So what came of one is told by its
//! sort and by how many of that sort its thread had made since its last event. A replay looks for it there; calls that the
//! tape does not tell of came out as they do by themselves: a read brought all that it was asked for.
//!
//! Entries are read beside the events ([`crate::entries`]), up to the event that is under way, and kept until their call comes
//! or the thread is past them.

use crate::entries::Entries;
use crate::process;
use crate::thread::Thread;
use retake_tape::entry::{Came, Entry, ROOM, write};
use retake_tape::layout::MINOR_CAME;

/// So many that were read wait for their call.
const KEPT: usize = 16;

/// What the tape tells of calls that have not come yet.
pub struct Ahead {
    entries: Entries,
    /// The event of the last entry that was read.
    event: u64,
    kept: [Option<(u64, Came<'static>)>; KEPT],
    many: usize,
    /// The event since which what comes is not what came.
    lost: u64,
}

impl Ahead {
    pub const fn new() -> Ahead {
        Ahead { entries: Entries::new(), event: 0, kept: [None; KEPT], many: 0, lost: u64::MAX }
    }

    /// What the tape tells of that call before `event`. What stands between is kept for calls of other sorts. Behind its end the
    /// recorded thread may have been killed, or the call may be none of its own any more.
    fn find(&mut self, chain: u64, event: u64, sort: u8, call: u64) -> Told {
        let is_left =
            |at: u64, came: &Came<'_>| at > event || at == event && (came.sort != sort || call < came.behind());
        self.retain(is_left);
        loop {
            let is_of_sort = |kept: &&(u64, Came<'_>)| kept.0 == event && kept.1.sort == sort;
            if let Some((_, came)) = self.kept[..self.many].iter().flatten().find(is_of_sort) {
                return if came.call <= call { Told::So(*came) } else { Told::Plain };
            }
            // The tape has its entries in the order of the calls: what does not come soon is not there.
            if self.event > event || self.many == KEPT {
                return Told::Plain;
            }
            let Some((at, entry)) = self.entries.next(chain) else { return Told::Nothing };
            self.event = at;
            if let Entry::Came(came) = entry
                && is_left(at, &came)
            {
                self.kept[self.many] = Some((at, came));
                self.many += 1;
            }
        }
    }

    /// Gives up what does not stay.
    fn retain(&mut self, stays: impl Fn(u64, &Came<'_>) -> bool) {
        let mut many = 0;
        for index in 0..self.many {
            if let Some((at, came)) = self.kept[index]
                && stays(at, &came)
            {
                self.kept[many] = Some((at, came));
                many += 1;
            }
        }
        self.many = many;
    }
}

impl Default for Ahead {
    fn default() -> Self {
        Ahead::new()
    }
}

/// What a replay knows of how a call came out.
pub enum Told {
    /// So.
    So(Came<'static>),
    /// As it does by itself.
    Plain,
    /// Nothing.
    Nothing,
}

impl Thread {
    /// Replay: what came of the next call of that sort, which counts from now on.
    pub fn told_of(&mut self, sort: u8) -> Told {
        let call = self.rests().calls[usize::from(sort)];
        self.rests().calls[usize::from(sort)] += 1;
        if self.live || process::get().recorded_minor < MINOR_CAME {
            return Told::Nothing;
        }
        let Some(chain) = self.chain() else { return Told::Nothing };
        let event = self.count() + 1;
        self.begin();
        let told = self.ahead.find(chain, event, sort, call);
        let is_lost = self.ahead.lost == event;
        self.finish();
        if is_lost && matches!(told, Told::Plain) { Told::Nothing } else { told }
    }

    /// Replay: what was waited for did not come. Up to the next event other calls may not be those that the tape counts.
    pub fn is_lost(&mut self) {
        self.ahead.lost = self.count() + 1;
    }

    /// Recording: this came of a call, the next of its sort. Calls in a row that found nothing cost no more tape than the first.
    pub fn came(&mut self, sort: u8, answer: i64, found: &[u8]) {
        let (event, call) = (self.count() + 1, self.rests().calls[usize::from(sort)]);
        let came = Came { sort, call, times: 1, answer, found };
        let (position, last) = (self.writer.position(), self.writer.last_four());
        let row = &mut self.writer.in_vain;
        let is_next = row.position == position && row.event == event && (row.sort, row.answer) == (sort, answer);
        if came.is_nothing() && is_next && row.call + u64::from(row.times) == call && row.times < u32::MAX {
            row.times += 1;
            // SAFETY: the last four bytes of the last entry, in a chunk that is still mapped and this thread's alone.
            return unsafe { last.cast::<u32>().write_unaligned(row.times.to_le()) };
        }
        // SAFETY: `put` gives the room.
        self.put(ROOM + found.len(), |context, to, event| unsafe { write::came(context, to, event, came) });
        if came.is_nothing() {
            let position = self.writer.position();
            self.writer.in_vain = InVain { position, event, sort, answer, call, times: 1 };
        }
    }
}

/// The entry of calls in a row that found nothing, if nothing was written behind it.
pub struct InVain {
    position: usize,
    event: u64,
    sort: u8,
    answer: i64,
    call: u64,
    times: u32,
}

impl InVain {
    pub const NONE: InVain = InVain { position: 0, event: 0, sort: 0, answer: 0, call: 0, times: 0 };
}
