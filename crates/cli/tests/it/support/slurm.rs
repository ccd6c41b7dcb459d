//! A real Slurm with two nodes of one CPU, both this machine, ended with the test.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use super::running::processes_with;
use super::{Lab, eventually, free_port, has};

/// The daemons of Slurm, each in the foreground.
pub(crate) struct Slurm {
    processes: Vec<Child>,
    settings: PathBuf,
    /// Whether the daemon of a node was killed, whose state nobody tells any more.
    is_broken: bool,
}

impl Slurm {
    /// Names of the nodes.
    pub(crate) const NODES: [&str; 2] = ["gen1", "gen2"];

    /// Starts it; none, visibly, where there is none, or where it cannot be run.
    pub(crate) fn start(lab: &Lab) -> Option<Self> {
        // Daemons are where not everybody looks for programs.
        if !["munged", "slurmctld", "slurmd"].iter().all(|name| Path::new("/usr/sbin").join(name).exists()) {
            assay_skip::skip("tools", "needs Slurm, apt install slurmctld slurmd slurm-client munge");
            return None;
        }
        if !rustix::process::geteuid().is_root() {
            assay_skip::skip("root", "Slurm's daemons start what others ask for");
            return None;
        }
        if !(has("srun") && has("sinfo")) {
            return None;
        }
        let folder = lab.path("slurm");
        std::fs::create_dir(&folder).expect("folder");
        let settings = folder.join("slurm.conf");
        std::fs::write(&settings, settings_at(&folder)).expect("settings");
        let mut slurm = Self { processes: Vec::new(), settings, is_broken: false };
        slurm.begin(&folder);
        eventually("all nodes are idle", || slurm.states() == ["idle"; 2]);
        Some(slurm)
    }

    /// The variable by which `srun` finds it.
    pub(crate) fn variable(&self) -> (&'static str, &Path) {
        ("SLURM_CONF", &self.settings)
    }

    /// Kills the daemon of a node, from 0.
    pub(crate) fn kill_daemon(&mut self, node: usize) {
        self.is_broken = true;
        // Before those of the nodes are munged and slurmctld.
        let daemon = &mut self.processes[2 + node];
        daemon.kill().expect("killed");
        daemon.wait().expect("ended");
    }

    fn begin(&mut self, folder: &Path) {
        let at = |name: &str| folder.join(name).display().to_string();
        std::fs::write(at("key"), [7; 128]).expect("key");
        let munged = ["--foreground", "--force", "--num-threads=2"].map(str::to_owned);
        let files =
            [("key-file", "key"), ("socket", "munge"), ("pid-file", "munged.pid"), ("seed-file", "seed")];
        let files = files.map(|(option, name)| format!("--{option}={}", at(name)));
        self.daemon("munged", &[&munged[..], &files, &[format!("--log-file={}", at("munged.log"))]].concat());
        eventually("munged listens", || folder.join("munge").exists());
        self.daemon("slurmctld", &["-D", "-c", "-f", &at("slurm.conf")].map(str::to_owned));
        for node in Self::NODES {
            self.daemon("slurmd", &["-D", "-N", node, "-f", &at("slurm.conf")].map(str::to_owned));
        }
    }

    fn daemon(&mut self, name: &str, arguments: &[String]) {
        let quiet = || Stdio::null();
        let mut command = Command::new(Path::new("/usr/sbin").join(name));
        command.args(arguments).stdin(quiet()).stdout(quiet()).stderr(quiet());
        self.processes.push(command.spawn().expect(name));
    }

    /// The state of each node.
    fn states(&self) -> Vec<String> {
        let (name, settings) = self.variable();
        let asked = Command::new("sinfo").args(["-h", "-N", "-o", "%T"]).env(name, settings).output();
        let text = String::from_utf8(asked.expect("sinfo").stdout).expect("text");
        text.lines().map(str::to_owned).collect()
    }
}

impl Drop for Slurm {
    fn drop(&mut self) {
        if !std::thread::panicking() && !self.is_broken {
            eventually("all steps are over", || self.states() == ["idle"; 2]);
        }
        // Those first that need the others.
        for process in self.processes.iter_mut().rev() {
            let _ = process.kill();
            let _ = process.wait();
        }
        // Who keeps a step is a daemon, which waits for the others in vain.
        let keepers = processes_with(&format!("SLURM_CONF={}", self.settings.display()));
        for pid in
            keepers.iter().filter_map(|line| line.split(':').next()?.parse().ok()).filter_map(Pid::from_raw)
        {
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}

/// What Slurm is told of itself: nothing of it outside of `folder` and loopback.
fn settings_at(folder: &Path) -> String {
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let host = host.split('.').next().unwrap_or_default();
    let (at, port) = (folder.display(), free_port());
    let nodes: String = Slurm::NODES
        .iter()
        .map(|node| {
            format!("NodeName={node} NodeHostname={host} NodeAddr=127.0.0.1 Port={} CPUs=1\n", free_port())
        })
        .collect();
    format!(
        "ClusterName=assay\nSlurmctldHost={host}(127.0.0.1)\nSlurmctldPort={port}\nSlurmUser=root\nSlurmdUser=root\n\
         AuthType=auth/munge\nAuthInfo=socket={at}/munge\nStateSaveLocation={at}/state\nSlurmdSpoolDir={at}/spool-%n\n\
         SlurmctldPidFile={at}/slurmctld.pid\nSlurmdPidFile={at}/slurmd-%n.pid\nSlurmctldLogFile={at}/slurmctld.log\n\
         SlurmdLogFile={at}/slurmd-%n.log\nProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\nSwitchType=switch/none\n\
         SelectType=select/cons_tres\nSelectTypeParameters=CR_CPU\nMpiDefault=none\nReturnToService=2\n\
         AccountingStorageType=accounting_storage/none\nJobAcctGatherType=jobacct_gather/none\n{nodes}\
         PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP\n"
    )
}
