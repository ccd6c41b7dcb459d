//! An implementation in the shape of TechEmpower's, built and run by a container engine, where one works here.

use std::net::TcpListener;
use std::process::Command;

use assay_model::record::{Stage, State};
use rustix::process::{Signal, kill_process};

use crate::support::{Lab, Running, Star, eventually, not_run};
use assay_skip::skip;

const SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/guest.c");
const FOLDER: &str = "frameworks/C/guest";
const RUNS: &str = "COPY guest /guest\nRUN [\"/guest\"]\nENTRYPOINT [\"/guest\"]\n";
/// Of an image of the guest's name in which nothing can be run.
const OTHER: &str = "COPY guest /other\n";
/// Of one that cannot be started.
const HOLLOW: &str = "COPY guest /guest\nENTRYPOINT [\"/nothere\"]\n";

/// A guest's Dockerfile. No two have a layer in common, or the first that is done would remove it while another is built upon it.
fn dockerfile(name: &str, rest: &str) -> String {
    format!("FROM scratch\nLABEL guest={name}\n{rest}")
}

/// Builds the program of a guest that is called so without any library; says why that does not work, or no engine is there.
fn prepare(lab: &Lab, name: &str) -> Result<(), String> {
    lab.write(&format!("{FOLDER}/{name}.dockerfile"), &dockerfile(name, RUNS));
    let folder = lab.path(FOLDER);
    let run = |program: &str, words: &[&str]| -> Result<(), String> {
        let output = Command::new(program).args(words).current_dir(&folder).output();
        let output = output.map_err(|error| format!("{program}: {error}"))?;
        let told = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        if output.status.success() { Ok(()) } else { Err(format!("{program} {}: {told}", words.join(" "))) }
    };
    run("podman", &["--version"])?;
    run("cc", &["-static", "-o", "guest", SOURCE])
}

/// The guest's configuration, on a port that nobody listens on.
fn configure(lab: &Lab, name: &str) {
    let port =
        TcpListener::bind("127.0.0.1:0").and_then(|socket| socket.local_addr()).expect("a port").port();
    let config = format!(
        "{{\"framework\": \"{name}\", \"tests\": [{{\"default\": {{\"port\": {port}, \"json_url\": \"/its/own\", \
         \"docker_cmd\": \"{port}\", \"database\": \"None\"}}}}]}}"
    );
    lab.write(&format!("{FOLDER}/benchmark_config.json"), &config);
    let json = "name = \"json\"\nabout = \"An object.\"\n[[request]]\npath = \"/json\"\n\
                expect = { status = 200, json = '{\"message\": \"Hello, World!\"}' }\n";
    lab.write("workloads/json.toml", json);
}

/// Holds that the guest was measured in each round, and itself; and that nothing is left of it.
fn was_measured_and_is_gone(lab: &Lab, name: &str) {
    let record = lab.record();
    assert_eq!((record.state, record.rounds.len()), (State::Complete, 2));
    for run in record.rounds.iter().flat_map(|round| &round.runs) {
        let window = &run.cells[0];
        assert!(run.failure.is_none() && window.load.window.ok > 0, "{run:?}");
        // The engine's own programs are larger than this; what was observed is the guest.
        let used = window.server.as_ref().expect("observed");
        assert!(used.rss_peak_bytes < 16 << 20 && used.cpu_ns().0 > 0, "{used:?}");
    }
    assert_eq!(containers(name, "--all"), "", "a container was left");
    remove_image(name);
}

/// Ids of the containers of a guest that run, or of `--all`.
fn containers(name: &str, which: &str) -> String {
    let ours = format!("ancestor=localhost/assay-techempower/{name}");
    let words = ["ps", which, "--quiet", "--filter", &ours].into_iter().filter(|word| !word.is_empty());
    let listed = Command::new("podman").args(words).output().expect("podman");
    String::from_utf8_lossy(&listed.stdout).trim().to_owned()
}

/// Writes a guest of this name that can be built and run; skips where no container can run.
fn has_guest(lab: &Lab, name: &str) -> bool {
    match prepare(lab, name) {
        Ok(()) => {
            configure(lab, name);
            true
        }
        Err(reason) => {
            skip("container", format_args!("no container can run here ({reason})"));
            false
        }
    }
}

/// The id of the image that has a guest's name.
fn image_of(name: &str) -> String {
    let image = format!("localhost/assay-techempower/{name}");
    let words = ["image", "inspect", "--format", "{{.Id}}", &image];
    let told = Command::new("podman").args(words).output().expect("podman");
    String::from_utf8_lossy(&told.stdout).trim().to_owned()
}

/// Removes a guest's image, which a run leaves to be there for the next.
fn remove_image(name: &str) {
    let image = format!("localhost/assay-techempower/{name}");
    let removed = Command::new("podman").args(["rmi", "--force", &image]).output().expect("podman");
    assert!(removed.status.success(), "{removed:?}");
}

