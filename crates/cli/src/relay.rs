//! Pipes between a program and where its output goes. A launcher gives its ranks pipes; a rank that is replayed without one
//! must not find a terminal or a file there, since libraries ask, and go another way.

use crate::status::{Context, Result};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::thread::JoinHandle;

/// Pipes for standard output and standard error, and who passes on what comes through.
pub struct Relay {
    ends: [OwnedFd; 2],
    passers: [JoinHandle<()>; 2],
}

impl Relay {
    /// Passes on to `to`, or to this process's own standard output and standard error.
    pub fn new(to: Option<[&File; 2]>) -> Result<Relay> {
        let words = || "cannot make a pipe for the output".into();
        let own = [io::stdout().as_fd().try_clone_to_owned(), io::stderr().as_fd().try_clone_to_owned()];
        let [out, error] = match to {
            Some(files) => files.map(File::try_clone),
            None => own.map(|fd| fd.map(File::from)),
        };
        let (one, two) = (passer(out.because(words)?).because(words)?, passer(error.because(words)?).because(words)?);
        Ok(Relay { ends: [one.0, two.0], passers: [one.1, two.1] })
    }

    pub fn streams(&self) -> [Option<RawFd>; 2] {
        self.ends.each_ref().map(|end| Some(end.as_raw_fd()))
    }

    /// The program has ended: everything has been passed on when this returns.
    pub fn finish(self) {
        drop(self.ends);
        for passer in self.passers {
            let _ = passer.join();
        }
    }
}

fn passer(mut to: File) -> io::Result<(OwnedFd, JoinHandle<()>)> {
    let (mut from, end) = io::pipe()?;
    let passer = std::thread::spawn(move || {
        let _ = io::copy(&mut from, &mut to);
    });
    Ok((end.into(), passer))
}
