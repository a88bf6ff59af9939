//! Damage: a tape that was flipped, cut or scrambled is refused or reads exactly as before, and never makes a reader
//! crash.
//!
//! The tape is built here field by field, as a recorded program leaves it, and then sealed. In a sealed file everything
//! that is read stands under a checksum; only slack may change unnoticed.

use retake_tape::entry::{Context, INSIDE, ROOM, Signal, note, write};
use retake_tape::layout::{
    CHUNK_HEADER, CHUNK_MAGIC, ChunkHeader, HEADER_SIZE, MAGIC, MAJOR, MINOR, ProcessHeader, ThreadHeader, born, kind,
    payload_at, state,
};
use retake_tape::merge::with_notes;
use retake_tape::op::Op;
use retake_tape::reader::Tape;
use retake_tape::rich::{self, Message, Rich};
use retake_tape::seal::{chunk_crc, seal};
use retake_tape::walk::Fault;
use std::mem::offset_of;
use std::sync::atomic::Ordering::Relaxed;

const CHUNK: usize = 512;
const SMALL: usize = 256;
/// Where the chunks of the tape lie: two of the first thread's chain, one of the second's.
const FIRST: usize = HEADER_SIZE as usize;
const SECOND: usize = FIRST + CHUNK;
const OTHER: usize = SECOND + SMALL;
const END: usize = OTHER + CHUNK;

/// Everything that a reader can learn from a tape, as text.
fn content(bytes: &[u8]) -> Result<String, Fault> {
    let tape = Tape::new(bytes.to_vec())?;
    let header = &tape.header;
    let mut text = format!("{} {} {} {:?}\n", tape.name(), header.kind, header.pid, header.state);
    for thread in &tape.threads {
        text += &format!("{} {} {}:", thread.name, thread.events(), thread.header.start);
        let mut payload = tape.payload(thread);
        if header.kind == kind::TAPE {
            while let Some((event, entry)) = payload.next_entry().expect("checked before") {
                text += &format!(" {event} {entry:?}");
            }
        } else {
            while let Some(rich) = payload.next_rich().expect("checked before") {
                text += &format!(" {rich:?}");
            }
        }
        text += "\n";
    }
    Ok(text)
}

struct Builder(Vec<u8>);

impl Builder {
    fn put(&mut self, at: usize, what: &[u8]) {
        self.0[at..at + what.len()].copy_from_slice(what);
    }

    fn header(&mut self, kind: u32) {
        self.put(0, &MAGIC);
        self.put(offset_of!(ProcessHeader, major), &MAJOR.to_le_bytes());
        self.put(offset_of!(ProcessHeader, minor), &MINOR.to_le_bytes());
        self.put(offset_of!(ProcessHeader, kind), &kind.to_le_bytes());
        self.put(offset_of!(ProcessHeader, pid), &4711u32.to_le_bytes());
        self.put(offset_of!(ProcessHeader, state), &state::EXITED.to_le_bytes());
        self.put(offset_of!(ProcessHeader, threads), &2u32.to_le_bytes());
        self.put(offset_of!(ProcessHeader, next_free), &(END as u64).to_le_bytes());
        self.put(offset_of!(ProcessHeader, last_thread), &(OTHER as u64).to_le_bytes());
        self.put(offset_of!(ProcessHeader, name_len), &3u32.to_le_bytes());
        self.put(offset_of!(ProcessHeader, name), b"0.2");
    }

    fn chunk(&mut self, at: usize, size: usize, thread: u32, index: u32, payload: &[u8]) {
        self.put(at, &CHUNK_MAGIC.to_le_bytes());
        self.put(at + offset_of!(ChunkHeader, size), &(size as u32).to_le_bytes());
        self.put(at + offset_of!(ChunkHeader, thread), &thread.to_le_bytes());
        self.put(at + offset_of!(ChunkHeader, index), &index.to_le_bytes());
        self.put(at + offset_of!(ChunkHeader, used), &(payload.len() as u32).to_le_bytes());
        assert!(payload.len() <= size - payload_at(index));
        self.put(at + payload_at(index), payload);
    }

