//! The reading end of one thread's tape: the next entry, always one ahead.

use retake_tape::entry::{self, Context, Entry, Place};
use retake_tape::op::Op;
use retake_tape::walk::{self, Chunk};

pub struct Reader {
    bytes: &'static [u8],
    rest: &'static [u8],
    chunk: Option<Chunk<'static>>,
    context: Context,
    /// The next entry and its event, if there is one.
    pub next: Option<(u64, Entry<'static>)>,
    /// Events that the recorded thread committed.
    pub total: u64,
    /// Polls of the current run that are still to be answered, and their answer.
    pub polls_left: u32,
    pub polls_code: i64,
    pub polls_op: u8,
    /// Whether the recorded thread's function ended.
    pub ended: bool,
}

impl Reader {
    pub const fn new() -> Reader {
        Reader {
            bytes: &[],
            rest: &[],
            chunk: None,
            context: Context::new(),
            next: None,
            total: 0,
            polls_left: 0,
            polls_code: 0,
            polls_op: 0,
            ended: false,
        }
    }

    /// Starts at the chain at position `at` of the file in `bytes`.
    pub fn open(&mut self, bytes: &'static [u8], at: u64) -> Result<(), walk::Fault> {
        let (header, first) = walk::thread(bytes, at)?;
        *self = Reader::new();
        self.bytes = bytes;
        self.total = header.count.into_inner();
        self.ended = header.ended.into_inner() != 0;
        self.rest = first.payload;
        self.chunk = Some(first);
        self.advance();
        Ok(())
    }

    /// Starts in the middle of the chain at `at`: in the chunk at `chunk`, so many bytes behind its start, with what the
    /// writer remembered there.
    pub fn open_at(&mut self, bytes: &'static [u8], at: u64, chunk: u64, skip: usize, context: Context) -> bool {
        let Ok((header, _)) = walk::thread(bytes, at) else { return false };
        let Ok(chunk) = walk::chunk(bytes, chunk) else { return false };
        let Some(rest) = chunk.payload.get(skip..) else { return false };
        *self = Reader::new();
        self.bytes = bytes;
        self.total = header.count.into_inner();
        self.ended = header.ended.into_inner() != 0;
        self.rest = rest;
        self.chunk = Some(chunk);
        self.context = context;
        self.advance();
        true
    }

    /// Goes on to the next entry that a replay needs. The file was checked before the replay began; what does not decode
    /// ends the tape.
    pub fn advance(&mut self) {
        if !self.advance_near() {
            self.advance_far();
        }
    }

    /// The same, if the next entry is one of the usual ones. Whether it was.
    #[inline(always)]
    pub fn advance_near(&mut self) -> bool {
        match entry::read_near(&self.context, self.rest) {
            Some((event, version, length)) if event <= self.total => {
                (self.context.event, self.context.version) = (event, version);
                self.rest = &self.rest[length..];
                self.next = Some((event, Entry::HandOver(version)));
                true
            }
            _ => false,
        }
    }

    #[inline(never)]
    fn advance_far(&mut self) {
        loop {
            while self.rest.is_empty() {
                let next = self.chunk.as_ref().and_then(|chunk| walk::next(self.bytes, chunk).ok().flatten());
                let Some(next) = next else {
                    self.next = None;
                    return;
                };
                self.rest = next.payload;
                self.chunk = Some(next);
            }
            self.next = match entry::read(&mut self.context, &mut self.rest) {
                Ok(Some(Entry::Note(..) | Entry::Matches(_) | Entry::Came(_) | Entry::Unknown(_))) => continue,
                Ok(Some(entry)) if self.context.event <= self.total || entry.is_soft() => {
                    Some((self.context.event, entry))
                }
                _ => None,
            };
            return;
        }
    }

    /// The result that stands right behind the next entry, if it belongs to the same event and the same chunk.
    pub fn peek_result(&self) -> Option<(u8, i64)> {
        match self.peek() {
            Some(Entry::Result(op, code)) => Some((op as u8, code)),
            _ => None,
        }
    }

    /// What stands right behind the next entry, if it belongs to the same event and the same chunk.
    pub fn peek(&self) -> Option<Entry<'static>> {
        let (mut context, mut rest) = (self.context, self.rest);
        let mut entry = entry::read(&mut context, &mut rest).ok().flatten();
        while let Some(Entry::Came(_)) = entry {
            entry = entry::read(&mut context, &mut rest).ok().flatten();
        }
        entry.filter(|_| context.event == self.context.event)
    }

    /// The first event that needs more than a glance. The event before a signal does: its handler comes right after it; so
    /// does the one before a halt behind a release, and the one before unlocking what is another's, which must not be taken for unlocking one's own.
    pub fn stop(&self) -> u64 {
        let behind = self.total + 1;
        match self.next {
            _ if self.polls_left > 0 => 0,
            Some((
                event,
                Entry::Signal(_) | Entry::Halts { place: Place::Behind { .. }, .. } | Entry::Result(Op::MutexUnlock, _),
            )) => behind.min(event.saturating_sub(1)),
            Some((event, _)) => behind.min(event),
            None => behind,
        }
    }
}

impl Default for Reader {
    fn default() -> Self {
        Reader::new()
    }
}
