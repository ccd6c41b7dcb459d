//! gRPC from end to end: our generator with our server, and with grpc-go where Go is here.

use assay_model::experiment::Protocol;
use assay_model::learnt::Held;
use assay_model::load::{ErrorClass, LoadReport};
use predicates::str::contains;
use rustix::process::Signal;

use crate::support::{Lab, Running, report, stdout};

/// The run section of assay's own server.
const SERVE: &str = "[run]\ncommand = [\"${ASSAY}\", \"serve\", \"--address\", \"${ADDRESS}\", \"--port\", \"${PORT}\", \
                     \"--cpus\", \"${CPUS}\"]\ntls_arguments = [\"--tls-cert\", \"${CERT}\", \"--tls-key\", \"${KEY}\"]";

/// A number instead of a time: a busy machine may answer nothing in any time.
const BRIEF: [&str; 7] = ["-n", "500", "-c", "2", "--cpus", "0", "--json"];

fn load(lab: &Lab, url: &str, arguments: &[&str]) -> assert_cmd::assert::Assert {
    lab.assay(&[&["load", url], &BRIEF[..], arguments].concat()).assert()
}

/// `assay serve` with or without TLS, and its address.
fn serve(lab: &Lab, more: &[&str]) -> (Running, String) {
    let (server, url) = Running::serve_with(lab, more);
    let authority = url.split_once("://").expect("scheme").1.to_owned();
    (server, authority)
}

#[test]
fn calls_are_answered_over_tls_and_without_in_closed_loops_and_at_a_rate() {
    let lab = Lab::new();
    for (more, scheme, protocol) in
        [(&[][..], "grpc", Protocol::Grpc), (&["--tls"], "grpcs", Protocol::Grpcs)]
    {
        let (mut server, authority) = serve(&lab, more);
        let insecure: &[&str] = if more.is_empty() { &[] } else { &["--insecure"] };
        let say = format!("{scheme}://{authority}/assay.Echo/Say");
        let body = "1: \"${n=sequence} h\\303\\251\"";
        let words = ["--body", body, "--expect-body", "1: \"${n} hé\"", "--streams", "8"];
        let closed = report(&load(&lab, &say, &[&words[..], insecure].concat()).code(0));
        assert_eq!((closed.protocol, closed.pipeline), (protocol, 8));
        assert!(closed.books.balance() && closed.books.ok == 500, "{closed:?}");
        assert_eq!(closed.bodies.unjudged, 0);
        let open = report(&load(&lab, &say, &[&words[..], &["-r", "1000"], insecure].concat()).code(0));
        assert!(open.books.balance() && open.books.ok == 500, "{open:?}");
        let hello = format!("{scheme}://{authority}/assay.Echo/Hello");
        let words = ["--expect-body", "1: \"Hello, World!\"", "--requests-per-connection", "50"];
        let greeted = report(&load(&lab, &hello, &[&words[..], insecure].concat()).code(0));
        assert!(greeted.books.ok == 500 && greeted.books.connections_opened >= 10, "{greeted:?}");
        server.signal(Signal::TERM);
        assert_eq!(server.end().0.code(), Some(0));
        assert!(server.said.contains("refused 0"), "{}", server.said);
    }
}

#[test]
fn a_file_has_the_message_itself() {
    let lab = Lab::new();
    let (_server, authority) = serve(&lab, &[]);
    let file = lab.path("message.bin");
    std::fs::write(&file, b"\x0a\x05${a}\xc3").expect("file");
    let file = file.to_str().expect("path");
    let say = format!("grpc://{authority}/assay.Echo/Say");
    // Half a character is no text: the server says so.
    let told = report(&load(&lab, &say, &["--body-file", file]).code(11));
    assert_eq!(told.books.errors, [(ErrorClass::RpcStatus, 500)].into());
    assert!(told.samples[0].detail.contains("13 INTERNAL"), "{:?}", told.samples);
    std::fs::write(lab.path("message.bin"), b"\x0a\x04${a}").expect("file");
    let right = report(&load(&lab, &say, &["--body-file", file, "--expect-body", "1: \"$${a}\""]).code(0));
    assert_eq!(right.books.ok, 500, "{right:?}");
}

