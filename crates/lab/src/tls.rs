//! TLS of a run: an authority that lives as long as the run, one certificate for every server that is started, and a client
//! that trusts this authority alone.

use std::path::{Path, PathBuf};

use assay_tls::{Client, ClientTerms, Made, TlsError, Trust};

use crate::error::LabError;

/// The name that all servers of a run are asked for, whatever their address.
pub(crate) const SERVER_NAME: &str = "localhost";

/// The cipher suite of all servers of a run: left to themselves they choose different ones, of which one costs more than another.
/// OpenSSL prefers this one.
pub(crate) const CIPHER: &str = "TLS_AES_256_GCM_SHA384";

/// What a run over TLS hands to servers and generators.
#[derive(Debug)]
pub(crate) struct RunTls {
    /// The certificate to serve with, in PEM form.
    pub(crate) certificate: PathBuf,
    /// Its key.
    pub(crate) key: PathBuf,
    /// The authority's certificate, which the generator trusts.
    pub(crate) authority: PathBuf,
    /// Who asks for the answers before the load.
    pub(crate) client: Client,
}

impl RunTls {
    /// Makes all of it, in files below `work`.
    pub(crate) fn make(work: &Path) -> Result<Self, LabError> {
        let made = Made::new(&[SERVER_NAME.to_owned()])?;
        let write = |name: &str, text: &str| {
            let path = work.join(name);
            let written = assay_file::write_private(&path, text.as_bytes());
            written.map_err(|error| LabError::not_writable(&path, error.source))?;
            Ok::<_, LabError>(path)
        };
        let authority = write("tls-authority.pem", &made.authority)?;
        let client = client(&authority)?;
        let certificate = write("tls-certificate.pem", &made.certificate)?;
        Ok(Self { certificate, key: write("tls-key.pem", &made.key)?, authority, client })
    }
}

fn client(authority: &Path) -> Result<Client, TlsError> {
    let trust = Trust::Authorities(authority.to_owned());
    Client::new(ClientTerms {
        server_name: SERVER_NAME.to_owned(),
        trust,
        identity: None,
        resumption: true,
        cipher: Some(CIPHER.to_owned()),
    })
}
