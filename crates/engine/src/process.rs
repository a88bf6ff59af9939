//! This process's part in a run: its mode, its files, its place in the tree.
//!
//! Written once at the start (and again in a forked child, where one thread is left); read by everyone.

use crate::end;
use crate::halt;
use crate::messages::Expected;
use crate::pids;
use crate::settled;
use crate::stops;
use crate::store::{Beginning, PATH_MAX, Path, Store};
use crate::sys;
use crate::thread::{self, NAME_MAX, Thread, fast};
use crate::tls;
use core::ptr::null_mut;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicU32, AtomicU64};
use libc::c_int;
use retake_tape::choices;
use retake_tape::layout::{ThreadHeader, born, kind, state};
use retake_tape::schedule;
use retake_tape::session::{self, Session, fate, flag};
use retake_tape::walk;

/// Longest path of a take or session: what is made of it must fit on a small stack.
const LONGEST: usize = 760;

/// What this process does with its events.
pub mod mode {
    pub const OFF: u32 = 0;
    pub const RECORD: u32 = 1;
    pub const REPLAY: u32 = 2;
}

static MODE: AtomicU32 = AtomicU32::new(mode::OFF);

/// What this process does with its events: see [`mode`].
#[inline(always)]
pub fn mode() -> u32 {
    MODE.load(Relaxed)
}

/// A thread of the recording, waiting to be played again. Its count changes with each event of its own: no line of the cache is to
/// hold two of them.
#[repr(C, align(128))]
pub struct Seat {
    pub number: u32,
    /// Where its tape begins.
    pub at: u64,
    pub total: u64,
    /// The present count is in here.
    pub header: ThreadHeader,
    /// The least count that somebody waits for, the lower half of it; 0: nobody does.
    pub wanted: AtomicU32,
    /// The handle of the thread that it is about to send a signal; 0: none.
    pub sends_to: AtomicU64,
    /// Uses of streams so far.
    pub uses: AtomicU64,
    /// The last event of its for which a thread halted, or could go on: see [`crate::halt`].
    pub halted_for: AtomicU64,
    pub went_on: AtomicU64,
    pub due: halt::Due,
    /// What its receives from anyone got.
    pub expected: Expected,
}

/// Everything about this process that is not a thread's.
pub struct Process {
    pub tape: Store,
    pub rich: Store,
    pub session: *mut Session,
    /// This process's id, to notice a child that shares our memory (`vfork`).
    pub pid: u32,
    /// The id that the program is shown.
    pub shown_pid: u32,
    pub shown_parent: u32,
    /// How the recorded process ended: see [`state`].
    pub recorded_state: u32,
    pub recorded_by: u32,
    /// The minor version of its tape's format.
    pub recorded_minor: u16,
    /// Where this process's fate is told in the session.
    fate: usize,
    /// Its tape (replay).
    pub bytes: &'static [u8],
    seats: *mut Seat,
    seats_len: usize,
    take: [u8; PATH_MAX],
    take_len: usize,
    session_path: [u8; PATH_MAX],
    session_len: usize,
    name: [u8; NAME_MAX],
    name_len: usize,
    pub processors: u32,
    /// A mutex's layout is the expected one, so that it may be taken without libc.
    pub short_cut: bool,
    pub foreign: AtomicU32,
    /// More than one thread has existed.
    pub threaded: bool,
}

struct Global(core::cell::UnsafeCell<Process>);
// SAFETY: written only while one thread runs; otherwise through atomics and under locks.
unsafe impl Sync for Global {}

static PROCESS: Global = Global(core::cell::UnsafeCell::new(Process {
    tape: Store::new(),
    rich: Store::new(),
    session: null_mut(),
    pid: 0,
    shown_pid: 0,
    shown_parent: 0,
    recorded_state: 0,
    recorded_by: 0,
    recorded_minor: 0,
    fate: usize::MAX,
    bytes: &[],
    seats: null_mut(),
    seats_len: 0,
    take: [0; PATH_MAX],
    take_len: 0,
    session_path: [0; PATH_MAX],
    session_len: 0,
    name: [0; NAME_MAX],
    name_len: 0,
    processors: 1,
    short_cut: false,
    foreign: AtomicU32::new(0),
    threaded: false,
}));

