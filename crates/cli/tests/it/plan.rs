//! What a run would show, told before it.

use assay_model::outlook::Outlook;
use assay_model::record::Record;
use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;

use crate::support::{Lab, free_of_disturbance, listing, stderr, stdout};

fn lab() -> Lab {
    let lab = Lab::new();
    lab.calm("first");
    lab.calm("second");
    lab
}

fn told(lab: &Lab, arguments: &[&str]) -> Outlook {
    let all = [&["plan", "first", "second", "-c", "2", "--no-aa", "--json"], arguments].concat();
    let assert = lab.assay(&all).assert().code(0);
    serde_json::from_str(&stdout(&assert)).expect("an outlook")
}

#[test]
fn a_plan_tells_what_a_run_would_show_and_measures_nothing() {
    let lab = lab();
    let plan = ["plan", "first", "second", "-c", "2,4", "--rounds", "4", "-d", "1s", "--difference", "3%"];
    let assert = lab.assay(&plan).assert().code(0);
    let out = stdout(&assert);
    for words in ["2 contenders in 2 tables", "what is usual", "would show differences from about", "3.0 %  "]
    {
        assert!(out.contains(words), "{words}:\n{out}");
    }
    assert!(!lab.runs().exists());
    let dry = lab.run(&["first", "second", "--rounds", "4", "--dry-run"]).assert().code(0);
    assert!(stdout(&dry).contains("power       would show differences from about"), "{}", stdout(&dry));
}

#[test]
fn a_quick_redline_takes_as_long_as_a_search_takes_at_least() {
    let lab = lab();
    let quick = ["redline", "first", "--slo", "p99<10ms", "--quick", "--dry-run"];
    let told = stdout(&lab.assay(&quick).assert().code(0));
    assert!(told.contains("trials of a redline") && told.contains("within"), "{told}");
}

#[test]
fn more_restarts_promise_more_and_a_greater_difference_takes_less() {
    let lab = lab();
    let [few, many] = ["3", "12"].map(|rounds| told(&lab, &["--rounds", rounds]));
    let [shown_by_few, shown_by_many] = [&few, &many].map(|told| told.run.shows.expect("something is shown"));
    assert!(shown_by_many < shown_by_few && few.noise_of.is_none(), "{few:?}\n{many:?}");
    let [small, great] = ["2%", "20%"].map(|difference| told(&lab, &["--difference", difference]));
    let [small, great] = [small, great].map(|told| told.enough.expect("a day is enough").takes_ns);
    assert!(great < small, "{great:?} {small:?}");
}

/// Without a number of rounds the run would be looked at after each; with the advised one it is not.
#[test]
fn a_plan_that_is_asked_with_its_own_advice_confirms_it() {
    let lab = lab();
    let advised = told(&lab, &["--budget", "4m", "--difference", "5%"]).enough.expect("a day is enough");
    let (rounds, minutes) = (advised.rounds.to_string(), advised.takes_ns.0.div_ceil(60_000_000_000));
    let budget = format!("{minutes}m");
    let asked = told(&lab, &["--rounds", &rounds, "--budget", &budget, "--difference", "5%"]);
    assert!(asked.run.shows.is_some_and(|shows| shows <= 0.05), "{advised:?}\n{asked:?}");
    assert_eq!(asked.enough.as_ref().map(|enough| enough.rounds), Some(advised.rounds), "{asked:?}");
}

/// The only run, with every window freed of what this machine did to it: a plan learns nothing from void windows.
fn undisturbed(lab: &Lab) -> String {
    let id = listing(&lab.runs()).remove(0);
    let path = lab.runs().join(&id).join("record.json");
    let text = std::fs::read_to_string(path).expect("a record");
    let mut record: Record = serde_json::from_str(&text).expect("a record");
    free_of_disturbance(&mut record);
    lab.write(&format!("runs/{id}/record.json"), &serde_json::to_string(&record).expect("JSON"));
    id
}

#[test]
fn the_noise_is_that_of_the_last_run_like_it() {
    let lab = lab();
    let run = ["first", "second", "--rounds", "3", "-d", "300ms"];
    let first = lab.run(&run).assert().code(0);
    assert!(stderr(&first).contains("if as noisy as machines usually are"), "{}", stderr(&first));
    let id = undisturbed(&lab);
    let known = told(&lab, &["--rounds", "3", "-d", "300ms"]);
    assert_eq!(known.noise_of, Some(id.clone()));
    assert!(known.noise.restart_cv.is_finite() && known.noise.windows_per_life >= 1.0, "{known:?}");
    // Windows in one piece are another thing.
    assert_eq!(told(&lab, &["--rounds", "3", "--one-at-a-time"]).noise_of, None);
    let text = lab.assay(&["plan", "first", "second", "-c", "2", "--rounds", "3"]).assert().code(0);
    let in_one_line = stdout(&text).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(in_one_line.contains(&format!(", in {id}")), "{in_one_line}");
}

/// Commands that `assay compare` would measure at once.
#[test]
fn a_plan_of_two_commands_tells_what_a_duet_of_them_would_show() {
    let lab = lab();
    let [one, other] =
        [1, 2].map(|seed| format!("\"$ASSAY\" stub --port $PORT --service exp:2ms --seed {seed}"));
    let commands = ["--cmd", &one, "--cmd", &other];
    let plan = |more: &[&str]| {
        let all = [&["plan", "--json", "-c", "2", "--difference", "50%"], &commands[..], more].concat();
        let told: Outlook =
            serde_json::from_str(&stdout(&lab.assay(&all).assert().code(0))).expect("an outlook");
        told
    };
    let (short, long) = (plan(&["--budget", "2m"]), plan(&["--budget", "20m"]));
    let shows =
        |told: &Outlook| told.duet.as_ref().and_then(|duet| duet.run.shows).expect("a duet shows something");
    assert!(shows(&long) < shows(&short) && shows(&short) < 0.02, "{short:?}");
    assert!(shows(&short) < short.run.shows.expect("turns show something"), "less than turns do: {short:?}");
    assert_eq!(short.duet.as_ref().and_then(|duet| duet.noise_of.clone()), None);
    // Servers of the catalogue take turns.
    assert_eq!(told(&lab, &["--difference", "50%"]).duet, None);
    let compare = ["compare", "-c", "2", "-d", "300ms", "--warmup", "0s", "--rounds", "4"];
    lab.assay(&[&compare, &commands[..]].concat()).assert().code(0);
    let id = undisturbed(&lab);
    let known = plan(&["--budget", "2m"]).duet.expect("a duet");
    assert_eq!(known.noise_of, Some(id));
    assert!(known.noise.window_cv > 0.0, "{known:?}");
}

#[test]
fn a_plan_of_nothing_to_compare_is_refused_with_its_mending() {
    let lab = lab();
    let refused = |arguments: &[&str]| lab.assay(&[&["plan"], arguments].concat()).assert().code(2);
    refused(&["first"]).stderr(contains("name two contenders or more"));
    refused(&["first", "second", "-r", "100"]).stderr(contains("measure them at capacity"));
    refused(&["first", "second", "--difference", "2"]).stderr(contains("no share between 0 and 1"));
    refused(&["first", "second", "-o", "a.html"])
        .stderr(contains("leave out --output").and(contains("a.html")));
}
