//! Something to measure, wherever it came from: a folder, a command line or a URL.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use assay_link::Spec;
use assay_model::contender::{Build, Contender, Kind, Need, ServerCommand};
use assay_model::identity::{Identity, Origin};
use assay_model::protocol::Protocol;
use assay_model::record::Entry;
use assay_model::workload::Workload;

use crate::error::LabError;
use crate::inherited::Inherited;
use crate::names::{name_of, name_of_url};
use crate::secrets::Secrets;
use crate::stand_in::{can_stand_in, stand_in};
use crate::url::{Scheme, Url};

/// Longest wait for a command line of the user's to become ready, in seconds.
const COMMAND_READY_TIMEOUT_S: f64 = 20.0;

/// Something to measure.
#[derive(Clone, Debug, PartialEq)]
pub struct Subject {
    /// Who it is.
    pub identity: Identity,
    /// How it comes to life.
    pub launch: Launch,
    /// Where it answers workloads elsewhere than their files say; absent for one that keeps to them.
    pub paths: Option<OwnPaths>,
    /// What it is asked for in the place of workloads of the user's own, by their names; empty for all but the limit.
    pub stand_ins: BTreeMap<String, Workload>,
}

/// Paths of its own, of a server that was written for another benchmark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnPaths {
    /// Name of the subject for which they were read; its control has the same.
    pub owner: String,
    /// By name of the workload; for a family the path to which its number is appended.
    pub of: BTreeMap<String, String>,
}

/// How a subject comes to life.
#[derive(Clone, Debug, PartialEq)]
pub enum Launch {
    /// assay starts and stops it.
    Process(Box<Process>),
    /// It is running already, and stays so.
    Running {
        /// How it is spoken to.
        scheme: Scheme,
        /// `host:port`.
        authority: String,
        /// The URL's path with its query, for a workload of its own.
        path: String,
    },
}

/// A server that runs already runs in a network of its own choice.
///
/// # Errors
/// [`LabError::Argument`] when `link` has two ends and one of `subjects` is at neither.
pub(crate) fn check_link<'s>(
    link: Spec,
    subjects: impl IntoIterator<Item = &'s Subject>,
) -> Result<(), LabError> {
    if link == Spec::Loopback {
        return Ok(());
    }
    let mut subjects = subjects.into_iter();
    let Some(subject) = subjects.find(|subject| matches!(subject.launch, Launch::Running { .. })) else {
        return Ok(());
    };
    let problem =
        format!("it runs already, outside the link {link}; let assay start it, or leave --link out");
    Err(LabError::Argument { given: subject.identity.title.clone(), problem })
}

/// A program to build and start.
#[derive(Clone, Debug, PartialEq)]
pub struct Process {
    /// Working folder of its commands.
    pub folder: PathBuf,
    /// The port it insists on; a free one is chosen and told to it when absent.
    pub port: Option<u16>,
    /// What must be present.
    pub needs: Vec<Need>,
    /// How to build it.
    pub build: Option<Build>,
    /// How to start it.
    pub run: ServerCommand,
    /// Commands that print versions.
    pub versions: BTreeMap<String, Vec<String>>,
    /// What its commands are given of our own environment.
    pub inherited: Inherited,
    /// The container that its command runs it in, if it does.
    pub container: Option<Container>,
    /// Whether its runtime is to tell the names of what it compiles, for the sake of profiles.
    pub tells_names: bool,
}

impl Process {
    /// Its command's arguments for the sake of profiles.
    pub(crate) fn profile_arguments(&self) -> &[String] {
        if self.tells_names { &self.run.profile_arguments } else { &[] }
    }

    /// The program with its arguments.
    pub(crate) fn command(&self) -> Vec<String> {
        let (program, arguments) = self.run.command.split_at(self.run.command.len().min(1));
        [program, self.profile_arguments(), arguments].concat()
    }
}

/// How the processes in a container are found: an engine may start them as somebody else's children.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Container {
    /// The engine's program.
    pub engine: String,
    /// The file in the scratch folder that holds the container's id once it runs.
    pub id_file: String,
    /// The name of its image, which a later build may give to another.
    pub image: String,
    /// What the container is to run, behind the image.
    pub arguments: Vec<String>,
}

impl Container {
    /// The command by which a person starts it from `image`.
    pub(crate) fn command(&self, image: &str) -> Vec<String> {
        let options = ["run", "--rm", "--network", "host", "--security-opt", "seccomp=unconfined", image];
        let words = std::iter::once(&*self.engine).chain(options);
        words.chain(self.arguments.iter().map(String::as_str)).map(str::to_owned).collect()
    }
}

