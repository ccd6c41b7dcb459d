//! What is not for others stays with its owner: which variables programs are given, and what is repeated of secrets.

use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use crate::support::{Lab, stderr, stdout};

const TOKEN: &str = "tok-0123456789abcdef";
/// A failure whose log tail has the environment.
const TELL: &str = "env; echo \"between=$API_TOKEN=\"; exit 3";

/// Everything that a run told and wrote but the logs themselves, and those.
fn told(lab: &Lab, arguments: &[&str]) -> (String, String) {
    let run = lab
        .run(arguments)
        .env("API_TOKEN", TOKEN)
        .env("DATABASE_URL", "postgres://u:p-secret@127.0.0.1:1/precious")
        .env("ASSAY_DATABASE_URL", "postgres://u:a-secret@127.0.0.1:1/theirs")
        .assert();
    let folder = lab.run_folder();
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).expect(name);
    let texts = [stdout(&run), stderr(&run), read("record.json"), read("report.html"), unpacked(lab)];
    let logs = std::fs::read_dir(folder.join("logs")).expect("logs").flatten();
    let logs = logs.map(|log| std::fs::read_to_string(log.path()).expect("log")).collect();
    std::fs::remove_dir_all(folder).expect("removed");
    (texts.concat(), logs)
}

/// What the page packs.
fn unpacked(lab: &Lab) -> String {
    let all = lab.assay(&["export", "last", "--format", "json"]).assert().code(0);
    stdout(&all) + &stdout(&lab.assay(&["show", "last"]).assert().code(0))
}

#[test]
fn a_guest_finds_only_what_is_listed_or_named_in_its_file() {
    let lab = Lab::new();
    lab.contender(
        "guest",
        "server",
        &format!("[run]\ncommand = ['sh', '-c', '{TELL}']\nready_timeout_s = 5"),
    );
    let (told, logs) = self::told(&lab, &["guest"]);
    assert!(logs.contains("PATH=") && logs.contains("LANG=C.UTF-8") && logs.contains("PORT="), "{logs}");
    assert!(logs.contains("between=="), "{logs}");
    for absent in ["API_TOKEN=", "DATABASE_URL", TOKEN, "CARGO_MANIFEST_DIR"] {
        assert!(!logs.contains(absent), "{absent} is in {logs}");
    }
    assert!(told.contains("between=="), "{told}");

    let named = format!("pass_environment = ['API_TOKEN']\n[run]\ncommand = ['sh', '-c', '{TELL}']\n");
    lab.contender("guest", "server", &named);
    let (told, logs) = self::told(&lab, &["guest"]);
    assert!(logs.contains(&format!("between={TOKEN}=")) && !logs.contains("DATABASE_URL"), "{logs}");
    assert!(told.contains("between=[hidden: API_TOKEN]=") && !told.contains(TOKEN), "{told}");
}

#[test]
fn what_a_contender_may_not_be_passed_is_told_with_its_place() {
    let lab = Lab::new();
    lab.contender("guest", "server", "pass_environment = ['DATABASE_URL']\n[run]\ncommand = ['true']");
    let assert = lab.run(&["guest"]).assert().code(2);
    let told = stderr(&assert);
    assert!(told.contains("contender.toml:") && told.contains("`DATABASE_URL` is not a variable"), "{told}");
}

#[test]
fn a_command_of_the_users_own_keeps_the_environment_and_no_secret_is_repeated() {
    let lab = Lab::new();
    let command = format!("{TELL} # {TOKEN}");
    let (told, logs) = self::told(&lab, &["--cmd", &command, "--path", &format!("/?key={TOKEN}")]);
    assert!(logs.contains(&format!("API_TOKEN={TOKEN}")) && logs.contains("precious"), "{logs}");
    assert!(!logs.contains("ASSAY_DATABASE_URL"), "{logs}");
    assert!(told.contains("[hidden: API_TOKEN]"), "{told}");
    for secret in [TOKEN, "p-secret", "a-secret", "tok-0123"] {
        assert!(!told.contains(secret), "{secret} is in {told}");
    }
}

#[test]
fn passwords_in_urls_are_never_echoed() {
    let lab = Lab::new();
    lab.good("good");
    let url = "http://user:pass-word@127.0.0.1:1/";
    for arguments in [
        &["run", url][..],
        &["check", url],
        &["load", url],
        &["redline", url, "--slo", "p99<10ms"],
        &["run", "good", "--cmd", url, "-c", url],
        &["run", "good", "--database", url],
        &["clean", "--database", "postgres://user:pass-word@127.0.0.1:1/none"],
        &["show", url],
        &["run", "good", "-w", url],
        &["run", "good", url, "--unknown", url],
        &["mesure", url],
        &["load", "http://127.0.0.1:1/", "--workload", url],
        &["list", url],
    ] {
        let assert = lab.assay(arguments).assert().failure();
        let told = format!("{}{}", stdout(&assert), stderr(&assert));
        assert!(!told.is_empty() && !told.contains("pass-word"), "{arguments:?}: {told}");
    }
}

#[test]
fn a_record_has_the_mode_that_the_umask_leaves() {
    let lab = Lab::new();
    lab.calm("good");
    for (mask, mode) in [("022", 0o644), ("077", 0o600), ("027", 0o640)] {
        let words = [
            "run",
            "good",
            "-d",
            "50ms",
            "--warmup",
            "0s",
            "--rounds",
            "1",
            "-c",
            "1",
            "--no-aa",
            "--no-check",
        ];
        let own = lab.command(&words);
        let mut command = Command::new("sh");
        command
            .args(["-c", &format!("umask {mask} && exec \"$0\" \"$@\"")])
            .arg(own.get_program())
            .args(words);
        command
            .envs(own.get_envs().filter_map(|(name, value)| Some((name, value?))))
            .current_dir(lab.path(""));
        let output = command.output().expect("ended");
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let folder = lab.run_folder();
        for name in ["record.json", "histograms.hlog"] {
            let found = std::fs::metadata(folder.join(name)).expect(name).permissions().mode() & 0o777;
            assert_eq!(found, mode, "{name} under umask {mask}");
        }
        std::fs::remove_dir_all(folder).expect("removed");
    }
}

#[test]
fn credentials_in_fields_are_sent_and_not_repeated() {
    // Of this the environment has nothing.
    const KEY: &str = "key-fedcba9876543210";
    let lab = Lab::new();
    let own = "\"$ASSAY\" serve --address $ADDRESS --port $PORT --cpus $CPUS";
    let field = format!("Authorization: Bearer {KEY}");
    let (told, _) = self::told(&lab, &["--cmd", own, "-H", &field, "--rounds", "1"]);
    assert!(told.contains("[hidden: Authorization]") && !told.contains(KEY), "{told}");
    let workload = format!(
        "name = \"own\"\nabout = \"with a key\"\n[[request]]\npath = \"/\"\nheaders = [[\"X-Api-Key\", \"{KEY}\"]]\n\
         [request.expect]\nstatus = 200\n"
    );
    lab.write("own.toml", &workload);
    let (told, _) = self::told(&lab, &["--cmd", own, "-w", "./own.toml", "--rounds", "1"]);
    assert!(told.contains("[hidden: X-Api-Key]") && !told.contains(KEY), "{told}");
}
