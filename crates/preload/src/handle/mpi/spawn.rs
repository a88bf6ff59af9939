//! Ranks that a job starts itself. They stand in the tree of creations: rank 1 of what the second creation of `rank:0`
//! started is `rank:0.2.rank:1`, in every run.
//!
//! Open MPI hands them what stands under `env` in the info of the call: the name of the call, and with it and its rank each
//! of them knows its own ([`crate::handle::launcher`]). Of other libraries no such way was tried: there it is told that
//! the ranks are not replayed.

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
use retake_tape::session::variable;

const KEY: &CStr = c"env";
/// Open MPI's longest value.
const VALUE_MAX: usize = 255;
/// Commands of one call.
const FEW: usize = 16;

/// Whether the ranks that this library starts can be named.
fn can_name(abi: &Abi) -> bool {
    abi.info_null != 0
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

/// Starts ranks by `call`, given the infos to use instead of `infos`.
unsafe fn started(root: c_int, comm: usize, infos: &[usize], gives: Gives, call: impl Fn(&[usize]) -> c_int) -> c_int {
    let Some(thread) = turn::enter() else { return call(infos) };
    let abi = abi::get();
    if !can_name(abi) || infos.len() > FEW {
        note_unsupported(NAME.as_bytes());
        full::refuse(NAME);
        return aside(|| call(infos));
    }
    if !turn::recording() && thread.step(Op::MpiSpawn).is_none() {
        return call(infos);
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
        unsafe { by_name(thread, abi, infos, &call) }
    } else {
        in_library(|| wait::held(|| call(infos)))
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

/// The root's call: only its infos count.
unsafe fn by_name(thread: &Thread, abi: &Abi, infos: &[usize], call: &impl Fn(&[usize]) -> c_int) -> c_int {
    let mut name = [0u8; NAME_MAX];
    let length = child_name(&mut name, thread.name(), thread.creations);
    let mut named = [0usize; FEW];
    let mut many = 0;
    in_library(|| {
        for info in infos {
            // SAFETY: the program's infos.
            let Some(info) = (unsafe { naming(abi, *info, &name[..length]) }) else { break };
            named[many] = info;
            many += 1;
        }
        let result = if many == infos.len() {
            wait::held(|| call(&named[..many]))
        } else {
            note_unsupported(b"MPI_Comm_spawn with so much under `env` in its info");
            wait::held(|| call(infos))
        };
        for info in &mut named[..many] {
            // SAFETY: made above.
            unsafe { real::MPI_Info_free((&raw mut *info).cast()) };
        }
        result
    })
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
    // SAFETY: the program's arguments.
    unsafe {
        let gives = Gives { comm: new, errors: e };
        started(root, comm, &[info], gives, |infos| real::MPI_Comm_spawn(a, b, n, infos[0], root, comm, new, e))
    }
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
    // SAFETY: the program's arguments. Only the root must give infos, and only Open MPI's are words.
    unsafe {
        let mut me: c_int = -1;
        aside(|| real::MPI_Comm_rank(comm, &raw mut me));
        let given = can_name(abi::get()) && me == root && !infos.is_null();
        let list = if given { core::slice::from_raw_parts(infos, many.max(0) as usize) } else { &[] };
        started(root, comm, list, Gives { comm: new, errors: e }, |named| {
            let to = if named.is_empty() { infos } else { named.as_ptr() };
            real::MPI_Comm_spawn_multiple(many, a, b, n, to, root, comm, new, e)
        })
    }
}