#[test]
fn what_is_called_wrongly_is_told_with_the_status_and_what_is_written_wrongly_with_its_place() {
    let lab = Lab::new();
    let (_server, authority) = serve(&lab, &[]);
    let told = report(&load(&lab, &format!("grpc://{authority}/assay.Echo/Shout"), &[]).code(11));
    assert_eq!(told.books.errors, [(ErrorClass::RpcStatus, 500)].into());
    let detail = &told.samples[0].detail;
    assert!(detail.contains("12 UNIMPLEMENTED: there is assay.Echo"), "{detail}");
    for (path, words, problem) in [
        ("/", &[][..], "write grpc://host:port/package.Service/Method"),
        ("/a.B/C", &["--body", "hello"], "the call /a.B/C: body, at byte 0: a field's number is missing"),
        ("/a.B/C", &["--http", "1.1"], "leave --http 1.1 out"),
        ("/a.B/C", &["-m", "GET"], "leave --method"),
        ("/a.B/C", &["--binary"], "are for WebSocket"),
        ("/a.B/C", &["--insecure"], "grpcs:// in the URL"),
    ] {
        let url = format!("grpc://{authority}{path}");
        load(&lab, &url, words).code(2).stderr(contains(problem));
    }
}

#[test]
fn what_is_right_is_learnt_from_the_server_where_nobody_says_it() {
    let lab = Lab::new();
    let (_server, authority) = serve(&lab, &[]);
    let hello = format!("grpc://{authority}/assay.Echo/Hello");
    let learnt = report(&load(&lab, &hello, &["--body", "1: \"h\\303\\251\""]).code(0));
    assert_eq!((learnt.books.ok, learnt.bodies.unjudged), (500, 0), "{learnt:?}");
    assert_eq!(learnt.learnt[0].held, Held::Body);
}

#[test]
fn a_run_makes_calls_for_a_workload_of_them() {
    let workload = "name = \"echo\"\nabout = \"Calls.\"\ngrpc = true\n[[request]]\npath = \"/assay.Echo/Say\"\n\
                    body = '1: \"${n=random:10..99}\"'\nexpect = { body = '1: \"${n}\"' }\n";
    for (words, protocol) in [(&[][..], Protocol::Grpc), (&["--tls"], Protocol::Grpcs)] {
        let lab = Lab::new();
        lab.write("workloads/echo.toml", workload);
        for name in ["one", "other"] {
            lab.contender(name, "server", SERVE);
            let file = format!("contenders/test/{name}/contender.toml");
            let text = std::fs::read_to_string(lab.path(&file)).expect("a contender");
            lab.write(&file, &text.replace("\"hello\"", "\"echo\""));
        }
        let words = [&["one", "other", "-w", "echo", "--streams", "4"], words].concat();
        let text = stdout(&lab.run(&words).assert());
        assert!(text.contains(&format!("echo, 2 connections × 4 streams, {protocol}")), "{text}");
        let record = lab.record();
        let runs = record.rounds.iter().flat_map(|round| &round.runs);
        let cells = runs.filter(|run| run.contender == "one").flat_map(|run| &run.cells);
        let loads: Vec<&LoadReport> = cells.map(|window| &window.load).collect();
        assert!(loads.len() >= 2, "{text}");
        for load in loads {
            assert_eq!((load.protocol, load.pipeline), (protocol, 4));
            assert!(load.books.balance() && load.books.failed() == 0, "{load:?}");
        }
        lab.assay(&["check", "one"]).assert().failure().stdout(contains("it speaks gRPC alone"));
    }
}
