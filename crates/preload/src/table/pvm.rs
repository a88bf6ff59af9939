//! PVM 3.4: messages, tasks, groups, mailboxes. The library is found when the program calls it; none is needed here.
//!
//! Calls that the library makes inside itself come here, too, and are passed on: each call of the program is one event.

use crate::handle::pvm::full::message;
use crate::handle::pvm::{group, info, machine, mailbox, meeting, options, output, receive, send, task};
use libc::{FILE, c_char, c_int, c_void, timeval};

/// A list of strings.
pub type Words = *mut *mut c_char;
/// Room for numbers.
pub type Ints = *mut c_int;
/// How a program compares a message with what it wants.
pub type Matcher = Option<unsafe extern "C-unwind" fn(c_int, c_int, c_int) -> c_int>;
/// What a program does with a message that has come.
pub type Handler = Option<unsafe extern "C-unwind" fn(c_int) -> c_int>;
/// How a program reduces data.
pub type Reduction = Option<unsafe extern "C-unwind" fn(Ints, *mut c_void, *mut c_void, Ints, Ints)>;

/// A host, as `pvm_config` tells of it.
#[repr(C)]
pub struct Host {
    pub tid: c_int,
    pub name: *const c_char,
    pub arch: *const c_char,
    pub speed: c_int,
    pub signature: c_int,
}

/// A task, as `pvm_tasks` tells of it.
#[repr(C)]
pub struct Task {
    pub tid: c_int,
    pub parent: c_int,
    pub host: c_int,
    pub flag: c_int,
    pub name: *const c_char,
    pub pid: c_int,
}

/// What a message says of itself.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct Info {
    pub length: c_int,
    pub context: c_int,
    pub tag: c_int,
    pub wait: c_int,
    pub encoding: c_int,
    pub check: c_int,
    pub source: c_int,
    pub target: c_int,
}

/// A class of mailboxes.
#[repr(C)]
pub struct Mailbox {
    pub name: *const c_char,
    pub entries: c_int,
    pub indices: Ints,
    pub owners: Ints,
    pub flags: Ints,
}

/// A message inside the library, as far as it is looked at.
#[repr(C)]
pub struct Message {
    links: [usize; 2],
    coder: usize,
    /// The head of a ring.
    pub fragments: *mut Fragment,
}

/// A piece of a message.
#[repr(C)]
pub struct Fragment {
    pub next: *mut Fragment,
    pub last: *mut Fragment,
    pub room: *mut u8,
    pub data: *mut u8,
    pub size: c_int,
}

