//! The kind of a certificate's key.

use assay_model::tls::KeyKind;
use rustls::pki_types::{CertificateDer, alg_id};
use rustls::server::ParsedCertificate;

const SEQUENCE: u8 = 0x30;
const BIT_STRING: u8 = 0x03;
const INTEGER: u8 = 0x02;

/// The kind of a certificate's key (RFC 5280 §4.1.2.7).
pub(crate) fn kind(certificate: &CertificateDer<'_>) -> KeyKind {
    let Ok(parsed) = ParsedCertificate::try_from(certificate) else { return KeyKind::Other };
    of_info(&parsed.subject_public_key_info()).unwrap_or(KeyKind::Other)
}

fn of_info(info: &[u8]) -> Option<KeyKind> {
    let (info, _) = element(info, SEQUENCE)?;
    let (algorithm, rest) = element(info, SEQUENCE)?;
    let is = |id: rustls::pki_types::AlgorithmIdentifier| algorithm == &*id;
    Some(if is(alg_id::ECDSA_P256) {
        KeyKind::P256
    } else if is(alg_id::ECDSA_P384) {
        KeyKind::P384
    } else if is(alg_id::ECDSA_P521) {
        KeyKind::P521
    } else if is(alg_id::ED25519) {
        KeyKind::Ed25519
    } else if is(alg_id::RSA_ENCRYPTION) {
        KeyKind::Rsa(modulus_bits(element(rest, BIT_STRING)?.0)?)
    } else {
        KeyKind::Other
    })
}

/// The length of the modulus of an RSA key in a bit string (RFC 8017 §A.1.1).
fn modulus_bits(bit_string: &[u8]) -> Option<u16> {
    let (key, _) = element(bit_string.get(1..)?, SEQUENCE)?;
    let (modulus, _) = element(key, INTEGER)?;
    let zeros = modulus.iter().take_while(|byte| **byte == 0).count();
    let first = modulus.get(zeros)?;
    u16::try_from((modulus.len() - zeros) * 8 - first.leading_zeros() as usize).ok()
}

/// The content of the first element, which must have this tag, and what is behind it (X.690 §8.1).
fn element(der: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    let [found, length, rest @ ..] = der else { return None };
    if *found != tag {
        return None;
    }
    let (length, rest) = match *length {
        short @ 0..=0x7f => (usize::from(short), rest),
        0x81 => (usize::from(*rest.first()?), &rest[1..]),
        0x82 => (usize::from(u16::from_be_bytes([*rest.first()?, *rest.get(1)?])), &rest[2..]),
        _ => return None,
    };
    (length <= rest.len()).then(|| rest.split_at(length))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Made;

    #[test]
    fn our_own_key_is_on_p256() {
        let identity = Made::new(&["localhost".to_owned()]).unwrap().identity().unwrap();
        assert_eq!(kind(&identity.chain[0]), KeyKind::P256);
    }

    #[test]
    fn an_rsa_key_is_told_with_its_length() {
        let modulus = [&[0][..], &[0x80; 256]].concat();
        let der = |tag: u8, content: &[u8]| {
            let length = (content.len() as u16).to_be_bytes();
            [&[tag, 0x82, length[0], length[1]][..], content].concat()
        };
        let key = der(SEQUENCE, &[der(INTEGER, &modulus), der(INTEGER, &[1, 0, 1])].concat());
        let algorithm = der(SEQUENCE, &alg_id::RSA_ENCRYPTION);
        let info = [algorithm, der(BIT_STRING, &[&[0][..], &key].concat())].concat();
        assert_eq!(of_info(&der(SEQUENCE, &info)), Some(KeyKind::Rsa(2048)));
    }

    #[test]
    fn what_is_cut_short_is_no_key() {
        assert_eq!(of_info(&[SEQUENCE, 0x82, 1]), None);
        assert_eq!(of_info(&[]), None);
    }
}
