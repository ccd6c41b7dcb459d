//! The servers that are soaked: what each is to be started with.

use std::io;
use std::path::Path;
use std::process::Command;

use assay_lab::generator::Tool;

/// The body that all of them answer with.
pub(crate) const BODY_BYTES: usize = 1024;
/// Where they listen.
pub(crate) const PORT: u16 = 8080;

/// A server.
pub(crate) struct Subject {
    pub(crate) name: &'static str,
    /// What must be installed; `None` for our own.
    pub(crate) tool: Option<Tool>,
    /// The command of a program that is put on the stack by its environment; `None` for our own.
    pub(crate) command: Option<MakeCommand>,
}

/// Writes the files that it needs into the folder and gives the command that answers with the body at the address.
pub(crate) type MakeCommand = fn(address: &str, folder: &Path, body: &str) -> io::Result<Command>;

pub(crate) const SUBJECTS: [Subject; 3] = [
    Subject {
        name: "nginx",
        tool: Some(Tool { program: "nginx", install: "apt-get install nginx-light" }),
        command: Some(nginx),
    },
    Subject {
        name: "node",
        tool: Some(Tool { program: "node", install: "apt-get install nodejs" }),
        command: Some(node),
    },
    Subject { name: "assay", tool: None, command: None },
];

/// What all of them answer with: what `assay serve` has at `/bytes/1024`.
pub(crate) fn body() -> String {
    const PATTERN: &str = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_";
    PATTERN.repeat(BODY_BYTES / PATTERN.len())
}

fn nginx(address: &str, folder: &Path, body: &str) -> io::Result<Command> {
    let at = folder.display();
    let text = format!(
        "worker_processes 1; daemon off; pid {at}/pid; error_log {at}/nginx-log;\n\
         events {{ worker_connections 16384; multi_accept on; }}\n\
         http {{ access_log off; keepalive_requests 1000000; client_body_temp_path {at}/a; proxy_temp_path {at}/b;\n\
         fastcgi_temp_path {at}/c; uwsgi_temp_path {at}/d; scgi_temp_path {at}/e;\n\
         server {{ listen {address}:{PORT} backlog=16384; location / {{ default_type text/plain; return 200 \"{body}\"; }} }} }}\n"
    );
    let configuration = folder.join("nginx.conf");
    std::fs::write(&configuration, text)?;
    let mut command = Command::new("nginx");
    command.args(["-e", "/dev/null", "-g", "user root;", "-c"]).arg(configuration);
    Ok(command)
}

fn node(address: &str, folder: &Path, body: &str) -> io::Result<Command> {
    let text = format!(
        "const body = '{body}';\n\
         require('http').createServer((_, answer) => answer.end(body)).listen({PORT}, '{address}', 16384);\n\
         process.on('SIGTERM', () => process.exit(0));\n"
    );
    let script = folder.join("server.js");
    std::fs::write(&script, text)?;
    let mut command = Command::new("node");
    command.arg(script);
    Ok(command)
}
