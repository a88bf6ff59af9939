//! Waiting in a replay, friendly to few processors: try, let others run, then sleep shortly in between.

use crate::handle::mpi::abi::{self, Status};
use crate::handle::mpi::full::underway;
use crate::handle::mpi::{full, requests, told};
use crate::table::mpi::real;
use libc::c_int;
use retake_engine::ranks::{self, Waits};
use retake_engine::sys;
use retake_engine::thread;
use retake_engine::turn;

/// So often it only lets others run.
const YIELDS: u32 = 400;
const NAP_NS: u64 = 50_000;
/// It looks whether anything moves after so many naps.
const LOOK: u32 = 2000;

/// Makes a call that may wait inside the library, and says so meanwhile (replay).
pub fn held<R>(call: impl FnOnce() -> R) -> R {
    let _waits = Waits::new();
    call()
}

/// Calls `ready` until it gives something.
pub fn until<R>(mut ready: impl FnMut() -> Option<R>) -> R {
    let mut tries = 0u32;
    let _waits = Waits::new();
    loop {
        if let Some(result) = ready() {
            return result;
        }
        tries = tries.saturating_add(1);
        if tries < YIELDS {
            // SAFETY: lets others run.
            unsafe { sys::sched_yield() };
        } else {
            sys::sleep_ns(NAP_NS);
            if tries.is_multiple_of(LOOK) {
                ranks::look();
            }
        }
    }
}

/// Waits until the request at `at` is done, whichever request serves it. Replay; the thread is apart.
///
/// # Safety
/// `at` must be the place of a request, `status` that of a status, or what stands for none.
pub unsafe fn request(at: *mut u8, status: *mut u8) -> c_int {
    let abi = abi::get();
    // SAFETY: as the caller promises.
    unsafe {
        let handle = abi.handle(at);
        let receive = requests::get(handle);
        let inner = receive.map_or(0, |receive| receive.inner);
        if let Some(receive) = receive {
            ranks::waits_for(receive.wanted.source, receive.wanted.tag);
        }
        let alone = thread::current().filter(|_| full::given());
        if let Some(thread) = alone {
            underway::bring(thread, handle);
        }
        let mut own = inner;
        let place = if inner != 0 { (&raw mut own).cast::<u8>() } else { at };
        let teller = thread::current().filter(|thread| turn::tells(thread));
        let mut room = Status::new();
        let keeper = thread::current().filter(|_| underway::any() && full::kept());
        let to = told::readable(status, teller.is_some() && receive.is_some() || keeper.is_some(), &mut room);
        let result = until(|| {
            let mut done: c_int = 0;
            let result = real::MPI_Test(place, &raw mut done, to);
            (result != 0 || done != 0).then_some(result)
        });
        if full::given() {
            underway::found(handle, to, false);
        }
        if let Some(thread) = keeper {
            underway::arrived(thread, handle, to, false);
        }
        if let Some(receive) = receive {
            if let Some(teller) = teller.filter(|_| receive.active && !receive.withdrawn) {
                told::got_by_request(teller, &receive, to);
            }
            requests::finish(handle);
        }
        result
    }
}
