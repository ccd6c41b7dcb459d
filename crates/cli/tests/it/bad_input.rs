//! What a person can get wrong: the message says what, where and how to mend it, and nothing was begun.

use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;

use crate::support::{Lab, Stranger, listing, not_run, stdout};

fn lab() -> Lab {
    let lab = Lab::new();
    lab.calm("good");
    lab.write("app.js", "");
    lab
}

/// Arguments, exit code, and what the message says.
type Case = (&'static [&'static str], i32, &'static [&'static str]);

const CASES: &[Case] = &[
    (&["compare"], 2, &["compare what?", "`assay compare last~1 last`", "--cmd"]),
    (&["compare", "last~18446744073709551615", "last"], 2, &["it holds 0 runs"]),
    (&["run", "godo"], 2, &["no contender `godo`", "did you mean good?"]),
    (&["run", "good", "-w", "helo"], 2, &["no workload `helo`", "did you mean hello?"]),
    (&["run", "-e", "nightly"], 2, &["no experiment `nightly`"]),
    (&["run", "lang:tset"], 2, &["no language `tset`", "did you mean test?"]),
    (&["run", "good", "--conections", "3"], 2, &["--conections", "--connections", "--help"]),
    (&["run", "good", "-c", "0"], 2, &["`0`", "for example 64"]),
    (&["run", "good", "-d", "5 parsecs"], 2, &["parsecs", "500ms, 10s or 2m"]),
    (&["run", "good", "-d", "5"], 2, &["5 what? Write 5ms or 5s"]),
    (&["run", "good", "--memory", "512"], 2, &["512 what? Write 512MiB or 512GiB"]),
    (&["redline", "good", "--slo", "p99<20"], 2, &["20 what? Write p99<20ms or p99<20s"]),
    (&["run", "good", "--rounds", "0"], 2, &["0 rounds", "write 1 to"]),
    (&["run", "good", "--rounds", "some"], 2, &["neither auto nor a number"]),
    (&["run", "good", "--rounds", "3", "--precision", "2%"], 2, &["kept to exactly", "--precision"]),
    (&["run", "good", "--precision", "2"], 2, &["no share", "2%"]),
    (&["run", "good", "-r", "fast"], 2, &["no load", "redline:p99<10ms"]),
    (&["run", "good", "-r", "redline:p98<1ms"], 2, &["no objective", "p99<10ms"]),
    (&["redline", "good"], 2, &["--slo"]),
    (&["redline", "good", "--slo", "p99<10ms", "-r", "5k/s"], 2, &["the rate itself", "leave -r"]),
    (&["redline", "--slo", "p99<10ms"], 2, &["whose redline?", "--cmd"]),
    (&["redline", "good", "--slo", "fast"], 2, &["no objective", "p99<10ms"]),
    (&["run", "good", "--pipeline", "0"], 2, &["0 requests in flight", "write 1 to"]),
    (&["run", "good", "-o", "result.xyz"], 2, &["result.xyz", ".html, .json, .csv, .md"]),
    (&["run", "good", "!good"], 3, &["nothing selected", "`assay list`"]),
    (&["run", "https://localhost/"], 2, &["https://localhost/", "http://"]),
    (&["run", "http://localhost:0/"], 2, &["http://localhost:0/", "write one from 1 to 65535"]),
    (&["load", "http://user:pw@localhost/"], 2, &["-H 'Authorization: Basic …'"]),
    (&["run", "ftp://localhost/"], 2, &["ftp://localhost/", "use http://"]),
    (&["run", "grpc://localhost:1/"], 2, &["write http://, and -w grpc"]),
    (&["check", "grpc://localhost:1/"], 2, &["not of gRPC", "-w grpc"]),
    (&["run", "ws://localhost:1/", "-w", "hello"], 2, &["write http://, and -w websocket"]),
    (&["run", "http://localhost:1/", "--tls", "-w", "hello"], 2, &["leave --tls out"]),
    (
        &["run", "good", "-d", "0"],
        2,
        &["`--duration`: 0 is no usable time", "write for example 10s, at most 24h"],
    ),
    (&["run", "good", "--timeout", "0"], 2, &["`--timeout`: 0 is no usable time"]),
    (&["run", "good", "--budget", "0"], 2, &["`--budget`: 0 is no usable time"]),
    (&["run", "good", "--path", "/x"], 3, &["nothing selected", "--cmd or a URL", "(-w)"]),
    (&["run", "good", "--database", "foo"], 2, &["write postgres://USER@HOST:PORT/DATABASE"]),
    (
        &["load", "http://localhost:1/", "-H", "Host: a"],
        2,
        &["assay writes the field Host itself", "/etc/hosts"],
    ),
    (&["run", "--cmd", "true", "-H", "Host: a", "--dry-run"], 2, &["assay writes the field Host itself"]),
    (&["run", "--cmd", "true", "-H", "Content-Length: 1"], 2, &["Content-Length itself; leave it out"]),
    (&["run", "--cmd", "true", "-m", "CONNECT"], 2, &["CONNECT", "write for example GET"]),
    (&["run", "--cmd", "true", "--ready-path", "/a b"], 2, &["`/a b` cannot be asked for"]),
    (
        &["run", "--cmd", "true", "--preload", "workloads/hello.toml"],
        2,
        &["--preload workloads/hello.toml: it is no shared library"],
    ),
    (&["run", "http://127.0.0.1:1/a b", "--dry-run"], 2, &["`/a b` cannot be asked for"]),
    (
        &["load", "http://127.0.0.1:1/", "--source", "192.0.2.1"],
        2,
        &["192.0.2.1 is no address of this machine"],
    ),
    (
        &["serve", "--address", "192.0.2.1", "--port", "0"],
        4,
        &["192.0.2.1", "it is no address of this machine; name one that is"],
    ),
    (&["run", "good", "--catalogue", "nowhere"], 2, &["no catalogue", "nowhere", "--catalogue"]),
    (&["run", "./nowhere"], 2, &["./nowhere", "No such file"]),
    (&["run", "./app.js"], 2, &["`./app.js`: it is no contender", "--cmd 'node ./app.js'"]),
    (&["redline", "app.js", "--slo", "p99<20ms"], 2, &["--cmd 'node app.js'"]),
    (&["check", "node app.js"], 2, &["--cmd 'node app.js'"]),
    (&["compare", "node a.js", "node b.js"], 2, &["no run `node a.js`", "--cmd 'node a.js' --cmd"]),
    (&["run", "no-such-host.invalid:80/a"], 2, &["cannot resolve `no-such-host.invalid:80`"]),
    (&["redline", "localhost:0", "--slo", "p99<20ms"], 2, &["no contender `localhost:0`"]),
    (
        &["redline", "good", "--slo", "p99<20ms", "--budget", "1s"],
        2,
        &["--budget 1 s: one round of one server"],
    ),
    (&["run", "--cmd", " "], 2, &["the command is empty", "--cmd 'node app.js'"]),
    (&["run", "--port", "80"], 2, &["--cmd"]),
    (&["run", "--cmd", "true", "--port", "80", "--port", "81"], 2, &["2 ports for one command", "in order"]),
    (&["check", "--cmd", "true", "--port", "80", "--port", "81"], 2, &["2 ports for one command"]),
    (&["run", "--path", "/x"], 2, &["a request of your own", "--cmd"]),
    (&["run", "-H", "a: b"], 2, &["a request of your own", "--cmd"]),
    (&["run", "--cmd", "true", "--path", "users"], 2, &["`users` is no path", "begin it with /"]),
    (&["check", "good", "--path", "users"], 2, &["`users` is no path", "begin it with /"]),
    (&["show"], 2, &["no run `last`", "0 runs"]),
    (&["report", "yesterday"], 2, &["no run `yesterday`"]),
    (&["export", "--format", "xls"], 2, &["xls", "csv"]),
    (&["list", "contestants"], 2, &["contestants", "contenders"]),
    (&["mesure"], 2, &["mesure"]),
    (&["load", "ftp://localhost/"], 2, &["ftp://localhost/", "use http://"]),
    (&["run", "http://no-such-host.invalid/"], 2, &["cannot resolve `no-such-host.invalid:80`"]),
    (&["load", "http://no-such-host.invalid/"], 2, &["cannot resolve `no-such-host.invalid`"]),
    (&["load", "http://localhost:1/", "-r", "4000000000"], 2, &["no generator can offer", "at most 100M"]),
    (&["run", "good", "-r", "max,1000M"], 2, &["no generator can offer 1000000000/s", "at most 100M"]),
    (&["load", "http://localhost:1/", "-r", "0"], 2, &["`0`", "such as 500, 50k or 0.5"]),
    (&["load", "http://localhost:1/", "--body-file", "absent.txt"], 2, &["cannot read absent.txt"]),
    (&["load", "http://localhost:1/", "--body-file", "/dev/zero"], 2, &["longer than 16777216 bytes"]),
    (
        &["load", "https://localhost:1/", "--cacert", "/dev/zero"],
        2,
        &["/dev/zero", "longer than 16777216 bytes"],
    ),
    (
        &["load", "https://localhost:1/", "--cert", "/dev/zero", "--key", "absent.pem"],
        2,
        &["/dev/zero", "longer than 16777216 bytes"],
    ),
    (&["load", "http://localhost:1/", "--workload", "absent.toml"], 2, &["cannot read absent.toml"]),
    (&["load", "http://localhost:1/", "-H", "Accept"], 2, &["`Accept`", "`Name: value`"]),
    (&["serve", "--port", "eighty"], 2, &["eighty"]),
    (&["serve", "--root", "absent", "--port", "0"], 4, &["absent"]),
];

