//! An implementation that was written for the source: its folder with `benchmark_config.json` and Dockerfiles becomes
//! contenders, one for each test in it, that run in a container on the host's network with the paths of their own.
//!
//! What the toolset did and we do not: containers are not privileged, because a folder of somebody's must not get the machine.
//! Without a seccomp filter they run as there, so that a system call costs the same inside as outside.

use std::collections::BTreeMap;
use std::num::NonZeroU16;
use std::path::Path;

use assay_model::contender::{Build, Kind, Need, ServerCommand};
use assay_model::identity::{Identity, Origin};
use serde::Deserialize;

use super::{TestType, engine, results};
use crate::error::{LabError, SourcePlace};
use crate::inherited::Inherited;
use crate::names::name_of;
use crate::subject::{Container, Launch, OwnPaths, Process, Subject};
use crate::warning::Warning;

const CONFIG: &str = "benchmark_config.json";
/// Container engines, the one that needs no daemon first: its containers are our descendants, and end with us.
const ENGINES: [&str; 2] = ["podman", "docker"];
/// Where engines are and where their settings lie (podman(1), docker(1)).
const ENGINE_VARIABLES: [&str; 13] = [
    "BUILDAH_ISOLATION",
    "CONTAINERS_CONF",
    "CONTAINERS_REGISTRIES_CONF",
    "CONTAINERS_STORAGE_CONF",
    "CONTAINER_HOST",
    "DBUS_SESSION_BUS_ADDRESS",
    "DOCKER_CERT_PATH",
    "DOCKER_CONFIG",
    "DOCKER_CONTEXT",
    "DOCKER_HOST",
    "DOCKER_TLS_VERIFY",
    "REGISTRY_AUTH_FILE",
    "STORAGE_DRIVER",
];
/// Where its database is, in the words of the source, which has several.
const DATABASE: &str = "postgres";
/// Name of the test that is called like its framework.
const DEFAULT_TEST: &str = "default";
/// The toolset gives a build an hour.
const BUILD_TIMEOUT_S: f64 = 3600.0;
/// Frameworks with a long start-up are among them.
const READY_TIMEOUT_S: f64 = 60.0;
/// Where the engine writes the container's id, in the scratch folder.
const ID_FILE: &str = "container";

/// Starts the container and waits for its end. Arguments: engine, image, then the container's own. The database's host is that of the URL
/// that contenders are given.
const RUN_SCRIPT: &str = include_str!("container.sh");

/// Builds the image and prints its id, on the last line. Arguments: a folder for what passes by, then the command without the option for
/// the id.
const BUILD_SCRIPT: &str = include_str!("build.sh");

/// The part of `benchmark_config.json` that matters here.
#[derive(Debug, Deserialize)]
struct Config {
    framework: String,
    tests: Vec<BTreeMap<String, Test>>,
}

/// One test: a Dockerfile, a port, and the paths that it answers.
#[derive(Debug, Deserialize)]
struct Test {
    port: NonZeroU16,
    #[serde(default)]
    json_url: Option<Target>,
    #[serde(default)]
    db_url: Option<Target>,
    #[serde(default)]
    query_url: Option<Target>,
    #[serde(default)]
    fortune_url: Option<Target>,
    #[serde(default)]
    update_url: Option<Target>,
    #[serde(default)]
    plaintext_url: Option<Target>,
    #[serde(default)]
    cached_query_url: Option<Target>,
    #[serde(default)]
    database: String,
    #[serde(default)]
    language: String,
    #[serde(default)]
    classification: String,
    #[serde(default)]
    orm: String,
    #[serde(default)]
    platform: String,
    #[serde(default)]
    display_name: String,
    #[serde(default)]
    dockerfile: Option<String>,
    #[serde(default)]
    docker_cmd: String,
    #[serde(default)]
    tags: Vec<String>,
}

/// A path that a request can be made of.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "String")]
struct Target(String);

impl TryFrom<String> for Target {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        match text.chars().find(|c| c.is_control() || c.is_whitespace()) {
            Some(c) => Err(format!("a path with {c:?}, which no request can have")),
            None => Ok(Self(text)),
        }
    }
}

/// Whether a folder is an implementation of the source's.
pub(crate) fn is_implementation(folder: &Path) -> bool {
    folder.join(CONFIG).is_file()
}

