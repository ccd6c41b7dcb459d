//! The smaller commands.

use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;

use crate::support::{Lab, stdout};

/// Every command that people use, and a word that its help must have.
const COMMANDS: [(&str, &str); 14] = [
    ("import", "--metadata"),
    ("exec", "--wire"),
    ("check", "--junit"),
    ("run", "--rounds"),
    ("plan", "--difference"),
    ("compare", "--fail-on"),
    ("load", "--pipeline"),
    ("serve", "--address"),
    ("show", "last~1"),
    ("report", "--output"),
    ("export", "csv"),
    ("list", "experiments"),
    ("completions", "bash"),
    ("man", "roff"),
];

#[test]
fn every_command_has_help() {
    let lab = Lab::new();
    let all = stdout(&lab.assay(&["--help"]).assert().code(0));
    for (command, word) in COMMANDS {
        assert!(all.contains(&format!("\n  {command} ")), "{command}:\n{all}");
        let help = stdout(&lab.assay(&[command, "--help"]).assert().code(0));
        assert!(help.contains(word) && help.contains(&format!("Usage: assay {command}")), "{help}");
    }
    assert!(all.contains("Exit codes:") && !all.contains("\n  supervise "), "{all}");
    lab.assay::<&str>(&[]).assert().code(2).stderr(contains("Usage: assay"));
}