/// The process.
#[inline(always)]
pub fn get() -> &'static mut Process {
    // SAFETY: see `Global`.
    unsafe { &mut *PROCESS.0.get() }
}

/// What a process is told at its start.
pub struct Start<'a> {
    pub replay: bool,
    pub take: &'a [u8],
    pub session: &'a [u8],
    pub name: &'a [u8],
    pub born: u32,
    pub short_cut: bool,
}

impl Process {
    /// The take's directory.
    pub fn take(&self) -> &[u8] {
        &self.take[..self.take_len]
    }

    /// The session file's path.
    pub fn session_path(&self) -> &[u8] {
        &self.session_path[..self.session_len]
    }

    /// The process's name.
    pub fn name(&self) -> &[u8] {
        &self.name[..self.name_len]
    }

    /// The session, shared with the other processes.
    pub fn session(&self) -> Option<&'static Session> {
        // SAFETY: mapped at the start and never unmapped.
        unsafe { self.session.as_ref() }
    }

    /// Whether the session has `flag`.
    pub fn has(&self, flag: u32) -> bool {
        self.session().is_some_and(|session| session.flags.load(Relaxed) & flag != 0)
    }

    /// Whether everything is noted, for a person to read.
    pub fn is_rich(&self) -> bool {
        !self.rich.header().is_null() && self.has(flag::RICH)
    }

    /// The recorded thread of that number.
    pub fn seat(&self, number: u32) -> Option<&'static mut Seat> {
        // SAFETY: the seats live as long as the process.
        let seats = unsafe { core::slice::from_raw_parts_mut(self.seats, self.seats_len) };
        let index = seats.binary_search_by_key(&number, |seat| seat.number).ok()?;
        seats.get_mut(index)
    }

    /// All recorded threads.
    pub fn seats(&self) -> &'static [Seat] {
        if self.seats.is_null() {
            return &[];
        }
        // SAFETY: the seats live as long as the process.
        unsafe { core::slice::from_raw_parts(self.seats, self.seats_len) }
    }

    /// The schedule in the take, mapped; none if it is not what it should be.
    pub fn map_schedule(&self) -> Option<&'static mut schedule::Header> {
        let mut room = [0u8; 1024];
        let mut path = Path { to: &mut room, length: 0 };
        if !path.push(self.take()).push(b"/").push(schedule::FILE.as_bytes()).finish() {
            return None;
        }
        let (at, size) = map_shared(&room, size_of::<schedule::Header>());
        // SAFETY: null, or as long as the file; checked before it is used as more than a header.
        let header = unsafe { at.cast::<schedule::Header>().as_mut()? };
        let length = header.length as usize;
        let whole = length <= schedule::STEPS_MAX && size >= schedule::size(length);
        (header.magic == schedule::MAGIC && whole).then_some(header)
    }

    /// The choices file in the take, mapped, and its length; none if it is not what it should be.
    pub fn map_choices(&self) -> Option<(&'static choices::Header, usize)> {
        let mut room = [0u8; 1024];
        let mut path = Path { to: &mut room, length: 0 };
        if !path.push(self.take()).push(b"/").push(choices::FILE.as_bytes()).finish() {
            return None;
        }
        let (at, size) = map_shared(&room, size_of::<choices::Header>());
        // SAFETY: null, or as long as the file.
        let header = unsafe { at.cast::<choices::Header>().as_ref()? };
        (header.magic == choices::MAGIC).then_some((header, size))
    }

    fn set_name(&mut self, name: &[u8]) {
        self.name_len = name.len().min(NAME_MAX);
        self.name[..self.name_len].copy_from_slice(&name[..self.name_len]);
    }
}

