//! What can be told only while no other test has the CPUs: restarts that vary more than others do.

use assay_model::record::Run;
use predicates::str::contains;

use super::{lab, one_by_one};

/// Every second life of one takes half as long again for an answer.
#[test]
fn whose_restarts_vary_much_has_several_processes_that_take_turns() {
    let lab = lab();
    lab.stub("calm", "server", &one_by_one("5ms"));
    let count = lab.path("lives");
    let script = format!(
        "echo >> '{0}'; if [ $(($(wc -l < '{0}') % 2)) = 0 ]; then service=6ms; else service=4ms; fi
        exec \"$ASSAY\" stub --address \"$ADDRESS\" --port \"$PORT\" --discipline fifo --service $service",
        count.display()
    );
    lab.script("restless", &script);
    let all = ["quick", "calm", "restless"];
    let asked = ["-c", "8", "--rounds", "3", "--budget", "24s", "--warmup", "250ms"];
    lab.run(&[&all[..], &asked].concat()).assert().code(0).stdout(contains("restarts varied much"));
    let record = lab.record();
    let lived = |round: usize, name: &str| -> Vec<&Run> {
        record.rounds[round].runs.iter().filter(|run| run.contender == name).collect()
    };
    assert_eq!(record.rounds.len(), 3);
    let once = |round: usize| all.iter().all(|name| lived(round, name).len() == 1);
    assert!((0..2).all(once), "nothing is known of restarts");
    let processes = lived(2, "restless");
    // As many as take a tenth of the round to begin.
    let number = u32::try_from(processes.len()).expect("a few");
    assert!((2..=3).contains(&number) && processes.iter().map(|run| run.replica).eq(0..number), "{number}");
    for run in processes {
        let mut turns = run.cells.iter().flat_map(|window| &window.turns);
        assert!(turns.all(|turn| turn.rotation % number == run.replica), "{}: {:?}", run.replica, run.cells);
    }
    assert_eq!(std::fs::read_to_string(&count).expect("lives").lines().count(), 2 + number as usize);
}
