//! Whatever a peer, a stranger or a nats-server sends is taken or refused; nothing panics.

#![no_main]

use libfuzzer_sys::fuzz_target;
use retake::outside;

/// A hello, without which nothing else is heard.
const HELLO: &[u8] = b"\x18\0\0\0RETAKE1\n\x01\0\0\0\x02\0\0\0\x03badhost";

fuzz_target!(|data: &[u8]| {
    let Some((&step, bytes)) = data.split_first() else { return };
    let step = 1 + usize::from(step) * 16;
    outside::stream(bytes, step);
    outside::stream(&[HELLO, bytes].concat(), step);
    outside::proof(bytes);
    outside::nats(bytes, step);
});
