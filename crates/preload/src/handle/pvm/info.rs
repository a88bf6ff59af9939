//! What a message says of itself: where it is from is shown as it was recorded.

use crate::handle::pvm::ids;
use crate::table::pvm::{Info, Ints, real};
use libc::c_int;

pub unsafe fn bufinfo(buffer: c_int, length: Ints, tag: Ints, tid: Ints) -> c_int {
    // SAFETY: the program's variables; so for the others.
    unsafe {
        let result = real::pvm_bufinfo(buffer, length, tag, tid);
        if let Some(tid) = tid.as_mut()
            && result >= 0
        {
            *tid = ids::recorded(*tid);
        }
        result
    }
}

pub unsafe fn getminfo(buffer: c_int, to: *mut Info) -> c_int {
    // SAFETY: as above.
    unsafe {
        let result = real::pvm_getminfo(buffer, to);
        if let Some(info) = to.as_mut()
            && result >= 0
        {
            info.source = ids::recorded(info.source);
            info.target = ids::recorded(info.target);
            info.context = ids::recorded_context(info.context);
        }
        result
    }
}

pub unsafe fn setminfo(buffer: c_int, from: *mut Info) -> c_int {
    // SAFETY: as above.
    unsafe {
        let Some(info) = from.as_ref() else { return real::pvm_setminfo(buffer, from) };
        let mut info = *info;
        info.source = ids::present(info.source);
        info.target = ids::present(info.target);
        info.context = ids::present_context(info.context);
        real::pvm_setminfo(buffer, &raw mut info)
    }
}
