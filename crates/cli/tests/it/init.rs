//! `assay init`: what it writes is measured as it stands, and nothing that was there is changed.

use predicates::prelude::PredicateBooleanExt as _;
use predicates::str::contains;

use crate::support::{Lab, stdout};

/// assay's own server, under a command of the user's.
const SERVER: &str = "\"$ASSAY\" serve --port $PORT";

fn init(lab: &Lab, arguments: &[&str]) -> assert_cmd::Command {
    lab.assay(&[&["init"], arguments].concat())
}

#[test]
fn what_is_written_is_measured_as_it_stands() {
    let lab = Lab::new();
    std::fs::create_dir(lab.path("deep")).expect("folder");
    let file = ["-o", "deep/own.toml", "-c", "2"];
    let assert =
        init(&lab, &["--cmd", SERVER, "--cmd", &format!("exec {SERVER}")]).args(file).assert().code(0);
    let told = stdout(&assert);
    assert!(told.ends_with("\n  assay run -e deep/own.toml\n"), "{told}");
    // Only so that the test is short: a budget is used to its end.
    let text = std::fs::read_to_string(lab.path("deep/own.toml")).expect("file");
    assert!(text.contains("budget_s = 300"), "{text}");
    lab.write("deep/own.toml", &text.replace("budget_s = 300", "budget_s = 1"));
    let command: Vec<&str> = told.lines().last().unwrap_or_default().split_whitespace().skip(1).collect();
    let short = ["-d", "100ms", "--warmup", "0s", "--rounds", "2", "--no-aa", "--no-long-look", "--no-check"];
    lab.assay(&[&command[..], &short].concat()).assert().code(0);
    let record = lab.record();
    assert_eq!(record.contenders.len(), 2, "the reference server is not asked for what is the user's");
    assert!(record.contenders.iter().all(|entry| entry.not_run.is_none()));
    assert!(
        record.experiment.commands.is_empty() && record.experiment.workloads.is_empty(),
        "they stand elsewhere"
    );
    assert_eq!(record.workloads[0].requests[0].path, "/");
}

#[test]
fn an_experiment_of_ones_own_gives_its_commands_names_and_a_folder() {
    let lab = Lab::new();
    lab.write("deep/serve.sh", "exec \"$ASSAY\" serve --port \"$PORT\"\n");
    let own = "name = \"own\"\ncontenders = []\nrounds = 1\nwarmup_s = 0.05\nwindow_s = 0.1\naa = false\nlong_look = false\n\
               [[command]]\nname = \"old\"\nrun = \"sh serve.sh\"\n\
               [[measure]]\nworkload = \"hello\"\nconnections = [2]\n";
    lab.write("deep/own.toml", own);
    let run = |file: &str| lab.assay(&["run", "--no-check", "-e", file]).assert();
    run("deep/own.toml").code(0).stdout(contains("old"));
    assert_eq!(lab.record().contenders[0].identity.name, "old");
    lab.write("deep/own.toml", &own.replace("run = \"sh serve.sh\"", "run = \"\""));
    run("deep/own.toml").code(2).stderr(contains("deep/own.toml:10:1: the command is empty"));
    run("./absent.toml").code(2).stderr(contains("cannot read ./absent.toml"));
}

#[test]
fn an_experiment_that_is_there_stays_and_what_is_missing_is_told() {
    let lab = Lab::new();
    lab.write("assay.toml", "precious");
    let there = init(&lab, &["http://127.0.0.1:1/"]).assert().code(4).stdout("");
    there.stderr(contains("cannot write assay.toml").and(contains("stays as it is, so name another")));
    assert_eq!(std::fs::read_to_string(lab.path("assay.toml")).expect("file"), "precious");
    let cases: [(&[&str], &str); 8] = [
        (&[], "no terminal to ask on"),
        (&["ftp://localhost/"], "use http://"),
        (&["http://localhost:1/a", "http://localhost:2/b"], "--path"),
        (&["--cmd", "x", "--path", "users", "-o", "new.toml"], "begin it with /"),
        (&["--cmd", " ", "-o", "new.toml"], "the command is empty"),
        (&["nginx", "-o", "new.toml"], "`assay run nginx`"),
        (&["--cmd", "x", "--cmd", "x", "-o", "new.toml"], "the command `x` was given twice"),
        (&["h2c://127.0.0.1:1/", "http://127.0.0.1:2/", "-o", "new.toml"], "one protocol"),
    ];
    for (arguments, words) in cases {
        init(&lab, arguments).assert().code(2).stdout("").stderr(contains(words));
    }
    assert!(!lab.path("new.toml").exists());
}
