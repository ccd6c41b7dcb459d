//! nginx with one worker: no log, connections without end, sendfile, small answers from its configuration.

use std::process::Command;

use super::{HELLO, JSON, Pair, Server, Site, as_nobody};
use assay_lab::generator::Tool;

/// The server nginx.
pub(crate) struct Nginx;

const TOOL: Tool = Tool { program: "nginx", install: "apt-get install nginx-light" };

impl Server for Nginx {
    fn name(&self) -> &'static str {
        "nginx"
    }

    fn tool(&self) -> Option<Tool> {
        Some(TOOL)
    }

    fn command(&self, site: &Site) -> std::io::Result<Command> {
        let file = site.scratch.join("nginx.conf");
        std::fs::write(&file, configuration(site))?;
        let mut command = Command::new(TOOL.find().unwrap_or_else(|| TOOL.program.into()));
        command.args(["-e", "stderr", "-p"]).arg(&site.scratch).arg("-c").arg(&file);
        Ok(command)
    }
}

/// What follows `listen`, and the directives behind it. Tickets are on and the cache is off, as by default and as with ours.
fn secured(pair: &Pair) -> (&'static str, String) {
    let (certificate, key) = (pair.certificate.display(), pair.key.display());
    (
        " ssl",
        format!(
            "ssl_certificate {certificate};\nssl_certificate_key {key};\nssl_protocols TLSv1.3;\nssl_conf_command Ciphersuites TLS_AES_256_GCM_SHA384;\n"
        ),
    )
}

fn configuration(site: &Site) -> String {
    let (port, scratch, files) = (site.port, site.scratch.display(), site.files.display());
    let (ssl, pair) = site.tls.as_ref().map_or_else(Default::default, secured);
    let http2 = if site.protocol.is_http2() { " http2" } else { "" };
    let user = as_nobody("user nobody nogroup;");
    let temporary: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|name| format!("{name}_temp_path {scratch}/{name};\n"))
        .concat();
    format!(
        "{user}
daemon off;
worker_processes 1;
worker_rlimit_nofile 20000;
pid {scratch}/pid;
error_log stderr crit;
events {{ worker_connections 16384; }}
http {{
access_log off;
sendfile on;
tcp_nopush on;
keepalive_timeout 300s;
keepalive_requests 1000000000;
open_file_cache max=100 inactive=300s;
open_file_cache_valid 300s;
default_type text/plain;
{temporary}
server {{
listen 127.0.0.1:{port} backlog=4096{ssl}{http2};
{pair}root {files};
location = /hello {{ return 200 '{HELLO}'; }}
location = /json {{ default_type application/json; return 200 '{JSON}'; }}
}}
}}
"
    )
}
