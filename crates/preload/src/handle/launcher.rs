//! Launchers of parallel jobs (`mpirun` and its helpers), and the ranks that they start.
//!
//! A launcher is not recorded: how its daemons talk is none of the program's doing. It leaves Retake's variables where
//! they are, so that whatever it starts inherits them, and marks them ([`UNDER`]); a process that finds the mark and a
//! rank in its environment is that rank and is recorded as `rank:K`, the same name in every run. Whatever a launcher
//! starts on the way there (`ssh`, a proxy) stays out as well.

use core::ffi::CStr;
use libc::c_char;
use retake_engine::store::Path;
use retake_tape::session::{LAUNCHERS, RANK_NAME, ROOT_NAME, STARTED, UNDER, variable};

/// Where launchers say which rank a process is.
const RANKS: [&str; 4] = ["OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID"];

/// What this process is to a launcher.
pub enum Role {
    /// It has nothing to do with one.
    None,
    /// It is one, or something between one and its ranks: not recorded.
    Apart,
    /// It is this rank.
    Rank(&'static [u8]),
}

unsafe fn find(envp: *mut *mut c_char, name: &str) -> Option<&'static mut [u8]> {
    let mut at = envp;
    // SAFETY: the vector ends in a null; the kernel's texts live as long as the process.
    unsafe {
        while !(*at).is_null() {
            let bytes = CStr::from_ptr(*at).to_bytes();
            if bytes.strip_prefix(name.as_bytes()).is_some_and(|rest| rest.starts_with(b"=")) {
                let (start, length) = (name.len() + 1, bytes.len() - name.len() - 1);
                return Some(core::slice::from_raw_parts_mut((*at).add(start).cast(), length));
            }
            at = at.add(1);
        }
    }
    None
}

/// Whether this program is a launcher, by the name of its file.
fn is_launcher() -> bool {
    let mut path = [0u8; 1024];
    // SAFETY: the buffer is as long as said.
    let length = unsafe { libc::readlink(c"/proc/self/exe".as_ptr(), path.as_mut_ptr().cast(), path.len()) };
    let path = &path[..length.max(0) as usize];
    let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
    LAUNCHERS.iter().any(|launcher| launcher.as_bytes() == name)
}

/// Finds out; a launcher marks the variables that its children will inherit.
///
/// # Safety
/// `envp` must be the environment that the kernel gave, and one thread must run.
pub unsafe fn role(envp: *mut *mut c_char) -> Role {
    // SAFETY: as the caller promises.
    unsafe {
        if find(envp, variable::MODE).is_none() {
            return Role::None;
        }
        let Some(born) = find(envp, variable::BORN) else { return Role::None };
        if is_launcher() {
            if let [only] = born {
                *only = UNDER;
            }
            return Role::Apart;
        }
        match born {
            [STARTED] => {}
            // Hydra hands no name of ours to ranks that a job starts itself: they would be taken for the first ones.
            [UNDER] if find(envp, "PMI_SPAWNED").is_some_and(|spawned| *spawned != [b'0']) => return Role::Apart,
            [UNDER] => {}
            _ => return Role::None,
        }
        match RANKS.into_iter().find_map(|name| find(envp, name)) {
            Some(rank) if !rank.is_empty() && rank.iter().all(u8::is_ascii_digit) => Role::Rank(rank),
            _ => Role::Apart,
        }
    }
}

/// Writes the name of `rank` of the job that the launcher called `launcher` started; returns its length.
pub fn rank_name(to: &mut [u8], launcher: &[u8], rank: &[u8]) -> usize {
    let mut path = Path { to, length: 0 };
    if launcher != ROOT_NAME.as_bytes() {
        path.push(launcher).push(b".");
    }
    path.push(RANK_NAME.as_bytes()).push(rank);
    path.length
}
