//! Large bodies: compared to their end, by a sample, or dropped unseen.

use crate::right::engines;
use crate::support::{Act, Server, answer, errors, get, measure, plan};
use assay_load::LoadPlan;
use assay_model::load::{BodyChecks, Checking, ErrorClass};
use assay_model::workload::{Expect, RequestKind};

const LENGTH: usize = 200_000;

fn kind(expect: Expect) -> RequestKind {
    RequestKind { expect, ..get("/") }
}

fn right() -> String {
    "abcdefgh".repeat(LENGTH / 8)
}

#[test]
fn bodies_of_which_nothing_is_expected_are_dropped_and_counted_to_the_byte() {
    let server = Server::start(|_| Act::Answer(answer(200, &right())));
    for engine in engines() {
        for (connections, pipeline) in [(1, 1), (3, 1), (2, 8)] {
            let requests = vec![kind(Expect::default())];
            let report = measure(&LoadPlan {
                requests,
                connections,
                pipeline,
                stack: engine.into(),
                ..plan(&server, 60)
            });
            assert_eq!((report.books.ok, report.bodies.unjudged), (60, 60), "{:?}", report.samples);
            assert_eq!(report.window.body_bytes, 60 * LENGTH as u64);
            assert_eq!(report.books.received_bytes, 60 * answer(200, &right()).len() as u64);
        }
    }
}

#[test]
fn a_sample_is_compared_and_what_is_wrong_in_it_is_counted() {
    for engine in engines() {
        // The first answer is right; from then on each has a wrong byte at its end.
        let server = Server::start(|seen| {
            let mut body = right();
            if seen.number > 0 {
                body.replace_range(LENGTH - 1.., "!");
            }
            Act::Answer(answer(200, &body))
        });
        let requests = vec![kind(Expect { body: Some(right()), ..Expect::default() })];
        let sampled =
            LoadPlan { requests, checking: Checking::Sampled, stack: engine.into(), ..plan(&server, 200) };
        let report = measure(&sampled);
        let wrong = errors(&report, ErrorClass::WrongBody);
        assert_eq!(report.books.ok + wrong, 200, "{:?}", report.books);
        assert_eq!((report.bodies.compared, report.bodies.by_length), (1, 199 - wrong));
        // 199 / 16 ± 4 σ of a binomial count.
        assert!(wrong.abs_diff(12) <= 14 && wrong > 0, "{wrong} wrong");
        let full = measure(&LoadPlan { checking: Checking::Full, ..sampled });
        assert_eq!((full.bodies.by_length, errors(&full, ErrorClass::WrongBody)), (0, 200));
    }
}

#[test]
fn a_wrong_beginning_a_wrong_length_and_a_cut_end_are_never_dropped_unseen() {
    let server = Server::start(|seen| {
        let mut body = right();
        match seen.number % 40 {
            37 => body.replace_range(..1, "!"),
            38 => body.push('x'),
            39 => {
                let mut cut = answer(200, &body);
                cut.truncate(cut.len() - 1);
                return Act::End(cut);
            }
            _ => {}
        }
        Act::Answer(answer(200, &body))
    });
    for engine in engines() {
        let requests = vec![kind(Expect { body: Some(right()), ..Expect::default() })];
        let checking = Checking::Sampled;
        let report = measure(&LoadPlan { requests, checking, stack: engine.into(), ..plan(&server, 400) });
        let seen = [ErrorClass::WrongBody, ErrorClass::WrongLength, ErrorClass::EarlyEof];
        assert_eq!((report.books.ok, seen.map(|class| errors(&report, class))), (370, [10; 3]));
        let BodyChecks { compared, by_length, unjudged, .. } = report.bodies;
        assert!(compared + by_length == 370 && by_length > 100 && unjudged == 0, "{:?}", report.bodies);
    }
}
