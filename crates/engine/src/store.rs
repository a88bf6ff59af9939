//! Where tape goes: the process's file, grown in slabs, handed out in chunks.
//!
//! No file descriptor is kept: a program may close every one that it finds. The file is opened when it must grow, its
//! blocks are reserved before they are mapped (a hole on a full disk would kill the program at its first write), and it
//! is closed again.
//!
//! Law: a failure here ends the recording, never the program.

use crate::lock::Lock;
use crate::sys;
use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::{Relaxed, Release};
use libc::c_int;
use retake_tape::layout::{
    ALIGN, CHUNK_MAGIC, ChunkHeader, HEADER_SIZE, MAGIC, MAJOR, MINOR, NAME_MAX, ProcessHeader, chunk_size,
};

/// Longest path of a tape file.
pub const PATH_MAX: usize = 4096;
const FIRST: u64 = 16 << 10;
const SLAB: u64 = 64 << 10;
/// Chunks from this size up are mapped one by one and given back when they are full.
const OWN_MAP: u64 = 32 << 10;
const PAGE: u64 = 4096;
/// Room for what stands apart is reserved in pieces of at least this.
const APART: u64 = 1 << 20;
/// One writer alone needs no more slabs: its later chunks have maps of their own.
const SLABS: usize = 4;

/// One file: the tape, or the rich events.
pub struct Store {
    path: [u8; PATH_MAX],
    header: *mut ProcessHeader,
    lock: Lock,
    slab: *mut u8,
    slab_at: u64,
    slab_used: u64,
    slab_size: u64,
    /// The first slabs, to be given back by [`Store::give_back`].
    slabs: [*mut u8; SLABS],
    /// The room that is reserved for what stands apart.
    apart: u64,
    apart_end: u64,
}

/// What a fresh file says of its process.
pub struct Beginning<'a> {
    pub kind: u32,
    pub name: &'a [u8],
    pub born: u32,
    pub at_random: [u8; 16],
}

/// A chunk that a writer may fill.
pub struct Room {
    pub chunk: *mut ChunkHeader,
    pub at: u64,
    /// Bytes to give back when the chunk is full, 0 if it shares a slab.
    pub mapped: usize,
}

impl Store {
    pub const fn new() -> Store {
        Store {
            path: [0; PATH_MAX],
            header: core::ptr::null_mut(),
            lock: Lock::new(),
            slab: core::ptr::null_mut(),
            slab_at: 0,
            slab_used: 0,
            slab_size: 0,
            slabs: [core::ptr::null_mut(); SLABS],
            apart: 0,
            apart_end: 0,
        }
    }

    /// The file's header, or null while there is none.
    pub fn header(&self) -> *mut ProcessHeader {
        self.header
    }

    /// Makes the file `directory/name+ending`. If one of that name exists, `~1`, `~2` … is put behind the name.
    ///
    /// # Safety
    /// Nobody else may use the store meanwhile.
    pub unsafe fn create(&mut self, directory: &[u8], ending: &str, begin: &Beginning<'_>) -> Result<(), c_int> {
        self.lock.reset();
        (self.apart, self.apart_end) = (0, 0);
        // In a forked child it is still the parent's: a failure here must not be told there.
        self.header = core::ptr::null_mut();
        for attempt in 0..1000 {
            let mut path = Path { to: &mut self.path, length: 0 };
            path.push(directory).push(b"/").push(begin.name);
            if attempt > 0 {
                path.push(b"~").push_number(attempt);
            }
            if !path.push(ending.as_bytes()).finish() {
                return Err(libc::ENAMETOOLONG);
            }
            let flags = libc::O_RDWR | libc::O_CREAT | libc::O_EXCL;
            // SAFETY: the store is ours alone.
            match unsafe { self.map(flags, 0, FIRST, false) } {
                Ok(at) => {
                    // SAFETY: the first page was just mapped, writable and zeroed.
                    unsafe { self.begin(at, begin) };
                    return Ok(());
                }
                Err(libc::EEXIST) => {}
                Err(error) => return Err(error),
            }
        }
        Err(libc::EEXIST)
    }

