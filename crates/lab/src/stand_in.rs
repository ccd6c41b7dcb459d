//! What the limit is asked for in the place of a workload that it does not know, one of the user's own: as many bytes as the answers of
//! the others have (docs/method/measures.md#the-limit-beside-servers-of-ones-own).

use assay_model::learnt::Learnt;
use assay_model::template::placeholders;
use assay_model::workload::{Expect, RequestKind, Workload};

/// The longest answer that the limit makes.
const MOST_BYTES: u64 = 1 << 30;

/// Fields with which a request asks for a part of an answer, or for none if it is not new (RFC 9110 §13.1, §14.2). Whoever honoured them
/// has given fewer bytes, and those are what the limit is asked for.
const CONDITIONS: [&str; 6] =
    ["range", "if-range", "if-match", "if-none-match", "if-modified-since", "if-unmodified-since"];

/// Whether the limit can stand in: for requests of HTTP that need nothing which a command has printed for a server.
pub(crate) fn can_stand_in(workload: &Workload) -> bool {
    workload.websocket.is_none() && !workload.grpc && workload.before.is_none()
}

/// The bytes of the answer to each request of a workload, as contenders answered; of several lengths the least, because a limit that
/// sends more than somebody else would be none. `None` where a right answer to one of them is not known, or too long.
pub(crate) fn lengths(workload: &Workload, answers: &[Learnt]) -> Option<Vec<u64>> {
    let of_one = |(number, kind): (u32, &RequestKind)| {
        let is_right = |answer: &&Learnt| {
            let is_own = answer.workload == workload.name && answer.request == number;
            is_own && has_right_status(&kind.expect, answer.status)
        };
        let least = answers.iter().filter(is_right).map(|answer| answer.body_bytes[0]).min();
        least.filter(|bytes| *bytes <= MOST_BYTES)
    };
    (0..).zip(&workload.requests).map(of_one).collect()
}

fn has_right_status(expect: &Expect, status: Option<u16>) -> bool {
    match (expect.status, status) {
        (Some(wanted), status) => status == Some(wanted),
        (None, Some(status)) => (200..300).contains(&status),
        (None, None) => false,
    }
}

/// A workload as the limit is asked for it: for bodies of those lengths, one for each request, by requests of the same length otherwise.
/// What it answers is learnt, as for every server whose right answer nobody has stated.
pub(crate) fn stand_in(workload: &Workload, lengths: &[u64]) -> Workload {
    let requests = workload.requests.iter().zip(lengths).map(|(kind, bytes)| request(kind, *bytes));
    Workload { requests: requests.collect(), ..workload.clone() }
}

fn request(kind: &RequestKind, bytes: u64) -> RequestKind {
    let reads = matches!(kind.method.as_str(), "GET" | "HEAD");
    let mut headers = kind.headers.clone();
    headers.retain(|(name, _)| !CONDITIONS.iter().any(|condition| name.eq_ignore_ascii_case(condition)));
    RequestKind {
        method: if reads { kind.method.clone() } else { "POST".to_owned() },
        path: format!("/bytes/{bytes}{}", definitions(&kind.path)),
        headers,
        expect: Expect::default(),
        ..kind.clone()
    }
}

/// The placeholders that a path defines, as a query of which nobody takes notice: fields and body may repeat their values.
fn definitions(path: &str) -> String {
    let defining = placeholders(path).filter(|inside| inside.contains('='));
    let defined: Vec<String> = defining.map(|inside| format!("${{{inside}}}")).collect();
    if defined.is_empty() { String::new() } else { format!("?{}", defined.join("&")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(requests: &str) -> Workload {
        let text = format!("name = \"own\"\nabout = \"\"\n{requests}");
        toml::from_str(&text).expect("workload")
    }

    fn answer(request: u32, status: u16, body_bytes: [u64; 2]) -> Learnt {
        let workload = "own".to_owned();
        Learnt { workload, request, status: Some(status), body_bytes, ..Learnt::default() }
    }

    #[test]
    fn what_a_path_defines_fields_and_body_may_repeat() {
        assert_eq!(
            definitions("/users/${id=random:1..9}/of/${org=seq:1..3}?q=${id}"),
            "?${id=random:1..9}&${org=seq:1..3}"
        );
        assert_eq!(definitions("/users/${id}"), "");
        let own = asked("[[request]]\npath = \"/b/${id=random:1..9}\"\nheaders = [[\"X-A\", \"${id}\"]]\n");
        assert_eq!(stand_in(&own, &[15]).requests[0].path, "/bytes/15?${id=random:1..9}");
    }

    #[test]
    fn it_sends_no_more_than_anybody_who_answered_rightly() {
        let own = asked("[[request]]\npath = \"/a\"\n[[request]]\npath = \"/b\"\nexpect.status = 404\n");
        let answers = [
            answer(0, 200, [70, 80]),
            answer(0, 200, [65, 65]),
            answer(0, 500, [3, 3]),
            answer(1, 404, [9, 9]),
            answer(1, 200, [1, 1]),
        ];
        assert_eq!(lengths(&own, &answers), Some(vec![65, 9]));
        assert_eq!(lengths(&own, &answers[..3]), None, "nobody answered the second");
        assert_eq!(lengths(&own, &[answer(0, 200, [MOST_BYTES + 1; 2]), answer(1, 404, [9, 9])]), None);
        let others = Learnt { workload: "other".to_owned(), ..answer(0, 200, [1, 1]) };
        assert_eq!(
            lengths(&own, &[others, answer(0, 200, [5, 5]), answer(1, 404, [9, 9])]),
            Some(vec![5, 9])
        );
    }

    #[test]
    fn its_requests_are_those_of_the_others_but_for_what_they_ask_for() {
        let own = asked(
            "[[request]]\nmethod = \"PUT\"\npath = \"/a?q=${random:1..9}\"\nbody = \"text\"\nweight = 3\n\
             headers = [[\"Authorization\", \"Bearer x\"], [\"If-None-Match\", \"*\"], [\"Range\", \"bytes=0-4\"]]\n\
             expect.body = \"text\"\n\
             [[request]]\nmethod = \"HEAD\"\npath = \"/\"\n",
        );
        let [put, head] = &stand_in(&own, &[512, 0]).requests[..] else { panic!("two requests") };
        assert_eq!((put.method.as_str(), put.path.as_str(), put.weight), ("POST", "/bytes/512", 3));
        assert_eq!(put.body.as_deref(), Some("text"));
        assert_eq!(put.headers, [("Authorization".to_owned(), "Bearer x".to_owned())]);
        assert!(put.expect.is_silent());
        assert_eq!((head.method.as_str(), head.path.as_str()), ("HEAD", "/bytes/0"));
    }

    #[test]
    fn it_stands_in_for_requests_of_http_alone() {
        let http = asked("[[request]]\npath = \"/\"\n");
        assert!(can_stand_in(&http));
        let token = Workload { before: Some("login".to_owned()), ..http.clone() };
        let calls = Workload { grpc: true, ..http };
        assert!(!can_stand_in(&token) && !can_stand_in(&calls));
    }
}
