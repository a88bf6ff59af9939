//! Ranks that a job starts itself. They stand in the tree of creations: rank 1 of what the second creation of `rank:0`
//! started is `rank:0.2.rank:1`, in every run.
//!
//! Each must learn the name of the call; with it and its rank it knows its own ([`crate::handle::launcher`]). Open MPI hands
//! on what stands under `env` in the info of the call. Hydra, the launcher of MPICH, hands on nothing: there `env` is
//! started, the program of that name, which sets the variables and becomes the command.

use crate::handle::input::note_unsupported;
use crate::handle::mpi::abi::{self, Abi};
use crate::handle::mpi::full::{self, Numbers};
use crate::handle::mpi::{SUCCESS, aside, happen, happened, wait};
use crate::table::mpi::real;
use core::ffi::CStr;
use libc::{c_char, c_int};
use retake_engine::store::Path;
use retake_engine::thread::{NAME_MAX, Thread, child_name};
use retake_engine::turn::{self, in_library};
use retake_tape::op::Op;
use retake_tape::session::{STARTED, variable};

const KEY: &CStr = c"env";
/// Open MPI's longest value.
const VALUE_MAX: usize = 255;
/// Commands of one call.
const FEW: usize = 16;
/// Sets variables and executes its further arguments.
const ENV: &CStr = c"/usr/bin/env";
/// Words of all commands of one call.
const WORDS: usize = 512;
/// Where Hydra looks for the command, and so would look for [`ENV`].
const PATH: &CStr = c"path";
/// MPICH's longest value.
const LONGEST: usize = 1024;

/// What a call starts: its commands, the arguments of each (0 for none), and what the launcher is told. Only the root knows.
#[derive(Clone, Copy)]
struct Asked<'a> {
    commands: &'a [usize],
    arguments: &'a [usize],
    infos: &'a [usize],
}

/// What is asked for instead.
#[derive(Clone, Copy)]
enum Instead<'a> {
    /// Nothing else.
    Same,
    Infos(&'a [usize]),
    Commands {
        commands: &'a [usize],
        arguments: &'a [usize],
    },
}

/// An info like `info` that also names what is started; none if there is no room for the name in it.
unsafe fn naming(abi: &Abi, info: usize, name: &[u8]) -> Option<usize> {
    let mut text = [0u8; VALUE_MAX + 1];
    let mut before = [0 as c_char; VALUE_MAX + 1];
    let (mut made, mut has): (usize, c_int) = (0, 0);
    let at = (&raw mut made).cast::<u8>();
    // SAFETY: the program's info, and variables of ours that are as long as said.
    unsafe {
        let result = if info == abi.info_null { real::MPI_Info_create(at) } else { real::MPI_Info_dup(info, at) };
        if result != SUCCESS {
            return None;
        }
        real::MPI_Info_get(made, KEY.as_ptr(), VALUE_MAX as c_int, before.as_mut_ptr(), &raw mut has);
        let mut value = Path { to: &mut text, length: 0 };
        value.push(variable::NAME.as_bytes()).push(b"=").push(name);
        if has != 0 {
            value.push(b"\n").push(CStr::from_ptr(before.as_ptr()).to_bytes());
        }
        let fits = value.finish();
        if fits && real::MPI_Info_set(made, KEY.as_ptr(), text.as_ptr().cast()) == SUCCESS {
            return Some(made);
        }
        real::MPI_Info_free(at);
        None
    }
}

/// What a call gives the program: the communicator of the started ranks, and how each of them fared.
#[derive(Clone, Copy)]
struct Gives {
    comm: usize,
    errors: usize,
}

/// A call as it stands in the records of a rank that is to run alone.
const NAME: &str = "MPI_Comm_spawn";

