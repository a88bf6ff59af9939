//! An order of a run as a short text: `0x3,1,0x12` lets thread 0 go on at three points, thread 1 at one, then thread 0 again.
//!
//! `RETAKE_EXPLORE=NAME=ORDER` makes the exploration of that name run that order, once; without a name, every exploration.
//! `@FILE` in place of the order names a file that holds it.

use super::words;

pub const VARIABLE: &str = "RETAKE_EXPLORE";

/// Longer texts go into a file.
const TEXT_MAX: usize = 2000;

pub fn text(choices: &[u16]) -> String {
    let runs = choices.chunk_by(|a, b| a == b);
    let words: Vec<String> =
        runs.map(|run| if run.len() == 1 { run[0].to_string() } else { format!("{}x{}", run[0], run.len()) }).collect();
    if words.is_empty() { "-".into() } else { words.join(",") }
}

pub fn parse(text: &str) -> Result<Vec<u16>, String> {
    let text = text.trim();
    if text == "-" || text.is_empty() {
        return Ok(Vec::new());
    }
    let mut choices = Vec::new();
    for word in text.split(',') {
        let (thread, many) = word.split_once('x').unwrap_or((word, "1"));
        let fits = |many: &usize| *many <= super::run::STEPS_MAX;
        let (Ok(thread), Some(many)) = (thread.parse::<u16>(), many.parse().ok().filter(fits)) else {
            return Err(format!("`{word}` is no part of an order, which is like 0x3,1,0x12"));
        };
        choices.extend(std::iter::repeat_n(thread, many));
    }
    Ok(choices)
}

/// The order that the environment asks the exploration of this name for.
pub fn asked(name: &str) -> Result<Option<Vec<u16>>, String> {
    let Ok(value) = std::env::var(VARIABLE) else { return Ok(None) };
    let order = match value.rsplit_once('=') {
        Some((other, _)) if other != name => return Ok(None),
        Some((_, order)) => order,
        None => &value,
    };
    let order = match order.strip_prefix('@') {
        Some(file) => std::fs::read_to_string(file).map_err(|error| format!("cannot read {file}: {error}"))?,
        None => order.to_owned(),
    };
    parse(&order).map(Some)
}

/// The value of the variable that asks for this order.
pub fn value(name: &str, choices: &[u16]) -> String {
    let order = text(choices);
    if order.len() <= TEXT_MAX {
        return format!("{name}={order}");
    }
    let file = std::env::temp_dir().join(format!("retake-order-{}-{}", std::process::id(), choices.len()));
    match std::fs::write(&file, &order) {
        Ok(()) => format!("{name}=@{}", file.display()),
        Err(_) => format!("{name}={order}"),
    }
}

/// The line to type.
pub fn command(name: &str, choices: &[u16]) -> String {
    // The test harness gives a test's thread the name of the test.
    let thread = std::thread::current();
    let derived = name.split_once("::").map_or(name, |(_, rest)| rest);
    let test = thread.name().filter(|name| *name != "main").unwrap_or(derived);
    let command = match test {
        // No test, but a program.
        "main" => std::env::args().collect::<Vec<_>>().join(" "),
        test => format!("cargo test {test} -- --exact --nocapture"),
    };
    format!("{VARIABLE}='{}' {command}", value(name, choices))
}

/// The name of the exploration of this closure: its function's.
pub fn name_of<F>() -> String {
    let name = std::any::type_name::<F>();
    name.replace("::{{closure}}", "").replace(['\'', '='], "")
}

/// How far an order fitted.
pub fn fitted(strayed: Option<u64>, length: usize) -> String {
    let all = words::count(length as u64, "choice");
    match strayed {
        Some(step) => format!("the order fits for the first {step} of {all}; from there the run went on by itself"),
        None => format!("the order fits: {all} made"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_come_back_from_their_texts() {
        for (choices, words) in [(&[][..], "-"), (&[0, 0, 0, 1, 0], "0x3,1,0"), (&[12], "12")] {
            assert_eq!(text(choices), words);
            assert_eq!(parse(words).as_deref(), Ok(choices));
        }
        assert!(parse("0x3,a").is_err() && parse("0x99999999999").is_err() && parse("70000").is_err());
    }
}
