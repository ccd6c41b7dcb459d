//! A place of its own for every test, which asserts when it goes that nothing was left behind.

mod running;
mod slurm;
mod sshd;
mod star;
mod terminal;
mod witness;

use assay_skip::skip;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use assay_model::load::LoadReport;
use assay_model::record::{Machine, Measurement, NotRun, Record, Run, TimeTaken};
use assay_model::usage::Usage;
use assert_cmd::Command;
use tempfile::TempDir;

pub(crate) use running::{Running, Stranger, process_on};
pub(crate) use slurm::Slurm;
pub(crate) use sshd::Sshd;
pub(crate) use star::Star;
pub(crate) use terminal::Terminal;
pub(crate) use witness::Witness;

/// Longest wait for anything that must happen; generous, as the machine may be busy with other tests.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);
/// What makes a run short. A fresh server gets no load before it is measured: a slice of that takes longer than the windows.
pub(crate) const QUICK: [&str; 8] = ["-d", "100ms", "--warmup", "0s", "--rounds", "2", "-c", "2"];

/// A folder with a catalogue, runs and temporary files. Every process that is started from here carries the folder's name
/// in its environment, as TMPDIR, and so can be found.
pub(crate) struct Lab {
    folder: TempDir,
}

impl Lab {
    /// A catalogue with the workload `hello` and no contenders.
    pub(crate) fn new() -> Self {
        let lab = Self { folder: tempfile::tempdir().expect("folder") };
        std::fs::create_dir(lab.tmp()).expect("tmp");
        std::fs::create_dir(lab.path("contenders")).expect("contenders");
        let hello = "name = \"hello\"\nabout = \"Five bytes.\"\n[[request]]\npath = \"/\"\n\
                     expect = { status = 200, body = \"hello\" }\n";
        lab.write("workloads/hello.toml", hello);
        lab
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn tmp(&self) -> PathBuf {
        self.path("tmp")
    }

    pub(crate) fn runs(&self) -> PathBuf {
        self.path("runs")
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().expect("parent")).expect("folder");
        std::fs::write(path, text).expect("file");
    }

    /// A contender whose file ends with `rest`, which must hold its `[run]`.
    pub(crate) fn contender(&self, name: &str, kind: &str, rest: &str) {
        let text = format!(
            "name = \"{name}\"\ntitle = \"The {name}\"\nlanguage = \"test\"\nkind = \"{kind}\"\n\
             workloads = [\"hello\"]\n{rest}\n"
        );
        self.write(&format!("contenders/test/{name}/contender.toml"), &text);
    }

    /// A contender that `sh` runs.
    pub(crate) fn script(&self, name: &str, script: &str) {
        let run = format!("[run]\ncommand = [\"sh\", \"-c\", '''{script}''']\nready_timeout_s = 1.5");
        self.contender(name, "server", &run);
    }

    /// A contender that answers rightly: assay's own server.
    pub(crate) fn good(&self, name: &str) {
        self.contender(name, "server", SERVE);
    }

    /// A good contender that serves over TLS where it is asked to.
    pub(crate) fn secured(&self, name: &str) {
        let arguments = "tls_arguments = [\"--tls-cert\", \"${CERT}\", \"--tls-key\", \"${KEY}\"]";
        self.contender(name, "server", &format!("{SERVE}\n{arguments}"));
    }

    /// A contender of which nothing else is known than that it is the reference.
    pub(crate) fn limit(&self, name: &str) {
        self.contender(name, "limit", SERVE);
    }

    /// A contender that answers as it is told by the arguments of `assay stub`, and the workload that asks for that. One that takes its
    /// time leaves the CPUs to other tests.
    pub(crate) fn stub(&self, name: &str, kind: &str, program: &[&str]) {
        let programmed = format!(
            "name = \"hello\"\nabout = \"\"\n[[request]]\npath = \"/\"\nexpect = {{ status = 200, body = \"{}\" }}\n",
            assay_serve::stub::BODY
        );
        self.write("workloads/hello.toml", &programmed);
        let program: String = program.iter().map(|argument| format!(", \"{argument}\"")).collect();
        let run = format!(
            "[run]\ncommand = [\"${{ASSAY}}\", \"stub\", \"--address\", \"${{ADDRESS}}\", \"--port\", \"${{PORT}}\", \
             \"--cpus\", \"${{CPUS}}\"{program}]"
        );
        self.contender(name, kind, &run);
    }