/// Readers of the README's table have seen every command.
#[test]
fn every_command_stands_in_the_readme() {
    let readme = include_str!("../../../../README.md");
    let help = stdout(&Lab::new().assay(&["--help"]).assert().code(0));
    let listed = help.split("Commands:").nth(1).and_then(|rest| rest.split("\n\n").next()).expect("a list");
    // What is indented further goes on with the line above.
    let rows = listed.lines().filter_map(|line| line.strip_prefix("  ")).filter(|row| !row.starts_with(' '));
    let names: Vec<&str> = rows.filter_map(|row| row.split_whitespace().next()).collect();
    assert!(names.contains(&"run") && names.len() > 15, "{names:?}");
    let is_missing = |name: &&str| {
        let row = format!("`assay {name}");
        *name != "help"
            && !readme.match_indices(&row).any(|(at, _)| readme[at + row.len()..].starts_with(['`', ' ']))
    };
    let missing: Vec<&str> = names.into_iter().filter(is_missing).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn the_version_is_that_of_the_package() {
    let lab = Lab::new();
    lab.assay(&["--version"]).assert().code(0).stdout(format!("assay {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn completions_and_manual_know_the_commands() {
    let lab = Lab::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = stdout(&lab.assay(&["completions", shell]).assert().code(0));
        assert!(script.contains("completions") && script.contains("generator-cpus"), "{shell}:\n{script}");
        assert!(!script.contains("hold-netns"), "{shell} offers what is hidden:\n{script}");
    }
    let manual = stdout(&lab.assay(&["man"]).assert().code(0));
    assert!(manual.contains(".TH assay"), "{manual}");
    for (command, _) in COMMANDS {
        assert!(manual.contains(&format!(".SH \"ASSAY {}\"", command.to_uppercase())), "{command}");
    }
    assert!(!manual.contains("ASSAY KEEP"));
    assert!(
        manual.contains("\nassay run\n") && !manual.contains("\\-run(1)"),
        "refers to a page that nobody has: {manual}"
    );
}

/// What is said at length where a command's arguments are defined stands in its help and in the manual.
#[test]
fn what_a_command_must_say_at_length_is_in_its_help() {
    let lab = Lab::new();
    let manual = stdout(&lab.assay(&["man"]).assert().code(0)).replace('\n', " ");
    for (command, words) in [
        ("run", "Without arguments this runs the experiment"),
        ("check", "broken and hostile requests"),
        ("clean", "Records and logs stay"),
        ("compare", "Runs that were measured at different times"),
        ("exec", "exit status, signals and output are its own"),
        ("plan", "from what is usual"),
        ("import", "no tier and no rank"),
        ("init", "Nothing that exists is changed"),
        ("report", "computed again from the record"),
    ] {
        let help = stdout(&lab.assay(&[command, "--help"]).assert().code(0));
        let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(help.contains(words), "{command}: {help}");
        assert!(manual.contains(words), "{command} in the manual");
    }
}

#[test]
fn the_catalogue_is_listed() {
    let lab = Lab::new();
    lab.good("nice");
    lab.assay(&["list"]).assert().code(0).stdout(contains("nice").and(contains("hello")));
    lab.assay(&["list", "workloads"]).assert().code(0).stdout("hello  Five bytes.\n");
    lab.assay(&["list", "experiments"]).assert().code(0).stdout("");
    lab.assay(&["list", "runs"]).assert().code(0).stdout("");
}

#[test]
fn on_a_terminal_no_line_of_a_list_is_wrapped() {
    let lab = Lab::new();
    lab.good("one-with-a-name-that-takes-half-of-a-narrow-terminal");
    let list = lab.command(&["list"]);
    // script(1) is a terminal.
    let mut command = std::process::Command::new("script");
    let line = format!("stty cols 60; '{}' list", list.get_program().to_str().expect("text"));
    command.args(["--quiet", "--return", "--command", &line, "/dev/null"]);
    command.envs(list.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let told = stdout(&assert_cmd::Command::from_std(command).assert().code(0));
    let line = told.lines().find(|line| line.contains("half-of-a-narrow")).expect("listed").trim_end();
    assert!(line.ends_with('…') && line.chars().count() <= 60, "{told}");
}

#[test]
fn runs_are_listed_with_what_came_out() {
    let lab = Lab::new();
    lab.calm("nice");
    lab.run(&["nice"]).assert().code(0);
    let id = lab.record().id;
    let list = |more: &[&str]| lab.assay(&["list", "runs"]).args(more).assert().code(0);
    let text = stdout(&list(&[]));
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with(&id) && lines[0].ends_with(" UTC"), "{text}");
    assert!(lines[1].starts_with("  $ assay run ") && lines[1].ends_with(" nice"), "{text}");
    assert_eq!(lines[2], "  nice");
    let runs: serde_json::Value = serde_json::from_str(&stdout(&list(&["--json"]))).expect("json");
    assert_eq!((&runs[0]["id"], &runs[0]["contenders"][0]), (&id.as_str().into(), &"nice".into()));
    lab.assay(&["show", "nosuch"]).assert().code(2).stderr(contains("`assay list runs --all` shows all"));
    let names = stdout(&lab.assay(&["list", "--json"]).assert().code(0));
    assert!(names.contains("\"name\": \"nice\""), "{names}");
}

#[test]
fn a_catalogue_is_found_from_within_it() {
    let lab = Lab::new();
    lab.good("nice");
    let mut list = lab.assay(&["list"]);
    list.current_dir(lab.path("contenders/test/nice")).env_remove("ASSAY_CATALOGUE");
    list.assert().code(0).stdout(contains("nice"));
}

#[test]
fn an_experiment_of_the_catalogue_is_run_by_name() {
    let lab = Lab::new();
    lab.calm("nice");
    lab.write(
        "experiments/mine.toml",
        "name = \"mine\"\nabout = \"Short.\"\ncontenders = [\"nice\"]\nrounds = 1\nwarmup_s = 0.0\n\
         settle_s = 0.01\nwindow_s = 0.05\n[[measure]]\nworkload = \"hello\"\nconnections = [1, 3]\n",
    );
    lab.assay(&["list", "experiments"]).assert().code(0).stdout("mine  Short.\n");
    lab.assay(&["run", "-e", "mine", "--no-check", "--no-aa"]).assert().code(0);
    let record = lab.record();
    assert!(record.id.ends_with("-mine"), "{}", record.id);
    let cells = &record.rounds[0].runs[0].cells;
    let mut connections: Vec<u32> = cells.iter().map(|window| window.load.connections).collect();
    connections.sort_unstable();
    assert_eq!(connections, [1, 3]);
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let lab = Lab::new();
    let script = format!("'{}' man | head -n 1", env!("CARGO_BIN_EXE_assay"));
    let mut pipe = assert_cmd::Command::new("bash");
    pipe.args(["-o", "pipefail", "-c", &script]).env("TMPDIR", lab.path("tmp"));
    pipe.assert().code(0).stderr("");
}