/// Begins: called once, before anything else of the program runs. False leaves the process unrecorded.
pub fn start(start: &Start<'_>) -> bool {
    let process = get();
    if start.take.len() > LONGEST || start.session.len() > LONGEST || start.name.len() > NAME_MAX {
        return false;
    }
    process.take_len = start.take.len();
    process.take[..start.take.len()].copy_from_slice(start.take);
    process.session_len = start.session.len();
    process.session_path[..start.session.len()].copy_from_slice(start.session);
    process.set_name(start.name);
    process.processors = sys::processors();
    process.short_cut = start.short_cut;
    process.session = map_session(process.session_path());
    if process.session.is_null() {
        return false;
    }
    if let Some(session) = process.session() {
        session.processes.fetch_add(1, AcqRel);
    }
    if process.has(flag::BOARD) {
        stops::open(process.session_path());
    }
    if start.born == born::TASK && !start.replay {
        // Several tasks are spawned by one call, with one environment.
        let mut name = [0u8; NAME_MAX];
        let mut path = Path { to: &mut name, length: 0 };
        path.push(start.name).push(&[session::UNPLACED]).push_number(next_number().into());
        let length = path.length.min(NAME_MAX);
        process.set_name(&name[..length]);
    }
    begin(start.replay, start.born)
}

/// In a forked child, the thread that forked goes on as the main thread of a new process.
pub fn forked() {
    let replay = mode() == mode::REPLAY;
    if mode() == mode::OFF {
        return;
    }
    let Some(thread) = thread::current() else { return };
    let mut name = [0u8; NAME_MAX];
    let length = thread::child_name(&mut name, thread.name(), thread.creations);
    let process = get();
    process.set_name(&name[..length]);
    thread::forget_others(thread);
    crate::park::reset();
    crate::halt::reset();
    crate::deadlock::reset();
    crate::schedule::reset();
    crate::baton::reset();
    settled::reset();
    crate::objects::reset();
    crate::messages::reset();
    tls::set(null_mut());
    thread.in_use.store(0, Release);
    if let Some(session) = process.session() {
        session.processes.fetch_add(1, AcqRel);
    }
    begin(replay, born::FORK);
}

/// A copy of this process, made while it was recorded, is to play from now on; `session` is the file of its run. The page
/// is mapped where the old one was, since others know its place.
pub(crate) fn change_session(session: &[u8]) -> bool {
    let process = get();
    let mut room = [0u8; 1024];
    let mut path = Path { to: &mut room, length: 0 };
    if session.len() > LONGEST || process.session.is_null() || !path.push(session).finish() {
        return false;
    }
    let Some(fd) = open(&room, libc::O_RDWR) else { return false };
    let protection = (libc::PROT_READ | libc::PROT_WRITE) as usize;
    let flags = (libc::MAP_SHARED | libc::MAP_FIXED) as usize;
    // SAFETY: the page that lies there is replaced by one of the same kind; the command line made the file long enough.
    let mapped = unsafe {
        let mapped = sys::mmap(process.session as usize, size_of::<Session>(), protection, flags, fd, 0);
        sys::close(fd);
        mapped
    };
    process.session_len = session.len();
    process.session_path[..session.len()].copy_from_slice(session);
    sys::error(mapped).is_none()
}

/// From here on this process plays.
pub(crate) fn set_replay() {
    MODE.store(mode::REPLAY, Release);
}

/// This process takes no further part.
pub fn leave() {
    MODE.store(mode::OFF, Release);
    if let Some(thread) = thread::current() {
        thread.fast.store(fast::NONE, Release);
    }
}

fn begin(replay: bool, born: u32) -> bool {
    let process = get();
    process.pid = sys::getpid_now();
    process.shown_pid = process.pid;
    process.threaded = false;
    process.foreign.store(0, Relaxed);
    let begun = if replay { begin_replay() } else { begin_record(born) };
    if begun {
        MODE.store(if replay { mode::REPLAY } else { mode::RECORD }, Release);
        begin_second();
    } else {
        MODE.store(mode::OFF, Release);
        return false;
    }
    let thread = thread::fresh();
    if thread.is_null() {
        return false;
    }
    // SAFETY: the thread is fresh and ours.
    let thread = unsafe { &mut *thread };
    thread.set_name(process.name(), 0);
    let number = if replay { main_number() } else { next_number() };
    let creation = Creation { number, parent: 0, index: 0, born, start: 0, pcs: [0; 6] };
    adopt(thread, &creation);
    tls::set(thread);
    stops::begun(thread);
    crate::serial::begin(thread);
    if replay {
        settled::begin(thread);
    } else {
        crate::schedule::begin(thread);
    }
    true
}

