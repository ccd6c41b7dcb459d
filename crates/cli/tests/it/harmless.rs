//! What assay must not do to those who run it: take their files, steer their terminal, lose what it measured.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use assert_cmd::Command;
use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;

use crate::support::{Lab, PATIENCE, listing, stderr, stdout};
use assay_skip::skip;

#[test]
fn whatever_writes_replaces_a_file_and_nothing_beside_it() {
    let lab = Lab::new();
    lab.good("good");
    lab.run(&["good", "-o", "run.md"]).assert().code(0);
    let writers: [&[&str]; 7] = [
        &["report", "-o", "keep.html"],
        &["report", "--index", "runs", "-o", "keep.index"],
        &["export", "-f", "csv", "-o", "keep.csv"],
        &["compare", "last", "last", "-o", "keep.json"],
        &["check", "good", "--junit", "keep.xml"],
        &["completions", "bash", "-o", "keep.bash"],
        &["man", "-o", "keep.1"],
    ];
    lab.write("keep.part", "the user's");
    lab.write("precious", "precious");
    let before = listing(&lab.path("."));
    for arguments in writers {
        let name = arguments[arguments.len() - 1];
        std::os::unix::fs::symlink("precious", lab.path(&format!("{name}.part"))).expect("link");
        let code = lab.assay(arguments).assert().get_output().status.code();
        // A rule that is broken says nothing of the file.
        let is_expected = code == Some(0) || (arguments[0] == "check" && code == Some(11));
        assert!(is_expected, "{arguments:?} {code:?}");
        assert!(lab.path(name).metadata().is_ok_and(|file| file.is_file() && file.len() > 0), "{name}");
        assert_eq!(std::fs::read_to_string(lab.path("keep.part")).expect("there"), "the user's", "{name}");
        assert_eq!(std::fs::read_to_string(lab.path("precious")).expect("there"), "precious", "{name}");
        assert_eq!(listing(&lab.path(".")).len(), before.len() + 2, "{name}");
        ["", ".part"]
            .iter()
            .for_each(|end| std::fs::remove_file(lab.path(&format!("{name}{end}"))).expect("removed"));
    }
}

#[test]
fn a_page_that_nobody_named_replaces_none_but_an_earlier_one_of_ours() {
    let lab = Lab::new();
    lab.calm("calm");
    lab.run(&["calm"]).assert().code(0);
    let record = std::fs::read_to_string(lab.run_folder().join("record.json")).expect("a record");
    lab.write("theirs/record.json", &record);
    for (arguments, name) in [
        (&["report", "theirs/record.json"][..], "theirs/report.html"),
        (&["report", "--index", "runs"], "runs/index.html"),
    ] {
        lab.write(name, "<!doctype html><title>my report</title>");
        lab.assay(arguments).assert().code(2).stderr(contains(name).and(contains("-o FILE")));
        let kept = std::fs::read_to_string(lab.path(name)).expect("there");
        assert_eq!(kept, "<!doctype html><title>my report</title>");
        let named = [arguments, &["-o", name]].concat();
        lab.assay(&named).assert().code(0);
        lab.assay(arguments).assert().code(0);
        assert_ne!(std::fs::read_to_string(lab.path(name)).expect("there"), kept);
    }
    lab.assay(&["report"]).assert().code(0);
}

#[test]
fn a_page_that_nobody_named_goes_through_no_link_that_came_with_a_record() {
    let lab = Lab::new();
    lab.calm("calm");
    lab.run(&["calm"]).assert().code(0);
    let record = std::fs::read_to_string(lab.run_folder().join("record.json")).expect("a record");
    lab.write("evil/record.json", &record);
    let target = lab.path("elsewhere");
    for (arguments, name) in [
        (&["report", "evil/record.json"][..], "evil/report.html"),
        (&["report", "--index", "runs"], "runs/index.html"),
    ] {
        std::os::unix::fs::symlink(&target, lab.path(name)).expect("linked");
        let refused = || {
            lab.assay(arguments).assert().code(2).stderr(contains(name).and(contains("-o FILE")));
        };
        refused();
        assert!(!target.exists(), "{name}");
        // Who types a name may have a link there.
        lab.assay(&[arguments, &["-o", name]].concat()).assert().code(0);
        assert!(target.is_file(), "{name}");
        // Nor does it help that a page of ours is behind it.
        refused();
        assert!(lab.path(name).symlink_metadata().expect("there").is_symlink(), "{name}");
        std::fs::remove_file(&target).expect("removed");
    }
}

#[test]
fn runs_are_kept_where_nobody_else_can_lead_them_elsewhere() {
    let lab = Lab::new();
    lab.calm("calm");
    if !rustix::process::geteuid().is_root() {
        return skip("root", "another user's folder needs chown(2)");
    }
    std::fs::set_permissions(lab.path("."), std::fs::Permissions::from_mode(0o1777)).expect("mode");
    std::fs::create_dir(lab.runs()).expect("made");
    std::os::unix::fs::chown(lab.runs(), Some(4711), None).expect("handed over");
    let told = contains("belongs to another user (number 4711)").and(contains("--runs or ASSAY_RUNS"));
    lab.run(&["calm"]).assert().code(2).stderr(told);
    assert_eq!(listing(&lab.runs()), Vec::<String>::new());
    lab.run(&["calm", "--runs", "own"]).assert().code(0);
}

