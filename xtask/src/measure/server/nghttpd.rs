//! nghttpd, of nghttp2, with one worker: files alone, over HTTP/2 alone.

use std::process::Command;

use super::{ADDRESS, Server, Site};
use assay_lab::generator::Tool;

/// The server nghttpd.
pub(crate) struct Nghttpd;

const TOOL: Tool = Tool { program: "nghttpd", install: "apt-get install nghttp2-server" };

impl Server for Nghttpd {
    fn name(&self) -> &'static str {
        "nghttpd"
    }

    fn tool(&self) -> Option<Tool> {
        Some(TOOL)
    }

    fn command(&self, site: &Site) -> std::io::Result<Command> {
        let mut command = Command::new(TOOL.find().unwrap_or_else(|| TOOL.program.into()));
        command.args(["--workers=1", "--address", &ADDRESS.to_string(), "--htdocs"]).arg(&site.files);
        command.args(site.tls.is_none().then_some("--no-tls")).arg(site.port.to_string());
        if let Some(pair) = &site.tls {
            command.arg(&pair.key).arg(&pair.certificate);
        }
        Ok(command)
    }
}
