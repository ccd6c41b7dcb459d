//! Several networks in one run: every contender on each of them in every round.

use std::collections::BTreeSet;

use assay_model::record::Record;
use assay_model::setting::Setting;

use crate::support::{Lab, preload_library};
use assay_skip::skip;

/// Networks on which a contender was measured, by their names, with the number of windows.
fn networks_of(record: &Record, contender: &str) -> BTreeSet<(String, usize)> {
    let networks = record.networks.iter().map(|facts| facts.network);
    let windows = |network| {
        let runs =
            record.rounds.iter().filter_map(|round| round.run_of(contender, Setting::on(Some(network))));
        runs.map(|run| run.cells.iter().filter(|window| window.cell.network == Some(network)).count()).sum()
    };
    networks.map(|network| (network.to_string(), windows(network))).collect()
}

#[test]
fn a_network_that_cannot_be_had_leaves_the_others() {
    let lab = Lab::new();
    lab.good("one");
    lab.run(&["one", "--link", "loopback,veth"]).assert().code(0);
    let record = lab.record();
    let has_veth = record.networks.iter().all(|facts| facts.not_run.is_none());
    let expected = [("kernel/loopback", 2), ("kernel/veth", if has_veth { 2 } else { 0 })];
    let expected = expected.map(|(name, windows)| (name.to_owned(), windows));
    assert_eq!(networks_of(&record, "one"), BTreeSet::from(expected));
    let without_remedy = |why: &assay_model::record::NotRun| why.remedy.is_none();
    assert!(!record.networks.iter().filter_map(|facts| facts.not_run.as_ref()).any(without_remedy));
}

#[test]
fn an_unmodified_program_is_measured_on_both_stacks() {
    let Some(library) = preload_library() else { return };
    let script = "import http.server,os\nclass H(http.server.BaseHTTPRequestHandler):\n    protocol_version='HTTP/1.1'\n    \
                  def do_GET(self):\n        self.send_response(200)\n        self.send_header('Content-Length','5')\n        \
                  self.end_headers()\n        self.wfile.write(b'hello')\n    def log_message(self,*a): pass\n\
                  http.server.ThreadingHTTPServer((os.environ['ADDRESS'],int(os.environ['PORT'])),H).serve_forever()\n";
    let lab = Lab::new();
    lab.write("server.py", script);
    if !std::process::Command::new("python3").arg("-V").output().is_ok_and(|out| out.status.success()) {
        return skip("tools", "needs python3, apt install python3");
    }
    let command = format!("python3 {}", lab.path("server.py").display());
    let arguments = ["--cmd", &command, "--path", "/", "-s", "kernel,user"];
    lab.run(&arguments).env("ASSAY_PRELOAD", &library).assert().code(0);
    let record = lab.record();
    let name = record.contenders[0].identity.name.clone();
    let expected =
        [("kernel/loopback", 2), ("user/ring", 2)].map(|(name, windows)| (name.to_owned(), windows));
    assert_eq!(networks_of(&record, &name), BTreeSet::from(expected), "{:?}", record.contenders);
    let windows = record.rounds.iter().flat_map(|round| &round.runs).flat_map(|run| &run.cells);
    for window in windows {
        let is_user = window.cell.network.is_some_and(|network| network.to_string() == "user/ring");
        assert_eq!(window.load.stack.is_some(), is_user, "whose counters they are");
        assert!(window.load.books.ok > 0 && window.load.books.balance(), "{:?}", window.load.books);
    }
    let rings = std::fs::read_dir("/dev/shm").into_iter().flatten().flatten();
    let own = |wire: &str| record_wires(&record).contains(wire);
    assert!(!rings.map(|entry| entry.path()).any(|path| own(&path.display().to_string())), "nothing is left");
}

/// The folders of the wires that were used.
fn record_wires(record: &Record) -> BTreeSet<String> {
    let windows = record.rounds.iter().flat_map(|round| &round.runs).flat_map(|run| &run.cells);
    let wires = windows.filter_map(|window| window.load.stack.as_ref()).map(|stack| stack.wire.clone());
    wires.filter_map(|wire| Some(wire.strip_prefix("ring:")?.strip_suffix("/ring")?.to_owned())).collect()
}
