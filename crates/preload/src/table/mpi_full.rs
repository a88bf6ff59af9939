//! MPI: calls of which one needs to know nothing to replay the whole job, but everything to replay a rank alone.
//!
//! A row is the arguments, all of them words, the functions that take them so, and what is kept with `--full`. Otherwise
//! each is as those of [`super::mpi_apart`]: the real call, made apart.

use crate::handle::mpi::full::answer::{asked, ints, made_comm, made_group};
use crate::handle::mpi::full::collective::{
    At, NOTHING, among, begun, blocking, each, own, plain, total, vector, with_root, words,
};
use crate::handle::mpi::full::matched;
use crate::handle::mpi::full::pack::Region;
use crate::handle::mpi::full::send::{self, sent, sent_large};
use crate::handle::mpi::{find, only_records};
use core::sync::atomic::AtomicUsize;
use core::sync::atomic::Ordering::Relaxed;
use retake_engine::turn::inside_library;

macro_rules! kept {
    ($( $args:tt $($name:ident)* : |$word:ident, $real:ident| $meaning:expr ; )*) => {
        $( $( kept!(@ $name $args |$word, $real| $meaning); )* )*
    };
    (@ $name:ident ($($arg:ident)*) |$word:ident, $real:ident| $meaning:expr) => {
        #[allow(clippy::too_many_arguments, clippy::redundant_closure)] // MPI's own; one form for all rows
        mod $name {
            use super::*;

            static AT: AtomicUsize = AtomicUsize::new(0);
            type Function = unsafe extern "C-unwind" fn($(kept!(@word $arg)),*) -> usize;

            #[inline(always)]
            unsafe fn call($($arg: usize),*) -> usize {
                // SAFETY: the library's function of that name, with the program's arguments.
                unsafe {
                    if let Some(thread) = only_records()
                        && let at @ 1.. = AT.load(Relaxed)
                    {
                        return inside_library(thread, || core::mem::transmute::<usize, Function>(at)($($arg),*));
                    }
                    call_fully($($arg),*)
                }
            }

            #[inline(never)]
            unsafe fn call_fully($($arg: usize),*) -> usize {
                let at = find::function(&AT, concat!("P", stringify!($name), "\0"));
                let $word = stringify!($name);
                // SAFETY: as above.
                let $real = |$($arg: usize),*| unsafe { core::mem::transmute::<usize, Function>(at)($($arg),*) };
                $meaning
            }

            #[unsafe(export_name = stringify!($name))]
            unsafe extern "C-unwind" fn by_name($($arg: usize),*) -> usize {
                // SAFETY: the program calls a C function by its contract.
                unsafe { call($($arg),*) }
            }

            #[unsafe(export_name = concat!("P", stringify!($name)))]
            unsafe extern "C-unwind" fn by_profiling_name($($arg: usize),*) -> usize {
                // SAFETY: as above.
                unsafe { call($($arg),*) }
            }
        }
    };
    (@word $arg:ident) => { usize };
}

// Sends.
kept! {
    (b n k to tag comm) MPI_Bsend MPI_Rsend MPI_Send MPI_Ssend:
        |name, real| send::blocking(name, sent(b, n, k, to, tag), || real(b, n, k, to, tag, comm));
    (b n k to tag comm) MPI_Bsend_c MPI_Rsend_c MPI_Send_c MPI_Ssend_c:
        |name, real| send::blocking(name, sent_large(b, n, k, to, tag), || real(b, n, k, to, tag, comm));
    (b n k to tag comm r) MPI_Ibsend MPI_Irsend MPI_Isend MPI_Issend:
        |name, real| send::begun(name, sent(b, n, k, to, tag), comm, r, || real(b, n, k, to, tag, comm, r));
    (b n k to tag comm r) MPI_Ibsend_c MPI_Irsend_c MPI_Isend_c MPI_Issend_c:
        |name, real| send::begun(name, sent_large(b, n, k, to, tag), comm, r, || real(b, n, k, to, tag, comm, r));
    (b n k to tag comm r) MPI_Bsend_init MPI_Rsend_init MPI_Send_init MPI_Ssend_init:
        |name, real| send::made(name, sent(b, n, k, to, tag), comm, r, || real(b, n, k, to, tag, comm, r));
    (b n k to tag comm r) MPI_Bsend_init_c MPI_Rsend_init_c MPI_Send_init_c MPI_Ssend_init_c:
        |name, real| send::made(name, sent_large(b, n, k, to, tag), comm, r, || real(b, n, k, to, tag, comm, r));
}

/// Elements that are received.
fn region(buffer: usize, count: usize, kind: usize) -> Region {
    Region { buffer, count: count as u32 as usize, kind }
}

/// The same with a large count.
fn region_large(buffer: usize, count: usize, kind: usize) -> Region {
    Region { buffer, count, kind }
}