    fn thread(&mut self, chunk: usize, number: u32, parent: u32, index: u32, count: u64, previous: usize) {
        let at = chunk + CHUNK_HEADER;
        self.put(at + offset_of!(ThreadHeader, count), &count.to_le_bytes());
        self.put(at + offset_of!(ThreadHeader, number), &number.to_le_bytes());
        self.put(at + offset_of!(ThreadHeader, parent), &parent.to_le_bytes());
        self.put(at + offset_of!(ThreadHeader, index), &index.to_le_bytes());
        self.put(at + offset_of!(ThreadHeader, born), &born::THREAD.to_le_bytes());
        self.put(at + offset_of!(ThreadHeader, previous), &(previous as u64).to_le_bytes());
        self.put(at + offset_of!(ThreadHeader, start), &0x5555_0000u64.to_le_bytes());
    }

    /// Links the first chunk to the second and closes it, as the writer does when it is full.
    fn close(&mut self) {
        self.put(FIRST + offset_of!(ChunkHeader, next), &(SECOND as u64).to_le_bytes());
        let crc = chunk_crc(&self.0, FIRST as u64).expect("a good chunk");
        self.put(FIRST + offset_of!(ChunkHeader, crc), &crc.to_le_bytes());
        self.put(FIRST + offset_of!(ChunkHeader, closed), &1u32.to_le_bytes());
    }
}

/// What one of the functions of [`write`] puts down.
fn written(to: &mut Vec<u8>, write: impl FnOnce(*mut u8) -> *mut u8) {
    let mut room = [0u8; 4 * ROOM];
    let start = room.as_mut_ptr();
    let length = write(start) as usize - start as usize;
    to.extend_from_slice(&room[..length]);
}

/// A tape of two threads with every kind of entry, as a program leaves it behind.
fn light() -> Vec<u8> {
    let (mut one, mut two, mut other) = (Vec::new(), Vec::new(), Vec::new());
    let (mut mine, mut theirs) = (Context::new(), Context::new());
    let c = &mut mine;
    let signal = Signal {
        number: 14 | INSIDE,
        code: -6,
        pid: 4711,
        value: 1 << 60,
        sender: 2,
        sent_at: 3,
        is_just_behind: true,
        releases: 9,
    };
    // SAFETY: `written` gives room for an entry and a short string.
    unsafe {
        written(&mut one, |to| write::note(c, to, 1, note::FILE, &[b"/etc/hosts"]));
        written(&mut one, |to| write::created(c, to, 1, 2));
        written(&mut one, |to| write::hand_over(c, to, 5, 100));
        written(&mut one, |to| write::result(c, to, 6, Op::CondTimed, 110));
        written(&mut one, |to| write::polls(c, to, 7, Op::MutexTry, 16));
        written(&mut one, |to| write::clock(c, to, 9, 1, 1 << 60));
        written(&mut two, |to| write::clock(c, to, 9, 1, (1 << 60) + 40));
        written(&mut two, |to| write::hand_over(c, to, 9, 90));
        written(&mut two, |to| write::edge(c, to, 10, 2, 1 << 40));
        written(&mut two, |to| write::write_turn(c, to, 11, 91, 4));
        written(&mut two, |to| write::signal(c, to, 12, signal));
        let c = &mut theirs;
        written(&mut other, |to| write::after(c, to, 1, 9, 1, 700));
        written(&mut other, |to| write::slept(c, to, 2, 3));
        written(&mut other, |to| write::outward(c, to, 2, 4, false));
        written(&mut other, |to| write::bytes(c, to, 3, b"random"));
        // The last event was under way when the program ended: it does not count.
        written(&mut other, |to| write::hand_over(c, to, 5, 8));
    }
    let mut tape = Builder(vec![0; END]);
    tape.header(kind::TAPE);
    tape.chunk(FIRST, CHUNK, 1, 0, &one);
    tape.thread(FIRST, 1, 0, 0, 12, 0);
    tape.chunk(SECOND, SMALL, 1, 1, &two);
    tape.chunk(OTHER, CHUNK, 2, 0, &other);
    tape.thread(OTHER, 2, 1, 1, 4, FIRST);
    tape.close();
    tape.0
}

