//! A document store: a program of the catalogue that fills itself and then listens on a socket of the file system.
//!
//! A Unix socket has no port that somebody else could take, is nobody's but ours by the rights of its folder, and is reached
//! from every network namespace and past any user-space stack.

use std::collections::BTreeMap;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use assay_host::cpuset;
use assay_model::record::{NotRun, Stage};

use super::{DatabaseError, Order};
use crate::contender::Preparation;
use crate::contender::environment::{Environment, Told};
use crate::hosts::host::Host;
use crate::inherited::Purpose;
use crate::scratch::store_in;
use crate::subject::{Launch, Process, Subject};
use crate::supervisor::{Supervised, SupervisorOptions, tail_of_death};

/// Name of the socket in the store's folder, where it appears when the store is filled.
const SOCKET: &str = "mongodb.sock";
const POLL: Duration = Duration::from_millis(20);
/// From the request to stop until it is killed.
const GRACE: Duration = Duration::from_secs(2);
const TAIL_LINES: usize = 8;

/// A store that is filled and listens. Dropping it stops what was started and removes its folder.
pub struct DocumentStore {
    supervised: Supervised,
    version: Option<String>,
    settings: Vec<String>,
    /// Made and removed by the supervisor.
    folder: PathBuf,
}

impl DocumentStore {
    /// Builds and starts `program` in a private folder, and waits until it listens.
    ///
    /// # Errors
    /// When something it needs is missing, or it does not build, start or listen in its time; nothing is left behind then.
    pub fn start(program: &Subject, order: &Order<'_>) -> Result<Self, DatabaseError> {
        let Launch::Process(process) = &program.launch else {
            let what = format!("{} is no program that can be started", program.identity.title);
            return Err(DatabaseError::Failed { what, log: Vec::new() });
        };
        let number = prepare(process, order)?.remove(&program.identity.name);
        let folder = store_in(&std::env::temp_dir());
        let supervised = launch(program, process, &folder, order)?;
        let version = number.map(|number| format!("{} {number}", program.identity.title));
        let settings = program.identity.tuning.clone();
        let mut store = Self { supervised, version, settings, folder };
        store.await_socket(
            &program.identity.title,
            Duration::from_secs_f64(process.run.ready_timeout_s),
            order,
        )?;
        Ok(store)
    }

    /// The connection URL for contenders, `mongodb://socket/`, with the socket's path escaped.
    pub fn url(&self) -> String {
        let path = self.socket().display().to_string();
        let escape = |byte: u8| match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                char::from(byte).to_string()
            }
            _ => format!("%{byte:02X}"),
        };
        format!("mongodb://{}/", path.bytes().map(escape).collect::<String>())
    }

    /// The store's first process.
    pub fn pid(&self) -> u32 {
        self.supervised.pid()
    }

    /// Process ids of the store.
    pub fn processes(&self) -> Vec<u32> {
        self.supervised.processes()
    }

    /// The title of the store with its version, where that is known.
    pub fn version(&self) -> Option<&str> {
        self.version.as_deref()
    }

    /// What is not its default, as its file in the catalogue says.
    pub fn settings(&self) -> &[String] {
        &self.settings
    }

    /// Where it listens.
    pub fn socket(&self) -> PathBuf {
        self.folder.join(SOCKET)
    }

    fn await_socket(
        &mut self,
        title: &str,
        timeout: Duration,
        order: &Order<'_>,
    ) -> Result<(), DatabaseError> {
        let deadline = Instant::now() + timeout;
        while UnixStream::connect(self.socket()).is_err() {
            if order.stop.is_requested() {
                return Err(DatabaseError::Stopped);
            }
            let ended = self.supervised.wait(POLL);
            if ended.is_some() || Instant::now() > deadline {
                let late = format!("does not listen after {} s", timeout.as_secs_f64());
                let how = ended.map_or(late, |ended| format!("ended with {ended}"));
                let what = format!("{title} {how}");
                return Err(DatabaseError::Failed {
                    what,
                    log: tail_of_death(&order.log, TAIL_LINES, &order.tools.secrets),
                });
            }
        }
        Ok(())
    }
}

/// Looks for what it needs and builds it; its versions by name.
fn prepare(process: &Process, order: &Order<'_>) -> Result<BTreeMap<String, String>, DatabaseError> {
    // What programs print of themselves lies beside the log.
    let work = order.log.parent().unwrap_or(Path::new("."));
    let not_ready = |reason| DatabaseError::NotReady(Box::new(reason));
    let host = &Host::here(&order.tools);
    let preparation = Preparation { host, process, work, stop: order.stop };
    preparation.needs().map_err(not_ready)?;
    if let Some(build) = &process.build {
        preparation.build(build, &order.log.with_extension("build.log")).map_err(not_ready)?;
    }
    Ok(preparation.versions())
}

fn launch(
    program: &Subject,
    process: &Process,
    folder: &Path,
    order: &Order<'_>,
) -> Result<Supervised, DatabaseError> {
    let cpus = order.cpus.cloned().unwrap_or_else(cpuset::allowed);
    let environment = Environment::new(&Told {
        address: "",
        port: 0,
        cpus: &cpus.to_string(),
        workers: cpus.len(),
        scratch: folder,
        tools: &order.tools,
        database: None,
        stack: None,
        tls: None,
        protocol: None,
        upstream: None,
    });
    let (command, variables) = environment.launching(&process.run).map_err(|error| {
        DatabaseError::NotReady(Box::new(NotRun {
            stage: Stage::Start,
            reason: format!("{}: {error}", program.identity.title),
            remedy: Some("mend contender.toml".to_owned()),
            log_tail: Vec::new(),
        }))
    })?;
    let mut options = SupervisorOptions::new(order.log.clone(), command);
    options.cpus = Some(cpus);
    options.grace = GRACE;
    options.scratch = vec![folder.to_owned()];
    let all = process.inherited.variables(Purpose::Serving).into_iter().chain(variables);
    Ok(Supervised::start(&order.tools.assay, &options, &process.folder, all)?)
}