    unsafe fn begin(&mut self, at: *mut u8, begin: &Beginning<'_>) {
        self.header = at.cast();
        // SAFETY: `at` is a fresh page.
        unsafe {
            let header = &mut *self.header;
            header.major = MAJOR;
            header.minor = MINOR;
            header.kind = begin.kind;
            header.pid = sys::getpid() as u32;
            header.parent_pid = sys::getppid() as u32;
            header.born = begin.born;
            header.at_random = begin.at_random;
            header.started_ns = sys::clock_ns(libc::CLOCK_REALTIME) as u64;
            let length = begin.name.len().min(NAME_MAX);
            header.name[..length].copy_from_slice(&begin.name[..length]);
            header.name_len = length as u32;
            header.next_free = FIRST.into();
            header.magic = MAGIC;
            self.slab = at.add(HEADER_SIZE as usize);
        }
        self.slab_at = HEADER_SIZE;
        self.slab_used = 0;
        self.slab_size = FIRST - HEADER_SIZE;
    }

    /// The file becomes `directory/name+ending`, in place of whatever has that name.
    ///
    /// # Safety
    /// Nobody else may use the store meanwhile.
    pub unsafe fn rename(&mut self, directory: &[u8], name: &[u8], ending: &str) -> Result<(), c_int> {
        let mut new = [0; PATH_MAX];
        let mut path = Path { to: &mut new, length: 0 };
        if !path.push(directory).push(b"/").push(name).push(ending.as_bytes()).finish() {
            return Err(libc::ENAMETOOLONG);
        }
        let here = libc::AT_FDCWD as usize;
        // SAFETY: both paths end in a zero byte.
        let renamed = unsafe { sys::renameat(here, self.path.as_ptr() as usize, here, new.as_ptr() as usize) };
        sys::error(renamed).map_or(Ok(()), Err)?;
        self.path = new;
        Ok(())
    }

    /// Gives the memory of the file back. The last chunk, if it has a map of its own, is its writer's to release.
    ///
    /// # Safety
    /// Nobody may use the store or its chunks any more; at most one writer ever did.
    pub unsafe fn give_back(&mut self) {
        // SAFETY: maps of ours, which nobody uses.
        unsafe {
            for slab in self.slabs.iter_mut().filter(|slab| !slab.is_null()) {
                sys::munmap(*slab as usize, SLAB as usize);
                *slab = core::ptr::null_mut();
            }
            if !self.header.is_null() {
                sys::munmap(self.header as usize, FIRST as usize);
                self.header = core::ptr::null_mut();
            }
        }
    }

    /// A fresh chunk, the `index`-th of its thread's chain, with room for at least `need` bytes of payload.
    ///
    /// # Safety
    /// The store must have been created.
    pub unsafe fn chunk(&mut self, thread: u32, index: u32, need: usize) -> Result<Room, c_int> {
        let least = (need + 256) as u64;
        let size = u64::from(chunk_size(index)).max(least).next_multiple_of(ALIGN);
        let lock = &raw const self.lock;
        // SAFETY: the lock lives as long as the store.
        let room = unsafe { &*lock }.with(|| {
            if size >= OWN_MAP {
                let size = size.next_multiple_of(PAGE);
                // SAFETY: under the lock.
                unsafe { self.extend(size, true).map(|(at, memory)| (at, memory, size, size as usize)) }
            } else {
                if self.slab_size - self.slab_used < size {
                    // SAFETY: under the lock.
                    let (at, memory) = unsafe { self.extend(SLAB, false)? };
                    (self.slab, self.slab_at, self.slab_used, self.slab_size) = (memory, at, 0, SLAB);
                    if let Some(free) = self.slabs.iter_mut().find(|slab| slab.is_null()) {
                        *free = memory;
                    }
                }
                let used = self.slab_used;
                self.slab_used += size;
                // SAFETY: the slab is that long.
                Ok((self.slab_at + used, unsafe { self.slab.add(used as usize) }, size, 0))
            }
        });
        let (at, memory, size, mapped) = room?;
        let chunk = memory.cast::<ChunkHeader>();
        // SAFETY: the chunk is ours, zeroed and aligned.
        unsafe {
            (*chunk).size = size as u32;
            (*chunk).thread = thread;
            (*chunk).index = index;
            (&raw mut (*chunk).magic).cast::<AtomicU32>().as_ref().unwrap_unchecked().store(CHUNK_MAGIC, Release);
        }
        Ok(Room { chunk, at, mapped })
    }