/// The contenders in `folder`, the default test first; those that the source has marked as broken are left out with a warning,
/// as there.
///
/// # Errors
/// When its configuration cannot be read or understood, with the place, or holds no test that can run.
pub(crate) fn subjects(folder: &Path) -> Result<(Vec<Subject>, Vec<Warning>), LabError> {
    let folder = folder.canonicalize().map_err(|source| LabError::read(folder, source))?;
    let file = folder.join(CONFIG);
    let config: Config = results::read(&file, "a benchmark_config.json of the TechEmpower toolset")?;
    let (mut subjects, mut warnings) = (Vec::new(), Vec::new());
    let place = || SourcePlace { file: file.clone(), line: 1, column: 1 };
    let (engine, silent) = engine::choose(ENGINES, &inherited());
    warnings.extend(silent.into_iter().map(|message| Warning { place: place(), message }));
    let mut tests: Vec<(&String, &Test)> = config.tests.iter().flatten().collect();
    tests.sort_by_key(|(name, _)| (*name != DEFAULT_TEST, *name));
    for (name, test) in tests {
        let full = if name == DEFAULT_TEST {
            config.framework.clone()
        } else {
            format!("{}-{name}", config.framework)
        };
        let left_out = if test.tags.iter().any(|tag| tag == "broken") {
            Some("the source calls it broken")
        } else if test.paths().is_empty() {
            Some("it answers no type of test that can be asked here")
        } else {
            None
        };
        match left_out {
            Some(why) => {
                warnings.push(Warning { place: place(), message: format!("{full} is left out: {why}") })
            }
            None => subjects.push(subject(&folder, &full, test, engine)),
        }
    }
    if subjects.is_empty() {
        let problem = "it holds no test that can run here".to_owned();
        return Err(LabError::Argument { given: file.display().to_string(), problem });
    }
    Ok((subjects, warnings))
}

fn subject(folder: &Path, name: &str, test: &Test, engine: &str) -> Subject {
    let paths = test.paths();
    Subject {
        identity: Identity {
            title: if test.display_name.is_empty() { name.to_owned() } else { test.display_name.clone() },
            language: test.language.to_lowercase(),
            about: about(test),
            tuning: vec![format!("runs in a container ({engine}, host network, no seccomp filter)")],
            workloads: paths.keys().map(|name| (*name).to_owned()).collect(),
            ..Identity::named(name_of(name), Kind::Framework, Origin::Folder)
        },
        launch: Launch::Process(Box::new(process(folder, name, test, engine))),
        paths: Some(OwnPaths {
            owner: name_of(name),
            of: paths.into_iter().map(|(workload, path)| (workload.to_owned(), path)).collect(),
        }),
        stand_ins: BTreeMap::new(),
    }
}

fn about(test: &Test) -> String {
    let told = [("", &test.classification), ("platform ", &test.platform), ("ORM ", &test.orm)];
    let told = told.iter().filter(|(_, value)| !value.is_empty() && !value.eq_ignore_ascii_case("none"));
    let mut words: Vec<String> = told.map(|(label, value)| format!("{label}{value}")).collect();
    words.insert(0, "A TechEmpower implementation, unchanged".to_owned());
    if test.asks_another_database() {
        words.push(format!("its types with {} are not asked", test.database));
    }
    words.join(", ")
}