// Receives of matched messages.
kept! {
    (b n k m s) MPI_Mrecv:
        |name, real| unsafe { matched::blocking(name, region(b, n, k), m, s, |s| real(b, n, k, m, s)) };
    (b n k m s) MPI_Mrecv_c:
        |name, real| unsafe { matched::blocking(name, region_large(b, n, k), m, s, |s| real(b, n, k, m, s)) };
    (b n k m r) MPI_Imrecv:
        |name, real| unsafe { matched::begun(name, region(b, n, k), m, r, || real(b, n, k, m, r)) };
    (b n k m r) MPI_Imrecv_c:
        |name, real| unsafe { matched::begun(name, region_large(b, n, k), m, r, || real(b, n, k, m, r)) };
}

// Collectives.
kept! {
    (comm) MPI_Barrier: |name, real| blocking(name, among(comm, NOTHING, NOTHING), || real(comm));
    (comm r) MPI_Ibarrier: |name, real| begun(name, among(comm, NOTHING, NOTHING), r, || real(comm, r));
    (b n k root comm) MPI_Bcast: |name, real| {
        let call = with_root(root, comm, (At::Root, plain(b, n, k)), (At::Others, plain(b, n, k)));
        blocking(name, call, || real(b, n, k, root, comm))
    };
    (b n k root comm r) MPI_Ibcast: |name, real| {
        let call = with_root(root, comm, (At::Root, plain(b, n, k)), (At::Others, plain(b, n, k)));
        begun(name, call, r, || real(b, n, k, root, comm, r))
    };
    (a n k b m l root comm) MPI_Gather: |name, real| {
        let call = with_root(root, comm, (At::All, plain(a, n, k)), (At::Root, each(b, m, l)));
        blocking(name, call, || real(a, n, k, b, m, l, root, comm))
    };
    (a n k b m l root comm r) MPI_Igather: |name, real| {
        let call = with_root(root, comm, (At::All, plain(a, n, k)), (At::Root, each(b, m, l)));
        begun(name, call, r, || real(a, n, k, b, m, l, root, comm, r))
    };
    (a n k b m d l root comm) MPI_Gatherv: |name, real| {
        let call = with_root(root, comm, (At::All, plain(a, n, k)), (At::Root, vector(b, m, d, l)));
        blocking(name, call, || real(a, n, k, b, m, d, l, root, comm))
    };
    (a n k b m d l root comm r) MPI_Igatherv: |name, real| {
        let call = with_root(root, comm, (At::All, plain(a, n, k)), (At::Root, vector(b, m, d, l)));
        begun(name, call, r, || real(a, n, k, b, m, d, l, root, comm, r))
    };
    (a n k b m l root comm) MPI_Scatter: |name, real| {
        let call = with_root(root, comm, (At::Root, each(a, n, k)), (At::All, plain(b, m, l)));
        blocking(name, call, || real(a, n, k, b, m, l, root, comm))
    };
    (a n k b m l root comm r) MPI_Iscatter: |name, real| {
        let call = with_root(root, comm, (At::Root, each(a, n, k)), (At::All, plain(b, m, l)));
        begun(name, call, r, || real(a, n, k, b, m, l, root, comm, r))
    };
    (a n d k b m l root comm) MPI_Scatterv: |name, real| {
        let call = with_root(root, comm, (At::Root, vector(a, n, d, k)), (At::All, plain(b, m, l)));
        blocking(name, call, || real(a, n, d, k, b, m, l, root, comm))
    };
    (a n d k b m l root comm r) MPI_Iscatterv: |name, real| {
        let call = with_root(root, comm, (At::Root, vector(a, n, d, k)), (At::All, plain(b, m, l)));
        begun(name, call, r, || real(a, n, d, k, b, m, l, root, comm, r))
    };
    (a n k b m l comm) MPI_Allgather: |name, real| {
        blocking(name, among(comm, plain(a, n, k), each(b, m, l)), || real(a, n, k, b, m, l, comm))
    };
    (a n k b m l comm r) MPI_Iallgather: |name, real| {
        begun(name, among(comm, plain(a, n, k), each(b, m, l)), r, || real(a, n, k, b, m, l, comm, r))
    };
    (a n k b m d l comm) MPI_Allgatherv: |name, real| {
        blocking(name, among(comm, plain(a, n, k), vector(b, m, d, l)), || real(a, n, k, b, m, d, l, comm))
    };
    (a n k b m d l comm r) MPI_Iallgatherv: |name, real| {
        begun(name, among(comm, plain(a, n, k), vector(b, m, d, l)), r, || real(a, n, k, b, m, d, l, comm, r))
    };
    (a n k b m l comm) MPI_Alltoall: |name, real| {
        blocking(name, among(comm, each(a, n, k), each(b, m, l)), || real(a, n, k, b, m, l, comm))
    };
    (a n k b m l comm r) MPI_Ialltoall: |name, real| {
        begun(name, among(comm, each(a, n, k), each(b, m, l)), r, || real(a, n, k, b, m, l, comm, r))
    };
    (a n c k b m d l comm) MPI_Alltoallv: |name, real| {
        blocking(name, among(comm, vector(a, n, c, k), vector(b, m, d, l)), || real(a, n, c, k, b, m, d, l, comm))
    };
    (a n c k b m d l comm r) MPI_Ialltoallv: |name, real| {
        let call = among(comm, vector(a, n, c, k), vector(b, m, d, l));
        begun(name, call, r, || real(a, n, c, k, b, m, d, l, comm, r))
    };
    (a n c k b m d l comm) MPI_Alltoallw: |name, real| {
        blocking(name, among(comm, words(a, n, c, k), words(b, m, d, l)), || real(a, n, c, k, b, m, d, l, comm))
    };
    (a n c k b m d l comm r) MPI_Ialltoallw: |name, real| {
        let call = among(comm, words(a, n, c, k), words(b, m, d, l));
        begun(name, call, r, || real(a, n, c, k, b, m, d, l, comm, r))
    };
    (a b n k op root comm) MPI_Reduce: |name, real| {
        let call = with_root(root, comm, (At::All, plain(a, n, k)), (At::Root, plain(b, n, k)));
        blocking(name, call, || real(a, b, n, k, op, root, comm))
    };
    (a b n k op root comm r) MPI_Ireduce: |name, real| {
        let call = with_root(root, comm, (At::All, plain(a, n, k)), (At::Root, plain(b, n, k)));
        begun(name, call, r, || real(a, b, n, k, op, root, comm, r))
    };
    (a b n k op comm) MPI_Allreduce MPI_Exscan MPI_Scan: |name, real| {
        blocking(name, among(comm, plain(a, n, k), plain(b, n, k)), || real(a, b, n, k, op, comm))
    };
    (a b n k op comm r) MPI_Iallreduce MPI_Iexscan MPI_Iscan: |name, real| {
        begun(name, among(comm, plain(a, n, k), plain(b, n, k)), r, || real(a, b, n, k, op, comm, r))
    };
    (a b n k op comm) MPI_Reduce_scatter: |name, real| {
        blocking(name, among(comm, total(a, n, k), own(b, n, k)), || real(a, b, n, k, op, comm))
    };
    (a b n k op comm r) MPI_Ireduce_scatter: |name, real| {
        begun(name, among(comm, total(a, n, k), own(b, n, k)), r, || real(a, b, n, k, op, comm, r))
    };
    (a b n k op comm) MPI_Reduce_scatter_block: |name, real| {
        blocking(name, among(comm, each(a, n, k), plain(b, n, k)), || real(a, b, n, k, op, comm))
    };
    (a b n k op comm r) MPI_Ireduce_scatter_block: |name, real| {
        begun(name, among(comm, each(a, n, k), plain(b, n, k)), r, || real(a, b, n, k, op, comm, r))
    };
}

