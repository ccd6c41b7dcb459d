//! What the benchmarks and the oracle share: a testbed, processes that end with their owner, and the
//! clients and servers of others behind one face each.

pub(crate) mod cable;
pub(crate) mod client;
pub(crate) mod process;
pub(crate) mod server;
pub(crate) mod workload;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use assay_host::cpuset::{self, CpuSet};
use assay_host::isolation::{Separation, split};
use assay_host::limits;
use assay_host::topology::Topology;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

/// Where and with what is measured. Its folder goes with it.
pub(crate) struct Testbed {
    /// The program under test, built for release.
    pub(crate) assay: PathBuf,
    /// CPU of the client: one, so that a figure is a figure per core.
    pub(crate) client_cpu: CpuSet,
    /// CPU of the server.
    pub(crate) server_cpu: CpuSet,
    /// What the two have in common, in a sentence.
    pub(crate) statement: String,
    /// Becomes true when a person asks to end.
    stop: Arc<AtomicBool>,
    scratch: tempfile::TempDir,
}

impl Testbed {
    /// Builds assay, takes one CPU for each side, raises the limit of open files and listens to Ctrl-C.
    ///
    /// # Errors
    /// When assay does not compile, or the machine has a single CPU.
    pub(crate) fn take(root: &Path) -> Result<Self, String> {
        Self::with(build(root)?)
    }

    /// [`Self::take`] with a program that was built before.
    ///
    /// # Errors
    /// When the machine has a single CPU.
    pub(crate) fn with(assay: PathBuf) -> Result<Self, String> {
        let isolation = split(&cpuset::allowed(), &Topology::read());
        if isolation.separation == Separation::None {
            return Err(isolation.statement);
        }
        let one = |cpus: &CpuSet| cpus.first().into_iter().collect::<CpuSet>();
        let stop = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            signal_hook::flag::register(signal, Arc::clone(&stop)).map_err(|error| error.to_string())?;
        }
        limits::raise_nofile().map_err(|error| format!("open files: {error}; see `ulimit -n`"))?;
        Ok(Self {
            assay,
            client_cpu: one(&isolation.generator),
            server_cpu: one(&isolation.server),
            statement: isolation.statement,
            stop,
            scratch: readable_folder().map_err(|error| format!("temporary folder: {error}"))?,
        })
    }

    /// A folder for files, readable for servers that give up root's rights.
    pub(crate) fn scratch(&self) -> &Path {
        self.scratch.path()
    }

    /// # Errors
    /// When a person has asked to end.
    pub(crate) fn go_on(&self) -> Result<(), String> {
        if self.stop.load(Relaxed) { Err("interrupted; everything started is ended".into()) } else { Ok(()) }
    }
}

/// Says what is under way, on standard error, beside tables that may be kept in a file: what takes minutes is not taken for a fault.
pub(crate) fn under_way(what: &str) {
    eprintln!("{what} …");
}

fn build(root: &Path) -> Result<PathBuf, String> {
    under_way("building assay for release");
    let arguments = ["build", "--quiet", "--release", "--locked", "--bin", "assay"];
    let built = Command::new("cargo").args(arguments).current_dir(root).status();
    match built {
        Ok(status) if status.success() => Ok(root.join("target/release/assay")),
        Ok(_) => Err("assay does not compile; see above".into()),
        Err(error) => Err(format!("cargo: {error}")),
    }
}

fn readable_folder() -> std::io::Result<tempfile::TempDir> {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::Builder::new().prefix("assay-xtask-").tempdir()?;
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755))?;
    Ok(folder)
}