fn process(folder: &Path, name: &str, test: &Test, engine: &str) -> Process {
    let words = |words: &[&str]| words.iter().map(|word| literal(word)).collect::<Vec<String>>();
    let image = format!("localhost/assay-techempower/{}", name_of(name));
    let dockerfile = test.dockerfile.clone().unwrap_or_else(|| format!("{name}.dockerfile"));
    let (test_name, database) =
        (format!("TFB_TEST_NAME={name}"), format!("TFB_TEST_DATABASE={}", test.database));
    let mut build = words(&["sh", "-c", BUILD_SCRIPT, "sh"]);
    build.push("${SCRATCH}".to_owned());
    build.extend(words(&[engine, "build", "--file", &dockerfile, "--tag", &image]));
    build.extend(words(&["--build-arg", &test_name, "--build-arg", &database, "."]));
    let arguments = shell_words(&test.docker_cmd);
    let mut run = words(&["sh", "-c", RUN_SCRIPT, "sh", engine, &image]);
    run.extend(arguments.iter().map(|word| literal(word)));
    let need = Need {
        what: "a container engine".to_owned(),
        probe: words(&[engine, "info"]),
        minimum: None,
        install: "apt install podman, or docker, and start its daemon".to_owned(),
    };
    Process {
        folder: folder.to_owned(),
        port: Some(test.port.get()),
        needs: vec![need],
        build: Some(Build { command: build, timeout_s: BUILD_TIMEOUT_S }),
        run: ServerCommand {
            command: run,
            stack_arguments: Vec::new(),
            profile_arguments: Vec::new(),
            tls_arguments: None,
            http2: Vec::new(),
            queue_per_worker: false,
            ready_timeout_s: READY_TIMEOUT_S,
            ready_path: None,
            env: BTreeMap::new(),
        },
        versions: BTreeMap::from([(engine.to_owned(), words(&[engine, "--version"]))]),
        inherited: inherited(),
        container: Some(Container {
            engine: engine.to_owned(),
            id_file: ID_FILE.to_owned(),
            image,
            arguments,
        }),
        tells_names: false,
    }
}

fn inherited() -> Inherited {
    Inherited::Listed(ENGINE_VARIABLES.map(str::to_owned).to_vec())
}

/// A word without placeholders: what looks like one is what the file says.
fn literal(word: &str) -> String {
    word.replace("${", "$${")
}

impl Test {
    /// The workloads that it can be asked for, with its own path of each; of a family the path to which the number is appended.
    fn paths(&self) -> BTreeMap<&'static str, String> {
        let url = |test_type: TestType| match test_type {
            TestType::Json => &self.json_url,
            TestType::Db => &self.db_url,
            TestType::Queries => &self.query_url,
            TestType::Fortunes => &self.fortune_url,
            TestType::Updates => &self.update_url,
            TestType::Plaintext => &self.plaintext_url,
            TestType::Cached => &self.cached_query_url,
        };
        let asked =
            TestType::ALL.into_iter().filter(|one| !(self.asks_another_database() && one.needs_database()));
        let told = asked.filter_map(|test_type| Some((test_type.workload(), url(test_type).clone()?.0)));
        told.filter(|(_, path)| path.starts_with('/')).collect()
    }

    /// Whether it wants a database that we do not have.
    fn asks_another_database(&self) -> bool {
        let none = self.database.is_empty() || self.database.eq_ignore_ascii_case("none");
        !none && !self.database.eq_ignore_ascii_case(DATABASE)
    }
}

