//! What is said over a WebSocket.

use assay_model::workload::{Expect, MessageKind, RequestKind};
use clap::Args;
use clap::builder::RangedU64ValueParser;

use crate::failure::Failure;

/// Length of a message where nobody says another.
const USUAL_BYTES: u32 = 64;
/// Digits of the number that no two messages in a row have in common.
const NUMBER: &str = "random:100000000..999999999";
/// What follows the number, over and over.
const FILLING: &str = " abcdefghijklmnopqrstuvwxyz";

#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "WebSocket")]
pub(crate) struct SocketArguments {
    /// Length of each message, which begins with a number of its own, unless --body says what is sent [default: 64]
    #[arg(long, value_name = "BYTES", conflicts_with_all = ["body", "body_file", "workload"],
          value_parser = RangedU64ValueParser::<u32>::new().range(9..=16 << 20))]
    message_bytes: Option<u32>,
    /// Messages are binary instead of texts
    #[arg(long, conflicts_with = "workload")]
    binary: bool,
}

impl SocketArguments {
    /// Whether anything was said of messages.
    pub(crate) fn is_given(&self) -> bool {
        self.message_bytes.is_some() || self.binary
    }

    /// What messages are made of.
    pub(crate) fn kind(&self) -> MessageKind {
        if self.binary { MessageKind::Binary } else { MessageKind::Text }
    }

    /// The message of a request: its body, which must come back, or one of our own.
    ///
    /// # Errors
    /// A status is expected, or it cannot be told what must come back.
    pub(crate) fn message(&self, request: RequestKind) -> Result<RequestKind, Failure> {
        if request.method != "GET" || request.expect.status.is_some() {
            return Err(Failure::usage(
                "a message of a WebSocket has neither method nor status: leave --method and --expect-status out",
            ));
        }
        let Some(body) = &request.body else { return Ok(self.numbered(request)) };
        if !request.expect.is_silent() {
            return Ok(request);
        }
        if body.contains("${") {
            return Err(Failure::usage(
                "the message differs each time: name its numbers, as in ${n=sequence}, and say with --expect-body what comes back",
            ));
        }
        let expect = Expect { body: Some(body.clone()), ..Expect::default() };
        Ok(RequestKind { expect, ..request })
    }

    /// A number, and behind it letters up to the length.
    fn numbered(&self, request: RequestKind) -> RequestKind {
        let length = self.message_bytes.unwrap_or(USUAL_BYTES) as usize - "123456789".len();
        let filling: String = FILLING.chars().cycle().take(length).collect();
        let expect = if request.expect.is_silent() {
            Expect { body: Some(format!("${{n}}{filling}")), ..Expect::default() }
        } else {
            request.expect
        };
        RequestKind { body: Some(format!("${{n={NUMBER}}}{filling}")), expect, ..request }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_has_the_length_that_was_asked_for_and_comes_back() {
        for bytes in [9, 10, 64, 1000] {
            let arguments = SocketArguments { message_bytes: Some(bytes), binary: false };
            let message = arguments.message(RequestKind::get("/ws")).unwrap().example().unwrap();
            let body = message.body.unwrap();
            assert_eq!((body.len(), message.expect.body), (bytes as usize, Some(body)));
        }
    }

    #[test]
    fn what_comes_back_must_be_known() {
        let say = |body: &str| RequestKind { body: Some(body.into()), ..RequestKind::get("/ws") };
        let message = |request| SocketArguments::default().message(request);
        assert_eq!(message(say("hello")).unwrap().expect.body.as_deref(), Some("hello"));
        assert!(message(say("${sequence}")).is_err());
        let expect = Expect { body: Some("${n}".into()), ..Expect::default() };
        assert!(message(RequestKind { expect, ..say("${n=sequence}") }).is_ok());
        assert!(message(RequestKind { method: "POST".into(), ..say("hello") }).is_err());
    }
}
