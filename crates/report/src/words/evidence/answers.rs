//! Against what answers were held, and how those of two servers differ.

use assay_model::check::{Check, CheckOutcome};
use assay_model::evidence::{Against, Answered, Checked};
use assay_model::learnt::{Held, Learnt};

/// Most characters of a body that are told.
const TOLD_CHARS: usize = 40;

/// What was done with every answer: `every answer was compared with the expected body`.
pub(super) fn checked(done: &[Checked]) -> String {
    match done {
        [] => held_in_words(Held::Status).to_owned(),
        [one] => against(one.against).to_owned(),
        several => {
            let one = |of: &Checked| format!("on {}, {}", of.workloads.join(", "), against(of.against));
            several.iter().map(one).collect::<Vec<_>>().join("; ")
        }
    }
}

fn against(against: Against) -> &'static str {
    match against {
        Against::Body => "every answer was compared with the expected body",
        Against::Rules => "every answer was checked as its workload says",
        Against::Learnt(held) => held_in_words(held),
    }
}

/// What was done with every answer, where the server itself was asked before the load what is right.
pub fn held_in_words(held: Held) -> &'static str {
    match held {
        Held::Body => "every answer was compared with the answer learnt before the load, to the last byte",
        Held::Shape => "every answer was compared with the shape of the answers learnt before the load",
        Held::Length => "of every answer, status and length were compared with those learnt before the load",
        Held::Status => "every answer's status was checked",
    }
}

/// How two servers answered what they were both asked: alike where that passed.
pub(super) fn both(check: &Check, base: &Answered, new: &Answered) -> String {
    let how = match check.outcome {
        CheckOutcome::Pass => "bodies differ and are alike",
        CheckOutcome::Warn | CheckOutcome::Void => "the sides do not answer alike",
    };
    let one = |of: &Answered| format!("{} {}", of.contender, described(&of.answer));
    format!("{how}: on {}, {}; {}", base.answer.workload, one(base), one(new))
}

/// An answer in a few words: `200 text/plain, 16 bytes 'database is down'`.
pub fn described(learnt: &Learnt) -> String {
    let status = learnt.status.map_or_else(|| "varying status".to_owned(), |status| status.to_string());
    let content_type = learnt.content_type.as_deref().unwrap_or("no content type");
    let coding = learnt.content_encoding.as_ref().map(|coding| format!(" ({coding})")).unwrap_or_default();
    let bytes = match learnt.body_bytes {
        [least, greatest] if least == greatest => least.to_string(),
        [least, greatest] => format!("{least} to {greatest}"),
    };
    let mut excerpt: String = learnt.excerpt.chars().take(TOLD_CHARS).collect();
    if learnt.excerpt.chars().nth(TOLD_CHARS).is_some() {
        excerpt.push('…');
    }
    format!("{status} {content_type}{coding}, {bytes} bytes '{excerpt}'")
}

#[cfg(test)]
mod tests {
    use assay_model::evidence::Evidence;
    use assay_model::rule::Rule;

    use super::super::evidence;
    use super::*;

    #[test]
    fn the_words_say_what_was_done_on_each_workload() {
        let done = |against, name: &str| Checked { against, workloads: vec![name.to_owned()] };
        for (of, words) in [
            (vec![], "every answer's status was checked"),
            (vec![done(Against::Body, "hello")], "every answer was compared with the expected body"),
            (vec![done(Against::Rules, "hello")], "every answer was checked as its workload says"),
            (
                vec![done(Against::Body, "hello"), done(Against::Learnt(Held::Length), "own")],
                "on hello, every answer was compared with the expected body; on own, of every answer, status and length were \
                 compared with those learnt before the load",
            ),
        ] {
            assert_eq!(checked(&of), words);
        }
    }

    #[test]
    fn answers_that_differ_are_told_with_both() {
        let answered = |contender: &str, media: &str, body: &str| {
            let answer = Learnt {
                workload: "hello".to_owned(),
                status: Some(200),
                content_type: Some(media.to_owned()),
                body_bytes: [body.len() as u64; 2],
                excerpt: body.to_owned(),
                ..Learnt::default()
            };
            Box::new(Answered { contender: contender.to_owned(), answer })
        };
        let of = Evidence::Answers {
            base: answered("old", "application/json", r#"{"message":"hello"}"#),
            new: answered("new", "text/plain", "database is down"),
        };
        assert_eq!(
            evidence(&Check::objection(Rule::LikeAnswers, CheckOutcome::Void, of.clone())),
            "the sides do not answer alike: on hello, old 200 application/json, 19 bytes '{\"message\":\"hello\"}'; \
             new 200 text/plain, 16 bytes 'database is down'"
        );
        assert!(
            evidence(&Check::pass(Rule::LikeAnswers, of))
                .starts_with("bodies differ and are alike: on hello, ")
        );
    }
}
