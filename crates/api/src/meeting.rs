//! The meeting place: a private directory where the participants of one machine find each other by name.
//!
//! `NAME.lock` is locked as long as a participant of that name lives, whatever way its process ends; `NAME.sock` is its
//! socket. Under `retake record` and `retake replay` the place lies beside the session and goes with it, so that a replay
//! never meets the program itself; otherwise it is `$XDG_RUNTIME_DIR/retake/GROUP`, or `/tmp/retake-UID/GROUP`.

use crate::error::{Error, Result};
use crate::mode::Settings;
use crate::wire::{Address, Fd};
use retake_engine::sys;
use retake_tape::session::MEETING;
use std::ffi::CString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// The file in which participants are counted: no participant has a name that begins with a dot.
const NUMBERS: &str = ".numbers";

fn system(what: &'static str) -> impl Fn(i32) -> Error {
    move |errno| Error::System { what, errno }
}

fn c(path: &Path) -> Result<CString> {
    CString::new(path.as_os_str().as_bytes()).map_err(|_| Error::Setting("a path with a zero byte in it".into()))
}

/// The directory, open.
#[derive(Debug)]
pub struct Meeting {
    path: PathBuf,
    dir: Fd,
    /// The place is of this run alone, so that lives can be counted in it.
    of_run: bool,
}

impl Meeting {
    /// Goes to the meeting place, making it first if need be.
    pub fn enter(settings: &Settings) -> Result<Meeting> {
        let (path, of_run) = match &settings.session {
            Some(session) => (session.parent().unwrap_or(Path::new("/")).join(MEETING), true),
            None => (base()?.join(&settings.group), false),
        };
        make(&path)?;
        let name = c(&path)?;
        let flags = libc::O_DIRECTORY | libc::O_NOFOLLOW | libc::O_CLOEXEC;
        // SAFETY: a C string.
        let dir = Fd::new(unsafe { sys::openat(libc::AT_FDCWD as usize, name.as_ptr() as usize, flags as usize, 0) })
            .map_err(system("open the directory where participants meet"))?;
        private(&dir, &path)?;
        Ok(Meeting { path, dir, of_run })
    }

    /// Takes the name: the lock to be held, and which life of the name this is.
    pub fn take_name(&self, name: &str) -> Result<(Fd, u32)> {
        let file = c(&self.path.join(format!("{name}.lock")))?;
        let flags = libc::O_CREAT | libc::O_RDWR | libc::O_NOFOLLOW | libc::O_CLOEXEC;
        // SAFETY: a C string.
        let opened = unsafe { sys::openat(libc::AT_FDCWD as usize, file.as_ptr() as usize, flags as usize, 0o600) };
        let lock = Fd::new(opened).map_err(system("make a file in the directory where participants meet"))?;
        // SAFETY: plain calls on a descriptor of ours.
        match sys::error(unsafe { sys::flock(lock.0 as usize, (libc::LOCK_EX | libc::LOCK_NB) as usize) }) {
            None => {}
            Some(libc::EWOULDBLOCK) => return Err(Error::NameTaken(name.into())),
            Some(errno) => return Err(system("lock a participant's name")(errno)),
        }
        let life = if self.of_run { count_in(&lock) } else { count_here(name) };
        Ok((lock, life))
    }

    /// A number that nobody else who meets here has, or has had.
    pub fn take_number(&self) -> Result<u32> {
        self.locked(NUMBERS).map(|numbers| count_in(&numbers))
    }

    /// A file that all who meet here share; nobody else has it until it is dropped.
    fn locked(&self, name: &str) -> Result<Fd> {
        let file = c(&self.path.join(name))?;
        let flags = libc::O_CREAT | libc::O_RDWR | libc::O_NOFOLLOW | libc::O_CLOEXEC;
        // SAFETY: a C string.
        let opened = unsafe { sys::openat(libc::AT_FDCWD as usize, file.as_ptr() as usize, flags as usize, 0o600) };
        let file = Fd::new(opened).map_err(system("make a file in the directory where participants meet"))?;
        loop {
            // SAFETY: a plain call on a descriptor of ours; the lock goes with it.
            match sys::error(unsafe { sys::flock(file.0 as usize, libc::LOCK_EX as usize) }) {
                None => return Ok(file),
                Some(libc::EINTR) => {}
                Some(errno) => return Err(system("lock a file of the participants")(errno)),
            }
        }
    }