impl Subject {
    /// The port that it insists on, of a server that assay starts.
    pub(crate) fn fixed_port(&self) -> Option<u16> {
        match &self.launch {
            Launch::Process(process) => process.port,
            Launch::Running { .. } => None,
        }
    }

    /// `host:port` of a server that runs already, and may be anybody's.
    pub fn host(&self) -> Option<&str> {
        match &self.launch {
            Launch::Running { authority, .. } => Some(authority),
            Launch::Process(_) => None,
        }
    }

    /// The contender whose `contender.toml` lies in `folder`.
    pub fn from_contender(contender: &Contender, folder: &Path) -> Self {
        let process = Process {
            folder: folder.to_owned(),
            port: None,
            needs: contender.needs.clone(),
            build: contender.build.clone(),
            run: contender.run.clone(),
            versions: contender.versions.clone(),
            inherited: Inherited::Listed(contender.pass_environment.clone()),
            container: None,
            tells_names: false,
        };
        Self {
            identity: Identity::from(contender),
            launch: Launch::Process(Box::new(process)),
            paths: None,
            stand_ins: BTreeMap::new(),
        }
    }

    /// A command line as a person types it, run by `sh` in `folder`, listening on `port` — or, when that is absent, on the
    /// port that it finds in the environment variable PORT or in place of `${PORT}`.
    ///
    /// # Errors
    /// [`LabError::Argument`] when the command is empty or names an unknown placeholder.
    pub fn from_command(command: &str, folder: &Path, port: Option<u16>) -> Result<Self, LabError> {
        let argument =
            |problem: &str| LabError::Argument { given: command.to_owned(), problem: problem.to_owned() };
        if command.trim().is_empty() {
            return Err(argument("the command is empty; write for example --cmd 'node app.js' --port 8080"));
        }
        // The shell becomes the server where it can, so that no idle shell is counted among its processes.
        let is_told_to = command.trim_start().starts_with("exec ");
        let single = !is_told_to && !command.contains(['\n', ';', '&', '|', '<', '>', '(', ')', '=']);
        let script = if single { format!("exec {command}") } else { command.to_owned() };
        // `${…}` is the shell's here: it finds the same variables in its environment.
        let run = ServerCommand {
            command: ["sh", "-c", &script.replace("${", "$${")].map(str::to_owned).to_vec(),
            stack_arguments: Vec::new(),
            profile_arguments: Vec::new(),
            tls_arguments: Some(Vec::new()),
            http2: vec![Protocol::H2c, Protocol::H2],
            queue_per_worker: false,
            ready_timeout_s: COMMAND_READY_TIMEOUT_S,
            ready_path: None,
            env: BTreeMap::new(),
        };
        let process = Process {
            folder: folder.to_owned(),
            port,
            needs: Vec::new(),
            build: None,
            run,
            versions: BTreeMap::new(),
            inherited: Inherited::All,
            container: None,
            tells_names: false,
        };
        Ok(Self::unknown(command, Origin::Command, Launch::Process(Box::new(process))))
    }

    /// This subject with another time or path by which its process is found ready; no change for one that runs already.
    pub fn ready_by(mut self, timeout_s: Option<f64>, path: Option<&str>) -> Self {
        if let Launch::Process(process) = &mut self.launch {
            process.run.ready_timeout_s = timeout_s.unwrap_or(process.run.ready_timeout_s);
            process.run.ready_path = path.map(str::to_owned).or(process.run.ready_path.take());
        }
        self
    }

    /// This subject as a run starts it that profiles every server in every cell: its runtime tells the names of what it compiles, where
    /// its file says how.
    #[must_use]
    pub fn telling_names(mut self) -> Self {
        if let Launch::Process(process) = &mut self.launch {
            process.tells_names = true;
        }
        self
    }

    /// This subject under a name of the user's choice, if there is one.
    pub fn called(mut self, name: Option<&str>) -> Self {
        if let Some(name) = name {
            name.clone_into(&mut self.identity.name);
        }
        self
    }

