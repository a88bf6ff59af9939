//! The server's other end: asks a process that waits just before the program begins for copies of itself.

use crate::facts::Ended;
use crate::launch::{self, Launch};
use crate::status::Result;
use retake_tape::choices::serve;
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// How long the program's libraries may take to load.
const LOADING: Duration = Duration::from_secs(20);
/// How often it is looked whether Retake is asked to end meanwhile.
const LOOK: Duration = Duration::from_millis(50);

pub struct Server {
    socket: UnixStream,
    pid: i32,
}

impl Server {
    /// Starts one; nothing if this program cannot be copied.
    pub fn start(launch: &Launch) -> Result<Option<Server>> {
        let Ok((socket, theirs)) = UnixStream::pair() else { return Ok(None) };
        let mut launch = launch.clone();
        launch.socket = Some(theirs.as_raw_fd());
        let (pid, _) = launch::start_apart(&launch)?;
        drop(theirs);
        let mut server = Server { socket, pid };
        let _ = server.socket.set_read_timeout(Some(LOADING));
        let since = Instant::now();
        while !launch::is_readable(server.descriptor(), LOOK) && since.elapsed() < LOADING {
            if launch::asked_to_end().is_some() {
                return Ok(None);
            }
        }
        Ok(matches!(server.read(), Some((serve::READY, _))).then_some(server))
    }

    /// Asks for a copy: its id.
    pub fn copy(&mut self) -> Option<i32> {
        self.socket.write_all(b"c").ok()?;
        match self.read()? {
            (serve::BEGUN, pid) if pid > 0 => Some(pid),
            _ => None,
        }
    }

    /// How the copy ended, if it has.
    pub fn ended(&mut self) -> Option<Ended> {
        if !launch::is_readable(self.socket.as_raw_fd(), Duration::ZERO) {
            return None;
        }
        match self.read() {
            Some((serve::ENDED, status)) => Some(launch::ended_by(status)),
            // The server is gone, and its copies with it.
            _ => Some(Ended::Signal(libc::SIGKILL)),
        }
    }

    fn read(&mut self) -> Option<(i32, i32)> {
        let mut bytes = [0; 8];
        self.socket.read_exact(&mut bytes).ok()?;
        let number = |at: usize| i32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        Some((number(0), number(4)))
    }

    pub fn descriptor(&self) -> i32 {
        self.socket.as_raw_fd()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // SAFETY: a child of ours that we have not waited for.
        unsafe { libc::kill(self.pid, libc::SIGKILL) };
        while launch::ended(self.pid).is_none() {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}
