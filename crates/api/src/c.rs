//! The library's C face: `include/retake.h`, function by function.
//!
//! Law: no panic and no Rust value crosses; a failure is a number, and its words are kept for the thread.

#![allow(clippy::missing_safety_doc)] // the header is their contract

use crate::carrier::set_transport;
use crate::crew::{Crew, Entered};
use crate::error::Error;
use crate::frame::is_name;
use crate::gate::Gate;
use crate::message::{Message, Partner};
use crate::mode::{EVERY, Mode, set_mode};
use crate::participant::{Participant, init};
use crate::report::tell;
use crate::writer::Writer;
use retake_tape::check::crc32c;
use std::cell::RefCell;
use std::ffi::{CStr, CString, OsStr, c_char, c_int, c_uint, c_void};
use std::os::unix::ffi::OsStrExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::ptr::{null, null_mut};
use std::sync::Mutex;
use std::time::{Duration, UNIX_EPOCH};

const MISUSE: c_int = -12;

thread_local! {
    static LAST: RefCell<CString> = RefCell::new(CString::default());
}

fn keep(words: &str) {
    let words = CString::new(words.replace('\0', "?")).unwrap_or_default();
    LAST.with(|last| *last.borrow_mut() = words);
}

fn misuse(words: &str) -> c_int {
    keep(words);
    MISUSE
}

fn number(error: &Error) -> c_int {
    keep(&error.to_string());
    match error {
        Error::BadName(_) => -1,
        Error::NameTaken(_) => -2,
        Error::NotThere(_) => -3,
        Error::Gone(_) => -4,
        Error::Gap(_) => -5,
        Error::NotACall(_) => -6,
        Error::TooLong(_) => -7,
        Error::Forked => -8,
        Error::Tape(_) => -9,
        Error::Setting(_) => -10,
        Error::System { .. } => -11,
        Error::Transport(_) => -13,
    }
}

/// Runs `body`; a panic is a misuse, not the end of a C program.
fn guarded<T>(failed: T, body: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|_| {
        keep("the library failed inside: please report it");
        failed
    })
}

fn time(timeout_ms: c_int) -> Option<Duration> {
    u64::try_from(timeout_ms).ok().map(Duration::from_millis)
}

unsafe fn text<'a>(text: *const c_char) -> Option<&'a str> {
    // SAFETY: the caller gives a C string or null.
    if text.is_null() { None } else { unsafe { CStr::from_ptr(text) }.to_str().ok() }
}

unsafe fn bytes<'a>(at: *const c_void, length: usize) -> &'a [u8] {
    // SAFETY: the caller gives so many bytes.
    if at.is_null() || length == 0 { &[] } else { unsafe { std::slice::from_raw_parts(at.cast(), length) } }
}

fn partner(number: i64) -> Partner {
    Partner(u32::try_from(number).unwrap_or(u32::MAX))
}

/// `struct retake_message`.
#[repr(C)]
pub struct CMessage {
    partner: i64,
    id: u64,
    expects_reply: c_int,
    name: *const c_char,
    host: *const c_char,
    contents: *const u8,
    length: usize,
    owner: *mut c_void,
}

struct Owner {
    name: CString,
    host: CString,
    contents: Vec<u8>,
}

unsafe fn give(to: *mut CMessage, head: (i64, u64, bool), names: (&str, &str), mut contents: Vec<u8>) {
    let length = contents.len();
    contents.push(0);
    let text = |text: &str| CString::new(text).unwrap_or_default();
    let owner = Box::new(Owner { name: text(names.0), host: text(names.1), contents });
    let (partner, id, call) = head;
    let message = CMessage {
        partner,
        id,
        expects_reply: c_int::from(call),
        name: owner.name.as_ptr(),
        host: owner.host.as_ptr(),
        contents: owner.contents.as_ptr(),
        length,
        owner: Box::into_raw(owner).cast(),
    };
    // SAFETY: the caller's room.
    unsafe { to.write(message) };
}

/// `retake_participant`.
pub struct Handle {
    me: Participant,
    held: Vec<Held>,
}