#[test]
fn a_guest_is_built_asked_at_its_own_paths_measured_and_gone() {
    let lab = Lab::new();
    if !has_guest(&lab, "guest") {
        return;
    }
    lab.run(&[&format!("./{FOLDER}"), "-w", "json"]).assert().code(0);
    let command = lab.record().contenders[0].command.clone();
    assert_eq!(command[..3], ["podman", "run", "--rm"], "{command:?}");
    assert!(command.contains(&image_of("guest")), "{command:?}");
    was_measured_and_is_gone(&lab, "guest");
}

/// A build of another run may take the name of the image at any time.
#[test]
fn a_guest_is_itself_in_all_rounds_whatever_gets_its_name_meanwhile() {
    let lab = Lab::new();
    if !has_guest(&lab, "renamed") {
        return;
    }
    lab.write(&format!("{FOLDER}/other"), &dockerfile("other", OTHER));
    let words = format!("run ./{FOLDER} -w json --no-check --no-aa -c 2 --warmup 0s -d 100ms --rounds 3");
    let mut run = Running::start(lab.command(&words.split(' ').collect::<Vec<_>>()));
    eventually("it runs", || !containers("renamed", "").is_empty());
    let built = image_of("renamed");
    let name = "localhost/assay-techempower/renamed";
    let folder = lab.path(FOLDER);
    let other = ["build", "--file", "other", "--tag", name, "."];
    let other = Command::new("podman").args(other).current_dir(folder).output().expect("podman");
    assert!(other.status.success(), "{other:?}");
    assert_ne!(image_of("renamed"), built);
    assert_eq!(run.end().0.code(), Some(0));
    let record = lab.record();
    let runs: Vec<_> = record.rounds.iter().flat_map(|round| &round.runs).collect();
    assert_eq!((runs.len(), runs.iter().filter(|run| run.failure.is_some()).count()), (3, 0), "{runs:?}");
    assert!(record.contenders[0].command.contains(&built), "{:?}", record.contenders[0].command);
    remove_image("renamed");
    let removed = Command::new("podman").args(["rmi", "--force", &built]).output().expect("podman");
    assert!(removed.status.success(), "{removed:?}");
}

#[test]
fn a_guest_that_the_engine_cannot_start_fails_the_run_with_the_engines_words() {
    let lab = Lab::new();
    if !has_guest(&lab, "hollow") {
        return;
    }
    lab.write(&format!("{FOLDER}/hollow.dockerfile"), &dockerfile("hollow", HOLLOW));
    lab.run(&[&format!("./{FOLDER}"), "-w", "json"]).assert().code(10);
    let record = lab.record();
    let why = not_run(&record, "hollow");
    assert_eq!(why.stage, Stage::Start, "{why:?}");
    assert!(why.reason.contains("the engine could not start it: Error: "), "{why:?}");
    assert!(why.reason.contains("/nothere"), "{why:?}");
    remove_image("hollow");
}

#[test]
fn a_guest_lives_on_another_host() {
    let lab = Lab::new();
    if let Err(reason) = prepare(&lab, "distant") {
        return skip("container", format_args!("no container can run here ({reason})"));
    }
    let Some(star) = Star::new(2) else { return };
    configure(&lab, "distant");
    let server = format!("roles = [\"server\"]\naddress = \"{}\"\ncpus = \"0\"\n", star.address(1));
    lab.write("lab.toml", &format!("[[host]]\nname = \"box1\"\n{}{server}", star.transport(1, 0)));
    let words = format!(
        "run ./{FOLDER} -w json --lab lab.toml --no-check --no-aa -c 2 --warmup 0s -d 100ms --rounds 2"
    );
    let run = lab.command(&words.split(' ').collect::<Vec<_>>());
    assert_cmd::Command::from_std(star.on(0, &run)).assert().code(0);
    assert_eq!(lab.record().server_hosts[0].name, "box1");
    was_measured_and_is_gone(&lab, "distant");
    eventually("nobody is left", || lab.processes().is_empty());
}

#[test]
fn a_guest_ends_with_a_run_that_is_killed() {
    let lab = Lab::new();
    if !has_guest(&lab, "orphan") {
        return;
    }
    let words = format!("run ./{FOLDER} -w json --no-check --no-aa -c 2 -d 100s");
    let run = Running::start(lab.command(&words.split(' ').collect::<Vec<_>>()));
    eventually("it runs", || !containers("orphan", "").is_empty());
    kill_process(run.pid(), Signal::KILL).expect("killed");
    eventually("it has ended", || containers("orphan", "").is_empty());
    eventually("nobody is left", || lab.processes().is_empty());
    remove_image("orphan");
}
