//! How a run came out, and whether that is a failure.

use crate::facts::Ended;
use crate::status::{Failure, Result};
use std::fs::File;
use std::process::{Command, Stdio};

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    Ended(Ended),
    /// Threads wait for each other, or for what nobody can give.
    Deadlock,
    /// Nothing moved any more, or it went on for ever.
    Hang,
    /// It ended well, but what the user asked for says that it failed.
    Refused(Ended),
}

impl Outcome {
    pub fn words(self) -> String {
        match self {
            Outcome::Ended(Ended::Exit(code)) => format!("exit {code}"),
            Outcome::Ended(Ended::Signal(signal)) => crate::words::signal(signal),
            Outcome::Deadlock => "deadlock".into(),
            Outcome::Hang => "it hangs".into(),
            Outcome::Refused(ended) => format!("--fail-if ({})", ended.words()),
        }
    }
}

/// What counts as a failure.
pub struct Judge {
    fine: Vec<i32>,
    fails_if: Option<String>,
}

impl Judge {
    /// `fine` are exit statuses that are no failure, beside 0; `fails_if` is a pattern between slashes that failing output
    /// holds, or a command.
    pub fn new(fine: &[i32], fails_if: Option<String>) -> Judge {
        Judge { fine: fine.iter().copied().chain([0]).collect(), fails_if }
    }

    /// Whether a run that ended so, with that output, failed, and how.
    pub fn judge(&self, outcome: Outcome, output: &Output) -> Result<Option<Outcome>> {
        let Outcome::Ended(ended) = outcome else { return Ok(Some(outcome)) };
        match ended {
            Ended::Exit(code) if self.fine.contains(&code) => {}
            _ => return Ok(Some(outcome)),
        }
        let Some(word) = &self.fails_if else { return Ok(None) };
        Ok(self.refuses(word, ended, output)?.then_some(Outcome::Refused(ended)))
    }

    /// The command gets the output as its standard input, and the exit status in a variable; what it accepts has failed.
    fn refuses(&self, word: &str, ended: Ended, output: &Output) -> Result<bool> {
        let cannot = |error| Failure::own(format!("cannot run --fail-if {word}: {error}"));
        let mut child = match word.strip_prefix('/').and_then(|word| word.strip_suffix('/')) {
            Some(pattern) => {
                let mut child = Command::new("grep");
                child.args(["-E", "-q", "-e", pattern]);
                child
            }
            None => {
                let mut child = Command::new("sh");
                child.args(["-c", word]);
                child
            }
        };
        child.env("RETAKE_STATUS", ended.code().to_string());
        child.stdin(output.reopen().map_err(cannot)?).stdout(Stdio::null()).stderr(Stdio::inherit());
        Ok(child.status().map_err(cannot)?.success())
    }
}

/// Where the output of a run goes.
pub struct Output {
    pub file: File,
    path: std::path::PathBuf,
}

impl Output {
    pub fn new(path: std::path::PathBuf) -> std::io::Result<Output> {
        File::options().create_new(true).read(true).append(true).open(&path).map(|file| Output { file, path })
    }

    /// Forgets what was written.
    pub fn clear(&self) {
        let _ = self.file.set_len(0);
    }

    fn reopen(&self) -> std::io::Result<File> {
        File::open(&self.path)
    }
}
