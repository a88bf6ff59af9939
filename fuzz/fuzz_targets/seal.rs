//! Any file that a killed program may leave is sealed or refused; sealing it again changes nothing.

#![no_main]

use libfuzzer_sys::fuzz_target;
use retake_fuzz::{dressed, read_all};
use retake_tape::seal::seal;

fuzz_target!(|data: &[u8]| {
    let mut raw = data.to_vec();
    let _ = seal(&mut raw);
    let mut bytes = dressed(data);
    let Ok(end) = seal(&mut bytes) else { return };
    let once = bytes.clone();
    assert_eq!(seal(&mut bytes), Ok(end));
    assert_eq!(bytes, once);
    bytes.truncate(end as usize);
    let _ = read_all(&bytes);
});
