//! The server of the CARE samples: prints every message in the order in which it comes, and replies to calls.
//!
//! `care-server [MESSAGES]`: it ends after so many, 15 if no number is given.

fn main() -> retake::Result<()> {
    let messages = std::env::args().nth(1).and_then(|word| word.parse().ok()).unwrap_or(15);
    let mut me = retake::init("server")?;
    for _ in 0..messages {
        let Some(message) = me.receive(None)? else { continue };
        let text = String::from_utf8_lossy(message.contents()).into_owned();
        println!("server: from {}, id {}: {text}", message.name, message.id);
        if message.expects_reply {
            let reply = format!("reply to message {} from {} on host {}", message.id, message.name, message.host);
            me.reply(&message, reply.as_bytes())?;
        }
    }
    me.finish();
    Ok(())
}
