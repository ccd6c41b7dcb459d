//! What counts as an objection to what is wrong, and as a refusal of what is malformed.

use assay_h2::Code;

use super::{EARLY, Heard, Peer, Reply};
use crate::objection::{Keeping, Objection};

impl Peer {
    /// Demands that the connection is ended, without a code or with one of these.
    pub(crate) fn ends(&mut self, codes: &[Code]) -> Keeping {
        self.objects(None, codes)
    }

    /// Demands that the stream is reset, or the connection ended (RFC 9113 §5.4).
    pub(crate) fn resets(&mut self, stream: u32, codes: &[Code]) -> Keeping {
        self.objects(Some(stream), codes)
    }

    /// Demands that the stream is reset, or the connection ended, unless the stream had ended before by a whole answer.
    pub(crate) fn resets_while_open(&mut self, stream: u32, codes: &[Code]) -> Keeping {
        let objected = self.objects(Some(stream), codes);
        match objected {
            Err(_) if self.ended.contains(&stream) => Err(Objection::not_applicable(EARLY)),
            other => other,
        }
    }

    fn objects(&mut self, stream: Option<u32>, codes: &[Code]) -> Keeping {
        let deadline = self.reaction_deadline();
        loop {
            match self.hear(deadline)? {
                None => return Err(self.fault("it went on as if nothing were wrong")),
                Some(Heard::End) => return Ok(()),
                Some(Heard::GoAway { code, .. }) if code != Code::NoError => return self.judge(code, codes),
                // NO_ERROR is none: the rest of a request is not wanted (RFC 9113 §8.1).
                Some(Heard::Reset { stream: theirs, code })
                    if Some(theirs) == stream && code != Code::NoError =>
                {
                    return self.judge(code, codes);
                }
                Some(_) => {}
            }
        }
    }

    /// Demands that a malformed request is not served: its stream is reset, it is refused with a status, or the connection
    /// ends (RFC 9113 §8.1.1).
    pub(crate) fn refuses(&mut self, stream: u32) -> Keeping {
        let deadline = self.reaction_deadline();
        loop {
            match self.must_hear(deadline, "refusal")? {
                Heard::End => return Ok(()),
                Heard::GoAway { code, .. } if code != Code::NoError => {
                    return self.judge(code, &[Code::ProtocolError]);
                }
                Heard::Reset { stream: theirs, code } if theirs == stream => {
                    return self.judge(code, &[Code::ProtocolError]);
                }
                heard @ Heard::Fields { .. } => {
                    let is_ours = matches!(&heard, Heard::Fields { stream: theirs, .. } if *theirs == stream);
                    let mut reply = Reply::default();
                    reply.take(heard).map_err(|why| self.fault(&why))?;
                    match reply.status {
                        _ if !is_ours => {}
                        100..=199 => {}
                        400.. => return Ok(()),
                        status => return Err(self.fault(&format!("it was served with {status}"))),
                    }
                }
                _ => {}
            }
        }
    }

    /// RFC 9113 §5.4: "a generic error code (such as PROTOCOL_ERROR or INTERNAL_ERROR) can always be used in place of more
    /// specific error codes".
    fn judge(&self, code: Code, codes: &[Code]) -> Keeping {
        if codes.contains(&code) || matches!(code, Code::ProtocolError | Code::InternalError) {
            return Ok(());
        }
        let wanted: Vec<String> = codes.iter().map(Code::to_string).collect();
        Err(self.fault(&format!("it objects with {code} instead of {}", wanted.join(" or "))))
    }
}
