//! A certificate with its key: who one is.

use std::path::{Path, PathBuf};

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::TlsError;

/// Most that is read of a file of certificates or of a key, in bytes: all authorities that a machine trusts take a fiftieth of it.
pub const MOST_PEM_BYTES: u64 = 16 << 20;

/// A certificate, those that lead from it to its authority, and its key.
#[derive(Debug)]
pub struct Identity {
    pub(crate) chain: Vec<CertificateDer<'static>>,
    pub(crate) key: PrivateKeyDer<'static>,
}

impl Identity {
    /// Reads two files in PEM form; they may be the same one.
    ///
    /// # Errors
    /// One of them cannot be read, or does not hold what it should.
    pub fn read(certificate: &Path, key: &Path) -> Result<Self, TlsError> {
        let chain = certificates(certificate)?;
        let key_der = PrivateKeyDer::from_pem_slice(&read(key)?);
        Ok(Self { chain, key: key_der.map_err(|_| TlsError::NoKey(key.to_owned()))? })
    }
}

/// The certificates of a file, at least one.
pub(crate) fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    certificates_in(&read(path)?, path)
}

/// All certificates of a text in PEM form, which came `from` there.
pub(crate) fn certificates_in(text: &[u8], from: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(text).collect();
    all.ok().filter(|all| !all.is_empty()).ok_or_else(|| TlsError::NoCertificate(from.to_owned()))
}

fn read(path: &Path) -> Result<Vec<u8>, TlsError> {
    assay_file::read_bytes(path, MOST_PEM_BYTES)
        .map_err(|source| TlsError::Read { path: PathBuf::from(path), source })
}