/// The words of a command as a shell would part them, quotes and backslashes included, and nothing else replaced: the command
/// is run in the container and must mean nothing outside.
fn shell_words(command: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    let mut letters = command.chars();
    while let Some(c) = letters.next() {
        match (quote, c) {
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (Some(open), c) if c == open => quote = None,
            (None | Some('"'), '\\') => word.get_or_insert_default().extend(letters.next()),
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::workload::{RequestKind, Workload};

    fn folder(config: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("folder");
        std::fs::write(folder.path().join(CONFIG), config).expect("file");
        folder
    }

    const TWO: &str = r#"{"framework": "Quick_Web", "maintainers": ["x"], "tests": [{
        "raw": {"port": 8080, "json_url": "/j", "query_url": "/rows?q=", "database": "Postgres", "docker_cmd": "run '${x} y' z"},
        "default": {"port": 9090, "json_url": "/json", "db_url": "/db", "database": "MySQL", "language": "Zig",
                    "dockerfile": "own.dockerfile", "display_name": "Quick"},
        "old": {"port": 1, "json_url": "/json", "tags": ["broken"]},
        "odd": {"port": 1, "json_url": "json"}
    }]}"#;

    #[test]
    fn each_test_is_a_contender_with_paths_of_its_own() {
        let folder = folder(TWO);
        assert!(is_implementation(folder.path()));
        let (subjects, warnings) = subjects(folder.path()).expect("subjects");
        let told: Vec<(&str, &str, Vec<&str>)> = (subjects.iter())
            .map(|one| {
                (
                    one.identity.name.as_str(),
                    one.identity.title.as_str(),
                    one.identity.workloads.iter().map(String::as_str).collect(),
                )
            })
            .collect();
        assert_eq!(
            told,
            [
                ("quick-web", "Quick", vec!["json"]),
                ("quick-web-raw", "Quick_Web-raw", vec!["json", "queries"])
            ]
        );
        assert!(subjects[0].identity.about.contains("MySQL are not asked"), "{}", subjects[0].identity.about);
        let left_out: Vec<String> = warnings.iter().map(|warning| warning.message.clone()).collect();
        assert_eq!(left_out.len(), 2, "{left_out:?}");
        assert!(
            left_out
                .iter()
                .any(|words| words.contains("Quick_Web-old is left out: the source calls it broken"))
        );
    }

    #[test]
    fn a_workload_is_asked_for_at_its_path_with_the_number_appended() {
        let folder = folder(TWO);
        let (subjects, _) = subjects(folder.path()).expect("subjects");
        let request = |path: &str| -> RequestKind {
            toml::from_str(&format!("path = \"{path}\"\nexpect = {{}}")).expect("request")
        };
        let of = |name: &str, path: &str| Workload {
            name: name.to_owned(),
            requests: vec![request(path)],
            ..Workload::default()
        };
        let parameter = toml::from_str("name = \"n\"\nvalues = [20]").expect("parameter");
        let queries =
            Workload { parameter: Some(parameter), ..of("queries", "/queries?queries=${n}") }.expand();
        assert_eq!(subjects[1].asked(&queries[0]).requests[0].path, "/rows?q=20");
        assert_eq!(subjects[1].asked(&of("json", "/json")).requests[0].path, "/j");
        assert_eq!(subjects[0].asked(&of("hello", "/")).requests[0].path, "/");
    }

    #[test]
    fn what_the_file_says_is_run_in_the_container_and_means_nothing_outside() {
        let folder = folder(TWO);
        let (subjects, _) = subjects(folder.path()).expect("subjects");
        let Launch::Process(process) = &subjects[1].launch else { panic!("no process") };
        assert_eq!(process.run.command[6..], ["run", "$${x} y", "z"]);
        assert!(
            process
                .run
                .command
                .iter()
                .all(|word| crate::contender::environment::unknown_placeholder(word).is_none())
        );
        let build = process.build.as_ref().expect("build").command.join(" ");
        assert!(
            build.contains("--file Quick_Web-raw.dockerfile --tag localhost/assay-techempower/quick-web-raw"),
            "{build}"
        );
        let Launch::Process(first) = &subjects[0].launch else { panic!("no process") };
        assert!(first.build.as_ref().expect("build").command.contains(&"own.dockerfile".to_owned()));
        assert_eq!(
            (first.port, first.needs[0].install.as_str()),
            (Some(9090), "apt install podman, or docker, and start its daemon")
        );
    }

    #[test]
    fn words_are_parted_as_a_shell_parts_them() {
        for (command, wanted) in [
            ("", vec![]),
            ("a  b\tc", vec!["a", "b", "c"]),
            ("a 'b c' \"d e\" f\\ g", vec!["a", "b c", "d e", "f g"]),
            ("x='1 2' ''", vec!["x=1 2", ""]),
        ] {
            assert_eq!(shell_words(command), wanted, "{command}");
        }
    }

    #[test]
    fn a_malformed_configuration_is_told_with_its_place() {
        let of = |text: &str| {
            let folder = folder(text);
            subjects(folder.path()).expect_err(text).to_string()
        };
        let error = of("{\"framework\": \"x\",\n \"tests\": [{\"default\": {\"port\": \"http\"}}]}");
        assert!(error.contains("benchmark_config.json:2:") && error.contains("invalid type"), "{error}");
        let test =
            |of_it: &str| format!("{{\"framework\": \"x\",\n \"tests\": [{{\"default\": {{{of_it}}}}}]}}");
        let error = of(&test("\"port\": 8080, \"json_url\": \"/j\\n::error::forged\""));
        assert!(error.contains("benchmark_config.json:2:") && error.contains("a path with '\\n'"), "{error}");
        assert_eq!(error.lines().count(), 1, "{error}");
        let error = of(&test("\"port\": 0, \"json_url\": \"/j\""));
        assert!(error.contains("benchmark_config.json:2:") && error.contains("nonzero"), "{error}");
        assert!(of("{\"framework\": \"x\", \"tests\": []}").contains("no test that can run here"));
    }
}
