//! Reads the shim's tables of interposed functions as text, for the test that each row has a fixture.

use std::fs;
use std::path::Path;

/// One row of a table: its class in replay, its function, the file it stands in.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    pub class: String,
    pub function: String,
    pub file: String,
}

/// Every row of every `.rs` file of a folder.
pub fn rows_in(folder: &Path) -> Result<Vec<Row>, String> {
    let entries = fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let mut rows = Vec::new();
    for entry in entries {
        let path = entry.map_err(|e| e.to_string())?.path();
        if path.extension().is_some_and(|e| e == "rs") {
            let text = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
            let file = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
            rows.extend(text.lines().filter_map(|line| row(line, &file)));
        }
    }
    rows.sort_by(|a, b| (&a.file, &a.function).cmp(&(&b.file, &b.function)));
    Ok(rows)
}

/// `    Acquire fn pthread_mutex_lock (m: *mut Mutex) -> c_int => mutex::lock;`
fn row(line: &str, file: &str) -> Option<Row> {
    let mut words = line.split_whitespace();
    let class = words.next()?;
    let is_class = class.starts_with(|c: char| c.is_ascii_uppercase()) && class.chars().all(char::is_alphanumeric);
    if !is_class || words.next()? != "fn" {
        return None;
    }
    let function = words.next()?.split('(').next()?;
    Some(Row { class: class.to_string(), function: function.to_string(), file: file.to_string() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_found_and_other_lines_are_not() {
        let found =
            row("    Acquire fn pthread_mutex_lock (m: *mut Mutex) -> c_int => mutex::lock;", "mutex.rs").unwrap();
        assert_eq!((found.class.as_str(), found.function.as_str()), ("Acquire", "pthread_mutex_lock"));
        assert_eq!(row("    Wait fn sleep(n: c_uint) -> c_uint => sleep::whole;", "x").unwrap().function, "sleep");
        for line in ["pub fn lock(turn: Turn) {", "// Acquire fn", "    fn x()", "interpose! {", ""] {
            assert_eq!(row(line, "x"), None, "{line}");
        }
    }
}