    /// The file of a writer's version, locked; `None` if the place is not of one run, and there is no first version.
    pub fn writer(&self, name: &str) -> Result<Option<Fd>> {
        if !self.of_run {
            return Ok(None);
        }
        self.locked(&format!(".writer-{name}")).map(Some)
    }

    /// Where the participant of this name listens.
    pub fn address(&self, name: &str) -> Address {
        let full = self.path.join(format!("{name}.sock"));
        let mut bytes = full.as_os_str().as_bytes().to_vec();
        // SAFETY: all zero is a valid address.
        let mut address = Address { storage: unsafe { std::mem::zeroed() }, length: 0 };
        let room = size_of::<libc::sockaddr_un>() - 2;
        if bytes.len() >= room {
            // Too long for an address, however deep the take lies: name it by the open directory.
            bytes = format!("/proc/self/fd/{}/{name}.sock", self.dir.0).into_bytes();
        }
        address.storage.ss_family = libc::AF_UNIX as u16;
        // SAFETY: the storage is larger than a Unix address, whose path stands behind the family; names are short.
        unsafe {
            let to = (&raw mut address.storage).cast::<u8>().add(2);
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len());
        }
        address.length = (2 + bytes.len() + 1) as u32;
        address
    }

    /// Removes the socket of a participant that is no more.
    pub fn remove_socket(&self, name: &str) {
        if let Ok(name) = CString::new(format!("{name}.sock")) {
            // SAFETY: a C string.
            unsafe { sys::unlinkat(self.dir.0 as usize, name.as_ptr() as usize, 0) };
        }
    }
}

fn base() -> Result<PathBuf> {
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|dir| dir.is_absolute());
    Ok(match runtime {
        Some(dir) if dir.is_dir() => dir.join("retake"),
        // SAFETY: only asks.
        _ => PathBuf::from(std::ffi::OsString::from_vec(
            format!("/tmp/retake-{}", unsafe { libc::geteuid() }).into_bytes(),
        )),
    })
}

/// Makes `path` and what is missing above it, for this user alone.
fn make(path: &Path) -> Result<()> {
    let name = c(path)?;
    // SAFETY: a C string.
    match sys::error(unsafe { sys::mkdir(name.as_ptr() as usize, 0o700) }) {
        None | Some(libc::EEXIST) => Ok(()),
        Some(libc::ENOENT) if path.parent().is_some() => {
            path.parent().map_or(Ok(()), make)?;
            // SAFETY: a C string.
            match sys::error(unsafe { sys::mkdir(name.as_ptr() as usize, 0o700) }) {
                None | Some(libc::EEXIST) => Ok(()),
                Some(errno) => Err(system("make a directory where participants meet")(errno)),
            }
        }
        Some(errno) => Err(system("make a directory where participants meet")(errno)),
    }
}

/// Refuses a directory that others could have laid in our way.
fn private(dir: &Fd, path: &Path) -> Result<()> {
    // SAFETY: room for the answer.
    let data = unsafe {
        let mut data: libc::stat = std::mem::zeroed();
        sys::fstat(dir.0 as usize, &raw mut data as usize);
        data
    };
    // SAFETY: only asks.
    if data.st_uid != unsafe { libc::geteuid() } || data.st_mode & 0o077 != 0 {
        let what = format!("{} must belong to you, and to nobody else: chmod 700, or set RETAKE_GROUP", path.display());
        return Err(Error::Setting(what));
    }
    Ok(())
}

/// Counts a life in the lock's file; whoever holds the lock is alone with it.
fn count_in(lock: &Fd) -> u32 {
    let mut bytes = [0u8; 4];
    let fd = lock.0 as usize;
    // SAFETY: four bytes of room.
    unsafe { sys::pread(fd, bytes.as_mut_ptr() as usize, 4, 0) };
    let life = u32::from_le_bytes(bytes).wrapping_add(1);
    let bytes = life.to_le_bytes();
    // SAFETY: as above.
    unsafe { sys::pwrite(fd, bytes.as_ptr() as usize, 4, 0) };
    life
}

/// Counts a life of a name in this process.
fn count_here(name: &str) -> u32 {
    static LIVES: Mutex<Vec<(String, u32)>> = Mutex::new(Vec::new());
    let mut lives = LIVES.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    match lives.iter_mut().find(|(known, _)| known == name) {
        Some((_, life)) => {
            *life += 1;
            *life
        }
        None => {
            lives.push((name.into(), 1));
            1
        }
    }
}
