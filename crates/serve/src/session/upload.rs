//! Reading the body of a request: given back as it comes, summed up, or dropped before the request is answered.

use assay_http::render::{CONTINUE, RenderError};
use assay_http::{BodyLimits, BodyReader, Framing};
use crc32fast::Hasher;

use super::{Context, Next, Phase, Reply, Session, Turn};
use crate::answer::{ANSWER_BYTES, Answer};
use crate::connection::Persistence;
use crate::route::AnswerPlan;
use crate::site::STEP_BYTES;

/// Room for the framing of one chunk and of the last: a size of up to 16 digits, four line ends, `0`.
const CHUNK_FRAMING_BYTES: usize = 32;
/// A piece of an echo is at least so long, unless the peer sends less.
const ECHO_BYTES: usize = 4096;

/// A body being read.
#[derive(Debug)]
pub(crate) struct Upload {
    reader: BodyReader,
    plan: AnswerPlan,
    reply: Reply,
    /// The framing of the request, and so of an echo.
    framing: Framing,
    /// The head of the echo is out.
    answered: bool,
    /// What its bytes come to so far, where that is asked for.
    sum: Hasher,
    bytes: u64,
}

impl Upload {
    /// Whether a part of the response is out already.
    pub(crate) fn has_answered(&self) -> bool {
        self.answered
    }
}

impl Session {
    /// Begins to read the body of a request, unless the request is refused for it.
    pub(crate) fn begin_upload(
        &mut self,
        expects_continue: bool,
        framing: Framing,
        plan: AnswerPlan,
        reply: Reply,
        cx: &mut Context<'_>,
    ) -> Turn {
        let limits = BodyLimits { body_bytes: cx.site.limits.body_bytes, ..BodyLimits::DEFAULT };
        match (BodyReader::with_limits(framing, limits), plan) {
            (Err(error), _) => self.refuse(Answer::refusal(error.status()), reply.head_only, cx),
            // A body has no meaning here (RFC 9110 §9.3.1), and the head would be gone when it has been read.
            (_, AnswerPlan::File | AnswerPlan::Socket) => {
                self.refuse(Answer::BadRequest, reply.head_only, cx)
            }
            // The client waits for the word to send its body: better not to want it (RFC 9110 §10.1.1).
            (_, AnswerPlan::Answer(answer)) if answer.is_error() && expects_continue => {
                self.refuse(answer, reply.head_only, cx)
            }
            (Ok(reader), _) => {
                if expects_continue {
                    cx.out.extend_from_slice(CONTINUE);
                }
                self.deadline = cx.now + cx.site.limits.body_time;
                self.phase = Phase::Upload(Upload {
                    reader,
                    plan,
                    reply,
                    framing,
                    answered: false,
                    sum: Hasher::new(),
                    bytes: 0,
                });
                Turn::go_on(0)
            }
        }
    }

    /// Reads on in the body.
    pub(crate) fn read_body(&mut self, input: &[u8], cx: &mut Context<'_>) -> Turn {
        let Phase::Upload(upload) = &mut self.phase else { return Turn::go_on(0) };
        if input.is_empty() {
            return Turn::stop(0, Next::Receive);
        }
        let echoes = upload.plan == AnswerPlan::Echo;
        let reserved = cx.out.len() + ANSWER_BYTES + CHUNK_FRAMING_BYTES;
        if reserved + if echoes { ECHO_BYTES } else { 0 } > STEP_BYTES {
            return Turn::stop(0, Next::Continue);
        }
        let window = if echoes { input.len().min(STEP_BYTES - reserved) } else { input.len() };
        let step = match upload.reader.next(&input[..window]) {
            Ok(step) => step,
            Err(error) => return self.refuse_body(error.status(), cx),
        };
        let (plan, reply, more) = (upload.plan, upload.reply, input.len() > step.consumed);
        let told = match plan {
            AnswerPlan::Echo => upload.echo(step.data, step.finished, cx),
            AnswerPlan::Sum => upload.sum_up(step.data, step.finished, cx),
            _ => Ok(()),
        };
        let is_told = matches!(plan, AnswerPlan::Echo | AnswerPlan::Sum);
        self.deadline = cx.site.limits.grant(self.deadline, step.consumed, cx.now);
        let turn = match (told, step.finished) {
            (Err(_), _) => self.fail(cx),
            (Ok(()), false) => Turn::go_on(0),
            (Ok(()), true) if is_told => self.finish(reply.persistence, more),
            (Ok(()), true) => self.carry_out(plan, reply, more, cx),
        };
        turn.after(step.consumed)
    }

    /// The body is malformed or too large. Half an echo cannot become a refusal: it ends short, which shows.
    #[cold]
    fn refuse_body(&mut self, status: u16, cx: &mut Context<'_>) -> Turn {
        match &self.phase {
            Phase::Upload(upload) if upload.answered => {
                cx.site.refused += 1;
                self.phase = Phase::Lingering;
                Turn::stop(0, Next::End { linger: true })
            }
            _ => self.refuse(Answer::refusal(status), false, cx),
        }
    }
}

impl Upload {
    /// Appends a part of the body to the output, in the framing in which it came.
    fn echo(&mut self, data: &[u8], finished: bool, cx: &mut Context<'_>) -> Result<(), RenderError> {
        // The head waits for the first data, so that a body that is malformed from the start can be refused.
        if !self.answered && (!data.is_empty() || finished) {
            let fields = [("Content-Type", "application/octet-stream")];
            cx.site.append_head(200, &fields, self.framing, self.reply.persistence, cx.out)?;
            self.answered = true;
        }
        if self.framing != Framing::Chunked {
            cx.out.extend_from_slice(data);
            return Ok(());
        }
        if !data.is_empty() {
            append_hex(data.len(), cx.out);
            for part in [b"\r\n", data, b"\r\n"] {
                cx.out.extend_from_slice(part);
            }
        }
        if finished {
            cx.out.extend_from_slice(b"0\r\n\r\n");
        }
        Ok(())
    }
}

impl Upload {
    /// Takes a part of the body into its sum, which is the answer when all has come.
    fn sum_up(&mut self, data: &[u8], finished: bool, cx: &mut Context<'_>) -> Result<(), RenderError> {
        self.sum.update(data);
        self.bytes += data.len() as u64;
        if !finished {
            return Ok(());
        }
        let sum = std::mem::take(&mut self.sum).finalize();
        append_sum(self.bytes, sum, self.reply.persistence, cx)
    }
}

/// The answer that tells how many bytes came, and their CRC-32 (that of gzip, RFC 1952 §8).
pub(crate) fn append_sum(
    bytes: u64,
    sum: u32,
    persistence: Persistence,
    cx: &mut Context<'_>,
) -> Result<(), RenderError> {
    let body = format!("{{\"bytes\":{bytes},\"crc32\":\"{sum:08x}\"}}");
    let framing = Framing::Length(body.len() as u64);
    cx.site.append_head(200, &[("Content-Type", "application/json")], framing, persistence, cx.out)?;
    cx.out.extend_from_slice(body.as_bytes());
    Ok(())
}

fn append_hex(number: usize, out: &mut Vec<u8>) {
    let digits = (usize::BITS - number.leading_zeros()).div_ceil(4).max(1);
    for place in (0..digits).rev() {
        out.push(b"0123456789abcdef"[number >> (4 * place) & 15]);
    }
}
