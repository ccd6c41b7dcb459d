//! UTF-8, checked as it comes.

use crate::Fault;

/// Checks a text that comes in parts, which may be cut inside a character.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Utf8 {
    /// The beginning of a character whose rest has not come.
    begun: [u8; 4],
    len: u8,
}

impl Utf8 {
    /// Checks the next part.
    ///
    /// # Errors
    /// [`Fault::NotUtf8`] as soon as no end could make a text of it.
    pub fn push(&mut self, part: &[u8]) -> Result<(), Fault> {
        let rest = self.complete(part)?;
        match std::str::from_utf8(rest) {
            Ok(_) => Ok(()),
            Err(error) if error.error_len().is_some() => Err(Fault::NotUtf8),
            Err(error) => {
                // Fewer than four bytes: a character that may still become whole.
                let begun = &rest[error.valid_up_to()..];
                self.begun[..begun.len()].copy_from_slice(begun);
                self.len = begun.len() as u8;
                Ok(())
            }
        }
    }

    /// Ends the text, and is ready for the next.
    ///
    /// # Errors
    /// [`Fault::NotUtf8`] when its last character is cut short.
    pub fn finish(&mut self) -> Result<(), Fault> {
        if std::mem::take(&mut self.len) > 0 { Err(Fault::NotUtf8) } else { Ok(()) }
    }

    /// Ends the character that was begun, as far as `part` suffices, and returns what is behind it.
    fn complete<'i>(&mut self, part: &'i [u8]) -> Result<&'i [u8], Fault> {
        let mut rest = part;
        while self.len > 0 {
            let Some((&byte, behind)) = rest.split_first() else { break };
            self.begun[usize::from(self.len)] = byte;
            self.len += 1;
            rest = behind;
            match std::str::from_utf8(&self.begun[..usize::from(self.len)]) {
                Ok(_) => self.len = 0,
                Err(error) if error.error_len().is_some() => return Err(Fault::NotUtf8),
                Err(_) => {}
            }
        }
        Ok(rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn in_parts<'i>(parts: impl IntoIterator<Item = &'i [u8]>) -> bool {
        let mut check = Utf8::default();
        parts.into_iter().all(|part| check.push(part).is_ok()) && check.finish().is_ok()
    }

    proptest! {
        #[test]
        fn any_bytes_are_judged_as_the_standard_library_judges_them_whole(
            bytes in proptest::collection::vec(prop_oneof![any::<u8>(), 0x80u8..0xc0, 0xe0u8..0xf5], 0..12),
            piece in 1usize..5,
        ) {
            prop_assert_eq!(in_parts(bytes.chunks(piece)), std::str::from_utf8(&bytes).is_ok());
        }

        #[test]
        fn a_text_is_a_text_however_it_is_cut(text: String, piece in 1usize..7) {
            prop_assert!(in_parts(text.as_bytes().chunks(piece)));
        }
    }

    #[test]
    fn what_can_become_no_text_is_refused_at_its_first_impossible_byte() {
        for impossible in [&b"\xc0"[..], b"\xf5", b"\xed\xa0", b"\xe0\x80", b"\xf4\x90", b"a\x80"] {
            let (last, before) = impossible.split_last().unwrap();
            let mut check = Utf8::default();
            assert_eq!(check.push(before), Ok(()));
            assert_eq!(check.push(&[*last]), Err(Fault::NotUtf8), "{impossible:x?}");
        }
    }
}
