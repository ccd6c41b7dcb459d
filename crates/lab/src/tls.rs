//! TLS of a run: an authority that lives as long as the run, one certificate for every server that is started, and a client
//! that trusts this authority alone.

use std::path::{Path, PathBuf};

use assay_model::tls::{Agreed, KeyKind};
use assay_tls::{Client, ClientTerms, Made, TlsError, Trust};

use crate::error::LabError;

/// The name that all servers of a run are asked for, whatever their address.
pub(crate) const SERVER_NAME: &str = "localhost";

/// The cipher suite of all servers of a run: left to themselves they choose different ones, of which one costs more than another.
/// OpenSSL prefers this one.
const CIPHER: &str = "TLS_AES_256_GCM_SHA384";
/// The cipher of TLS 1.2, for a server that speaks nothing newer: it is measured, and marked.
const OLDER_CIPHER: &str = "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384";
/// The ciphers that are offered.
pub(crate) const CIPHERS: [&str; 2] = [CIPHER, OLDER_CIPHER];

/// Why one that is not set up for TLS is not run over it.
pub(crate) const WITHOUT_TLS: &str = "it is not set up for TLS here";
/// How that is mended.
pub(crate) const SET_UP_TLS: &str =
    "add tls_arguments to its contender.toml; it finds its certificate in $CERT, and the key in $KEY";

/// What every connection of a run over TLS is to agree on.
pub(crate) fn asked() -> Agreed {
    Agreed {
        version: "TLS 1.3".to_owned(),
        cipher: CIPHER.to_owned(),
        group: Some("X25519".to_owned()),
        key: KeyKind::P256.to_string(),
        // Each cell names its own.
        protocol: None,
    }
}

/// What a run over TLS hands to servers and generators.
#[derive(Debug)]
pub(crate) struct RunTls {
    /// The folder with what servers are given, and nothing else.
    pub(crate) folder: PathBuf,
    /// The authority's certificate, which the generator trusts.
    pub(crate) authority: PathBuf,
    /// The client that asks for the answers before the load.
    pub(crate) client: Client,
}

impl RunTls {
    /// Makes all of it, in files below `work`.
    pub(crate) fn make(work: &Path) -> Result<Self, LabError> {
        let made = Made::new(&[SERVER_NAME.to_owned()])?;
        let folder = work.join("tls");
        std::fs::create_dir(&folder).map_err(|error| LabError::not_writable(&folder, error))?;
        let (certificate, key) = served(&folder);
        let authority = work.join("tls-authority.pem");
        for (path, text) in
            [(&certificate, &made.certificate), (&key, &made.key), (&authority, &made.authority)]
        {
            let written = assay_file::write_private(path, text.as_bytes());
            written.map_err(|error| LabError::not_writable(path, error.source))?;
        }
        Ok(Self { folder, client: client(&authority)?, authority })
    }
}

/// The certificate to serve with and its key, both in PEM form, in the folder of what servers are given, wherever that is.
pub(crate) fn served(folder: &Path) -> (PathBuf, PathBuf) {
    (folder.join("certificate.pem"), folder.join("key.pem"))
}

fn client(authority: &Path) -> Result<Client, TlsError> {
    let trust = Trust::Authorities(authority.to_owned());
    Client::new(ClientTerms {
        server_name: SERVER_NAME.to_owned(),
        trust,
        identity: None,
        resumption: true,
        ciphers: CIPHERS.map(str::to_owned).to_vec(),
    })
}
