//! Several of these side by side write to one terminal, in an order that a replay repeats: `lines NAME`.

use std::io::stdout;

fn main() -> retake::Result<()> {
    let name = std::env::args().nth(1).unwrap_or_else(|| "lines".into());
    let mut me = retake::init(&name)?;
    let out = retake::Writer::new("terminal", stdout());
    for number in 1..=20 {
        out.write(&mut me, format!("{name} {number}\n").as_bytes())?;
        // A little work, so that the others come in between.
        std::hint::black_box((0..20_000u64).sum::<u64>());
        std::thread::yield_now();
    }
    me.finish();
    Ok(())
}
