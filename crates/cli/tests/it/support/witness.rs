//! Servers of others with an access log, which know what they were asked and what they answered.

use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use super::{Lab, eventually, free_port};

/// A server that answers everything with `hello` and writes it down; it ends with its owner.
pub(crate) struct Witness {
    child: Child,
    log: PathBuf,
    /// What ends it in order.
    farewell: Signal,
    pub(crate) port: u16,
}

impl Witness {
    /// Starts nginx: `listen` stands behind its address, a line of its log has this `format`, and `directives` stand in its server.
    pub(crate) fn nginx(lab: &Lab, listen: &str, format: &str, directives: &str) -> Self {
        let (log, folder, port) = (lab.path("access.log"), lab.path(""), free_port());
        let folder = folder.display();
        let user = if rustix::process::geteuid().is_root() { "user root;" } else { "" };
        let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map(|name| format!("{name}_temp_path {folder}/{name};\n"))
            .concat();
        let text = format!(
            "{user} daemon off; worker_processes 1; pid {folder}/nginx.pid; error_log stderr crit;\n\
             events {{ worker_connections 512; }}\n\
             http {{ log_format brief '{format}'; access_log {} brief; {temporary}\n\
             server {{ listen 127.0.0.1:{port} {listen}; {directives}\n\
             location / {{ return 200 'hello'; }} }} }}\n",
            log.display(),
        );
        lab.write("nginx.conf", &text);
        let mut command = Command::new("nginx");
        command.args(["-e", "stderr", "-c"]).arg(lab.path("nginx.conf"));
        Self::start(command, log, Signal::QUIT, port)
    }

    /// Starts Caddy over TLS with the lab's `cert.pem` and `key.pem`, and without at `plain`; it speaks HTTP/2 on both. A line of
    /// its log is an object of JSON.
    pub(crate) fn caddy(lab: &Lab, plain: u16) -> Self {
        let (log, port) = (lab.path("access.log"), free_port());
        let file = |name: &str| lab.path(name).display().to_string();
        let site = |scheme: &str, port: u16, tls: &str| {
            format!(
                "{scheme}://:{port} {{\nbind 127.0.0.1\n{tls}\nlog {{\noutput file {}\nformat json\n}}\nrespond hello 200\n}}\n",
                log.display()
            )
        };
        let global =
            "{\nadmin off\nauto_https off\nlog {\nlevel ERROR\n}\nservers {\nprotocols h1 h2 h2c\n}\n}\n";
        let tls = format!("tls {} {}", file("cert.pem"), file("key.pem"));
        lab.write("Caddyfile", &[global, &site("https", port, &tls), &site("http", plain, "")].concat());
        let mut command = Command::new("caddy");
        command.args(["run", "--adapter", "caddyfile", "--config", &file("Caddyfile")]);
        command.env("XDG_DATA_HOME", file("data")).env("XDG_CONFIG_HOME", file("config"));
        // It tells of its beginning, whatever level is asked for.
        command.stderr(Stdio::null());
        Self::start(command, log, Signal::TERM, port)
    }

    fn start(mut command: Command, log: PathBuf, farewell: Signal, port: u16) -> Self {
        let child = command.spawn().expect("started");
        eventually("it listens", || TcpStream::connect(("127.0.0.1", port)).is_ok());
        Self { child, log, farewell, port }
    }

    /// Ends it in order, so that its log is whole; returns its lines.
    pub(crate) fn lines(&mut self) -> Vec<String> {
        kill_process(Pid::from_child(&self.child), self.farewell).expect("told to end");
        self.child.wait().expect("ended");
        let text = std::fs::read_to_string(&self.log).expect("log");
        text.lines().map(str::to_owned).collect()
    }
}

impl Drop for Witness {
    fn drop(&mut self) {
        let _ = kill_process(Pid::from_child(&self.child), Signal::TERM);
        let _ = self.child.wait();
    }
}
