//! Any bytes are refused or read to their end; nothing panics.

#![no_main]

use libfuzzer_sys::fuzz_target;
use retake_fuzz::{dressed, read_all};

fuzz_target!(|data: &[u8]| {
    let _ = read_all(data);
    let _ = read_all(&dressed(data));
});