    /// A server that is running at `url` (`http://host[:port][/path]`, or `https://…`).
    ///
    /// # Errors
    /// [`LabError::Argument`] when it is no such URL.
    pub fn from_url(url: &str) -> Result<Self, LabError> {
        let parsed = Url::parse(url)?;
        let launch =
            Launch::Running { scheme: parsed.scheme, authority: parsed.authority(), path: parsed.path };
        Ok(Self::unknown(behind_scheme(url), Origin::Url(url.to_owned()), launch))
    }

    /// This subject without the secrets in what it is called, if a person typed that.
    #[must_use]
    pub fn hiding(mut self, secrets: &Secrets) -> Self {
        let hidden = match &self.identity.origin {
            Origin::Folder => return self,
            // Without its scheme it would not be known for a URL.
            Origin::Url(url) => behind_scheme(&secrets.learn_and_hide(url)).to_owned(),
            Origin::Command => secrets.learn_and_hide(&self.identity.title),
        };
        if self.identity.name == name_from(&self.identity.title, &self.identity.origin) {
            self.identity.name = name_from(&hidden, &self.identity.origin);
        }
        self.identity.title = hidden;
        self
    }

    fn unknown(text: &str, origin: Origin, launch: Launch) -> Self {
        Self {
            identity: Identity {
                title: text.to_owned(),
                ..Identity::named(name_from(text, &origin), Kind::Server, origin)
            },
            launch,
            paths: None,
            stand_ins: BTreeMap::new(),
        }
    }

    /// Whether it may be asked for `workload`.
    pub fn answers(&self, workload: &Workload) -> bool {
        self.identity.workloads.is_empty()
            || self.identity.workloads.iter().any(|name| workload.is_called(name))
    }

    /// Has this limit take part in those of the user's `own` workloads for which it can stand in, unless it knows them, and gives their
    /// names.
    pub fn take_part_in<'w>(&mut self, own: impl IntoIterator<Item = &'w Workload>) -> BTreeSet<String> {
        let unknown = own.into_iter().filter(|workload| can_stand_in(workload) && !self.answers(workload));
        let names: BTreeSet<String> = unknown.map(|workload| workload.name.clone()).collect();
        self.identity.workloads.extend(names.iter().cloned());
        names
    }

    /// Has it answer `workload`, which it does not know, by answers of those lengths.
    pub(crate) fn stand_in(&mut self, workload: &Workload, lengths: &[u64]) {
        self.stand_ins.insert(workload.name.clone(), stand_in(workload, lengths));
    }

    /// The workload as it is to be asked for: at the paths of its own, or by what stands in for it, if there is such.
    pub fn asked(&self, workload: &Workload) -> Workload {
        if let Some(stand_in) = self.stand_ins.get(&workload.name) {
            return stand_in.clone();
        }
        let mut workload = workload.clone();
        let own = self.paths.as_ref().and_then(|paths| paths.of.get(workload.family_name()));
        if let Some(path) = own {
            let number = workload.family.as_ref().map(|family| family.value.to_string()).unwrap_or_default();
            workload.requests.iter_mut().for_each(|request| request.path = format!("{path}{number}"));
        }
        workload
    }

    /// Name of the file that holds [`Self::asked`] of a workload during a run.
    pub(crate) fn workload_file(&self, workload: &str) -> String {
        match &self.paths {
            Some(paths) => format!("{}-{workload}.json", paths.owner),
            None if self.stand_ins.contains_key(workload) => {
                format!("{}-{workload}.json", self.identity.name)
            }
            None => format!("{workload}.json"),
        }
    }

    /// Whether it runs in a container, and so as its authors set it up elsewhere.
    pub(crate) fn is_contained(&self) -> bool {
        matches!(&self.launch, Launch::Process(process) if process.container.is_some())
    }

    /// Whether it forwards to an upstream that is started behind it.
    pub fn is_proxy(&self) -> bool {
        self.identity.kind == Kind::Proxy && matches!(self.launch, Launch::Process(_))
    }

    /// This subject as a proxy, which finds its upstream in the environment.
    #[must_use]
    pub fn as_proxy(mut self) -> Self {
        self.identity.kind = Kind::Proxy;
        self
    }

    /// Whether it stands for what the machine can do.
    pub fn is_limit(&self) -> bool {
        self.identity.is_limit()
    }

    /// What the record says of it before anything was tried.
    pub fn entry(&self) -> Entry {
        let untried = Entry::untried(self.identity.clone());
        let Launch::Process(process) = &self.launch else { return untried };
        match &process.container {
            Some(container) => Entry { command: container.command(&container.image), ..untried },
            None => Entry {
                command: process.command(),
                profile_arguments: process.profile_arguments().to_vec(),
                ..untried
            },
        }
    }
}