    /// A contender that answers rightly after five milliseconds, for tests to which the load makes no difference.
    pub(crate) fn calm(&self, name: &str) {
        self.stub(name, "server", &["--service", "5ms"]);
    }

    /// A contender with a programmed misbehaviour (see `fixtures/server.py`).
    pub(crate) fn misbehaving(&self, name: &str, mode: &str) {
        let server = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/server.py");
        // Ready within this even where Python starts slowly; `silent` waits for it.
        let run = format!("[run]\ncommand = [\"python3\", \"{server}\", \"{mode}\"]\nready_timeout_s = 10");
        self.contender(name, "server", &run);
    }

    /// `assay` with this lab's folders and no settings of the user's.
    pub(crate) fn command<S: AsRef<str>>(&self, arguments: &[S]) -> std::process::Command {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_assay"));
        command
            .args(arguments.iter().map(AsRef::as_ref))
            .current_dir(self.folder.path())
            .env("TMPDIR", self.tmp())
            .env("ASSAY_RUNS", self.runs())
            .env("ASSAY_CATALOGUE", self.folder.path())
            .env("XDG_DATA_HOME", self.path("data"))
            // Go compiles its standard library once for all servers then, and no C.
            .env("CGO_ENABLED", "0");
        for setting in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "COLUMNS", "LC_ALL", "LC_CTYPE"] {
            command.env_remove(setting);
        }
        command.env("LANG", "C.UTF-8");
        command
    }

    /// `assay ARGUMENTS`, to be run to its end.
    pub(crate) fn assay<S: AsRef<str>>(&self, arguments: &[S]) -> Command {
        let mut command = Command::from_std(self.command(arguments));
        command.timeout(5 * PATIENCE);
        command
    }

    /// `assay run ARGUMENTS`, without a control, and short unless the arguments say otherwise.
    pub(crate) fn run(&self, arguments: &[&str]) -> Command {
        let quick = QUICK.chunks(2).filter(|words| !arguments.contains(&words[0])).flatten().copied();
        let all = ["run", "--no-check", "--no-aa"].into_iter().chain(quick).chain(arguments.iter().copied());
        self.assay(&all.collect::<Vec<&str>>())
    }

    /// The folder of the only run.
    pub(crate) fn run_folder(&self) -> PathBuf {
        let mut folders = listing(&self.runs());
        assert_eq!(folders.len(), 1, "{folders:?}");
        self.runs().join(folders.remove(0))
    }

    /// The record of the only run, in whose folder nothing lies but what belongs there.
    pub(crate) fn record(&self) -> Record {
        let folder = self.run_folder();
        let mut files = listing(&folder);
        files.retain(|name| name != "logs");
        assert_eq!(files, ["histograms.hlog", "record.json", "report.html"]);
        let text = std::fs::read_to_string(folder.join("record.json")).expect("record");
        serde_json::from_str(&text).expect("a record")
    }

    /// Processes that were started from here and live.
    pub(crate) fn processes(&self) -> Vec<String> {
        running::processes_with(&format!("TMPDIR={}", self.tmp().display()))
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            // Whoever removes the names of a ring waits for the end of who made it, and so outlives it by a moment.
            let sweeps = |process: &String| process.contains("/assay sweep ");
            eventually("rings are swept", || !self.processes().iter().any(sweeps));
            assert_eq!(self.processes(), Vec::<String>::new(), "processes are left");
            assert_eq!(listing(&self.tmp()), Vec::<String>::new(), "temporary files are left");
        }
    }
}

/// The run section of assay's own server.
pub(crate) const SERVE: &str = "[run]\ncommand = [\"${ASSAY}\", \"serve\", \"--address\", \"${ADDRESS}\", \"--port\", \"${PORT}\", \
                     \"--cpus\", \"${CPUS}\"]";