interpose! {
    Acquire fn pvm_recv         (tid: c_int, tag: c_int) -> c_int                                                        => receive::recv;
    Acquire fn pvm_nrecv        (tid: c_int, tag: c_int) -> c_int                                                        => receive::nrecv;
    Acquire fn pvm_trecv        (tid: c_int, tag: c_int, time: *mut timeval) -> c_int                                    => receive::trecv;
    Acquire fn pvm_precv        (tid: c_int, tag: c_int, to: *mut c_void, n: c_int, kind: c_int, rtid: Ints, rtag: Ints, rlen: Ints) -> c_int => receive::precv;
    Outcome fn pvm_probe        (tid: c_int, tag: c_int) -> c_int                                                        => receive::probe;
    Release fn pvm_send         (tid: c_int, tag: c_int) -> c_int                                                        => send::send;
    Release fn pvm_psend        (tid: c_int, tag: c_int, from: *mut c_void, n: c_int, kind: c_int) -> c_int              => send::psend;
    Release fn pvm_mcast        (tids: Ints, n: c_int, tag: c_int) -> c_int                                              => send::mcast;
    Signal  fn pvm_kill         (tid: c_int) -> c_int                                                                    => send::kill;
    Signal  fn pvm_sendsig      (tid: c_int, signal: c_int) -> c_int                                                     => send::sendsig;
    Outcome fn pvm_notify       (what: c_int, tag: c_int, n: c_int, tids: Ints) -> c_int                                 => send::notify;
    Value   fn pvmbeatask       () -> c_int                                                                              => task::beatask;
    Value   fn pvm_mytid        () -> c_int                                                                              => task::mytid;
    Value   fn pvm_parent       () -> c_int                                                                              => task::parent;
    Value   fn pvm_siblings     (tids: *mut Ints) -> c_int                                                               => task::siblings;
    Create  fn pvm_spawn        (file: *mut c_char, argv: Words, flags: c_int, at: *mut c_char, n: c_int, tids: Ints) -> c_int => task::spawn;
    Outcome fn pvm_exit         () -> c_int                                                                              => task::exit;
    Create  fn pvm_start_pvmd   (argc: c_int, argv: Words, block: c_int) -> c_int                                        => task::start_pvmd;
    Outcome fn pvm_halt         () -> c_int                                                                              => task::halt;
    Value   fn pvm_tidtohost    (tid: c_int) -> c_int                                                                    => machine::tidtohost;
    Value   fn pvm_pstat        (tid: c_int) -> c_int                                                                    => machine::pstat;
    Value   fn pvm_mstat        (host: *mut c_char) -> c_int                                                             => machine::mstat;
    Value   fn pvm_archcode     (arch: *mut c_char) -> c_int                                                             => machine::archcode;
    Value   fn pvm_config       (hosts: Ints, archs: Ints, list: *mut *mut Host) -> c_int                                => machine::config;
    Value   fn pvm_tasks        (at: c_int, n: Ints, list: *mut *mut Task) -> c_int                                      => machine::tasks;
    Value   fn pvm_hostsync     (host: c_int, clock: *mut timeval, delta: *mut timeval) -> c_int                         => machine::hostsync;
    Outcome fn pvm_addhosts     (names: Words, n: c_int, results: Ints) -> c_int                                         => machine::addhosts;
    Outcome fn pvm_delhosts     (names: Words, n: c_int, results: Ints) -> c_int                                         => machine::delhosts;
    Value   fn pvm_bufinfo      (buffer: c_int, length: Ints, tag: Ints, tid: Ints) -> c_int                             => info::bufinfo;
    Value   fn pvm_getminfo     (buffer: c_int, to: *mut Info) -> c_int                                                  => info::getminfo;
    Value   fn pvm_setminfo     (buffer: c_int, from: *mut Info) -> c_int                                                => info::setminfo;
    Value   fn pvm_getopt       (what: c_int) -> c_int                                                                   => options::getopt;
    Value   fn pvm_setopt       (what: c_int, value: c_int) -> c_int                                                     => options::setopt;
    Value   fn pvm_newcontext   () -> c_int                                                                              => options::newcontext;
    Outcome fn pvm_freecontext  (context: c_int) -> c_int                                                                => options::freecontext;
    Value   fn pvm_setcontext   (context: c_int) -> c_int                                                                => options::setcontext;
    Value   fn pvm_getcontext   () -> c_int                                                                              => options::getcontext;
    Outcome fn pvm_recvf        (matcher: Matcher) -> Matcher                                                            => options::recvf;
    Outcome fn pvm_catchout     (to: *mut FILE) -> c_int                                                                 => output::catchout;
    Acquire fn pvm_putinfo      (name: *mut c_char, buffer: c_int, flags: c_int) -> c_int                                => mailbox::putinfo;
    Acquire fn pvm_recvinfo     (name: *mut c_char, index: c_int, flags: c_int) -> c_int                                 => mailbox::recvinfo;
    Acquire fn pvm_delinfo      (name: *mut c_char, index: c_int, flags: c_int) -> c_int                                 => mailbox::delinfo;
    Value   fn pvm_getmboxinfo  (pattern: *mut c_char, n: Ints, list: *mut *mut Mailbox) -> c_int                        => mailbox::getmboxinfo;
    Acquire fn pvm_insert       (name: *mut c_char, index: c_int, data: c_int) -> c_int                                  => mailbox::insert;
    Acquire fn pvm_lookup       (name: *mut c_char, index: c_int, data: Ints) -> c_int                                   => mailbox::lookup;
    Acquire fn pvm_delete       (name: *mut c_char, index: c_int) -> c_int                                               => mailbox::delete;
    Acquire fn pvm_joingroup    (group: *mut c_char) -> c_int                                                            => group::join;
    Acquire fn pvm_lvgroup      (group: *mut c_char) -> c_int                                                            => group::leave;
    Value   fn pvm_getinst      (group: *mut c_char, tid: c_int) -> c_int                                                => group::getinst;
    Value   fn pvm_gettid       (group: *mut c_char, instance: c_int) -> c_int                                           => group::gettid;
    Value   fn pvm_gsize        (group: *mut c_char) -> c_int                                                            => group::gsize;
    Acquire fn pvm_barrier      (group: *mut c_char, n: c_int) -> c_int                                                  => group::barrier;
    Acquire fn pvm_bcast        (group: *mut c_char, tag: c_int) -> c_int                                                => group::bcast;
    Acquire fn pvm_freezegroup  (group: *mut c_char, n: c_int) -> c_int                                                  => group::freeze;
    Acquire fn pvm_gather       (to: *mut c_void, from: *mut c_void, n: c_int, kind: c_int, tag: c_int, group: *mut c_char, root: c_int) -> c_int => group::gather;
    Acquire fn pvm_scatter      (to: *mut c_void, from: *mut c_void, n: c_int, kind: c_int, tag: c_int, group: *mut c_char, root: c_int) -> c_int => group::scatter;
    Acquire fn pvm_reduce       (how: Reduction, data: *mut c_void, n: c_int, kind: c_int, tag: c_int, group: *mut c_char, root: c_int) -> c_int => group::reduce;
    Note    fn pvm_grphostinfo  (group: *mut c_char, host: c_int, first: Ints, members: Ints, hosts: Ints) -> c_int      => meeting::on_host;
    Note    fn gs_get_tidlist   (group: *mut c_char, tag: c_int, n: Ints, list: *mut Ints, whole: c_int) -> c_int        => meeting::all;
    Note    fn pmsg_extend      (message: *mut Message) -> c_int                                                         => message::extend;
    Unhandled fn pvm_addmhf     (tid: c_int, tag: c_int, context: c_int, handler: Handler) -> c_int                      => options::addmhf;
    Unhandled fn pvm_getfds     (fds: *mut Ints) -> c_int                                                                => options::getfds;
    Unhandled fn pvm_reg_hoster () -> c_int                                                                              => options::reg_hoster;
    Unhandled fn pvm_reg_tasker () -> c_int                                                                              => options::reg_tasker;
    Unhandled fn pvm_reg_rm     (host: *mut *mut Host) -> c_int                                                          => options::reg_rm;
    Unhandled fn pvm_reg_tracer (trace: c_int, tag: c_int, output: c_int, code: c_int, mask: *mut c_char, buffer: c_int, how: c_int) -> c_int => options::reg_tracer;
    Unhandled fn pvm_tickle     (n: c_int, numbers: Ints, answers: Ints, to: Ints) -> c_int                              => options::tickle;
}