#[test]
fn a_pipe_in_a_catalogue_is_told_and_not_waited_for() {
    let lab = Lab::new();
    let pipe = lab.path("workloads/pipe.toml");
    rustix::fs::mkfifoat(rustix::fs::CWD, pipe, rustix::fs::Mode::from_raw_mode(0o600)).expect("a pipe");
    let told = contains("workloads/pipe.toml").and(contains("it is no regular file"));
    lab.assay(&["list"]).timeout(PATIENCE).assert().code(2).stderr(told);
}

#[test]
fn a_limit_of_file_sizes_is_told_and_nothing_is_left() {
    let lab = Lab::new();
    let before = listing(&lab.path("."));
    let limited = format!("ulimit -f 1; exec '{}' \"$@\"", env!("CARGO_BIN_EXE_assay"));
    let man = || {
        let mut command = Command::new("sh");
        command.args(["-c", &limited, "sh", "man", "-o"]).current_dir(lab.path("."));
        command
    };
    let told = || contains("assay.1").and(contains("raise the limit (ulimit -f)"));
    man().arg("assay.1").assert().code(4).stderr(told());
    assert_eq!(listing(&lab.path(".")), before);
    // What is no file has no size.
    man().arg("/dev/stdout").assert().code(0);
}

/// The page is much larger than the record.
#[test]
fn what_was_named_is_written_though_the_page_of_the_run_cannot_be() {
    let lab = Lab::new();
    lab.calm("calm");
    let limited = format!("ulimit -f 300; exec '{}' \"$@\"", env!("CARGO_BIN_EXE_assay"));
    let words = "run calm --no-check --no-aa -c 2 --warmup 0s -d 100ms --rounds 2 -o o.json";
    let assay = lab.command(&words.split(' ').collect::<Vec<_>>());
    let mut command = Command::new("sh");
    command.args(["-c", &limited, "sh"]).args(assay.get_args()).current_dir(lab.path("."));
    command.envs(assay.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let record = lab.runs().display().to_string();
    let told = contains(format!("record {record}")).and(contains("report.html")).and(contains("--runs"));
    command.assert().code(4).stderr(told);
    let named = std::fs::read_to_string(lab.path("o.json")).expect("written");
    assert!(named.trim_end().ends_with('}'), "{named}");
}

#[test]
fn devices_stay_devices_and_a_full_one_is_told() {
    let lab = Lab::new();
    lab.assay(&["man", "-o", "/dev/null"]).assert().code(0);
    assert!(Path::new("/dev/null").metadata().expect("there").file_type().is_char_device());
    let whole = stdout(&lab.assay(&["man"]).assert().code(0));
    assert_eq!(stdout(&lab.assay(&["man", "-o", "/dev/stdout"]).assert().code(0)), whole);
    let full = || contains("/dev/full").and(contains("make room there"));
    lab.assay(&["man", "-o", "/dev/full"]).assert().code(4).stderr(full());
    let to_full = format!("exec '{}' man >/dev/full", env!("CARGO_BIN_EXE_assay"));
    Command::new("sh")
        .args(["-c", &to_full])
        .assert()
        .code(4)
        .stderr(contains("cannot write to standard output"));
}

#[test]
fn arguments_that_are_no_utf_8_are_no_fault() {
    let lab = Lab::new();
    lab.calm("good");
    let odd = OsStr::from_bytes(b"odd-\xff.json");
    lab.assay::<&str>(&[]).arg("import").arg(odd).assert().code(2).stderr(contains("odd-"));
    lab.assay(&["show"]).arg(odd).assert().code(2).stderr(contains("UTF-8"));
    lab.run(&["good", "-o"]).arg(odd).assert().code(0);
    assert!(lab.record().command.iter().any(|word| word == "odd-\u{fffd}.json"));
    assert!(lab.path(".").join(odd).is_file());
}

#[test]
fn names_of_others_cannot_steer_a_terminal() {
    let lab = Lab::new();
    lab.contender(
        "good",
        "server",
        "about = \"x\\u001b]0;t\\u0007\\u009B\\u202Ey\"\n[run]\ncommand = [\"true\"]",
    );
    let listed = stdout(&lab.assay(&["list"]).assert().code(0));
    let as_json = stdout(&lab.assay(&["list", "--json"]).assert().code(0));
    let read: serde_json::Value = serde_json::from_str(&as_json).expect("JSON");
    assert_eq!(read[0]["about"], "x\u{1b}]0;t\u{7}\u{9b}\u{202e}y", "programs read what is there");
    let told = stderr(&lab.assay(&["run", "evil\u{202e}\u{9b}31m"]).assert().code(2));
    let runs = runs_with_a_command(&lab, "x\u{9b}31m\u{202e}y");
    for text in [listed, as_json, told, runs] {
        assert!(!text.contains(|c: char| (c.is_control() && c != '\n') || c == '\u{202e}'), "{text:?}");
    }
}

/// The list of runs as JSON, with one that somebody else brought.
fn runs_with_a_command(lab: &Lab, word: &str) -> String {
    lab.calm("calm");
    lab.run(&["calm"]).assert().code(0);
    let file = lab.run_folder().join("record.json");
    let text = std::fs::read_to_string(&file).expect("a record");
    let mut record: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    record["command"] = serde_json::json!(["assay", "run", word]);
    std::fs::write(&file, record.to_string()).expect("written");
    let runs = stdout(&lab.assay(&["list", "runs", "--json"]).assert().code(0));
    let read: serde_json::Value = serde_json::from_str(&runs).expect("JSON");
    assert!(read[0]["command"].as_str().is_some_and(|command| command.contains(word)), "{runs}");
    runs
}

/// Measures on a small disk that is filled as soon as a round is saved, and keeps what was on it.
const ON_A_FULL_DISK: &str = r#"
mount -t tmpfs -o size=4m none runs || exit 77
(
    until grep -q '"rounds":\[{' runs/*/record.json; do sleep 0.05; done
    dd if=/dev/zero of=runs/filler bs=4k
) 2>/dev/null &
"$0" run --no-check good -d 100ms --warmup 0s --rounds 100 -c 2 --no-aa
code=$?
rm -f runs/filler
cp -R runs kept
exit $code
"#;

#[test]
fn what_was_measured_is_told_when_the_disk_is_full() {
    let lab = Lab::new();
    lab.calm("good");
    std::fs::create_dir(lab.runs()).expect("made");
    let lab_command = lab.command::<&str>(&[]);
    let settings = lab_command.get_envs().filter_map(|(name, value)| Some((name, value?)));
    let mut shell = std::process::Command::new("unshare");
    shell.args(["-rm", "sh", "-c", ON_A_FULL_DISK, env!("CARGO_BIN_EXE_assay")]);
    shell.envs(settings).current_dir(lab.path("."));
    let ended = Command::from_std(shell).timeout(2 * PATIENCE).assert();
    if !lab.path("kept").exists() {
        return skip("userns", "needs mount and user namespaces (unshare -rm)");
    }
    let (shown, told) = (stdout(&ended), stderr(&ended));
    ended.code(4);
    let rounds = |what: &str| -> usize {
        let behind = told.split_once(what).unwrap_or_else(|| panic!("{told}")).1;
        behind.chars().take_while(char::is_ascii_digit).collect::<String>().parse().expect("a number")
    };
    assert!(told.contains("record.json"), "{told}");
    assert_eq!(rounds("rounds measured: "), rounds("rounds kept: ") + 1, "the last is in memory only");
    assert!(shown.contains("good") && shown.contains("the run had not ended"), "{shown}");
    let [run] = &listing(&lab.path("kept"))[..] else { panic!("{:?}", listing(&lab.path("kept"))) };
    assert_eq!(listing(&lab.path("kept").join(run)), ["logs", "record.json"]);
    let kept = lab.assay(&["show", "--runs", "kept"]).assert().code(0);
    kept.stdout(contains("good").and(contains("the run had not ended")));
}

#[test]
fn scripts_of_the_catalogue_take_any_folder_for_scratch() {
    let contenders = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../contenders");
    for (contender, program, configuration) in [
        ("c/nginx", "nginx", "nginx.conf"),
        ("c/h2o", "h2o", "h2o.conf"),
        ("c/lighttpd", "lighttpd", "lighttpd.conf"),
        ("c/apache", "apache2", "httpd.conf"),
        ("php/fpm", "php-fpm", "fpm.conf"),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        let scratch = folder.path().join(r"a|b&c\1");
        let files = folder.path().join("files");
        [&scratch, &files].iter().for_each(|folder| std::fs::create_dir(folder).expect("made"));
        // In place of the server, whose turn comes when the file is written.
        for program in [program, "nginx"] {
            stand_in(&folder.path().join(program));
        }
        let path = format!("{}:{}", folder.path().display(), std::env::var("PATH").unwrap_or_default());
        let mut script = std::process::Command::new("sh");
        script.arg("serve.sh").current_dir(contenders.join(contender)).env("PATH", path);
        script.envs([("SCRATCH", &scratch), ("FILES", &files)]);
        let ended = script
            .envs([("ADDRESS", "127.0.0.1"), ("PORT", "1"), ("WORKERS", "1")])
            .output()
            .expect("started");
        let text = std::fs::read_to_string(scratch.join(configuration)).unwrap_or_default();
        let told = String::from_utf8_lossy(&ended.stderr);
        assert!(
            text.contains(&scratch.display().to_string()) && !text.contains("@SCRATCH@"),
            "{contender}: {told}{text}"
        );
    }
}

fn stand_in(program: &PathBuf) {
    std::fs::write(program, "#!/bin/sh\nexit 0\n").expect("written");
    std::fs::set_permissions(program, std::fs::Permissions::from_mode(0o755)).expect("set");
}
