//! A real nats-server of the test's own.

use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Ended with the test.
#[derive(Debug)]
pub struct Nats {
    child: Child,
    /// `HOST:PORT`
    pub address: String,
}

impl Nats {
    /// At an address that no other process of this machine uses.
    pub fn start(address: &str, options: &[&str]) -> Nats {
        let (host, port) = address.split_once(':').expect("HOST:PORT");
        let mut command = Command::new("nats-server");
        command.args(["-a", host, "-p", port]).args(options).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().expect("nats-server, a package of Debian's");
        while TcpStream::connect(address).is_err() {
            assert_eq!(child.try_wait().expect("its end"), None, "nats-server {options:?} does not start");
            std::thread::sleep(Duration::from_millis(10));
        }
        Nats { child, address: address.into() }
    }

    /// By SIGKILL.
    pub fn end(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Nats {
    fn drop(&mut self) {
        self.end();
    }
}