/// Starts ranks by `call`, given what to ask for instead.
unsafe fn started(root: c_int, comm: usize, asked: Asked, gives: Gives, call: impl Fn(Instead) -> c_int) -> c_int {
    let Some(thread) = turn::enter() else { return call(Instead::Same) };
    if asked.commands.len() > FEW {
        note_unsupported(NAME.as_bytes());
        full::refuse(NAME);
        return aside(|| call(Instead::Same));
    }
    if !turn::recording() && thread.step(Op::MpiSpawn).is_none() {
        return call(Instead::Same);
    }
    thread.creations += 1;
    if full::given() {
        let result = gives.again(thread);
        happened(thread, Op::MpiSpawn, 0);
        return result;
    }
    let mut me: c_int = -1;
    // SAFETY: the program's communicator, a variable of ours.
    in_library(|| unsafe { real::MPI_Comm_rank(comm, &raw mut me) });
    let result = if me == root {
        // SAFETY: as the caller promises.
        unsafe { by_name(thread, asked, &call) }
    } else {
        in_library(|| wait::held(|| call(Instead::Same)))
    };
    if full::kept() {
        gives.keep(thread, result);
    }
    if turn::recording() {
        happen(thread, Op::MpiSpawn, 0);
    } else {
        happened(thread, Op::MpiSpawn, 0);
    }
    result
}

impl Gives {
    /// Recording: keeps it, for this rank alone.
    fn keep(self, thread: &mut Thread, result: c_int) {
        let mut many: c_int = 0;
        if result == SUCCESS {
            // SAFETY: the library has made the communicator.
            in_library(|| unsafe {
                real::MPI_Comm_remote_size(abi::get().handle(self.comm as *const u8), &raw mut many)
            });
        }
        let mut errors: &[u8] = &[];
        if self.errors != 0 {
            // SAFETY: the program's array has a place for each rank that was started.
            errors = unsafe {
                core::slice::from_raw_parts(self.errors as *const u8, many.max(0) as usize * size_of::<c_int>())
            };
        }
        thread.keep(NAME, [Numbers([i64::from(result)]).bytes(), errors]);
    }

    /// Alone: the same again. A communicator of one rank stands for theirs.
    fn again(self, thread: &mut Thread) -> c_int {
        let (Numbers([result]), errors) = Numbers::read(thread.given(NAME));
        // SAFETY: the program's places.
        unsafe {
            if self.errors != 0 {
                core::ptr::copy_nonoverlapping(errors.as_ptr(), self.errors as *mut u8, errors.len());
            }
            if result as c_int == SUCCESS {
                in_library(|| real::MPI_Comm_dup(abi::get().comm_self, self.comm as *mut u8));
            }
        }
        result as c_int
    }
}

/// The root's call.
unsafe fn by_name(thread: &Thread, asked: Asked, call: &impl Fn(Instead) -> c_int) -> c_int {
    let mut name = [0u8; NAME_MAX];
    let length = child_name(&mut name, thread.name(), thread.creations);
    let (abi, name) = (abi::get(), &name[..length]);
    // SAFETY: as the caller promises.
    let result = in_library(|| unsafe {
        if abi.hands_on { by_info(abi, name, asked, call) } else { by_env(abi, name, asked, call) }
    });
    result.unwrap_or_else(|why| {
        note_unsupported(why.as_bytes());
        in_library(|| wait::held(|| call(Instead::Same)))
    })
}

type Why = &'static str;

/// The name stands in the infos.
unsafe fn by_info(abi: &Abi, name: &[u8], asked: Asked, call: &impl Fn(Instead) -> c_int) -> Result<c_int, Why> {
    let mut named = [0usize; FEW];
    let mut many = 0;
    for info in asked.infos {
        // SAFETY: the program's infos.
        let Some(info) = (unsafe { naming(abi, *info, name) }) else { break };
        named[many] = info;
        many += 1;
    }
    let is_whole = many == asked.commands.len();
    let result = is_whole.then(|| wait::held(|| call(Instead::Infos(&named[..many]))));
    for info in &mut named[..many] {
        // SAFETY: made above.
        unsafe { real::MPI_Info_free((&raw mut *info).cast()) };
    }
    result.ok_or("MPI_Comm_spawn with so much under `env` in its info")
}

