//! A client and a server that trust each other.
#![allow(clippy::unwrap_used, reason = "helpers of tests may fail as tests do")]

use assay_tls::{Client, ClientTerms, Made, Server, Trust};
use tempfile::NamedTempFile;

/// A client and a server for `localhost`, the one of which trusts the other.
pub(crate) fn acquainted(resumption: bool) -> (Client, Server) {
    let made = Made::new(&["localhost".to_owned()]).unwrap();
    let authority = NamedTempFile::new().unwrap();
    std::fs::write(authority.path(), &made.authority).unwrap();
    let terms = ClientTerms {
        server_name: "localhost".to_owned(),
        trust: Trust::Authorities(authority.path().to_owned()),
        identity: None,
        resumption,
        ciphers: Vec::new(),
    };
    (Client::new(terms).unwrap(), Server::new(made.identity().unwrap()).unwrap())
}
