//! Collectives: what this rank gave is kept as length and checksum, what it got as bytes.
//!
//! Among one rank a collective is local, and is made again as it is.

use crate::handle::exchange::tell_other;
use crate::handle::mpi::full::pack::{Region, extent, packed, unpack};
use crate::handle::mpi::full::send::{int, sum};
use crate::handle::mpi::full::underway::{self, Brings};
use crate::handle::mpi::full::{Numbers, feed, given, kept, refuse};
use crate::handle::mpi::requests::Wanted;
use crate::handle::mpi::{SUCCESS, abi, receive, wait};
use crate::table::mpi::real;
use libc::c_int;
use retake_engine::report;
use retake_engine::store::Path;
use retake_engine::thread::Thread;
use retake_engine::turn::{self, in_library};

/// How the elements lie.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)] // all zero is nothing
enum Shape {
    Nothing,
    /// So many of one type.
    Plain,
    /// So many for each rank.
    Each,
    /// Counts and displacements for each rank, in elements.
    Vector,
    /// The same in bytes, each of a type of its own.
    Words,
    /// As many as the count of this rank says.
    Own,
    /// As many as all counts together.
    Total,
}

/// What is given or got.
#[derive(Clone, Copy)]
pub struct Part {
    shape: Shape,
    buffer: usize,
    counts: usize,
    displacements: usize,
    kind: usize,
}

pub const NOTHING: Part = Part { shape: Shape::Nothing, buffer: 0, counts: 0, displacements: 0, kind: 0 };

fn part(shape: Shape, buffer: usize, counts: usize, displacements: usize, kind: usize) -> Part {
    if buffer == abi::get().in_place { NOTHING } else { Part { shape, buffer, counts, displacements, kind } }
}

pub fn plain(buffer: usize, count: usize, kind: usize) -> Part {
    part(Shape::Plain, buffer, count, 0, kind)
}

pub fn each(buffer: usize, count: usize, kind: usize) -> Part {
    part(Shape::Each, buffer, count, 0, kind)
}

pub fn vector(buffer: usize, counts: usize, displacements: usize, kind: usize) -> Part {
    part(Shape::Vector, buffer, counts, displacements, kind)
}

pub fn words(buffer: usize, counts: usize, displacements: usize, kinds: usize) -> Part {
    part(Shape::Words, buffer, counts, displacements, kinds)
}

pub fn own(buffer: usize, counts: usize, kind: usize) -> Part {
    part(Shape::Own, buffer, counts, 0, kind)
}

pub fn total(buffer: usize, counts: usize, kind: usize) -> Part {
    part(Shape::Total, buffer, counts, 0, kind)
}

/// The `index`-th number of an array of the program's.
fn nth(array: usize, index: usize) -> usize {
    // SAFETY: as long as there are ranks.
    unsafe { *(array as *const c_int).add(index) as usize }
}

impl Part {
    /// Its elements, in a communicator of so many ranks.
    fn regions(self, rank: usize, size: usize) -> impl Iterator<Item = Region> + Clone {
        let many = match self.shape {
            Shape::Nothing => 0,
            Shape::Vector | Shape::Words => size,
            _ => 1,
        };
        let Part { buffer, counts, displacements, kind, .. } = self;
        let step = if self.shape == Shape::Vector { extent(kind) } else { 0 };
        let count = counts as u32 as usize;
        (0..many).map(move |index| match self.shape {
            Shape::Nothing | Shape::Plain => Region { buffer, count, kind },
            Shape::Each => Region { buffer, count: count * size, kind },
            Shape::Own => Region { buffer, count: nth(counts, rank), kind },
            Shape::Total => Region { buffer, count: (0..size).map(|rank| nth(counts, rank)).sum(), kind },
            Shape::Vector => {
                let at = buffer.wrapping_add(nth(displacements, index).wrapping_mul(step));
                Region { buffer: at, count: nth(counts, index), kind }
            }
            Shape::Words => {
                let at = buffer.wrapping_add(nth(displacements, index));
                // SAFETY: the program's array of types.
                let kind = unsafe { abi::get().handle(abi::get().nth(kind as *mut u8, index)) };
                Region { buffer: at, count: nth(counts, index), kind }
            }
        })
    }
}

/// Who gives, or gets.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum At {
    All,
    Root,
    Others,
}

/// One collective call.
#[derive(Clone, Copy)]
pub struct Call {
    comm: usize,
    root: c_int,
    gives: (At, Part),
    gets: (At, Part),
    rank: c_int,
    size: c_int,
}