/// The name is given to [`ENV`].
unsafe fn by_env(abi: &Abi, name: &[u8], asked: Asked, call: &impl Fn(Instead) -> c_int) -> Result<c_int, Why> {
    let (mut born, mut named) = ([0u8; 32], [0u8; NAME_MAX + 32]);
    Path { to: &mut born, length: 0 }.push(variable::BORN.as_bytes()).push(&[b'=', STARTED, 0]);
    Path { to: &mut named, length: 0 }.push(variable::NAME.as_bytes()).push(b"=").push(name).push(&[0]);
    let (mut commands, mut arguments) = ([0usize; FEW], [0usize; FEW]);
    let (mut words, mut used) = ([0usize; WORDS], 0);
    // SAFETY: the program's infos, and its arguments, which end in a null.
    unsafe {
        if asked.infos.iter().any(|info| has_path(abi, *info)) {
            return Err("MPI_Comm_spawn with `path` in its info");
        }
        for (index, command) in asked.commands.iter().enumerate() {
            (commands[index], arguments[index]) = (ENV.as_ptr() as usize, &raw const words[used] as usize);
            let mut more = asked.arguments[index] as *const usize;
            let first = [born.as_ptr() as usize, named.as_ptr() as usize, *command];
            let rest = core::iter::from_fn(|| {
                let word = if more.is_null() { 0 } else { *more };
                more = more.wrapping_add(1);
                (word != 0).then_some(word)
            });
            for word in first.into_iter().chain(rest).chain([0]) {
                // One is left, so that there is an end.
                if used + 1 == WORDS {
                    return Err("MPI_Comm_spawn with so many arguments");
                }
                words[used] = word;
                used += 1;
            }
        }
    }
    let many = asked.commands.len();
    Ok(wait::held(|| call(Instead::Commands { commands: &commands[..many], arguments: &arguments[..many] })))
}

unsafe fn has_path(abi: &Abi, info: usize) -> bool {
    let (mut value, mut has) = ([0 as c_char; LONGEST + 1], 0);
    if info != abi.info_null {
        // SAFETY: the program's info, and variables of ours that are as long as said.
        unsafe { real::MPI_Info_get(info, PATH.as_ptr(), LONGEST as c_int, value.as_mut_ptr(), &raw mut has) };
    }
    has != 0
}

#[allow(clippy::too_many_arguments)] // MPI's own
pub unsafe fn spawn(
    a: usize,
    b: usize,
    n: c_int,
    info: usize,
    root: c_int,
    comm: usize,
    new: usize,
    e: usize,
) -> c_int {
    let info = abi::get().handle_of(info);
    let asked = Asked { commands: &[a], arguments: &[b], infos: &[info] };
    // SAFETY: the program's arguments.
    unsafe {
        started(root, comm, asked, Gives { comm: new, errors: e }, |instead| {
            let (a, b, info) = match instead {
                Instead::Same => (a, b, info),
                Instead::Infos(infos) => (a, b, infos[0]),
                Instead::Commands { commands, arguments } => (commands[0], arguments[0], info),
            };
            real::MPI_Comm_spawn(a, b, n, info, root, comm, new, e)
        })
    }
}

/// So many words of the program's.
unsafe fn list<'a>(at: usize, many: usize) -> &'a [usize] {
    // SAFETY: as the caller promises.
    if many == 0 { &[] } else { unsafe { core::slice::from_raw_parts(at as *const usize, many) } }
}

#[allow(clippy::too_many_arguments)] // MPI's own
pub unsafe fn spawn_multiple(
    many: c_int,
    a: usize,
    b: usize,
    n: usize,
    infos: *const usize,
    root: c_int,
    comm: usize,
    new: usize,
    e: usize,
) -> c_int {
    let abi = abi::get();
    let (none, mut handles) = ([0usize; FEW], [0usize; FEW]);
    let mut me: c_int = -1;
    // SAFETY: the program's arguments; what is started is significant only in the root.
    unsafe {
        aside(|| real::MPI_Comm_rank(comm, &raw mut me));
        let all = if me == root { many.max(0) as usize } else { 0 };
        let few = all.min(FEW);
        for (index, handle) in handles[..few].iter_mut().enumerate() {
            *handle = abi.handle(abi.nth(infos.cast_mut().cast(), index));
        }
        let arguments = if b == 0 { &none[..few] } else { list(b, few) };
        let asked = Asked { commands: list(a, all), arguments, infos: &handles[..few] };
        started(root, comm, asked, Gives { comm: new, errors: e }, |instead| {
            let (a, b, infos) = match instead {
                Instead::Same => (a, b, infos),
                Instead::Infos(infos) => (a, b, infos.as_ptr()),
                Instead::Commands { commands, arguments } => {
                    (commands.as_ptr() as usize, arguments.as_ptr() as usize, infos)
                }
            };
            real::MPI_Comm_spawn_multiple(many, a, b, n, infos, root, comm, new, e)
        })
    }
}
