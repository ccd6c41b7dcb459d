//! Bodies of the pattern: their heads, and short ones as a whole, rendered once for each length and given with the date of the second.

use assay_http::Framing;
use assay_http::date;
use assay_http::render::{PreparedResponse, RenderError};

use crate::blocks::Block;
use crate::pattern::Pattern;

/// A body no longer than this is copied between other responses instead of being sent by itself.
pub(crate) const COPIED_BYTES: u64 = 4096;

/// Lengths that are kept: what is asked for again and again has few.
const KEPT: usize = 8;

/// Answers of the lengths that were asked for last.
#[derive(Default)]
pub(crate) struct SizedAnswers {
    kept: Vec<SizedAnswer>,
    /// The one that gives way next.
    oldest: usize,
}

struct SizedAnswer {
    len: u64,
    response: PreparedResponse,
    /// The response as HTTP/2 sends it.
    block: Option<Block>,
}

impl SizedAnswers {
    /// The answer with a body of `len` bytes; the head alone where that is more than [`COPIED_BYTES`].
    #[inline]
    pub(crate) fn get(
        &mut self,
        len: u64,
        pattern: &Pattern,
        date: &[u8; date::LEN],
    ) -> Result<&PreparedResponse, RenderError> {
        let at = self.place(len, pattern, date)?;
        Ok(&self.kept[at].response)
    }

    /// Compressed head and body of that answer, for HTTP/2.
    #[inline]
    pub(crate) fn block(
        &mut self,
        len: u64,
        pattern: &Pattern,
        date: &[u8; date::LEN],
    ) -> Result<(&[u8], &[u8]), RenderError> {
        let at = self.place(len, pattern, date)?;
        let SizedAnswer { response, block, .. } = &mut self.kept[at];
        Ok(block.get_or_insert_with(|| Block::of(response.bytes())).parts())
    }

    pub(crate) fn set_date(&mut self, date: &[u8; date::LEN]) {
        for answer in &mut self.kept {
            answer.response.set_date(date);
            answer.block = None;
        }
    }

    #[inline]
    fn place(&mut self, len: u64, pattern: &Pattern, date: &[u8; date::LEN]) -> Result<usize, RenderError> {
        match self.kept.iter().position(|answer| answer.len == len) {
            Some(at) => Ok(at),
            None => self.render(len, pattern, date),
        }
    }

    #[cold]
    fn render(&mut self, len: u64, pattern: &Pattern, date: &[u8; date::LEN]) -> Result<usize, RenderError> {
        let fields = [("Server", "assay"), ("Content-Type", "application/octet-stream")];
        let mut response = match len {
            // It fits every usize.
            0..=COPIED_BYTES => PreparedResponse::new(200, &fields, pattern.piece(0, len as usize))?,
            _ => PreparedResponse::announcing(200, &fields, Framing::Length(len))?,
        };
        response.set_date(date);
        let answer = SizedAnswer { len, response, block: None };
        if self.kept.len() < KEPT {
            self.kept.push(answer);
            return Ok(self.kept.len() - 1);
        }
        let at = self.oldest;
        self.oldest = (at + 1) % KEPT;
        self.kept[at] = answer;
        Ok(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_length_is_right_however_many_are_asked_for_and_has_the_date_of_the_second() {
        let pattern = Pattern::new(4096, 4096).unwrap();
        let mut answers = SizedAnswers::default();
        let first = date::format(0);
        for round in 0..3 {
            for len in (0..KEPT as u64 * 2).chain([COPIED_BYTES]) {
                let response = answers.get(len, &pattern, &first).unwrap();
                assert_eq!(response.body(), pattern.piece(0, len as usize), "{len} in round {round}");
                let (_, body) = answers.block(len, &pattern, &first).unwrap();
                assert_eq!(body.len() as u64, len);
            }
        }
        assert_eq!(answers.kept.len(), KEPT);
        let later = date::format(86_400);
        answers.set_date(&later);
        let long = answers.get(1 << 30, &pattern, &later).unwrap();
        assert!(long.body().is_empty() && long.head().ends_with(b"Content-Length: 1073741824\r\n\r\n"));
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let told = text(answers.get(COPIED_BYTES, &pattern, &later).unwrap().head());
        assert!(
            told.contains("Date: Fri, 02 Jan 1970") && told.contains("Content-Length: 4096\r\n"),
            "{told}"
        );
        assert!(answers.kept.iter().all(|answer| answer.block.is_none()), "they told the date before");
    }
}
