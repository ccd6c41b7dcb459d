//! Servers that are right and slow.

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use assay_check::{Pace, Patience, Target, ask, of_http};
use assay_model::conformance::Ruling;

use crate::serving::{Life, Listening, Manners, receive};

/// Before each answer; a hundred take longer than a rule may.
const SERVICE: Duration = Duration::from_millis(50);
const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/// Answers one request after the other, each late.
fn slow_server() -> Listening {
    let life = Arc::new(Life::default());
    let own = Arc::clone(&life);
    Listening::start(&life, Manners::AllAtOnce, move |stream| {
        while let Some(asked) = receive(&stream, &own) {
            for _ in 0..asked.windows(4).filter(|end| end == b"\r\n\r\n").count() {
                std::thread::sleep(SERVICE);
                if (&stream).write_all(ANSWER).is_err() {
                    return;
                }
            }
        }
    })
}

/// However many answers come in time, a rule has an end; that a server is slow is not held against it.
#[test]
fn a_rule_that_takes_too_long_ends_and_is_not_broken() {
    let server = slow_server();
    let patience = Patience { rule: Duration::from_secs(2), ..Patience::LONG };
    let target = Target::new(&server.address.to_string(), "/").expect("target").patience(patience);
    let rule = of_http().find(|rule| rule.id == "hundred-requests").expect("a rule");
    let conformance = ask(&target, &[rule], Pace::Full, &|| true).expect("an answer");
    let found = &conformance.findings[0];
    assert_eq!(found.ruling, Ruling::NotApplicable, "{found:#?}");
    assert!(found.evidence.as_ref().is_some_and(|why| why.contains("longer than 2.0 s")), "{found:#?}");
}