// Questions about communicators, groups and topologies.
kept! {
    (a b) MPI_Cartdim_get MPI_Comm_rank MPI_Comm_remote_size MPI_Comm_size MPI_Comm_test_inter MPI_Group_rank
        MPI_Group_size MPI_Topo_test: |name, real| asked(name, [ints(b, 1)], || real(a, b));
    (a b c) MPI_Cart_rank MPI_Comm_compare MPI_Group_compare: |name, real| asked(name, [ints(c, 1)], || real(a, b, c));
    (a b c d) MPI_Cart_coords: |name, real| asked(name, [ints(d, c)], || real(a, b, c, d));
    (a b c d e) MPI_Cart_shift: |name, real| asked(name, [ints(d, 1), ints(e, 1)], || real(a, b, c, d, e));
    (a b c d e) MPI_Cart_get:
        |name, real| asked(name, [ints(c, b), ints(d, b), ints(e, b)], || real(a, b, c, d, e));
    (a b c d e) MPI_Group_translate_ranks: |name, real| asked(name, [ints(e, b)], || real(a, b, c, d, e));
}

// Communicators and groups that are made of several ranks.
kept! {
    (a) MPI_Comm_get_parent: |name, real| made_comm(name, a, || real(a));
    (a b c) MPI_Cart_sub MPI_Comm_create MPI_Intercomm_merge: |name, real| made_comm(name, c, || real(a, b, c));
    (a b c d) MPI_Comm_create_group: |name, real| made_comm(name, d, || real(a, b, c, d));
    (a b c d e f) MPI_Cart_create MPI_Intercomm_create: |name, real| made_comm(name, f, || real(a, b, c, d, e, f));
    (a b) MPI_Comm_group MPI_Comm_remote_group: |_name, real| made_group(b, || real(a, b));
    (a b c) MPI_Group_difference MPI_Group_intersection MPI_Group_union: |_name, real| made_group(c, || real(a, b, c));
    (a b c d) MPI_Group_excl MPI_Group_incl MPI_Group_range_excl MPI_Group_range_incl:
        |_name, real| made_group(d, || real(a, b, c, d));
}