fn begin_record(born: u32) -> bool {
    let process = get();
    let name_len = process.name_len;
    let beginning = Beginning {
        kind: kind::TAPE,
        name: &process.name[..name_len],
        born,
        at_random: at_random().map_or([0; 16], |at| *at),
    };
    // SAFETY: one thread runs.
    let made = unsafe { process.tape.create(&process.take[..process.take_len], session::TAPE_ENDING, &beginning) };
    if let Err(error) = made {
        cut(error);
    }
    made.is_ok()
}

/// The second file: rich events, or what is exchanged, if that is to be kept while the tape is being replayed.
fn begin_second() {
    let process = get();
    let (kind, ending) = match mode() {
        _ if process.has(flag::RICH) => (kind::RICH, session::RICH_ENDING),
        mode::REPLAY if process.has(flag::FULL) => (kind::TAPE, session::KEPT_ENDING),
        _ => return,
    };
    let name_len = process.name_len;
    let beginning = Beginning { kind, name: &process.name[..name_len], born: 0, at_random: [0; 16] };
    let path = &process.session_path[..process.session_len];
    let directory = path.iter().rposition(|byte| *byte == b'/').map_or(&path[..0], |at| &path[..at]);
    process.rich = Store::new();
    // SAFETY: one thread runs.
    let _ = unsafe { process.rich.create(directory, ending, &beginning) };
}

pub(crate) fn begin_replay() -> bool {
    crate::park::begin();
    let process = get();
    let mut room = [0u8; 1024];
    let mut path = Path { to: &mut room, length: 0 };
    path.push(process.take()).push(b"/").push(process.name()).push(session::TAPE_ENDING.as_bytes());
    let bytes = if path.finish() { map_file(&room) } else { &[] };
    let Ok(header) = walk::process(bytes) else {
        end::wait_to_be_killed();
        crate::report::no_tape(process.name());
    };
    process.bytes = bytes;
    process.shown_pid = header.pid;
    process.shown_parent = header.parent_pid;
    process.recorded_state = header.state.into_inner();
    process.recorded_by = header.ended_by.into_inner();
    process.recorded_minor = header.minor;
    if let Some(at) = at_random() {
        *at = header.at_random;
    }
    let threads = header.threads.into_inner() as usize;
    process.seats = sys::memory((threads + 1) * size_of::<Seat>()).cast();
    process.seats_len = 0;
    if process.seats.is_null() {
        return false;
    }
    let mut at = header.last_thread.into_inner();
    while at != 0 && process.seats_len < threads {
        let Ok((recorded, _)) = walk::thread(bytes, at) else { break };
        let previous = recorded.previous;
        let mut seat = Seat {
            number: recorded.number,
            at,
            total: recorded.count.load(Relaxed),
            header: recorded,
            wanted: AtomicU32::new(0),
            sends_to: AtomicU64::new(0),
            uses: AtomicU64::new(0),
            halted_for: AtomicU64::new(0),
            went_on: AtomicU64::new(0),
            due: halt::Due::default(),
            expected: Expected::default(),
        };
        seat.header.count = AtomicU64::new(0);
        // SAFETY: there is room for all threads.
        unsafe { process.seats.add(process.seats_len).write(seat) };
        process.seats_len += 1;
        at = previous;
    }
    // SAFETY: that many seats are written.
    let seats = unsafe { core::slice::from_raw_parts_mut(process.seats, process.seats_len) };
    seats.reverse();
    seats.sort_unstable_by_key(|seat| seat.number);
    process.fate = pids::pair(process.shown_pid, process.pid);
    if let Some(cell) = process.session().and_then(|session| session.fates.get(process.fate)) {
        // The image before this one had its own.
        cell.store(0, Release);
    }
    if process.recorded_state == state::OPEN {
        tell_fate(fate::KILLED);
    }
    process.seats_len > 0
}

/// Replay: tells the others something of this process: see [`fate`].
pub fn tell_fate(bits: u32) {
    let process = get();
    if let Some(cell) = process.session().and_then(|session| session.fates.get(process.fate)) {
        cell.fetch_or(bits, AcqRel);
    }
}

