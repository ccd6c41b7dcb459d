//! Against what a run's answers were held, and whether servers that were asked for the same answer alike.

use assay_model::check::{Check, CheckOutcome};
use assay_model::evidence::{Against, Answered, Checked, Evidence};
use assay_model::learnt::{Held, Learnt};
use assay_model::record::{Measurement, Record};
use assay_model::rule::Rule;
use assay_model::workload::{Expect, Workload};

/// What every answer was held against, by workload; together those of which it was the same.
pub(crate) fn checked(record: &Record, windows: &[&Measurement]) -> Vec<Checked> {
    let measured = |workload: &&Workload| windows.iter().any(|window| window.cell.workload == workload.name);
    let mut done: Vec<Checked> = Vec::new();
    for workload in record.workloads.iter().filter(measured) {
        let against = against(record, workload);
        match done.iter_mut().find(|known| known.against == against) {
            Some(known) => known.workloads.push(workload.name.clone()),
            None => done.push(Checked { against, workloads: vec![workload.name.clone()] }),
        }
    }
    done
}

/// The weakest of all that was done for a workload's requests, whoever answered them.
fn against(record: &Record, workload: &Workload) -> Against {
    let of_one = |(number, expect): (u32, &Expect)| {
        let Expect { body, body_file, json, html, html_file, shape, length, contains, .. } = expect;
        if [body, body_file, json, html, html_file].into_iter().any(Option::is_some) {
            Against::Body
        } else if shape.is_some() || length.is_some() || contains.is_some() {
            Against::Rules
        } else {
            Against::Learnt(weakest(record, &workload.name, number))
        }
    };
    let expected = workload.requests.iter().map(|request| &request.expect);
    (0..).zip(expected).map(of_one).min().unwrap_or(Against::Learnt(Held::Status))
}

/// The weakest of what lives that were measured on a workload learnt of a request.
fn weakest(record: &Record, workload: &str, request: u32) -> Held {
    let runs = record.rounds.iter().flat_map(|round| &round.runs);
    let measured = runs.filter(|run| run.cells.iter().any(|window| window.cell.workload == workload));
    let held = measured.map(|run| {
        let learnt = run.learnt.iter().find(|l| l.workload == workload && l.request == request);
        learnt.map_or(Held::Status, |learnt| learnt.held)
    });
    held.min().unwrap_or_default()
}

/// What the latest life of a contender knew of its answers to a workload.
fn learnt_of<'r>(record: &'r Record, contender: &str, workload: &str) -> Vec<&'r Learnt> {
    let runs = record.rounds.iter().rev().flat_map(|round| &round.runs);
    let own = runs.filter(|run| run.contender == contender);
    let mut learnt = own.map(|run| run.learnt.iter().filter(|l| l.workload == workload).collect::<Vec<_>>());
    learnt.find(|learnt| !learnt.is_empty()).unwrap_or_default()
}

/// A contender of a record.
pub(crate) type RecordedContender<'r> = (&'r Record, &'r str);

/// How the answers of two sides to a workload differ: void where they are of different kinds, passed where they are alike and not the
/// same; `None` where they are the same, or not known of both.
pub(crate) fn difference(
    base: RecordedContender<'_>,
    new: RecordedContender<'_>,
    workload: &str,
) -> Option<Check> {
    let [of_base, of_new] = [base, new].map(|(record, contender)| learnt_of(record, contender, workload));
    let both = of_base
        .iter()
        .filter_map(|base| Some((*base, *of_new.iter().find(|new| new.request == base.request)?)));
    let both: Vec<(&Learnt, &Learnt)> = both.collect();
    let told = |base_says: &Learnt, new_says: &Learnt| Evidence::Answers {
        base: Box::new(Answered { contender: base.1.to_owned(), answer: base_says.clone() }),
        new: Box::new(Answered { contender: new.1.to_owned(), answer: new_says.clone() }),
    };
    if let Some((one, other)) = both.iter().find(|(one, other)| one.unlike(other).is_some()) {
        return Some(Check::objection(Rule::LikeAnswers, CheckOutcome::Void, told(one, other)));
    }
    // Bodies that vary anyway differ from moment to moment.
    let differ = |(one, other): &&(&Learnt, &Learnt)| one.body_sha256 != other.body_sha256;
    let (one, other) = both.iter().find(differ)?;
    Some(Check::pass(Rule::LikeAnswers, told(one, other)))
}

