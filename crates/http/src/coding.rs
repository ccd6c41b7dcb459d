//! Content codings undone: a body as it was before its server compressed it (RFC 9110 §8.4.1). The only part that allocates, and
//! no more than its caller allows.

use std::io::Read;

use flate2::read::MultiGzDecoder;
use thiserror::Error;

/// Why there is no body.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CodingError {
    /// The body is no gzip, or broken, or cut short.
    #[error("the body does not decompress: {0}")]
    Broken(String),
    /// The body is longer than the caller takes.
    #[error("the body inflates to more than {0} bytes")]
    Inflates(usize),
}

/// What `body` was before gzip (RFC 1952), if that has at most `most` bytes.
///
/// # Errors
/// See [`CodingError`]; a body that inflates without end costs no more than one that is too long by a byte.
pub fn gunzip(body: &[u8], most: usize) -> Result<Vec<u8>, CodingError> {
    let mut plain = Vec::new();
    let mut bounded = MultiGzDecoder::new(body).take(most as u64 + 1);
    bounded.read_to_end(&mut plain).map_err(|error| CodingError::Broken(error.to_string()))?;
    if plain.len() > most { Err(CodingError::Inflates(most)) } else { Ok(plain) }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    fn gzip(plain: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(plain).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn what_was_compressed_comes_back_in_one_member_or_several() {
        assert_eq!(gunzip(&gzip(b"hello"), 5), Ok(b"hello".to_vec()));
        assert_eq!(gunzip(&[gzip(b"hel"), gzip(b"lo")].concat(), 5), Ok(b"hello".to_vec()));
        assert_eq!(gunzip(&gzip(b""), 0), Ok(Vec::new()));
    }

    #[test]
    fn what_is_no_gzip_or_cut_short_is_broken() {
        let whole = gzip(b"hello, hello, hello");
        for bad in [&b""[..], b"hello", &whole[..whole.len() - 1], &[&whole[..], b"more"].concat()] {
            assert!(matches!(gunzip(bad, 100), Err(CodingError::Broken(_))), "{bad:?}");
        }
    }

    #[test]
    fn what_inflates_without_end_is_given_up_at_the_bound() {
        let bomb = gzip(&vec![0; 100 << 20]);
        assert!(bomb.len() < 1 << 20, "{}", bomb.len());
        assert_eq!(gunzip(&bomb, 1 << 20), Err(CodingError::Inflates(1 << 20)));
    }
}