#[test]
fn a_mistake_is_explained_before_anything_is_done() {
    let lab = lab();
    for (arguments, code, words) in CASES {
        let assert = lab.assay(arguments).assert().code(*code).stdout("");
        words.iter().fold(assert, |assert, word| assert.stderr(contains(*word)));
        assert!(!lab.runs().exists(), "{arguments:?}");
    }
}

#[test]
fn runs_that_cannot_be_written_are_told_before_anything_is_started() {
    let lab = lab();
    lab.write("file", "");
    let runs = lab.path("file/runs");
    let runs = runs.to_str().expect("path");
    lab.run(&["good", "--runs", runs]).assert().code(4).stdout("").stderr(
        contains("cannot write").and(contains(runs)).and(contains("--runs")).and(contains("saved").not()),
    );
}

#[test]
fn a_result_that_cannot_be_written_is_told_and_the_record_is_kept() {
    let lab = lab();
    std::fs::create_dir(lab.path("result.html")).expect("folder");
    let assert = lab.run(&["good", "-o", "result.html"]).assert().code(4);
    assert.stderr(contains("cannot write result.html").and(contains("name a file in it")));
    lab.record();
}

#[test]
fn a_result_that_will_find_no_folder_is_told_before_anything_is_started() {
    let lab = lab();
    lab.write("file", "");
    for (file, words) in [
        ("absent/result.html", "make its folder first"),
        ("file/result.html", "cannot write file/result.html"),
    ] {
        for more in [&[][..], &["--dry-run"]] {
            let assert = lab.run(&["good", "-o", file]).args(more).assert().code(4).stdout("");
            assert.stderr(contains(format!("cannot write {file}")).and(contains(words)));
        }
    }
    let mut compared =
        lab.assay(&["compare", "--cmd", "true", "--cmd", "false", "--output", "absent/result.md"]);
    compared.assert().code(4).stdout("").stderr(contains("cannot write absent/result.md"));
    assert!(!lab.runs().exists());
}