/// Replay: tells the others how long this process has looked whether it is its turn.
pub fn tell_looking(us: u32) {
    let process = get();
    if let Some(cell) = process.session().and_then(|session| session.looking_us.get(process.fate)) {
        cell.store(us, Relaxed);
    }
}

/// Replay: this rank waits inside the library, by the thread `tid`.
pub fn waits_inside(tid: u32) {
    let process = get();
    if let Some(cell) = process.session().and_then(|session| session.waiting_tids.get(process.fate)) {
        cell.store(tid, Relaxed);
    }
    tell_fate(fate::WAITS);
}

/// Replay: this rank has come out of a wait.
pub fn came_out() {
    let process = get();
    if let Some(cell) = process.session().and_then(|session| session.fates.get(process.fate)) {
        cell.fetch_and(!fate::WAITS, AcqRel);
        cell.fetch_add(fate::STEP, AcqRel);
    }
}

/// How a thread came to be.
pub struct Creation {
    pub number: u32,
    pub parent: u32,
    pub index: u32,
    pub born: u32,
    pub start: u64,
    pub pcs: [u64; 6],
}

/// A process, or another image of this one, is about to be made. It may have no tape yet when its maker has ended.
pub fn announce() {
    if let Some(session) = get().session() {
        session.announced.fetch_add(1, AcqRel);
    }
}

/// A number for a thread that is being recorded.
pub fn next_number() -> u32 {
    get().session().map_or(1, |session| session.next_number.fetch_add(1, AcqRel))
}

fn main_number() -> u32 {
    get().seats().iter().find(|seat| seat.header.index == 0).map_or(0, |seat| seat.number)
}

/// Gives `thread` its tape: a fresh one while recording, the recorded one in a replay.
pub fn adopt(thread: &mut Thread, creation: &Creation) {
    let process = get();
    thread.number = creation.number;
    thread.tid = sys::gettid_now();
    // SAFETY: asks and does nothing.
    thread.pthread.store(unsafe { libc::pthread_self() }, Release);
    crate::deadlock::knows(thread);
    match mode() {
        mode::RECORD => register(thread, creation),
        mode::REPLAY => {
            if let Some(seat) = process.seat(creation.number) {
                thread.header = &raw mut seat.header;
                thread.seat = seat;
                let _ = thread.reader.open(process.bytes, seat.at);
                thread.set_stops();
                stops::adopt(thread);
            }
        }
        _ => {}
    }
    if !process.rich.header().is_null()
        && let Some((at, chunk)) = thread.rich.open(&mut process.rich, creation.number)
    {
        // SAFETY: the chunk is ours, with room for the header.
        unsafe { write_header(&mut process.rich, thread, creation, at, chunk.add(1).cast()) };
    }
    set_short_cut(thread);
}

/// Says which short cut `thread` may take.
pub fn set_short_cut(thread: &Thread) {
    let process = get();
    let short = match mode() {
        _ if process.is_rich() || !process.short_cut || stops::is_on() => fast::NONE,
        _ if process.has(flag::FOLLOW | flag::EXPLORE | flag::BATON | flag::SETTLED | flag::SERIAL) => fast::NONE,
        mode::RECORD if thread.held.waits() => fast::NONE,
        mode::RECORD if thread.writer.is_open() => fast::RECORD,
        mode::REPLAY if !thread.live && thread.next_unlock().is_none() => fast::REPLAY,
        _ => fast::NONE,
    };
    thread.fast.store(short, Release);
}

fn register(thread: &mut Thread, creation: &Creation) {
    let process = get();
    let Some((at, chunk)) = thread.writer.open(&mut process.tape, creation.number) else { return };
    // SAFETY: the chunk is ours, with room for the header.
    unsafe {
        thread.header = chunk.add(1).cast();
        let header = thread.header;
        write_header(&mut process.tape, thread, creation, at, header);
    }
}

unsafe fn write_header(store: &mut Store, thread: &Thread, creation: &Creation, at: u64, to: *mut ThreadHeader) {
    // SAFETY: the caller gives a fresh header; the store has a file.
    unsafe {
        (*to).number = creation.number;
        (*to).parent = creation.parent;
        (*to).index = creation.index;
        (*to).born = creation.born;
        (*to).tid = thread.tid;
        (*to).start = creation.start;
        (*to).pcs = creation.pcs;
        let file = &*store.header();
        file.threads.fetch_add(1, AcqRel);
        let mut last = file.last_thread.load(Acquire);
        loop {
            (*to).previous = last;
            match file.last_thread.compare_exchange_weak(last, at, AcqRel, Acquire) {
                Ok(_) => break,
                Err(now) => last = now,
            }
        }
    }
}

