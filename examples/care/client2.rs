//! A client of two threads that share an object, after the second sample program of the CARE thesis: one sends to the
//! server and calls the other, who changes the object before it replies.

use retake::sync::Mutex;
use retake::{Result, Shared};
use std::thread;
use std::time::Duration;

/// Two threads print. The lock inside `println!` is the standard library's, which a recording does not see; this one it does,
/// so that a replay prints in the recorded order without having to wait for it.
static PRINTING: Mutex<()> = Mutex::new(());

fn say(line: &str) {
    let _printing = PRINTING.lock();
    println!("{line}");
}

fn first(number: &Shared<i32>) -> Result<()> {
    let mut me = retake::init("client2a")?;
    let other = me.wait_for_partner("client2b", None)?;
    let server = me.wait_for_partner("server", None)?;
    for i in 1..=10 {
        let text = format!("This is client2a message {i}");
        if i % 2 == 1 {
            me.send(server, text.as_bytes())?;
            continue;
        }
        *number.write(&mut me)? = i;
        say(&format!("client2a: number before the call: {}", *number.read(&mut me)?));
        let reply = me.call(other, text.as_bytes(), None)?.unwrap_or_default();
        say(&format!("client2a: reply: {}", String::from_utf8_lossy(&reply)));
        say(&format!("client2a: number after the call: {}", *number.read(&mut me)?));
    }
    me.finish();
    Ok(())
}

fn second(number: &Shared<i32>) -> Result<()> {
    let mut me = retake::init("client2b")?;
    for i in 50..55 {
        let Some(message) = me.receive(None)? else { continue };
        say(&format!("client2b: from {}: {}", message.name, String::from_utf8_lossy(message.contents())));
        *number.write(&mut me)? = i;
        let reply = format!("client2b's reply to message {} from {}", message.id, message.name);
        me.reply(&message, reply.as_bytes())?;
    }
    // Nobody sends any more: this runs out of time.
    let last = me.receive(Some(Duration::from_millis(100)))?;
    say(&format!("client2b: {}", if last.is_none() { "no more messages" } else { "one more message" }));
    me.finish();
    Ok(())
}

fn main() -> Result<()> {
    let number = Shared::new("Number", 9);
    thread::scope(|scope| {
        let one = scope.spawn(|| first(&number));
        let two = scope.spawn(|| second(&number));
        one.join().expect("client2a ends well").and(two.join().expect("client2b ends well"))
    })
}