/// An object between entry and exit.
struct Held {
    object: *const Object,
    writes: bool,
    entered: Option<Box<Entered<'static>>>,
}

#[unsafe(no_mangle)]
pub extern "C" fn retake_last_error() -> *const c_char {
    LAST.with(|last| last.borrow().as_ptr())
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn retake_set_mode(mode: c_int, take: *const c_char) -> c_int {
    let mode = match mode {
        0 => Mode::Normal,
        1 => Mode::Capture,
        2 => Mode::FullCapture,
        3 => Mode::Replay,
        4 => Mode::ReplayOne,
        5 => Mode::Checkpoint(EVERY),
        _ => return misuse("there is no such mode"),
    };
    // SAFETY: the caller gives a C string or null.
    unsafe { choose(mode, take) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn retake_set_checkpoints(every: c_uint, take: *const c_char) -> c_int {
    if every == 0 {
        return misuse("there must be events between two checkpoints");
    }
    // SAFETY: the caller gives a C string or null.
    unsafe { choose(Mode::Checkpoint(every), take) }
}

unsafe fn choose(mode: Mode, take: *const c_char) -> c_int {
    // SAFETY: the caller gives a C string or null.
    let take = (!take.is_null()).then(|| Path::new(OsStr::from_bytes(unsafe { CStr::from_ptr(take) }.to_bytes())));
    set_mode(mode, take);
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn retake_set_transport(words: *const c_char, secret: *const c_void, length: usize) -> c_int {
    guarded(MISUSE, || {
        // SAFETY: the caller gives a C string or null, and so many bytes or null.
        let (words, secret) = unsafe { (text(words), (!secret.is_null()).then(|| bytes(secret, length))) };
        set_transport(words.unwrap_or(""), secret).map_or_else(|error| number(&error), |()| 0)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn retake_init(name: *const c_char) -> *mut Handle {
    guarded(null_mut(), || {
        // SAFETY: the caller gives a C string or null.
        match init(unsafe { text(name) }.unwrap_or("")) {
            Ok(me) => Box::into_raw(Box::new(Handle { me, held: Vec::new() })),
            Err(error) => {
                number(&error);
                null_mut()
            }
        }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn retake_finish(me: *mut Handle) {
    if !me.is_null() {
        // SAFETY: made by retake_init, and given back here.
        guarded((), || unsafe { Box::from_raw(me) }.me.finish());
    }
}

/// The functions of a participant: a null pointer is a misuse.
macro_rules! with {
    ($me:ident, $body:expr) => {{
        // SAFETY: the caller gives what retake_init gave, or null.
        let Some($me) = (unsafe { $me.as_mut() }) else { return misuse("the participant is null").into() };
        guarded(MISUSE.into(), || $body)
    }};
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn retake_find_partner(me: *mut Handle, name: *const c_char, timeout_ms: c_int) -> i64 {
    with!(me, {
        // SAFETY: the caller gives a C string or null.
        let found = me.me.wait_for_partner(unsafe { text(name) }.unwrap_or(""), time(timeout_ms));
        found.map_or_else(|error| number(&error).into(), |partner| i64::from(partner.0))
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn retake_send(me: *mut Handle, to: i64, contents: *const c_void, length: usize) -> i64 {
    with!(me, {
        // SAFETY: the caller gives so many bytes.
        let sent = me.me.send(partner(to), unsafe { bytes(contents, length) });
        sent.map_or_else(|error| number(&error).into(), |id| id as i64)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn retake_call(
    me: *mut Handle,
    to: i64,
    contents: *const c_void,
    length: usize,
    timeout_ms: c_int,
    reply: *mut CMessage,
) -> c_int {
    with!(me, {
        // SAFETY: the caller gives so many bytes.
        match me.me.call(partner(to), unsafe { bytes(contents, length) }, time(timeout_ms)) {
            Ok(Some(contents)) => {
                if !reply.is_null() {
                    // SAFETY: the caller's room.
                    unsafe { give(reply, (to, 0, false), ("", ""), contents) };
                }
                1
            }
            Ok(None) => 0,
            Err(error) => number(&error),
        }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn retake_reply(
    me: *mut Handle,
    to: i64,
    id: u64,
    contents: *const c_void,
    length: usize,
) -> c_int {
    with!(me, {
        // SAFETY: the caller gives so many bytes.
        let replied = me.me.reply_to(partner(to), id, unsafe { bytes(contents, length) });
        replied.map_or_else(|error| number(&error), |()| 0)
    })
}

unsafe fn received(message: crate::Result<Option<Message>>, to: *mut CMessage) -> c_int {
    match message {
        Ok(Some(message)) => {
            let head = (i64::from(message.from.0), message.id, message.expects_reply);
            let (name, host) = (message.name.clone(), message.host.clone());
            // SAFETY: the caller's room.
            unsafe { give(to, head, (&name, &host), message.into_contents()) };
            1
        }
        Ok(None) => 0,
        Err(error) => number(&error),
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn retake_receive(me: *mut Handle, timeout_ms: c_int, message: *mut CMessage) -> c_int {
    if message.is_null() {
        return misuse("there is no room for the message");
    }
    // SAFETY: the caller's room.
    with!(me, unsafe { received(me.me.receive(time(timeout_ms)), message) })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn retake_receive_from(
    me: *mut Handle,
    from: i64,
    timeout_ms: c_int,
    message: *mut CMessage,
) -> c_int {
    if message.is_null() {
        return misuse("there is no room for the message");
    }
    // SAFETY: the caller's room.
    with!(me, unsafe { received(me.me.receive_from(partner(from), time(timeout_ms)), message) })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn retake_message_free(message: *mut CMessage) {
    // SAFETY: the caller gives a message that was received, or null; it is empty afterwards.
    unsafe {
        if let Some(message) = message.as_mut()
            && !message.owner.is_null()
        {
            drop(Box::from_raw(message.owner.cast::<Owner>()));
            (message.owner, message.contents, message.length) = (null_mut(), null(), 0);
            (message.name, message.host) = (null(), null());
        }
    }
}

/// `retake_object`: the caller's data behind a gate of ours.
pub struct Object {
    crew: Crew,
    gate: Gate,
    data: *const u8,
    size: usize,
    /// The checksum of the data when it was last looked at, if that is checked.
    seen: Mutex<Option<u32>>,
}

impl Object {
    fn bytes(&self) -> &[u8] {
        // SAFETY: so many bytes of the caller's, which only a writer changes, and the gate is passed.
        unsafe { std::slice::from_raw_parts(self.data, self.size) }
    }

    /// Tells of whoever has changed the data without a guard since it was last looked at. A writer only leaves its mark.
    fn look(&self, who: &Participant, writes: bool) {
        if who.guards.is_none() {
            return;
        }
        let is = crc32c(0, self.bytes());
        let was = self.seen.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).replace(is);
        if !writes && was.is_some_and(|was| was != is) {
            let name = self.crew.name();
            tell(&format!("object {name} was changed without retake_write_entry; {} has noticed it", who.name()));
        }
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn retake_object_init(name: *const c_char, data: *mut c_void, size: usize) -> *mut Object {
    // SAFETY: the caller gives a C string or null.
    let name = unsafe { text(name) }.filter(|name| !name.is_empty());
    match name {
        Some(name) if !data.is_null() => Box::into_raw(Box::new(Object {
            crew: Crew::new(name),
            gate: Gate::default(),
            data: data.cast(),
            size,
            seen: Mutex::default(),
        })),
        _ => {
            misuse("an object needs a name and data");
            null_mut()
        }
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn retake_object_free(object: *mut Object) {
    if !object.is_null() {
        // SAFETY: made by retake_object_init, and given back here.
        drop(unsafe { Box::from_raw(object) });
    }
}

unsafe fn enter(me: *mut Handle, object: *const Object, writes: bool) -> c_int {
    // SAFETY: the caller gives what retake_object_init gave, or null; it lives until the exit.
    let Some(object) = (unsafe { object.as_ref::<'static>() }) else { return misuse("the object is null") };
    with!(me, {
        let turn = match object.crew.turn(&mut me.me, writes) {
            Ok(turn) => turn,
            Err(error) => return number(&error),
        };
        object.gate.enter(writes);
        object.look(&me.me, false);
        let entered = object.crew.enter(&mut me.me, turn, writes, &|| Some(object.bytes().to_vec()));
        me.held.push(Held { object, writes, entered });
        0
    })
}

unsafe fn leave(me: *mut Handle, object: *const Object, writes: bool) -> c_int {
    with!(me, {
        let held = me.held.iter().rposition(|held| std::ptr::eq(held.object, object) && held.writes == writes);
        let Some(held) = held.map(|at| me.held.remove(at)) else {
            return misuse("an exit without an entry of this participant");
        };
        // SAFETY: it was entered, so it was given by retake_object_init.
        unsafe { (*held.object).look(&me.me, writes) };
        if let Some(entered) = &held.entered {
            entered.leave();
        }
        // SAFETY: it was entered, so it was given by retake_object_init.
        unsafe { (*held.object).gate.leave(writes) };
        0
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn retake_read_entry(me: *mut Handle, object: *mut Object) -> c_int {
    // SAFETY: as the header says; so for the others.
    unsafe { enter(me, object, false) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn retake_read_exit(me: *mut Handle, object: *mut Object) -> c_int {
    // SAFETY: as above.
    unsafe { leave(me, object, false) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn retake_write_entry(me: *mut Handle, object: *mut Object) -> c_int {
    // SAFETY: as above.
    unsafe { enter(me, object, true) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn retake_write_exit(me: *mut Handle, object: *mut Object) -> c_int {
    // SAFETY: as above.
    unsafe { leave(me, object, true) }
}

/// A descriptor of the caller's, written to by libc's function, as the program would.
pub struct Descriptor(c_int);

impl std::io::Write for Descriptor {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        // SAFETY: the bytes live as long as the call.
        let written = unsafe { libc::write(self.0, bytes.as_ptr().cast(), bytes.len()) };
        usize::try_from(written).map_err(|_| std::io::Error::last_os_error())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn retake_writer_init(name: *const c_char, descriptor: c_int) -> *mut Writer<Descriptor> {
    // SAFETY: the caller gives a C string or null.
    match unsafe { text(name) }.filter(|name| is_name(name)) {
        Some(name) => Box::into_raw(Box::new(Writer::new(name, Descriptor(descriptor)))),
        None => {
            misuse("a writer needs a name like a participant's");
            null_mut()
        }
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn retake_writer_free(writer: *mut Writer<Descriptor>) {
    if !writer.is_null() {
        // SAFETY: made by retake_writer_init, and given back here.
        drop(unsafe { Box::from_raw(writer) });
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn retake_write(
    me: *mut Handle,
    writer: *const Writer<Descriptor>,
    contents: *const c_void,
    length: usize,
) -> c_int {
    // SAFETY: the caller gives what retake_writer_init gave, or null.
    let Some(writer) = (unsafe { writer.as_ref() }) else { return misuse("the writer is null") };
    with!(me, {
        // SAFETY: the caller gives so many bytes.
        let written = writer.write(&mut me.me, unsafe { bytes(contents, length) });
        written.map_or_else(|error| number(&error), |()| 0)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn retake_time_ns(me: *mut Handle) -> i64 {
    with!(me, {
        let since = me.me.time().map(|time| time.duration_since(UNIX_EPOCH).unwrap_or_default());
        since.map_or_else(|error| number(&error).into(), |since| since.as_nanos() as i64)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn retake_random(me: *mut Handle, to: *mut c_void, length: usize) -> c_int {
    if to.is_null() {
        return misuse("there is no room for the bytes");
    }
    // SAFETY: the caller's room of so many bytes.
    let to = unsafe { std::slice::from_raw_parts_mut(to.cast::<u8>(), length) };
    with!(me, me.me.random(to).map_or_else(|error| number(&error), |()| 0))
}
