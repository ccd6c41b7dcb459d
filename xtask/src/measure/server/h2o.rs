//! h2o with one thread: no log, connections kept for minutes, files from its cache of open files.

use std::process::Command;

use super::{Server, Site, as_nobody};
use assay_lab::generator::Tool;

/// h2o.
pub(crate) struct H2o;

const TOOL: Tool = Tool { program: "h2o", install: "apt-get install h2o" };

impl Server for H2o {
    fn name(&self) -> &'static str {
        "h2o"
    }

    fn tool(&self) -> Option<Tool> {
        Some(TOOL)
    }

    fn command(&self, site: &Site) -> std::io::Result<Command> {
        let file = site.scratch.join("h2o.conf");
        std::fs::write(&file, configuration(site))?;
        let mut command = Command::new(TOOL.find().unwrap_or_else(|| TOOL.program.into()));
        command.args(["-m", "worker", "-c"]).arg(&file);
        Ok(command)
    }
}

fn configuration(site: &Site) -> String {
    let (port, files) = (site.port, site.files.display());
    let user = as_nobody("user: nobody\n");
    format!(
        "{user}num-threads: 1
max-connections: 16384
http1-request-timeout: 300
listen:
  host: 127.0.0.1
  port: {port}
hosts:
  default:
    paths:
      /json:
        file.file: {files}/json
        file.mime.setdefaulttype: application/json
      /:
        file.dir: {files}
        file.mime.setdefaulttype: text/plain
"
    )
}
