//! The chat: its server, its store, and what the load generator does not speak.

use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use assay_lab::conformance::rule_names;
use assay_model::database::DatabaseKind;
use assay_model::record::{DatabaseOrigin, State};
use rustix::process::{Signal, kill_process_group};

use crate::support::{Lab, Running, stderr, stdout};
use assay_skip::skip;

const REPOSITORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// Long enough for the last round of many to be far away.
const MANY_ROUNDS: &str = "500";

/// One test, because a build installs the server's packages anew each time.
#[test]
fn a_chat_is_asked_measured_and_stopped() {
    let is_there = |tool: &&str| Command::new(tool).arg("version").output().is_ok();
    if let Some(missing) = ["go", "node", "npm"].into_iter().find(|tool| !is_there(tool)) {
        return skip("tools", format_args!("the chat needs {missing}"));
    }
    build_store();
    it_keeps_the_rules_of_a_chat();
    it_is_measured_with_a_store_and_nothing_outlives_ctrl_c();
    what_is_live_is_tested_in_its_own_language();
}

/// Beforehand, because the first time takes longer than a test waits for assay.
fn build_store() {
    let folder = Path::new(REPOSITORY).join("contenders/go/ferretdb");
    let mut build = Command::new("go");
    build.env("CGO_ENABLED", "0").args(["build", "-buildvcs=false", "-o", "build/ferretdb", "."]);
    let built = build.current_dir(folder).output().expect("go");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
}

/// A lab with the chat, its store and its workloads.
fn lab() -> Lab {
    let lab = Lab::new();
    let repository = Path::new(REPOSITORY);
    for name in ["chat-page", "chat-read", "chat-post", "chat"] {
        let file = format!("workloads/{name}.toml");
        lab.write(&file, &std::fs::read_to_string(repository.join(&file)).expect("workload"));
    }
    for language in ["go", "javascript"] {
        let folder = format!("contenders/{language}");
        symlink(repository.join(&folder), lab.path(&folder)).expect("link");
    }
    lab
}

fn it_keeps_the_rules_of_a_chat() {
    let rules: Vec<&str> = rule_names().filter(|name| name.starts_with("chat-")).collect();
    let assert = lab().assay(&["check", "chat", "--only", &rules.join(",")]).assert();
    let told = format!("{}{}", stdout(&assert), stderr(&assert));
    assert!(told.contains(&format!("{0}/{0} rules kept", rules.len())), "{told}");
}

/// One run of many rounds, interrupted after the first. That no process and no folder is left, the lab asserts when it goes.
fn it_is_measured_with_a_store_and_nothing_outlives_ctrl_c() {
    let lab = lab();
    let arguments = ["run", "chat", "-w", "chat", "-c", "2", "-d", "100ms", "--warmup", "0s"];
    let mut command =
        lab.command(&[&arguments[..], &["--no-check", "--no-aa", "--rounds", MANY_ROUNDS]].concat());
    command.process_group(0);
    let mut run = Running::start(command);
    run.wait_for(&format!("round 1 of {MANY_ROUNDS} saved"));
    kill_process_group(run.pid(), Signal::INT).expect("signalled");
    let (ended, told) = run.end();
    assert_eq!(ended.code(), Some(130), "{}", run.said);
    let told = format!("{told}{}", run.said);

    let record = lab.record();
    assert_eq!(record.state, State::Interrupted);
    let database = record.database.as_ref().expect("a database");
    assert_eq!((database.kind, database.origin), (DatabaseKind::Mongodb, DatabaseOrigin::Private), "{told}");
    assert!(database.version.as_ref().is_some_and(|version| version.starts_with("FerretDB 1.")), "{told}");
    // The second may have been cut short.
    let windows: Vec<_> = record.rounds[0].runs.iter().flat_map(|run| &run.cells).collect();
    assert!(!windows.is_empty(), "{told}");
    for window in windows {
        assert!(window.load.books.ok > 0 && window.load.books.failed() == 0, "{:?}", window.load.samples);
        assert!(window.database.as_ref().is_some_and(|database| database.usage.cpu_ns().0 > 0));
    }
}

/// The load generator speaks HTTP only; WebSocket has a test in the contender's folder, which is built by now.
fn what_is_live_is_tested_in_its_own_language() {
    let folder = Path::new(REPOSITORY).join("contenders/javascript/chat");
    let live = Command::new("npm").arg("test").current_dir(folder).output().expect("npm");
    assert!(live.status.success(), "{}", String::from_utf8_lossy(&live.stdout));
}

#[test]
fn a_store_that_does_not_come_up_is_told_with_its_last_words() {
    let lab = Lab::new();
    lab.write(
        "workloads/w.toml",
        "name = \"w\"\nabout = \"\"\ndatabase = \"mongodb\"\n[[request]]\npath = \"/\"\nexpect = {}\n",
    );
    lab.contender("good", "server", "[run]\ncommand = [\"${ASSAY}\", \"serve\", \"--port\", \"${PORT}\"]");
    let file = lab.path("contenders/test/good/contender.toml");
    let text = std::fs::read_to_string(&file).expect("contender").replace("\"hello\"", "\"w\"");
    std::fs::write(&file, text).expect("contender");
    let store = |script: &str| {
        let text = format!(
            "name = \"store\"\ntitle = \"The store\"\nlanguage = \"test\"\nkind = \"server\"\nprovides = \"mongodb\"\n\
             workloads = []\n[run]\ncommand = [\"sh\", \"-c\", \"{script}\"]\nready_timeout_s = 0.3\n"
        );
        lab.write("contenders/test/store/contender.toml", &text);
    };
    for (script, words) in
        [("echo no room; exit 3", "exit status 3"), ("sleep 60", "does not listen after 0.3 s")]
    {
        store(script);
        let assert = lab.run(&["good", "-w", "w"]).assert();
        let told = stderr(&assert);
        assert!(told.contains("there is no database: The store") && told.contains(words), "{told}");
    }
    let refused = lab.run(&["store", "-w", "w"]).assert();
    assert!(stderr(&refused).contains("there is no contender `store`"), "{}", stderr(&refused));
}
