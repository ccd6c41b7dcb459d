//! Messages put together.

use crate::{Data, Fault, Kind, Utf8};

/// Memory that is kept for the next message; what a longer one needed is given back.
const KEPT_BYTES: usize = 16 * 1024;

/// Puts the parts of messages together, one message after the other, and checks that texts are UTF-8.
#[derive(Debug, Default)]
pub struct Assembly {
    bytes: Vec<u8>,
    utf8: Utf8,
}

impl Assembly {
    /// Adds a part; returns the message that it ends.
    ///
    /// # Errors
    /// [`Fault::NotUtf8`] as soon as a text can be none.
    pub fn push(&mut self, data: &Data<'_>) -> Result<Option<&[u8]>, Fault> {
        if data.is_first {
            self.begin();
        }
        let start = self.bytes.len();
        data.payload.append_to(&mut self.bytes);
        if data.kind == Kind::Text {
            self.utf8.push(&self.bytes[start..])?;
        }
        if !data.is_last {
            return Ok(None);
        }
        self.utf8.finish()?;
        Ok(Some(&self.bytes))
    }

    /// The message that was put together last, or as much of it as has come.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    fn begin(&mut self) {
        self.bytes.clear();
        self.bytes.shrink_to(KEPT_BYTES);
    }
}
