//! The hosts of a run in every format that people read.

use assay_report::terminal::Style;
use assay_report::{export, page, terminal};

use crate::hosts;
use crate::support::sample;

#[test]
fn each_host_is_told_with_what_it_did_and_who_is_odd() {
    let (record, verdict) = hosts::on_hosts(sample());
    let head = page::build(&[(&record, &verdict)]).unwrap().runs.remove(0).head;
    let table = head.hosts.unwrap();
    let rows: Vec<_> = table.rows.iter().map(|row| (row.name.as_str(), row.is_odd)).collect();
    assert_eq!(rows, [("box1", false), ("box2", false), ("box3", true)]);
    let texts = |row: usize| {
        let told = table.heads.iter().zip(&table.rows[row].texts);
        told.map(|(head, text)| format!("{head} {text}")).collect::<Vec<_>>().join("; ")
    };
    assert_eq!(
        texts(1),
        "role generator; CPUs 0-7; round trip 220 µs; clock ± 104 µs; to server 84.0 µs; carries 994 Mbit/s; began −31.0 µs; \
         answers 56 %; busy 41 %; waited 0.20 %; sent late –; late, lost 0, 0 of 48"
    );
    assert!(texts(0).contains("role server") && texts(0).ends_with("late, lost –"), "{}", texts(0));
    assert!(texts(2).contains("carries ≥ 510 Mbit/s") && texts(2).ends_with("2, 1 of 48"), "{}", texts(2));
    let notes = table.notes.join("\n");
    for words in [
        "box1: AMD EPYC 9B14, 2 CPUs, 25 GB, Linux 6.18.5, under kvm, at 10.0.0.1",
        "box3 was lost 1 time: its host is lost",
        "box3 was late in 2 of 48 windows",
        "box3: answers per connection 0.79 times that of the other hosts [0.77 … 0.81]",
        "the network carries 994 Mbit/s from box1 to box2, round trip 84.0 µs",
        "the network carries 1.00 Gbit/s from box1 to box2 and box3 together",
        "the network carries ≥ 467 Mbit/s from box2 to box1; a CPU was the limit there",
    ] {
        assert!(notes.contains(words), "{words}:\n{notes}");
    }
}

#[test]
fn what_the_network_carries_is_told_where_the_table_has_no_room_for_it() {
    let (record, verdict) = hosts::on_hosts(sample());
    let style = Style { width: 80, colour: false, ascii: false, full: false };
    let shown = terminal::render(&record, &verdict, &style);
    assert!(!shown.contains("to server"), "{shown}");
    let told = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        told.contains("the network carries 994 Mbit/s from box1 to box2, round trip 84.0 µs")
            && told.contains("the network carries ≥ 510 Mbit/s from box1 to box3; a CPU was the limit there"),
        "{shown}"
    );
}

#[test]
fn a_hypervisor_without_a_name_has_none() {
    let (mut record, verdict) = hosts::on_hosts(sample());
    record.server_hosts[0].host.hypervisor = Some("unnamed".to_owned());
    let head = page::build(&[(&record, &verdict)]).unwrap().runs.remove(0).head;
    let notes = head.hosts.unwrap().notes.join("\n");
    assert!(notes.contains("Linux 6.18.5, a virtual machine, at 10.0.0.1"), "{notes}");
    assert!(!notes.contains("unnamed"), "{notes}");
}

#[test]
fn terminal_and_markdown_tell_the_same_hosts_and_a_run_on_one_host_has_none() {
    let (record, verdict) = hosts::on_hosts(sample());
    let style = Style { width: 100, colour: false, ascii: false, full: false };
    let shown = terminal::render(&record, &verdict, &style);
    let markdown = export::markdown(&record, &verdict);
    for words in ["Hosts", "box2", "box3", "was late in 2 of 48 windows"] {
        assert!(shown.contains(words) && markdown.contains(words), "{words}:\n{shown}\n{markdown}");
    }
    assert!(shown.lines().all(|line| line.chars().count() <= 100), "{shown}");
    assert!(markdown.contains("### Hosts\n\n| host | role | CPUs |"), "{markdown}");
    let (record, verdict) = sample();
    assert!(!terminal::render(&record, &verdict, &style).contains("Hosts"));
    assert!(page::build(&[(&record, &verdict)]).unwrap().runs[0].head.hosts.is_none());
}