/// Ends the recording of this process because `error` happened. The program goes on.
#[cold]
pub fn cut(error: c_int) {
    let process = get();
    MODE.store(mode::OFF, Release);
    thread::each(|thread| thread.fast.store(fast::NONE, Release));
    // SAFETY: the header is mapped, or null.
    if let Some(header) = unsafe { process.tape.header().as_ref() } {
        header.cut_errno.store(error as u32, Relaxed);
        header.state.store(state::CUT, Release);
    }
    if let Some(session) = process.session() {
        session.cuts.fetch_add(1, AcqRel);
    }
}

fn at_random() -> Option<&'static mut [u8; 16]> {
    // SAFETY: the kernel put 16 bytes there, on the stack.
    unsafe { (libc::getauxval(libc::AT_RANDOM) as *mut [u8; 16]).as_mut() }
}

fn open(path: &[u8], flags: c_int) -> Option<usize> {
    // SAFETY: the path ends in a zero byte.
    let fd =
        unsafe { sys::openat(libc::AT_FDCWD as usize, path.as_ptr() as usize, (flags | libc::O_CLOEXEC) as usize, 0) };
    (fd >= 0).then_some(fd as usize)
}

fn map_session(path: &[u8]) -> *mut Session {
    let mut room = [0u8; 1024];
    let mut full = Path { to: &mut room, length: 0 };
    if !full.push(path).finish() {
        return null_mut();
    }
    let at = map_shared(&room, size_of::<Session>()).0.cast::<Session>();
    // SAFETY: null, or a whole session.
    unsafe { if !at.is_null() && (*at).magic.load(Acquire) != session::MAGIC { null_mut() } else { at } }
}

/// Maps the file called `name` that lies beside the session at `session`: see [`map_shared`].
pub fn map_beside(session: &[u8], name: &str, least: usize) -> (*mut u8, usize) {
    let directory = session.iter().rposition(|byte| *byte == b'/').map_or(0, |at| at + 1);
    let mut room = [0u8; 1024];
    let mut path = Path { to: &mut room, length: 0 };
    if !path.push(&session[..directory]).push(name.as_bytes()).finish() {
        return (null_mut(), 0);
    }
    map_shared(&room, least)
}

/// Maps the file at `path`, shared, and returns where and how long; null if it is shorter than `least`.
pub fn map_shared(path: &[u8], least: usize) -> (*mut u8, usize) {
    let Some(fd) = open(path, libc::O_RDWR) else { return (null_mut(), 0) };
    // SAFETY: a fresh shared map, as long as the file.
    unsafe {
        let mut stat: libc::stat = core::mem::zeroed();
        sys::fstat(fd, &raw mut stat as usize);
        let size = stat.st_size as usize;
        let protection = (libc::PROT_READ | libc::PROT_WRITE) as usize;
        let mut at = null_mut();
        if size >= least {
            let mapped = sys::mmap(sys::map_hint(size), size, protection, libc::MAP_SHARED as usize, fd, 0);
            if sys::error(mapped).is_none() {
                at = mapped as *mut u8;
            }
        }
        sys::close(fd);
        (at, size)
    }
}

fn map_file(path: &[u8]) -> &'static [u8] {
    let Some(fd) = open(path, libc::O_RDONLY) else { return &[] };
    // SAFETY: a fresh private map; its length is the file's.
    unsafe {
        let mut stat: libc::stat = core::mem::zeroed();
        sys::fstat(fd, &raw mut stat as usize);
        let length = stat.st_size as usize;
        let flags = libc::MAP_PRIVATE as usize;
        let at = sys::mmap(sys::map_hint(length), length.max(1), libc::PROT_READ as usize, flags, fd, 0);
        sys::close(fd);
        if sys::error(at).is_some() { &[] } else { core::slice::from_raw_parts(at as *const u8, length) }
    }
}
