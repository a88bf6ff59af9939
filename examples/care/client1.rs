//! A client that sends and calls in turn, after the first sample program of the CARE thesis.
//!
//! `care-client1 [NAME]`: the name is `client1` if none is given. See `docs/library.md` for how to run it.

fn main() -> retake::Result<()> {
    let name = std::env::args().nth(1).unwrap_or_else(|| "client1".into());
    let mut me = retake::init(&name)?;
    let server = me.wait_for_partner("server", None)?;
    for i in 1..=10 {
        let text = format!("This is {name} message {i}");
        if i % 2 == 1 {
            me.send(server, text.as_bytes())?;
        } else if let Some(reply) = me.call(server, text.as_bytes(), None)? {
            println!("{name}: reply: {}", String::from_utf8_lossy(&reply));
        }
    }
    me.finish();
    Ok(())
}