    /// Opens the file for [`Store::write_apart`]. Whoever keeps the descriptor must look whether it is still of this file.
    pub fn open_apart(&self) -> Result<c_int, c_int> {
        let flags = (libc::O_WRONLY | libc::O_CLOEXEC | libc::O_NOFOLLOW) as usize;
        // SAFETY: the path ends in a zero byte.
        let fd = unsafe { sys::openat(libc::AT_FDCWD as usize, self.path.as_ptr() as usize, flags, 0) };
        sys::error(fd).map_or(Ok(fd as c_int), Err)
    }

    /// Writes many bytes apart from all chains, past any map: where they stand. They begin a page, so that the system's cache
    /// takes them in large pieces; that is much cheaper than a fault for each page of a map.
    ///
    /// # Safety
    /// The store must have been created; `fd` is of its file.
    pub unsafe fn write_apart(&mut self, fd: c_int, bytes: &[u8]) -> Result<u64, c_int> {
        let size = (bytes.len() as u64).next_multiple_of(PAGE);
        let lock = &raw const self.lock;
        // SAFETY: the lock lives as long as the store; the caller's descriptor.
        unsafe { &*lock }.with(|| unsafe {
            let written = self.reserve_apart(fd as usize, size).and_then(|at| write_at(fd as usize, bytes, at));
            written.inspect(|at| self.apart = at + size)
        })
    }

    /// Where so many bytes may stand: behind those that were written last, if there is room.
    unsafe fn reserve_apart(&mut self, fd: usize, size: u64) -> Result<u64, c_int> {
        if self.apart_end - self.apart >= size {
            return Ok(self.apart);
        }
        // SAFETY: the header is mapped; the caller holds the lock.
        let next = unsafe { &(*self.header).next_free };
        let free = next.load(Relaxed).next_multiple_of(PAGE);
        // What is left goes on if nothing was put behind it.
        let at = if free == self.apart_end { self.apart } else { free.next_multiple_of(SLAB) };
        let end = free.max(at) + size.max(APART);
        if !within_file_limit(end) {
            return Err(libc::EFBIG);
        }
        // SAFETY: the caller's descriptor, open for writing.
        unsafe { reserve(fd, free, end - free)? };
        (self.apart, self.apart_end) = (at, end);
        next.store(end, Release);
        Ok(at)
    }

    unsafe fn extend(&mut self, size: u64, filled: bool) -> Result<(u64, *mut u8), c_int> {
        // SAFETY: the header is mapped; the caller holds the lock.
        unsafe {
            let next = &(*self.header).next_free;
            let at = next.load(Relaxed).next_multiple_of(PAGE);
            let memory = self.map(libc::O_RDWR, at, size, filled)?;
            next.store(at + size, Release);
            Ok((at, memory))
        }
    }

    /// Opens the file, reserves `size` bytes at `offset`, maps them and closes the file. They are `filled` if all will be
    /// needed soon: then writing causes no faults.
    unsafe fn map(&self, flags: c_int, offset: u64, size: u64, filled: bool) -> Result<*mut u8, c_int> {
        if !within_file_limit(offset + size) {
            return Err(libc::EFBIG);
        }
        let flags = flags | libc::O_CLOEXEC | libc::O_NOFOLLOW;
        // SAFETY: the path ends in a zero byte; the descriptor is ours.
        unsafe {
            let fd = sys::openat(libc::AT_FDCWD as usize, self.path.as_ptr() as usize, flags as usize, 0o600);
            if let Some(error) = sys::error(fd) {
                return Err(error);
            }
            let fd = fd as usize;
            let result = reserve(fd, offset, size);
            if result.is_ok() && filled {
                fill(fd, offset, size);
            }
            let mapped = result.and_then(|()| map_shared(fd, offset, size));
            sys::close(fd);
            if let (Ok(at), true) = (mapped, filled) {
                // Kernels before 5.14 do not know it: then there are faults.
                sys::madvise(at as usize, size as usize, libc::MADV_POPULATE_WRITE as usize);
            }
            mapped
        }
    }
}

impl Default for Store {
    fn default() -> Self {
        Store::new()
    }
}

fn within_file_limit(end: u64) -> bool {
    let mut limit = [u64::MAX; 2];
    // SAFETY: the result lives on the stack.
    unsafe { sys::prlimit64(0, libc::RLIMIT_FSIZE as usize, 0, limit.as_mut_ptr() as usize) };
    end <= limit[0]
}

