//! The same servers on our own stack, asked by curl on our own stack: no socket of the kernel's carries a byte.

use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::Signal;

use super::support::{Server, eventually, exit, is_installed, on_ring};
use super::{Site, big};

/// Files in memory, as the ring wants.
const MEMORY: &str = "/dev/shm";

struct Ring {
    site: Site,
    /// Removed with its content; the ring itself is removed by whoever leaves it last.
    folder: tempfile::TempDir,
}

impl Ring {
    fn new() -> Self {
        let folder = tempfile::tempdir_in(MEMORY).unwrap();
        // Workers may run as another user.
        std::fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
        Self { site: Site::new(), folder }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("ring")
    }

    fn server(&self, program: &str, script: &str) -> Command {
        let mut command = on_ring(program, &self.site.log, &self.path(), "server");
        if !script.is_empty() {
            let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts");
            command.arg(scripts.join(script)).arg(self.site.path()).arg(self.site.port.to_string());
        }
        command
    }

    /// What curl gets, over one connection.
    fn fetch(&self, paths: &[&str]) -> Vec<Vec<u8>> {
        let log = self.site.path().join("curl-log");
        let mut curl = on_ring("curl", &log, &self.path(), "client");
        curl.env("ASSAY_STACK_ADDRESS", "10.77.0.2/24");
        curl.args([
            "--silent",
            "--fail",
            "--max-time",
            "60",
            "--retry",
            "100",
            "--retry-delay",
            "0",
            "--retry-all-errors",
            "--retry-max-time",
            "60",
        ]);
        let targets: Vec<_> = (0..paths.len()).map(|i| self.site.path().join(format!("got{i}"))).collect();
        for (path, target) in paths.iter().zip(&targets) {
            curl.arg("-o").arg(target).arg(format!("http://10.77.0.1:{}{path}", self.site.port));
        }
        let status = curl.status().unwrap();
        assert!(status.success(), "{status}: {}", Server::said(&log));
        targets.iter().map(|target| std::fs::read(target).unwrap()).collect()
    }

    /// Starts the server, asks it as two programs one after the other, and ends it; returns how it ended.
    fn try_out(&self, command: &mut Command) -> i32 {
        let server = Server::spawn(command, self.site.port, &self.site.log);
        // Whoever comes first makes the ring, and root's would be closed to a server's workers.
        eventually("the server makes its ring", || self.path().exists());
        for _ in 0..2 {
            let got = self.fetch(&["/small", "/big", "/small"]);
            assert!(got == [b"hello".to_vec(), big(), b"hello".to_vec()]);
        }
        exit(server.end(Signal::TERM))
    }
}

fn has_curl_and(program: &str, asks: &str) -> bool {
    is_installed("curl", "--version") && is_installed(program, asks)
}

#[test]
fn asyncio() {
    if !has_curl_and("/usr/bin/python3", "--version") {
        return;
    }
    let ring = Ring::new();
    assert_eq!(ring.try_out(&mut ring.server("/usr/bin/python3", "asyncio_server.py")), 9);
    assert_eq!(ring.site.accepted(), 2, "{}", Server::said(&ring.site.log));
}

#[test]
fn python_with_threads() {
    if !has_curl_and("/usr/bin/python3", "--version") {
        return;
    }
    let ring = Ring::new();
    assert_eq!(ring.try_out(&mut ring.server("/usr/bin/python3", "threads_server.py")), 128 + 15);
}

#[test]
fn node() {
    if !has_curl_and("node", "--version") {
        return;
    }
    let ring = Ring::new();
    assert_eq!(ring.try_out(&mut ring.server("node", "server.js")), 5);
    assert_eq!(ring.site.accepted(), 2, "{}", Server::said(&ring.site.log));
}

#[test]
fn nginx() {
    if !has_curl_and("nginx", "-v") {
        return;
    }
    let ring = Ring::new();
    let file = ring.site.configure_nginx(1);
    assert_eq!(ring.try_out(ring.server("nginx", "").arg("-c").arg(file)), 0);
    assert_eq!(ring.site.accepted(), 2, "{}", Server::said(&ring.site.log));
}

#[test]
fn java() {
    if !has_curl_and("javac", "-version") {
        return;
    }
    let ring = Ring::new();
    // At an address of its own, which a JVM names in IPv6's way (`::ffff:10.77.0.1`).
    assert_eq!(ring.try_out(ring.server("java", "Server.java").arg("10.77.0.1")), 128 + 15);
    assert!(ring.site.accepted() >= 2, "{}", Server::said(&ring.site.log));
}
