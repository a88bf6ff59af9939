//! memcached under load: four clients over loopback, one request after the other, against two server threads.
//!
//! Only the recording is measured. What a server reads from its sockets is not recorded, so its replay needs the same
//! clients at the same pace, which these are not. The figure that counts is the server's processor time per request;
//! the wall clock is mostly that of the clients and of the loopback device.

use crate::run::{self, Place};
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const PORT: &str = "21211";
const CLIENTS: u32 = 4;
const REQUESTS: u32 = 25_000; // of each client

pub fn memcached(place: &Place, rounds: usize) -> Result<String, String> {
    let command = ["memcached", "-u", "root", "-U", "0", "-l", "127.0.0.1", "-p", PORT, "-t", "2"];
    if run::find(command[0]).is_none() {
        return Err("not installed: memcached".into());
    }
    let (mut bare_ns, mut wall, mut cpu) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..=rounds {
        let bare = serve(Command::new(command[0]).args(&command[1..]))?;
        let _ = std::fs::remove_dir_all(place.take());
        let recorded = serve(&mut place.recording(&command))?;
        if round > 0 {
            bare_ns.push(bare.0);
            wall.push(recorded.0 / bare.0);
            cpu.push(recorded.1 / bare.1);
        }
    }
    let (events, bytes) = place.sizes()?;
    Ok(format!(
        "| memcached | {:.2} s | {:.2} | | | {:.2} | | {events} | {:.3} | |",
        run::median(bare_ns) / 1e9,
        run::median(wall),
        run::median(cpu),
        if events == 0 { 0.0 } else { bytes as f64 / events as f64 },
    ))
}

/// Starts the server, runs the clients, stops it; returns the clients' wall time and the server's processor time.
fn serve(command: &mut Command) -> Result<(f64, f64), String> {
    let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let child = child.spawn().map_err(|e| e.to_string())?;
    let loaded = load();
    // SAFETY: plain system call on the child's own number, which is not reaped before `wait` below.
    unsafe { libc::kill(child.id() as libc::pid_t, libc::SIGTERM) };
    let (_, cpu_ns) = run::wait(child.id())?;
    Ok((loaded?, cpu_ns))
}

fn load() -> Result<f64, String> {
    let mut clients = (0..CLIENTS).map(|_| connect()).collect::<Result<Vec<_>, _>>()?;
    let start = Instant::now();
    let results: Vec<std::io::Result<()>> = std::thread::scope(|scope| {
        let running: Vec<_> =
            clients.drain(..).enumerate().map(|(i, stream)| scope.spawn(move || client(stream, i as u32))).collect();
        running.into_iter().map(|one| one.join().unwrap_or_else(|_| Err(std::io::Error::other("panic")))).collect()
    });
    for result in results {
        result.map_err(|e| format!("client: {e}"))?;
    }
    Ok(start.elapsed().as_nanos() as f64)
}

/// The server needs a moment to listen; ten seconds are plenty.
fn connect() -> Result<TcpStream, String> {
    for _ in 0..1000 {
        if let Ok(stream) = TcpStream::connect(format!("127.0.0.1:{PORT}")) {
            stream.set_nodelay(true).map_err(|e| e.to_string())?;
            stream.set_read_timeout(Some(Duration::from_secs(30))).map_err(|e| e.to_string())?;
            return Ok(stream);
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Err("memcached does not listen".into())
}

/// One set to nine gets, on a thousand keys.
fn client(stream: TcpStream, me: u32) -> std::io::Result<()> {
    let mut writer = stream.try_clone()?;
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    for i in 0..REQUESTS {
        let key = (i.wrapping_mul(2_654_435_761) ^ me) % 1000;
        if i % 10 == 0 {
            writer.write_all(format!("set k{key} 0 0 100\r\n{:0100}\r\n", i).as_bytes())?;
            line.clear();
            reader.read_line(&mut line)?;
            continue;
        }
        writer.write_all(format!("get k{key}\r\n").as_bytes())?;
        loop {
            line.clear();
            if reader.read_line(&mut line)? == 0 {
                return Err(std::io::Error::other("the server closed the connection"));
            }
            if line == "END\r\n" {
                break;
            }
        }
    }
    Ok(())
}