/// The same container with rich events in it.
fn developed() -> Vec<u8> {
    let event = |sequence, op| Rich {
        sequence,
        op,
        event: sequence / 2,
        object: 0x7fff_0000_1234,
        version: 12,
        result: -4,
        message: (sequence == 1).then_some(Message { call: 1, open: Some(4), source: 3, tag: 7, count: Some(1) }),
        pcs: [0x5555_0001, 0x5555_0002, 0, 0, 0, 0],
    };
    let mut payloads = [const { Vec::new() }; 3];
    for (index, payload) in payloads.iter_mut().enumerate() {
        // SAFETY: `written` gives as much room as a rich event needs.
        unsafe { written(payload, |to| rich::write(to, &event(index as u64, Op::MutexLock))) };
    }
    let mut tape = Builder(vec![0; END]);
    tape.header(kind::RICH);
    tape.chunk(FIRST, CHUNK, 1, 0, &payloads[0]);
    tape.thread(FIRST, 1, 0, 0, 0, 0);
    tape.chunk(SECOND, SMALL, 1, 1, &payloads[1]);
    tape.chunk(OTHER, CHUNK, 2, 0, &payloads[2]);
    tape.thread(OTHER, 2, 1, 1, 0, FIRST);
    tape.close();
    tape.0
}

const _: () = assert!(4 * ROOM >= rich::ROOM);

fn sealed(mut bytes: Vec<u8>) -> Vec<u8> {
    assert_eq!(seal(&mut bytes), Ok(END as u64));
    bytes
}

fn is_sealed(bytes: &[u8]) -> bool {
    let at = offset_of!(ProcessHeader, sealed);
    bytes[at..at + 4] != [0; 4]
}

#[test]
fn sealing_changes_no_content() {
    for bytes in [light(), developed()] {
        let good = sealed(bytes.clone());
        assert_eq!(content(&bytes), content(&good));
        assert_eq!(sealed(good.clone()), good, "sealed twice");
    }
}

#[test]
fn the_content_is_what_was_written() {
    let tape = Tape::new(sealed(light())).expect("a good tape");
    assert_eq!(tape.threads.iter().map(|thread| thread.name.as_str()).collect::<Vec<_>>(), ["0.2", "0.2.1"]);
    assert_eq!((tape.events(), tape.header.state.load(Relaxed)), (16, state::EXITED));
    let text = content(&sealed(light())).expect("a good tape");
    let first = "1 Note(1, [47, 101, 116, 99, 47, 104, 111, 115, 116, 115]) 1 Created(2) 5 HandOver(100) \
                 6 Result(CondTimed, 110) 7 Polls(MutexTry, 16, 1) 9 Clock { id: 1, ns: 1152921504606846976 } \
                 9 Clock { id: 1, ns: 1152921504606847016 } 9 HandOver(90) 10 Edge { thread: 2, count: 1099511627776 } \
                 11 WriteTurn { version: 91, readers: 4 } 12 Signal(";
    assert!(text.contains(first), "{text}");
    assert!(!text.contains("HandOver(8)"), "not committed: {text}");
}

#[test]
fn every_flipped_bit_is_found_or_harmless() {
    for bytes in [sealed(light()), sealed(developed())] {
        let good = content(&bytes);
        let mut accepted = 0;
        for at in 0..bytes.len() {
            for bit in 0..8 {
                let mut bad = bytes.clone();
                bad[at] ^= 1 << bit;
                let found = content(&bad);
                if found.is_ok() {
                    assert_eq!(found, good, "byte {at} bit {bit}");
                    accepted += 1;
                }
            }
        }
        // The first page is whole under its checksum; what may change is the slack of the chunks, and a few flags.
        assert!(accepted > 0 && accepted < 8 * (END - FIRST), "{accepted} flips accepted");
    }
}

#[test]
fn every_cut_is_found() {
    for bytes in [sealed(light()), sealed(developed())] {
        for length in 0..bytes.len() {
            assert!(content(&bytes[..length]).is_err(), "cut at {length}");
        }
        let mut longer = bytes.clone();
        longer.resize(bytes.len() + 4096, 0xAA);
        assert_eq!(content(&longer), content(&bytes), "what lies behind the end does not matter");
    }
}

/// A program that was killed leaves its file open: whatever is in it, sealing and reading end well.
#[test]
fn an_open_tape_with_any_bit_flipped_is_sealed_or_refused() {
    let bytes = light();
    for at in 0..bytes.len() {
        for bit in 0..8 {
            let mut bad = bytes.clone();
            bad[at] ^= 1 << bit;
            let _ = content(&bad);
            // A flip that makes it look sealed is left alone, and found when it is read.
            let open = !is_sealed(&bad);
            if seal(&mut bad).is_ok() && open {
                assert_ne!(content(&bad), Err(Fault::Checksum(0)), "byte {at} bit {bit}");
            }
        }
    }
    for length in 0..bytes.len() {
        let mut bad = bytes[..length].to_vec();
        let _ = content(&bad);
        let _ = seal(&mut bad);
    }
}