unsafe fn reserve(fd: usize, offset: u64, size: u64) -> Result<(), c_int> {
    // SAFETY: the descriptor is open for writing.
    unsafe {
        loop {
            match sys::error(sys::fallocate(fd, 0, offset as usize, size as usize)) {
                None => return Ok(()),
                Some(libc::EINTR) => {}
                Some(libc::EOPNOTSUPP | libc::ENOSYS) => break,
                Some(error) => return Err(error),
            }
        }
        let zeros = [0u8; 512];
        let mut at = offset;
        while at < offset + size {
            match sys::pwrite(fd, zeros.as_ptr() as usize, zeros.len(), at as usize) {
                written if written > 0 => at += written as u64,
                failed => match sys::error(failed) {
                    Some(libc::EINTR) => {}
                    error => return Err(error.unwrap_or(libc::EIO)),
                },
            }
        }
        Ok(())
    }
}

/// Fills reserved blocks with zeros. The system's cache takes them in large pieces; page by page, as faults of a map ask for them,
/// costs four times as much. If it cannot be done, those faults do it.
unsafe fn fill(fd: usize, offset: u64, size: u64) {
    static ZEROS: [u8; PAGE as usize] = [0; PAGE as usize];
    let piece = libc::iovec { iov_base: ZEROS.as_ptr().cast_mut().cast(), iov_len: ZEROS.len() };
    let (pieces, mut at) = ([piece; 32], offset);
    while at < offset + size {
        let many = ((offset + size - at) / PAGE).min(pieces.len() as u64) as usize;
        // SAFETY: the caller's descriptor; as many pieces as said.
        let written = unsafe { sys::pwritev(fd, pieces.as_ptr() as usize, many, at as usize, 0) };
        if written <= 0 {
            return;
        }
        at += written as u64;
    }
}

/// Writes all of the bytes at that position, and says it again.
unsafe fn write_at(fd: usize, bytes: &[u8], at: u64) -> Result<u64, c_int> {
    let mut done = 0;
    while done < bytes.len() {
        let from = bytes.as_ptr() as usize + done;
        // SAFETY: the caller's descriptor; as many bytes as said.
        match unsafe { sys::pwrite(fd, from, bytes.len() - done, at as usize + done) } {
            written if written > 0 => done += written as usize,
            failed => match sys::error(failed) {
                Some(libc::EINTR) => {}
                error => return Err(error.unwrap_or(libc::EIO)),
            },
        }
    }
    Ok(at)
}

unsafe fn map_shared(fd: usize, offset: u64, size: u64) -> Result<*mut u8, c_int> {
    let protection = (libc::PROT_READ | libc::PROT_WRITE) as usize;
    // SAFETY: a fresh map; the blocks behind it are reserved.
    unsafe {
        let at = sys::mmap(
            sys::map_hint(size as usize),
            size as usize,
            protection,
            libc::MAP_SHARED as usize,
            fd,
            offset as usize,
        );
        if let Some(error) = sys::error(at) {
            return Err(error);
        }
        // Without this the first touch reads ahead megabytes of a file that is only written.
        sys::madvise(at as usize, size as usize, libc::MADV_RANDOM as usize);
        Ok(at as *mut u8)
    }
}

/// A path being put together without allocation.
pub struct Path<'a> {
    pub to: &'a mut [u8],
    pub length: usize,
}

impl Path<'_> {
    pub fn push(&mut self, bytes: &[u8]) -> &mut Self {
        for &byte in bytes {
            if let Some(to) = self.to.get_mut(self.length) {
                *to = byte;
            }
            self.length += 1;
        }
        self
    }

    pub fn push_number(&mut self, number: u64) -> &mut Self {
        if number >= 10 {
            self.push_number(number / 10);
        }
        self.push(&[b'0' + (number % 10) as u8])
    }

    pub fn push_hex(&mut self, number: u64) -> &mut Self {
        if number >= 16 {
            self.push_hex(number / 16);
        }
        self.push(&[b"0123456789abcdef"[(number % 16) as usize]])
    }

    /// Ends it with a zero byte; false if it did not fit.
    pub fn finish(&mut self) -> bool {
        self.push(&[0]);
        self.length <= self.to.len()
    }
}
