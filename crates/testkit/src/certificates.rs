//! Certificates that a test makes for itself, by openssl.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Somebody who signs certificates.
#[derive(Debug)]
pub struct Authority {
    folder: PathBuf,
    name: String,
}

impl Authority {
    /// Its files, and those that it signs, are made in that folder.
    pub fn new(folder: &Path, name: &str) -> Authority {
        fs::create_dir_all(folder).expect("a folder");
        // Nothing of the machine's own settings.
        fs::write(folder.join("openssl.cnf"), "[req]\ndistinguished_name=none\n[none]\n").expect("a file");
        let authority = Authority { folder: folder.into(), name: name.into() };
        authority.make(name, &["-addext", "basicConstraints=critical,CA:TRUE"]);
        authority
    }

    /// Its own certificate.
    pub fn file(&self) -> PathBuf {
        self.folder.join(format!("{}.pem", self.name))
    }

    /// A certificate for these hosts (`IP:127.0.0.1,DNS:a.example`), and its key.
    pub fn sign(&self, name: &str, hosts: &str) -> (PathBuf, PathBuf) {
        let (own, key) = (format!("{}.pem", self.name), format!("{}.key", self.name));
        let hosts = format!("subjectAltName={hosts}");
        let end = ["-CA", &own, "-CAkey", &key, "-addext", "basicConstraints=critical,CA:FALSE", "-addext", &hosts];
        self.make(name, &end)
    }

    fn make(&self, name: &str, more: &[&str]) -> (PathBuf, PathBuf) {
        let (certificate, key) = (format!("{name}.pem"), format!("{name}.key"));
        let mut openssl = Command::new("openssl");
        openssl.args(["req", "-config", "openssl.cnf", "-x509", "-nodes", "-days", "30", "-subj"]);
        openssl.arg(format!("/CN={name}")).args(["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]);
        openssl.args(["-keyout", &key, "-out", &certificate]).args(more);
        openssl.current_dir(&self.folder).stderr(Stdio::null());
        assert!(openssl.status().expect("openssl, a package of Debian's").success(), "{openssl:?}");
        (self.folder.join(certificate), self.folder.join(key))
    }
}