/// Whether all that are compared in a run answer alike; `None` where fewer than two were asked.
pub(crate) fn like_answers(record: &Record) -> Option<Check> {
    let proper =
        record.contenders.iter().filter(|entry| !entry.identity.is_limit() && entry.control_of.is_none());
    let names: Vec<&str> = proper.map(|entry| entry.identity.name.as_str()).collect();
    let mut asked = 0;
    for workload in record.workloads.iter().map(|workload| workload.name.as_str()) {
        let known = names.iter().filter(|name| !learnt_of(record, name, workload).is_empty());
        let known: Vec<&str> = known.copied().collect();
        asked = asked.max(known.len());
        let Some((first, others)) = known.split_first() else { continue };
        let mut differences =
            others.iter().filter_map(|other| difference((record, first), (record, other), workload));
        if let Some(found) = differences.find(Check::is_void) {
            return Some(Check { outcome: CheckOutcome::Warn, ..found });
        }
    }
    (asked > 1).then(|| Check::pass(Rule::LikeAnswers, Evidence::AllAlike))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use assay_model::workload::RequestKind;

    fn learnt(content_type: &str, body: &str) -> Learnt {
        Learnt {
            workload: "hello".to_owned(),
            asked: 6,
            status: Some(200),
            content_type: Some(content_type.to_owned()),
            body_sha256: Some(body.to_owned()),
            body_bytes: [body.len() as u64; 2],
            excerpt: body.to_owned(),
            held: Held::Body,
            ..Learnt::default()
        }
    }

    /// Two contenders, which answer so, on a workload that expects this.
    fn record(answers: [Option<Learnt>; 2], expect: Expect) -> Record {
        let mut record = testing::record(&[("old", &[100.0, 100.0]), ("new", &[100.0, 100.0])]);
        let (method, path) = ("GET".to_owned(), "/".to_owned());
        let request = RequestKind { weight: 1, method, path, headers: Vec::new(), body: None, expect };
        record.workloads =
            vec![Workload { name: "hello".to_owned(), requests: vec![request], ..Workload::default() }];
        for round in &mut record.rounds {
            for (run, learnt) in round.runs.iter_mut().zip(&answers) {
                run.learnt = learnt.iter().cloned().collect();
            }
        }
        record
    }

    fn told(record: &Record) -> Vec<Checked> {
        let windows: Vec<&Measurement> =
            record.rounds.iter().flat_map(|round| &round.runs).flat_map(|run| &run.cells).collect();
        checked(record, &windows)
    }

    fn done(against: Against, name: &str) -> Checked {
        Checked { against, workloads: vec![name.to_owned()] }
    }

    #[test]
    fn what_was_done_is_the_weakest_of_all_that_was_done() {
        let body = Expect { body: Some("x".to_owned()), ..Expect::default() };
        let text = learnt("text/plain", "hello");
        let shaped = Learnt { held: Held::Shape, ..text.clone() };
        for (answers, expect, against) in [
            ([None, None], body, Against::Body),
            ([None, None], Expect { length: Some([1, 2]), ..Expect::default() }, Against::Rules),
            ([None, None], Expect { status: Some(200), ..Expect::default() }, Against::Learnt(Held::Status)),
            ([None, None], Expect::default(), Against::Learnt(Held::Status)),
            ([Some(text.clone()), Some(text.clone())], Expect::default(), Against::Learnt(Held::Body)),
            ([Some(text.clone()), Some(shaped)], Expect::default(), Against::Learnt(Held::Shape)),
            ([Some(text), None], Expect::default(), Against::Learnt(Held::Status)),
        ] {
            assert_eq!(told(&record(answers, expect)), [done(against, "hello")]);
        }
    }

    #[test]
    fn several_workloads_are_told_apart() {
        let body = Expect { body: Some("x".to_owned()), ..Expect::default() };
        let mut record = record([None, None], body);
        let mut own = record.workloads[0].clone();
        own.name = "own".to_owned();
        own.requests[0].expect = Expect::default();
        record.workloads.push(own);
        assert_eq!(told(&record), [done(Against::Body, "hello")], "own was not measured");
        for run in record.rounds.iter_mut().flat_map(|round| &mut round.runs) {
            let mut window = run.cells[0].clone();
            window.cell.workload = "own".to_owned();
            run.cells.push(window);
        }
        let both = [done(Against::Body, "hello"), done(Against::Learnt(Held::Status), "own")];
        assert_eq!(told(&record), both);
    }

    #[test]
    fn servers_that_do_not_answer_alike_are_told_with_their_answers() {
        let json = learnt("application/json", r#"{"message":"hello"}"#);
        let down = learnt("text/plain", "database is down");
        let unlike = record([Some(json.clone()), Some(down)], Expect::default());
        let found = difference((&unlike, "old"), (&unlike, "new"), "hello").expect("a difference");
        assert_eq!((found.rule, found.outcome), (Rule::LikeAnswers, CheckOutcome::Void));
        let Evidence::Answers { base, new } = &found.evidence else { panic!("{found:?}") };
        assert_eq!((base.contender.as_str(), new.contender.as_str()), ("old", "new"));
        assert_eq!(new.answer.excerpt, "database is down");
        assert_eq!(like_answers(&unlike).map(|check| check.outcome), Some(CheckOutcome::Warn));
        let shape = Some(r#"{"message": string}"#.to_owned());
        let [one, other] = ["a", "b"].map(|hash| {
            Some(Learnt { shape: shape.clone(), body_sha256: Some(hash.to_owned()), ..json.clone() })
        });
        let alike = record([one.clone(), other], Expect::default());
        let told = difference((&alike, "old"), (&alike, "new"), "hello").expect("a difference");
        assert!(
            told.outcome == CheckOutcome::Pass && matches!(told.evidence, Evidence::Answers { .. }),
            "{told:?}"
        );
        assert_eq!(like_answers(&alike).map(|check| check.outcome), Some(CheckOutcome::Pass));
        let alone = record([one, None], Expect::default());
        assert_eq!(difference((&alone, "old"), (&alone, "new"), "hello"), None);
        assert_eq!(like_answers(&alone), None);
    }
}