/// Whether a program is installed; else the test says that it leaves something out.
pub(crate) fn has(program: &str) -> bool {
    let found = std::process::Command::new("sh").args(["-c", &format!("command -v {program}")]).output();
    let is_here = found.is_ok_and(|output| output.status.success());
    if !is_here {
        skip("tools", format_args!("needs {program}"));
    }
    is_here
}

/// A port of loopback on which nobody listens.
pub(crate) fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0");
    listener.and_then(|listener| listener.local_addr()).expect("a port").port()
}

/// Names in a folder, sorted; none when it does not exist.
pub(crate) fn listing(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.map(|e| e.file_name().into_string().expect("name")).collect();
    names.sort();
    names
}

/// Takes out of every window what this machine did to it, so that each counts, however busy the machine is.
pub(crate) fn free_of_disturbance(record: &mut Record) {
    let rounds = record.rounds.iter_mut().chain(&mut record.long_look);
    for window in rounds.flat_map(|round| &mut round.runs).flat_map(|run| &mut run.cells) {
        if let Some(straight) = window.straight.as_deref_mut() {
            (straight.machine, straight.load.generator) = (Machine::default(), Usage::default());
            straight.load.checks.clear();
        }
        window.load.checks.clear();
        window.load.generator = Usage::default();
        window.machine = Machine::default();
        for turn in &mut window.turns {
            (turn.load.generator_delay_share, turn.taken) = (0.0, Some(TimeTaken::default()));
        }
        window.duet.iter_mut().for_each(|turn| turn.load.generator_delay_share = 0.0);
    }
}

/// The lives of servers in a record; a record without any fails the test that looks at each.
pub(crate) fn server_runs(record: &Record) -> Vec<&Run> {
    let runs: Vec<&Run> = record.rounds.iter().flat_map(|round| &round.runs).collect();
    assert!(!runs.is_empty(), "no server lived: {:?}", record.contenders);
    runs
}

/// The windows of a record; a record without any fails the test that looks at each.
pub(crate) fn windows(record: &Record) -> Vec<&Measurement> {
    let windows: Vec<&Measurement> = server_runs(record).into_iter().flat_map(|run| &run.cells).collect();
    assert!(!windows.is_empty(), "no window was measured: {:?}", record.rounds);
    windows
}

/// Why a contender was not run, or not to the end.
pub(crate) fn not_run<'r>(record: &'r Record, name: &str) -> &'r NotRun {
    let entry = record.entry_of(name).expect(name);
    let run = record.rounds.iter().flat_map(|round| &round.runs).filter(|run| run.contender == name);
    let reason = entry.not_run.as_ref().or_else(|| run.filter_map(|run| run.failure.as_ref()).next());
    reason.unwrap_or_else(|| panic!("nothing befell {name}"))
}

/// Waits until something holds. Looking may be dear, at all processes or by one, so it takes a tenth of the time at most.
pub(crate) fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let began = Instant::now();
        if holds() {
            return;
        }
        assert!(began < deadline, "never: {what}");
        let pause = 10 * began.elapsed();
        std::thread::sleep(pause.clamp(Duration::from_millis(10), Duration::from_millis(200)));
    }
}

/// The report that `assay load --json` wrote.
pub(crate) fn report(assert: &assert_cmd::assert::Assert) -> LoadReport {
    serde_json::from_str(&stdout(assert)).expect("a report")
}

/// What a finished command wrote to standard output.
pub(crate) fn stdout(assert: &assert_cmd::assert::Assert) -> String {
    String::from_utf8(assert.get_output().stdout.clone()).expect("UTF-8")
}

/// What a finished command wrote to standard error.
pub(crate) fn stderr(assert: &assert_cmd::assert::Assert) -> String {
    String::from_utf8(assert.get_output().stderr.clone()).expect("UTF-8")
}

/// The preload library that was built with these tests; says so where it was not.
pub(crate) fn preload_library() -> Option<PathBuf> {
    // Where Cargo puts it for tests: it lies beside the program only after `cargo build`.
    let library = Path::new(env!("CARGO_BIN_EXE_assay")).with_file_name("deps").join("libassay_preload.so");
    if !library.exists() {
        skip("preload", format_args!("needs {}, cargo test --workspace", library.display()));
        return None;
    }
    Some(library)
}
