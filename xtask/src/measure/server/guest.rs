//! A contender of the catalogue, built and started as a run does it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use assay_host::cpuset;
use assay_lab::catalogue::Catalogue;
use assay_lab::contender::Tools;
use assay_lab::contender::environment::{Environment, Told};
use assay_lab::generator::Tool;
use assay_lab::secrets::Secrets;
use assay_model::contender::{Build, Contender, Kind};

use super::{ADDRESS, Server, Site, Testbed};
use crate::measure::process::Running;
use crate::measure::under_way;

/// A contender.
pub(crate) struct Guest {
    contender: Contender,
    folder: PathBuf,
    /// What all contenders are given to serve.
    files: PathBuf,
}

impl Guest {
    /// The contenders of these names, or all that answer a workload where there are none, as far as they can be built here; one that
    /// cannot is named.
    ///
    /// # Errors
    /// When the catalogue cannot be read or has no such name, or a person asks to end.
    pub(crate) fn built(
        root: &Path,
        testbed: &Testbed,
        workload: &str,
        names: &[String],
    ) -> Result<Vec<Box<dyn Server>>, String> {
        let mut guests: Vec<Box<dyn Server>> = Vec::new();
        for guest in Self::chosen(root, workload, names)? {
            match guest.build(testbed) {
                Ok(()) => guests.push(Box::new(guest)),
                Err(why) => eprintln!("{why}; left out"),
            }
            testbed.go_on()?;
        }
        Ok(guests)
    }

    fn chosen(root: &Path, workload: &str, names: &[String]) -> Result<Vec<Self>, String> {
        let catalogue = Catalogue::read(root).map_err(|error| error.to_string())?;
        let files = catalogue.files();
        let is_guest = |contender: &Contender| {
            contender.kind != Kind::Limit && contender.workloads.iter().any(|name| name == workload)
        };
        let all = catalogue.contenders.into_iter().filter(|(contender, _)| is_guest(contender));
        let all = all.map(|(contender, folder)| Self { contender, folder, files: files.clone() });
        let all: Vec<Self> = all.collect();
        match names.iter().find(|name| all.iter().all(|guest| guest.contender.name != **name)) {
            Some(unknown) => Err(format!("no contender `{unknown}` answers {workload}")),
            None => {
                let is_meant = |guest: &Self| names.is_empty() || names.contains(&guest.contender.name);
                Ok(all.into_iter().filter(is_meant).collect())
            }
        }
    }

    /// Runs its build command, on all CPUs.
    fn build(&self, testbed: &Testbed) -> Result<(), String> {
        let Some(Build { command, timeout_s }) = &self.contender.build else { return Ok(()) };
        under_way(&format!("building {}", self.contender.name));
        let command: Vec<OsString> = command.iter().map(OsString::from).collect();
        let mut build = self.command_of(&command).map_err(|error| error.to_string())?;
        let limit = Duration::from_secs_f64(*timeout_s);
        let ended = Running::start(&mut build, &cpuset::allowed())?.finish(limit, testbed)?;
        ended.with_code(&[0], &format!("{} cannot be built", self.contender.name)).map(drop)
    }

    /// A command in its folder; a program that is named with a folder is meant from there.
    fn command_of(&self, command: &[OsString]) -> std::io::Result<Command> {
        let (program, arguments) =
            command.split_first().ok_or_else(|| std::io::Error::other("its command is empty"))?;
        let program = Path::new(program);
        let has_folder = program.components().count() > 1;
        let mut command =
            if has_folder { Command::new(self.folder.join(program)) } else { Command::new(program) };
        command.args(arguments).current_dir(&self.folder);
        Ok(command)
    }
}

impl Server for Guest {
    fn name(&self) -> &str {
        &self.contender.name
    }

    fn tool(&self) -> Option<Tool> {
        None
    }

    fn command(&self, site: &Site) -> std::io::Result<Command> {
        let (address, cpus) = (ADDRESS.to_string(), site.cpus.to_string());
        let (assay, files, secrets) = (site.assay.clone(), self.files.clone(), Secrets::default());
        let told = Told {
            address: &address,
            port: site.port,
            cpus: &cpus,
            workers: site.cpus.len(),
            scratch: &site.scratch,
            tools: &Tools { assay, files, preload: None, secrets },
            database: None,
            stack: None,
            tls: site.tls.as_ref().map(|pair| (pair.certificate.as_path(), pair.key.as_path())),
            protocol: Some(site.protocol),
            upstream: None,
        };
        let (command, variables) =
            Environment::new(&told).launching(&self.contender.run).map_err(std::io::Error::other)?;
        let mut command = self.command_of(&command)?;
        command.envs(variables);
        Ok(command)
    }
}
