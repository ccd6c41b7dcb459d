//! An implementation in the shape of TechEmpower's, built and run by a container engine, where one works here.

use std::net::TcpListener;
use std::process::Command;

use assay_model::record::State;

use crate::support::Lab;
use assay_skip::skip;

const SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/guest.c");
const FOLDER: &str = "frameworks/C/guest";
const DOCKERFILE: &str = "FROM scratch\nCOPY guest /guest\nENTRYPOINT [\"/guest\"]\n";

/// Builds the guest's program without any library, and asks the engine to run it once; says why that does not work.
fn prepare(lab: &Lab) -> Result<(), String> {
    lab.write(&format!("{FOLDER}/guest.dockerfile"), DOCKERFILE);
    let folder = lab.path(FOLDER);
    let run = |program: &str, words: &[&str]| -> Result<(), String> {
        let output = Command::new(program).args(words).current_dir(&folder).output();
        let output = output.map_err(|error| format!("{program}: {error}"))?;
        let told = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        if output.status.success() { Ok(()) } else { Err(format!("{program} {}: {told}", words.join(" "))) }
    };
    run("cc", &["-static", "-o", "guest", SOURCE])?;
    run(
        "podman",
        &["build", "--quiet", "--file", "guest.dockerfile", "--tag", "localhost/assay-test-guest", "."],
    )?;
    let probe = ["run", "--rm", "--network", "host", "--ulimit", "host", "localhost/assay-test-guest"];
    let probed = run("podman", &probe);
    let removed = run("podman", &["rmi", "--force", "localhost/assay-test-guest"]);
    probed.and(removed)
}

#[test]
fn a_guest_is_built_asked_at_its_own_paths_measured_and_gone() {
    let lab = Lab::new();
    if let Err(reason) = prepare(&lab) {
        return skip("container", format_args!("no container can run here ({reason})"));
    }
    let port =
        TcpListener::bind("127.0.0.1:0").and_then(|socket| socket.local_addr()).expect("a port").port();
    let config = format!(
        "{{\"framework\": \"guest\", \"tests\": [{{\"default\": {{\"port\": {port}, \"json_url\": \"/its/own\", \
         \"docker_cmd\": \"{port}\", \"database\": \"None\"}}}}]}}"
    );
    lab.write(&format!("{FOLDER}/benchmark_config.json"), &config);
    let json = "name = \"json\"\nabout = \"An object.\"\n[[request]]\npath = \"/json\"\n\
                expect = { status = 200, json = '{\"message\": \"Hello, World!\"}' }\n";
    lab.write("workloads/json.toml", json);
    lab.run(&[&format!("./{FOLDER}"), "-w", "json"]).assert().code(0);
    let record = lab.record();
    assert_eq!((record.state, record.rounds.len()), (State::Complete, 2));
    for run in record.rounds.iter().flat_map(|round| &round.runs) {
        let window = &run.cells[0];
        assert!(run.failure.is_none() && window.load.window.ok > 0, "{run:?}");
        // The engine's own programs are larger than this; what was observed is the guest.
        let used = window.server.as_ref().expect("observed");
        assert!(used.rss_peak_bytes < 16 << 20 && used.cpu_ns().0 > 0, "{used:?}");
    }
    let ours = "ancestor=localhost/assay-techempower/guest";
    let listed = Command::new("podman").args(["ps", "--all", "--quiet", "--filter", ours]).output();
    let left = listed.expect("podman").stdout;
    assert_eq!(String::from_utf8_lossy(&left).trim(), "", "a container was left");
}
