//! The hosts from which load comes, as the process is told that leads it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use assay_model::lab::{HostRole, Lab, LabHost};

use crate::error::LabError;
use crate::inherited::Inherited;
use crate::supervisor::Supervised;

/// How long ending all agents may take.
const GRACE: Duration = Duration::from_secs(10);

/// The hosts from which load comes, in a lab file of the run's own: what the user's says may change while the run goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hosts {
    /// The lab file, in which all are generators.
    pub(super) file: PathBuf,
    ready: Duration,
}

impl Hosts {
    /// Writes the lab file into the folder `work`, by its `name`; none for no hosts.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(crate) fn write(hosts: &[LabHost], work: &Path, name: &str) -> Result<Option<Self>, LabError> {
        if hosts.is_empty() {
            return Ok(None);
        }
        let generator = |host: &LabHost| LabHost { roles: vec![HostRole::Generator], ..host.clone() };
        let lab = Lab { hosts: hosts.iter().map(generator).collect() };
        let text = toml::to_string(&lab).map_err(|error| LabError::Bug(format!("hosts as TOML: {error}")))?;
        let file = work.join(format!("{name}.toml"));
        assay_file::write(&file, text.as_bytes())
            .map_err(|error| LabError::not_writable(&file, error.source))?;
        let ready_s = hosts.iter().map(|host| host.ready_timeout_s).fold(0.0, f64::max);
        Ok(Some(Self { file, ready: Duration::from_secs_f64(ready_s) }))
    }

    /// From SIGTERM to SIGKILL of whoever leads, where it otherwise is as `usual`: agents end what they have started first.
    pub(super) fn grace(hosts: Option<&Self>, usual: Duration) -> Duration {
        hosts.map_or(usual, |_| GRACE)
    }

    /// How much longer a load may take to begin that comes from other hosts.
    pub(super) fn patience(hosts: Option<&Self>) -> Duration {
        hosts.map_or(Duration::ZERO, |hosts| hosts.ready)
    }
}

/// Where a generator's process runs, what it is given of our environment, and how it is ended that is not wanted any more.
pub(super) struct ProcessSurroundings {
    pub(super) folder: PathBuf,
    pub(super) inherited: Inherited,
    pub(super) ending: Termination,
}

/// How a generator is ended that has nothing to tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Termination {
    /// The generator is killed at once.
    Killed,
    /// The generator has time to end its agents, which remove what they have where they are.
    Asked,
}

impl Termination {
    /// Ends it.
    pub(super) fn end(self, supervised: &mut Supervised) {
        match self {
            Self::Killed => supervised.kill(),
            Self::Asked => supervised.stop(),
        };
    }
}

impl ProcessSurroundings {
    /// The folder `work` and next to nothing, unless it starts transports: these are the user's own, with paths as the user typed them
    /// and settings that ssh, srun and kubectl read from the environment.
    pub(super) fn of(hosts: Option<&Hosts>, work: &Path) -> Self {
        match hosts {
            None => {
                Self { folder: work.to_owned(), inherited: Inherited::LEAST, ending: Termination::Killed }
            }
            Some(_) => {
                let folder = std::env::current_dir().unwrap_or_else(|_| work.to_owned());
                Self { folder, inherited: Inherited::All, ending: Termination::Asked }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::read_lab;

    #[test]
    fn the_generator_reads_what_the_user_wrote() {
        let folder = tempfile::tempdir().expect("folder");
        let text = "[[host]]\nname = \"box1\"\ntransport = \"ssh\"\narguments = [\"-p\", \"22\"]\ncpus = \"0-3\"\n\
                    ready_timeout_s = 90\nroles = [\"server\", \"generator\"]\naddress = \"10.0.0.1\"\n\n\
                    [[host]]\nname = \"box2\"\ntransport = \"command\"\ncommand = [\"sh\", \"-c\", 'exec \"$@\"', \"sh\"]\n";
        let given = folder.path().join("lab.toml");
        std::fs::write(&given, text).expect("written");
        let given = read_lab(&given).expect("a lab").hosts;
        let hosts = Hosts::write(&given, folder.path(), "generators").expect("written").expect("some");
        assert_eq!(Hosts::patience(Some(&hosts)), Duration::from_secs(90));
        let read = read_lab(&hosts.file).expect("a lab").hosts;
        assert!(read.iter().all(|host| host.roles == [HostRole::Generator]), "{read:?}");
        let without = |host: &LabHost| LabHost { roles: Vec::new(), ..host.clone() };
        assert_eq!(
            read.iter().map(without).collect::<Vec<_>>(),
            given.iter().map(without).collect::<Vec<_>>()
        );
        assert!(Hosts::write(&[], folder.path(), "generators").expect("nothing to write").is_none());
    }
}