/// A call without a root.
pub fn among(comm: usize, gives: Part, gets: Part) -> Call {
    Call { comm, root: -1, gives: (At::All, gives), gets: (At::All, gets), rank: 0, size: 0 }
}

/// A call with one.
pub fn with_root(root: usize, comm: usize, gives: (At, Part), gets: (At, Part)) -> Call {
    Call { comm, root: int(root), gives, gets, rank: 0, size: 0 }
}

/// Root, this rank, ranks, bytes that were given, their checksum.
type Told = Numbers<5>;

impl Call {
    fn at(&self, (at, part): (At, Part)) -> impl Iterator<Item = Region> + Clone + use<> {
        let here = match at {
            At::All => true,
            At::Root => self.rank == self.root,
            At::Others => self.rank != self.root,
        };
        let part = if here { part } else { NOTHING };
        part.regions(self.rank.max(0) as usize, self.size.max(0) as usize)
    }

    /// What this rank gets.
    pub fn gets(&self) -> impl Iterator<Item = Region> + Clone + use<> {
        self.at(self.gets)
    }

    fn told(&self) -> Told {
        let [length, checksum] = sum(self.at(self.gives));
        Numbers([i64::from(self.root), i64::from(self.rank), i64::from(self.size), length, checksum])
    }

    /// Recording: who we are there. Between two groups it is another matter.
    fn look(&mut self, name: &'static str) {
        let mut between: c_int = 0;
        // SAFETY: the program's communicator, and variables of ours.
        in_library(|| unsafe {
            real::MPI_Comm_test_inter(self.comm, &raw mut between);
            real::MPI_Comm_rank(self.comm, &raw mut self.rank);
            real::MPI_Comm_size(self.comm, &raw mut self.size);
        });
        if between != 0 {
            refuse(name);
            (self.gives, self.gets) = ((At::All, NOTHING), (At::All, NOTHING));
        }
    }

    /// Alone: compares what is given with the record; what is behind it.
    fn compare(&mut self, thread: &mut Thread, name: &'static str) -> &'static [u8] {
        let (then, rest) = Told::read(thread.given(name));
        (self.rank, self.size) = (then.0[1] as c_int, then.0[2] as c_int);
        let now = self.told();
        if then.0[..4] != now.0[..4] {
            let recorded = |words: &mut Path<'_>| describe(words, name, &then);
            report::another_exchange(thread, recorded, |words| describe(words, name, &now));
        }
        if then != now {
            tell_other(thread, |words| describe(words, name, &now));
        }
        rest
    }
}

fn describe(words: &mut Path<'_>, name: &str, told: &Told) {
    words.push(name.as_bytes()).push(b" with ").push_number(told.0[3].unsigned_abs()).push(b" bytes of this rank");
    if told.0[0] >= 0 {
        words.push(b", root ").push_number(told.0[0].unsigned_abs());
    }
}

/// A collective that blocks.
pub fn blocking(name: &'static str, mut call: Call, real: impl FnOnce() -> usize) -> usize {
    let Some(thread) = turn::enter() else { return real() };
    if kept() {
        call.look(name);
        let told = call.told();
        let result = in_library(|| wait::held(real));
        match call.size {
            1 => thread.keep(name, [told.bytes(), &[]]),
            _ => packed(call.gets(), |bytes| thread.keep(name, [told.bytes(), bytes])),
        }
        return result;
    }
    if given() {
        let bytes = call.compare(thread, name);
        if call.size != 1 {
            unpack(bytes, call.gets());
            return SUCCESS as usize;
        }
    }
    in_library(|| wait::held(real))
}

/// A collective with a request.
pub fn begun(name: &'static str, mut call: Call, request: usize, real: impl FnOnce() -> usize) -> usize {
    let Some(thread) = turn::enter() else { return real() };
    let at = request as *mut u8;
    if kept() {
        call.look(name);
        thread.keep(name, [call.told().bytes(), &[]]);
        let result = in_library(|| wait::held(real));
        if result as c_int == SUCCESS && call.size != 1 {
            // SAFETY: the library has written the request.
            unsafe { underway::begin(name, Brings::Collective(call), 0, at) };
        }
        return result;
    }
    if given() {
        call.compare(thread, name);
        if call.size != 1 {
            let tag = feed::tag();
            let (kind, comm) = (abi::get().byte, feed::comm());
            let nothing = Wanted { buffer: 0, count: 0, kind, source: 0, tag, comm, large: false };
            // SAFETY: the program's place for a request.
            unsafe {
                let result = in_library(|| receive::post(&nothing, at));
                underway::begin(name, Brings::Collective(call), tag, at);
                return result as usize;
            }
        }
    }
    in_library(|| wait::held(real))
}
