//! Servers, ours and others', behind one face: one worker on one CPU, tuned fairly, with configurations of ours. No
//! service of the system is touched.

mod apache;
mod assay;
mod guest;
mod h2o;
mod nghttpd;
mod nginx;

use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use assay_host::cpuset::CpuSet;
use assay_host::limits::free_port;
use assay_model::protocol::Protocol;
use assay_tls::Made;

pub(crate) use apache::Apache;
pub(crate) use assay::AssayServer;
pub(crate) use guest::Guest;
pub(crate) use h2o::H2o;
pub(crate) use nghttpd::Nghttpd;
pub(crate) use nginx::Nginx;

use super::Testbed;
use super::process::Running;
use assay_lab::generator::Tool;

const ADDRESS: Ipv4Addr = Ipv4Addr::LOCALHOST;
/// From the start of a server to its first accepted connection.
const READY_WITHIN: Duration = Duration::from_secs(30);
/// What sized bodies repeat: that of the reference server, so that bodies are the same everywhere.
const PATTERN: &[u8; 64] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_";

/// What is served at `/hello`.
pub(crate) const HELLO: &str = "hello";
/// What is served at `/json`.
pub(crate) const JSON: &str = r#"{"message":"Hello, World!"}"#;
/// Sizes that are served at `/bytes/N` and, from a file everywhere, at `/files/N`.
pub(crate) const SIZES: [usize; 4] = [0, 1 << 10, 64 << 10, 1 << 20];

/// Where one start of a server finds and puts things.
pub(crate) struct Site {
    pub(crate) port: u16,
    /// Static files.
    pub(crate) files: PathBuf,
    /// For the server's own files.
    pub(crate) scratch: PathBuf,
    pub(crate) assay: PathBuf,
    /// The CPU that it has.
    pub(crate) cpus: CpuSet,
    /// Certificate and key, where the server is to serve over TLS.
    pub(crate) tls: Option<Pair>,
    /// What it is to speak.
    pub(crate) protocol: Protocol,
}

/// Files with a certificate and its key.
#[derive(Clone)]
pub(crate) struct Pair {
    pub(crate) certificate: PathBuf,
    pub(crate) key: PathBuf,
}

impl Pair {
    /// A certificate for this machine, in files of the testbed.
    ///
    /// # Errors
    /// When it cannot be made or written.
    pub(crate) fn make(testbed: &Testbed) -> Result<Self, String> {
        let made = Made::new(&["localhost".to_owned(), ADDRESS.to_string()]).map_err(|e| e.to_string())?;
        let [certificate, key] = ["tls-cert.pem", "tls-key.pem"].map(|name| testbed.scratch().join(name));
        for (file, text) in [(&certificate, made.certificate), (&key, made.key)] {
            std::fs::write(file, text).map_err(|error| format!("{}: {error}", file.display()))?;
        }
        Ok(Self { certificate, key })
    }
}

/// A server that is measured or measured with.
pub(crate) trait Server {
    /// The name it has in tables.
    fn name(&self) -> &str;

    /// The program that must be installed; `None` for our own.
    fn tool(&self) -> Option<Tool>;

    /// Writes a configuration, if it takes one, and gives the command that serves in the foreground.
    ///
    /// # Errors
    /// When the configuration cannot be written.
    fn command(&self, site: &Site) -> std::io::Result<Command>;

    /// Whether its program is installed.
    fn is_here(&self) -> bool {
        self.tool().is_none_or(|tool| tool.find().is_some())
    }
}

/// A server under way; ends with its owner.
pub(crate) struct Started {
    process: Running,
    pub(crate) address: SocketAddr,
    is_secured: bool,
}

impl Started {
    /// The parent of all its processes.
    pub(crate) fn pid(&self) -> u32 {
        self.process.pid()
    }

    pub(crate) fn url(&self, path: &str) -> String {
        let scheme = if self.is_secured { "https" } else { "http" };
        format!("{scheme}://{}{path}", self.address)
    }
}

/// Servers that are installed; one that is not is named.
pub(crate) fn installed(servers: Vec<Box<dyn Server>>) -> Vec<Box<dyn Server>> {
    let (here, absent): (Vec<_>, Vec<_>) = servers.into_iter().partition(|server| server.is_here());
    absent
        .iter()
        .filter_map(|server| server.tool())
        .for_each(|tool| eprintln!("{}; left out", tool.advice()));
    here
}

/// The body of a size.
pub(crate) fn body(size: usize) -> Vec<u8> {
    PATTERN.iter().copied().cycle().take(size).collect()
}

/// Starts a server on the server's CPU and waits until it accepts.
///
/// # Errors
/// When it does not start, or not in time.
pub(crate) fn start(server: &dyn Server, testbed: &Testbed) -> Result<Started, String> {
    start_over(server, testbed, None)
}

/// Starts a server, over TLS if there is a certificate.
///
/// # Errors
/// As for [`start`].
pub(crate) fn start_over(
    server: &dyn Server,
    testbed: &Testbed,
    tls: Option<&Pair>,
) -> Result<Started, String> {
    start_speaking(server, testbed, tls, Protocol::of(false, tls.is_some()))
}

/// Starts a server that is to speak a protocol, over TLS if there is a certificate.
///
/// # Errors
/// As for [`start`].
pub(crate) fn start_speaking(
    server: &dyn Server,
    testbed: &Testbed,
    tls: Option<&Pair>,
    protocol: Protocol,
) -> Result<Started, String> {
    let say = |error: std::io::Error| format!("{}: {error}", server.name());
    let files = testbed.scratch().join("files");
    write_files(&files).map_err(say)?;
    let port = free_port(IpAddr::V4(ADDRESS)).map_err(say)?;
    let scratch = testbed.scratch().join(format!("{}-{port}", server.name().replace(' ', "-")));
    std::fs::create_dir_all(&scratch).map_err(say)?;
    let (assay, cpus, tls) = (testbed.assay.clone(), testbed.server_cpu.clone(), tls.cloned());
    let site = Site { port, files, scratch, assay, cpus, tls, protocol };
    let mut command = server.command(&site).map_err(say)?;
    let process = Running::start(&mut command, &testbed.server_cpu)?;
    let address = SocketAddr::from((ADDRESS, port));
    let mut started = Started { process, address, is_secured: protocol.is_secured() };
    let until = Instant::now() + READY_WITHIN;
    while TcpStream::connect(started.address).is_err() {
        testbed.go_on()?;
        if started.process.has_ended() || Instant::now() > until {
            return Err(format!("{} does not serve: {}", server.name(), started.process.log().trim()));
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(started)
}

fn write_files(files: &Path) -> std::io::Result<()> {
    if files.exists() {
        return Ok(());
    }
    for folder in ["bytes", "files"] {
        std::fs::create_dir_all(files.join(folder))?;
        for size in SIZES {
            std::fs::write(files.join(folder).join(size.to_string()), body(size))?;
        }
    }
    std::fs::write(files.join("hello"), HELLO)?;
    std::fs::write(files.join("json"), JSON)
}

/// `user nobody` in the words of a server; nothing for an ordinary user, who can give up no rights.
fn as_nobody(line: &str) -> &str {
    if rustix::process::geteuid().is_root() { line } else { "" }
}