#[test]
fn an_unknown_key_is_a_warning_with_its_place() {
    let lab = lab();
    let text = std::fs::read_to_string(lab.path("workloads/hello.toml")).expect("file");
    lab.write("workloads/hello.toml", &format!("colour = \"red\"\n{text}"));
    lab.run(&["good"])
        .assert()
        .code(0)
        .stderr(contains("warning: ").and(contains("workloads/hello.toml:1:1: unknown key `colour`")));
    lab.record();
}

#[test]
fn a_wrong_file_is_an_error_with_its_place() {
    let cases = [
        ("workloads = \"hello\"\n[run]\ncommand = [\"x\"]", ":5:13", "expected a list"),
        (
            "workloads = [\"hello\"]\n[run]\ncommand = [\"x\"]\nready_timeout_s = \"soon\"",
            ":8:19",
            "invalid type",
        ),
        ("workloads = [\"hello\"]\n[run]\ncommand = [\"x\", \"${PROT}\"]", ":7:1", "did you mean PORT?"),
        ("workloads = [\"hello\"]\n[run]\n", ":6:1", "missing field `command`"),
        ("workloads = [\n", ":5:14", "toml.io"),
    ];
    for (rest, place, words) in cases {
        let lab = lab();
        let head = "name = \"bad\"\ntitle = \"Bad\"\nlanguage = \"test\"\nkind = \"server\"\n";
        lab.write("contenders/test/bad/contender.toml", &format!("{head}{rest}"));
        let place = format!("contenders/test/bad/contender.toml{place}");
        lab.run(&["good"]).assert().code(2).stdout("").stderr(contains(place).and(contains(words)));
        assert!(!lab.runs().exists());
    }
}

