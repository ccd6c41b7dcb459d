//! Apache httpd with the event MPM and one process: no log, connections without end, sendfile, only the modules needed.

use std::path::Path;
use std::process::Command;

use super::{Server, Site, as_nobody};
use assay_lab::generator::Tool;

/// Apache httpd.
pub(crate) struct Apache;

const TOOL: Tool = Tool { program: "apache2", install: "apt-get install apache2-bin" };
/// Where Debian puts modules; one that is built in is no file and needs no line.
const MODULES: &str = "/usr/lib/apache2/modules";

impl Server for Apache {
    fn name(&self) -> &'static str {
        "apache"
    }

    fn tool(&self) -> Option<Tool> {
        Some(TOOL)
    }

    fn command(&self, site: &Site) -> std::io::Result<Command> {
        let file = site.scratch.join("httpd.conf");
        std::fs::write(&file, configuration(site))?;
        let mut command = Command::new(TOOL.find().unwrap_or_else(|| TOOL.program.into()));
        command.arg("-f").arg(&file).args(["-D", "FOREGROUND"]);
        Ok(command)
    }
}

/// The factor lets one process go on accepting to more than 10,000 connections while 50 of its 256 threads are idle.
fn configuration(site: &Site) -> String {
    let (port, scratch, files) = (site.port, site.scratch.display(), site.files.display());
    let user = as_nobody("User nobody\nGroup nogroup\n");
    let load = |name: &str| {
        let module = Path::new(MODULES).join(format!("mod_{name}.so"));
        module.exists().then(|| format!("LoadModule {name}_module {}\n", module.display()))
    };
    let modules: String = ["mpm_event", "unixd", "authz_core", "mime"].into_iter().filter_map(load).collect();
    format!(
        "{modules}{user}ServerRoot {scratch}
DefaultRuntimeDir {scratch}
PidFile {scratch}/pid
ServerName localhost
Listen 127.0.0.1:{port}
ListenBackLog 4096
ErrorLog /dev/stderr
LogLevel crit
ServerLimit 1
StartServers 1
ThreadLimit 256
ThreadsPerChild 256
MaxRequestWorkers 256
AsyncRequestWorkerFactor 200
MinSpareThreads 1
MaxSpareThreads 256
MaxConnectionsPerChild 0
KeepAlive On
KeepAliveTimeout 300
MaxKeepAliveRequests 0
EnableSendfile On
TypesConfig /dev/null
DocumentRoot {files}
<Directory />
AllowOverride None
Require all granted
ForceType text/plain
</Directory>
<Location /json>
ForceType application/json
</Location>
"
    )
}
