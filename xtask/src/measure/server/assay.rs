//! `assay serve`: the reference server.

use std::process::Command;

use super::{Server, Site};
use crate::measure::client::Engine;
use assay_lab::generator::Tool;

/// Ours on one engine.
pub(crate) struct AssayServer(pub(crate) Engine);

impl Server for AssayServer {
    fn name(&self) -> &'static str {
        match self.0 {
            Engine::Uring => "assay io_uring",
            Engine::Epoll => "assay epoll",
        }
    }

    fn tool(&self) -> Option<Tool> {
        None
    }

    fn command(&self, site: &Site) -> std::io::Result<Command> {
        let mut command = Command::new(&site.assay);
        command.args(["serve", "-p", &site.port.to_string(), "--engine", self.0.flag(), "--root"]);
        command.arg(&site.files);
        if let Some(tls) = &site.tls {
            command.arg("--tls-cert").arg(&tls.certificate).arg("--tls-key").arg(&tls.key);
        }
        Ok(command)
    }
}