/// Knuth's generator; good enough to scramble with, and the same in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % below
    }

    /// A position; half of them in the parts of the headers that are not filling.
    fn position(&mut self, length: usize) -> usize {
        match self.roll(8) {
            0 => self.roll(128.min(length)),
            1 => (FIRST + self.roll(160)).min(length - 1),
            2 => (SECOND + self.roll(64)).min(length - 1),
            3 => (OTHER + self.roll(160)).min(length - 1),
            _ => self.roll(length),
        }
    }

    fn scramble(&mut self, bytes: &mut Vec<u8>) {
        for _ in 0..=self.roll(6) {
            if bytes.is_empty() {
                return;
            }
            let at = self.position(bytes.len());
            let length = (1 + self.roll(32)).min(bytes.len() - at);
            match self.roll(8) {
                0..3 => bytes[at] ^= 1 << self.roll(8),
                3 => bytes[at] = self.roll(256) as u8,
                4 => bytes[at..at + length].fill(0),
                5 => bytes[at..at + length].fill(0xFF),
                6 => {
                    let from = self.roll(bytes.len() - length + 1);
                    bytes.copy_within(from..from + length, at);
                }
                _ if self.roll(8) == 0 => bytes.truncate(at),
                _ => bytes.extend((0..length).map(|byte| byte as u8)),
            }
        }
    }
}

#[test]
fn scrambled_tapes_are_refused_or_read_the_same() {
    let mut dice = Dice(1986);
    for bytes in [sealed(light()), sealed(developed())] {
        let good = content(&bytes);
        for round in 0..100_000 {
            let mut bad = bytes.clone();
            dice.scramble(&mut bad);
            let found = content(&bad);
            // Without its seal a file has no checksum over its first page, and says so; the command line refuses it.
            if found.is_ok() && is_sealed(&bad) {
                assert_eq!(found, good, "round {round}");
            }
        }
    }
}

#[test]
fn scrambled_open_tapes_are_sealed_or_refused() {
    let mut dice = Dice(1987);
    let bytes = light();
    for _ in 0..100_000 {
        let mut bad = bytes.clone();
        dice.scramble(&mut bad);
        if let Ok(end) = seal(&mut bad) {
            bad.truncate(end as usize);
            let _ = content(&bad);
        }
    }
}

/// A tape that holds only notes, of the second thread.
fn kept(events: [u64; 4]) -> Tape {
    let (mut context, mut notes) = (Context::new(), Vec::new());
    for event in events {
        // SAFETY: `written` gives room for an entry and a short string.
        unsafe { written(&mut notes, |to| write::note(&mut context, to, event, note::CONTENTS, &[b"kept"])) };
    }
    let mut tape = Builder(vec![0; END]);
    tape.header(kind::TAPE);
    tape.chunk(FIRST, CHUNK, 1, 0, &[]);
    tape.thread(FIRST, 1, 0, 0, 0, 0);
    tape.chunk(SECOND, SMALL, 1, 1, &[]);
    tape.chunk(OTHER, CHUNK, 2, 0, &notes);
    tape.thread(OTHER, 2, 1, 1, 0, FIRST);
    tape.close();
    Tape::new(tape.0).expect("a good tape")
}

/// Notes are put between the entries of their thread by their events; all else reads as before.
#[test]
fn notes_are_put_onto_a_tape() {
    let mut old = light();
    seal(&mut old).expect("a good tape");
    let merged = with_notes(&old, &kept([1, 3, 3, 5])).expect("a good tape");
    let text = content(&merged).expect("it is sealed");
    let note = format!(" {:?}", retake_tape::entry::Entry::Note(note::CONTENTS, b"kept"));
    let events = |event: u64| text.matches(&format!(" {event}{note}")).count();
    assert_eq!([1, 2, 3, 4, 5].map(events), [1, 0, 2, 0, 1], "{text}");
    let without = [1, 3, 5].iter().fold(text, |text, event| text.replace(&format!(" {event}{note}"), ""));
    assert_eq!(without, content(&old).expect("it is sealed"));
    let nothing = with_notes(&old, &Tape::new(old.clone()).expect("a good tape")).expect("a good tape");
    assert!(content(&nothing).is_ok());
}
