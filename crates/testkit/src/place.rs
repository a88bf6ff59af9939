//! A place: one program and an empty folder, in which `retake` is called by hand.

use crate::fixture::Fixture;
use crate::kit::Kit;
use crate::run::{Outcome, run};
use std::path::{Path, PathBuf};
use std::process::Command;

pub struct Place {
    pub kit: Kit,
    pub dir: PathBuf,
    pub program: PathBuf,
}

impl Place {
    /// A folder of `kit` named after the test, and the program of that source.
    pub fn new(kit: Kit, test: &str, source: &Path) -> Result<Place, String> {
        let program = kit.compile(&Fixture::load(source)?)?;
        let dir = kit.scratch(test)?;
        Ok(Place { kit, dir, program })
    }

    /// `retake` with these arguments, there.
    pub fn retake(&self, arguments: &[&str]) -> Result<Outcome, String> {
        run(self.kit.retake(&self.dir).args(arguments), &self.dir, self.kit.limits)
    }

    /// `retake COMMAND ARGUMENTS -- PROGRAM`, ready to be started.
    pub fn command(&self, command: &str, arguments: &[&str]) -> Command {
        let mut retake = self.kit.retake(&self.dir);
        retake.arg(command).args(arguments).arg("--").arg(&self.program);
        retake
    }

    /// The same, to its end.
    pub fn run(&self, command: &str, arguments: &[&str]) -> Result<Outcome, String> {
        run(&mut self.command(command, arguments), &self.dir, self.kit.limits)
    }
}