#[test]
fn a_file_that_is_no_record_is_told() {
    let lab = Lab::new();
    let cases = [
        ("{\"schema\": \"assay-rec", "may have been cut or edited"),
        ("{\"schema\": \"assay-record/1\"}", "missing field"),
        ("{\"schema\": \"assay-record/99\"}", "assay-record/99"),
        ("[]", "no record of a run"),
    ];
    for (text, words) in cases {
        lab.write("record.json", text);
        for command in ["show", "report", "export"] {
            let assert = lab.assay(&[command, "record.json"]).assert().code(2).stdout("");
            assert.stderr(contains("record.json").and(contains(words)));
        }
    }
    assert!(!lab.path("report.html").exists());
}

#[test]
fn a_port_in_use_is_never_measured() {
    let lab = Lab::new();
    let stranger = Stranger::new();
    let port = stranger.port.to_string();
    lab.run(&["--cmd", "\"$ASSAY\" serve --port $PORT", "--port", &port])
        .assert()
        .code(10)
        .stdout(contains(format!("port {port} is in use by another program")))
        .stdout(contains("choose another port"));
    assert_eq!(stranger.answered(), 0);
    assert!(lab.record().rounds.iter().flat_map(|round| &round.runs).all(|run| run.cells.is_empty()));
}

#[test]
fn a_missing_need_is_told_with_its_remedy_and_is_no_failure() {
    let lab = lab();
    let need = "[[needs]]\nwhat = \"Gloop 9 or newer\"\nprobe = [\"gloop-that-nobody-has\", \"--version\"]\n\
                minimum = \"9\"\ninstall = \"apt-get install gloop\"\n[run]\ncommand = [\"gloop\"]";
    lab.contender("needy", "server", need);
    lab.run(&["good", "needy"])
        .assert()
        .code(0)
        .stdout(contains("needs Gloop 9 or newer").and(contains("apt-get install gloop")));
    let record = lab.record();
    assert!(record.rounds.iter().all(|round| round.runs.len() == 1 && round.runs[0].contender == "good"));
    lab.run(&["needy"]).assert().code(10);
    let listed = stdout(&lab.assay(&["list", "runs"]).assert().code(0));
    let told =
        listed.lines().filter(|line| line.starts_with("  needy was not measured: needs Gloop 9")).count();
    assert_eq!(
        told, 1,
        "of who was not measured the reason is what came out, and of the other run something else: {listed}"
    );
    assert_eq!(listing(&lab.runs()).len(), 2);
}

#[test]
fn a_failed_build_shows_its_log_and_the_others_go_on() {
    let lab = lab();
    let build = "[build]\ncommand = [\"sh\", \"-c\", \"echo cannot find libgloop; exit 2\"]\n\
                 [run]\ncommand = [\"true\"]";
    lab.contender("unbuilt", "server", build);
    lab.run(&["good", "unbuilt"]).assert().code(10).stdout(
        contains("exit status 2").and(contains("cannot find libgloop")).and(contains("unbuilt-build.log")),
    );
    let record = lab.record();
    assert_eq!(not_run(&record, "unbuilt").log_tail, ["cannot find libgloop"]);
    assert!(record.rounds.iter().all(|round| round.runs.len() == 1 && round.runs[0].contender == "good"));
}
