//! Says where two outputs differ, in a line that a person can read.

use crate::run::{Outcome, tail};

/// What is different between a recording and its replay, or nothing.
pub fn first_difference(recorded: &Outcome, replayed: &Outcome) -> Option<String> {
    let mut said = Vec::new();
    if recorded.ended != replayed.ended {
        said.push(format!("ended {} when recorded, {} when replayed", recorded.ended, replayed.ended));
    }
    if let Some(text) = output_difference(&recorded.stdout, &replayed.stdout) {
        said.push(text);
    }
    if said.is_empty() {
        return None;
    }
    if !replayed.stderr.is_empty() {
        said.push(format!("standard error of the replay:\n{}", tail(&replayed.stderr)));
    }
    Some(said.join("\n"))
}

fn output_difference(recorded: &[u8], replayed: &[u8]) -> Option<String> {
    let at = recorded.iter().zip(replayed).position(|(a, b)| a != b);
    let at = match at {
        Some(at) => at,
        None if recorded.len() == replayed.len() => return None,
        None => recorded.len().min(replayed.len()),
    };
    Some(format!(
        "standard output differs at byte {at} (of {} recorded, {} replayed)\n  recorded: {}\n  replayed: {}",
        recorded.len(),
        replayed.len(),
        around(recorded, at),
        around(replayed, at)
    ))
}

/// Some bytes before and after a place.
fn around(bytes: &[u8], at: usize) -> String {
    let from = at.saturating_sub(40);
    let to = (at + 60).min(bytes.len());
    String::from_utf8_lossy(&bytes[from.min(to)..to]).escape_debug().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn outcome(stdout: &str, ended: i32) -> Outcome {
        Outcome { stdout: stdout.into(), stderr: "retake: diverged".into(), ended, took: Duration::ZERO }
    }

    #[test]
    fn differences_are_named() {
        assert_eq!(first_difference(&outcome("abc", 0), &outcome("abc", 0)), None);
        let text = first_difference(&outcome("abc", 0), &outcome("abd", 120)).unwrap();
        assert!(text.contains("byte 2") && text.contains("ended 0 when") && text.contains("diverged"), "{text}");
        assert!(first_difference(&outcome("abc", 0), &outcome("ab", 0)).unwrap().contains("byte 2"));
    }
}
