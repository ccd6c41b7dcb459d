//! Why TLS cannot be set up.

use std::path::PathBuf;

/// Why TLS cannot be set up; what goes wrong on a connection is an event.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file cannot be read.
    #[error("cannot read {path}: {source}")]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A file holds no certificate.
    #[error("{0} holds no certificate; name a file in PEM form, with `-----BEGIN CERTIFICATE-----`")]
    NoCertificate(PathBuf),
    /// A file holds no private key.
    #[error("{0} holds no private key; name a file in PEM form, with `-----BEGIN PRIVATE KEY-----`")]
    NoKey(PathBuf),
    /// A certificate cannot be used.
    #[error("the certificate in {path} cannot be used: {source}")]
    Certificate {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: rustls::Error,
    },
    /// A certificate and a key do not belong together, or cannot be used.
    #[error(
        "the certificate and the key cannot be used together: {0}; see that the key is the certificate's own"
    )]
    Pair(rustls::Error),
    /// No certificate can be for this.
    #[error("`{0}` is no name or address that a certificate can be for")]
    Name(String),
    /// A cipher suite is not known.
    #[error("`{name}` is no cipher suite that can be offered; there are {known}")]
    Cipher {
        /// The name asked for.
        name: String,
        /// The cipher suites that there are.
        known: String,
    },
    /// Nobody is trusted.
    #[error(
        "this machine trusts no certificate authority ({0}); name one with --cacert FILE, or take any certificate with \
         --insecure"
    )]
    NobodyTrusted(String),
    /// A certificate could not be made.
    #[error("cannot make a certificate: {0}")]
    Make(#[from] rcgen::Error),
    /// The protocol could not be set up.
    #[error("cannot set up TLS: {0}")]
    Setup(#[from] rustls::Error),
}