/// What people read of a URL.
fn behind_scheme(url: &str) -> &str {
    url.split_once("://").map_or(url, |(_, rest)| rest)
}

/// The name of a subject that a person typed, and that is shown like this.
fn name_from(shown: &str, origin: &Origin) -> String {
    match origin {
        Origin::Url(url) => name_of_url(shown, url),
        Origin::Folder | Origin::Command => name_of(shown),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_secret_of_a_url_or_of_a_command_is_in_what_a_subject_is_called() {
        let url = |query: &str| {
            let url = format!("http://h:1/path?access_token={query}");
            Subject::from_url(&url).expect("a URL").hiding(&Secrets::default()).identity
        };
        let (one, other) = (url("one"), url("other"));
        assert_eq!(one.title, "h:1/path?access_token=[hidden]");
        assert!(one.name.starts_with("h-1-path-") && !one.name.contains("token"), "{}", one.name);
        assert_ne!(one.name, other.name, "they are two");
        let command = Subject::from_command("DB_PASSWORD=INLINE exec ./a", Path::new("/"), None);
        let command = command.expect("a command").hiding(&Secrets::default()).identity;
        assert_eq!(command.title, "DB_PASSWORD=[hidden: contender] exec ./a");
        assert_eq!(command.name, "db-password-hidden-contender-exec-a");
    }

    #[test]
    fn a_limit_stands_in_only_for_what_it_does_not_know() {
        let own = Workload { name: "mine".to_owned(), ..Workload::default() };
        let knowing = |workloads: &[&str]| {
            let mut limit = Subject::from_command("serve", Path::new("/"), None).expect("command");
            limit.identity.workloads = workloads.iter().map(|&name| name.to_owned()).collect();
            limit.take_part_in([&own]).len()
        };
        assert_eq!([knowing(&["hello"]), knowing(&["hello", "mine"]), knowing(&[])], [1, 0, 0]);
    }

    #[test]
    fn urls() {
        for (url, authority, path) in [
            ("http://localhost", "localhost:80", "/"),
            ("https://localhost", "localhost:443", "/"),
            ("http://127.0.0.1:8080/", "127.0.0.1:8080", "/"),
            ("http://[::1]:8080/a?b=c#d", "[::1]:8080", "/a?b=c"),
            ("http://[::1]?q", "[::1]:80", "/?q"),
        ] {
            let subject = Subject::from_url(url).expect(url);
            let scheme = if url.starts_with("https") { Scheme::Https } else { Scheme::Http };
            let wanted = Launch::Running { scheme, authority: authority.into(), path: path.into() };
            assert_eq!(subject.launch, wanted, "{url}");
            assert_eq!(subject.identity.origin, Origin::Url(url.into()));
        }
        for bad in ["ftp://x/", "http://", "http://x:0/", "http://x:http/", "http://a b/", "http://u@h/"] {
            assert!(Subject::from_url(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn commands() {
        let subject = Subject::from_command("node app.js", Path::new("/"), Some(8080)).expect("command");
        assert_eq!(subject.identity.name, "node-app-js");
        assert_eq!(subject.entry().command, ["sh", "-c", "exec node app.js"]);
        assert!(subject.answers(&Workload::default()));
        let piped = Subject::from_command("a | b", Path::new("/"), None).expect("command");
        assert_eq!(piped.entry().command[2], "a | b");
        let told = Subject::from_command(" exec ./server", Path::new("/"), None).expect("command");
        assert_eq!(told.entry().command[2], " exec ./server");
        assert!(Subject::from_command(" ", Path::new("/"), None).is_err());
    }

    #[test]
    fn a_runtime_tells_names_where_its_file_says_how_and_a_profile_wants_them() {
        let mut subject = Subject::from_command("node app.js", Path::new("/"), None).expect("command");
        let Launch::Process(process) = &mut subject.launch else { panic!("a process") };
        process.run.command = ["node", "app.js"].map(str::to_owned).to_vec();
        process.run.profile_arguments = vec!["--log-code".to_owned()];
        let usual = subject.entry();
        assert_eq!((usual.command.join(" "), usual.profile_arguments.len()), ("node app.js".to_owned(), 0));
        let telling = subject.telling_names().entry();
        assert_eq!(telling.command.join(" "), "node --log-code app.js");
        assert_eq!(telling.profile_arguments, ["--log-code"]);
    }
}
