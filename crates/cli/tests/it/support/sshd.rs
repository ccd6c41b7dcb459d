//! A real sshd of OpenSSH on loopback, with keys made for the test, ended with it.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use super::{Lab, free_port, has};

/// Lets in whoever has the test's key, and nobody by password.
pub(crate) struct Sshd {
    process: Child,
    port: u16,
    folder: std::path::PathBuf,
}

impl Sshd {
    /// Starts it; none, visibly, where there is none, or where it cannot be run.
    pub(crate) fn start(lab: &Lab) -> Option<Self> {
        let program = Path::new("/usr/sbin/sshd");
        if !program.exists() {
            assay_skip::skip("tools", "needs sshd, apt install openssh-server");
            return None;
        }
        if !rustix::process::geteuid().is_root() {
            assay_skip::skip("root", "sshd lets in nobody but its own user otherwise");
            return None;
        }
        if !(has("ssh") && has("ssh-keygen")) {
            return None;
        }
        let folder = lab.path("sshd");
        std::fs::create_dir_all("/run/sshd").expect("where sshd separates its privileges");
        std::fs::create_dir(&folder).expect("folder");
        for key in ["host", "user"] {
            let made = Command::new("ssh-keygen")
                .args(["-q", "-t", "ed25519", "-N", "", "-f"])
                .arg(folder.join(key))
                .status();
            assert!(made.expect("ssh-keygen").success());
        }
        std::fs::copy(folder.join("user.pub"), folder.join("authorized")).expect("authorized");
        let port = free_port();
        let at = folder.display();
        let settings = format!(
            "Port {port}\nListenAddress 127.0.0.1\nHostKey {at}/host\nAuthorizedKeysFile {at}/authorized\nPidFile none\n\
             UsePAM no\nStrictModes no\nPasswordAuthentication no\nKbdInteractiveAuthentication no\n\
             PermitRootLogin prohibit-password\nSetEnv TMPDIR={} XDG_CACHE_HOME={at}/cache\n",
            lab.path("tmp").display()
        );
        std::fs::write(folder.join("settings"), settings).expect("settings");
        std::fs::write(folder.join("known"), "").expect("known");
        let process = Command::new(program)
            .arg("-D")
            .arg("-f")
            .arg(folder.join("settings"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("sshd");
        let sshd = Self { process, port, folder };
        super::eventually("sshd listens", || std::net::TcpStream::connect(("127.0.0.1", port)).is_ok());
        Some(sshd)
    }

    /// Arguments of ssh with which it finds nothing of the user's own, and this sshd.
    pub(crate) fn arguments(&self) -> String {
        let at = self.folder.display();
        let (port, known) = (self.port, format!("UserKnownHostsFile={at}/known"));
        format!(
            "[\"-F\", \"none\", \"-p\", \"{port}\", \"-i\", \"{at}/user\", \"-o\", \"IdentitiesOnly=yes\", \"-o\", \"{known}\"]"
        )
    }

    /// A folder for the PATH, whose `ssh` is that of OpenSSH with these arguments, as the user's own settings would have them.
    pub(crate) fn programs(&self) -> std::path::PathBuf {
        let folder = self.folder.join("bin");
        std::fs::create_dir(&folder).expect("folder");
        let arguments: Vec<String> = serde_json::from_str(&self.arguments()).expect("a list");
        let script = format!("#!/bin/sh\nexec /usr/bin/ssh {} \"$@\"\n", arguments.join(" "));
        std::fs::write(folder.join("ssh"), script).expect("script");
        std::fs::set_permissions(folder.join("ssh"), PermissionsExt::from_mode(0o755)).expect("a program");
        folder
    }

    /// Has its key known, as somebody who has compared it.
    pub(crate) fn make_known(&self) {
        let key = std::fs::read_to_string(self.folder.join("host.pub")).expect("key");
        let line = format!("[127.0.0.1]:{0},[localhost]:{0} {key}", self.port);
        std::fs::write(self.folder.join("known"), line).expect("known");
    }

    /// Lets nobody in any more.
    pub(crate) fn forget_the_user(&self) {
        std::fs::write(self.folder.join("authorized"), "").expect("authorized");
    }
}

impl Drop for Sshd {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