/// Functions that are used, and not caught.
pub mod plain {
    use super::{Ints, c_char, c_int};
    use core::sync::atomic::AtomicUsize;

    macro_rules! plain {
        ($( fn $name:ident ( $($arg:ident : $type:ty),* ); )*) => {$(
            pub unsafe fn $name($($arg: $type),*) -> c_int {
                static AT: AtomicUsize = AtomicUsize::new(0);
                let at = crate::real::find(&AT, concat!(stringify!($name), "\0"));
                // SAFETY: the dynamic linker found the function of that name.
                unsafe { core::mem::transmute::<usize, unsafe extern "C-unwind" fn($($type),*) -> c_int>(at)($($arg),*) }
            }
        )*};
    }

    plain! {
        fn pvm_mkbuf(encoding: c_int);
        fn pvm_freebuf(buffer: c_int);
        fn pvm_getsbuf();
        fn pvm_setsbuf(buffer: c_int);
        fn pvm_setrbuf(buffer: c_int);
        fn pvm_pkint(from: Ints, n: c_int, stride: c_int);
        fn pvm_upkint(to: Ints, n: c_int, stride: c_int);
        fn pvm_pkbyte(from: *mut c_char, n: c_int, stride: c_int);
        fn pvm_upkbyte(to: *mut c_char, n: c_int, stride: c_int);
        fn pvm_pkmesg(buffer: c_int);
        fn pvm_upkmesg();
    }
}
