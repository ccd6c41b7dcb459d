//! The arguments of TLS: whom a client trusts, and who a server is.

use std::net::IpAddr;
use std::path::PathBuf;

use assay_tls::{Client, ClientTerms, Identity, MOST_PEM_BYTES, Made, Server, Trust};
use clap::Args;

use crate::failure::Failure;

/// What a client asks of a server, and what it brings.
#[derive(Args)]
pub(crate) struct TlsArguments {
    /// File with the authorities to trust, in PEM form [default: those that this machine trusts]
    #[arg(long, value_name = "FILE", help_heading = "TLS")]
    cacert: Option<PathBuf>,
    /// Take any certificate, and say so in the report
    #[arg(long, conflicts_with = "cacert", help_heading = "TLS")]
    insecure: bool,
    /// Name to ask for, and for which the certificate must be [default: the URL's host]
    #[arg(long, value_name = "NAME", help_heading = "TLS")]
    server_name: Option<String>,
    /// Certificate to show to a server that asks for one, in PEM form
    #[arg(long, value_name = "FILE", requires = "key", help_heading = "TLS")]
    cert: Option<PathBuf>,
    /// Its key, in PEM form
    #[arg(long, value_name = "FILE", requires = "cert", help_heading = "TLS")]
    key: Option<PathBuf>,
    /// The only cipher suites to offer, such as TLS_AES_128_GCM_SHA256 [default: all]
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', help_heading = "TLS")]
    cipher: Vec<String>,
    /// Make every handshake a full one instead of resuming sessions
    #[arg(long, help_heading = "TLS")]
    no_resumption: bool,
}

impl TlsArguments {
    /// The client that is meant, for a server at `host` over TLS. Whoever has been `sent` the authorities does not look for their file.
    pub(crate) fn client(&self, host: &str, sent: Option<&str>) -> Result<Client, Failure> {
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let trust = match (&self.cacert, sent) {
            _ if self.insecure => Trust::Anybody,
            (_, Some(text)) => Trust::Pem(text.to_owned()),
            (Some(file), None) => Trust::Authorities(file.clone()),
            (None, None) => Trust::Machine,
        };
        let identity = self.cert.as_ref().zip(self.key.as_ref());
        let identity = identity.map(|(certificate, key)| Identity::read(certificate, key)).transpose()?;
        let server_name = self.server_name.clone().unwrap_or_else(|| host.to_owned());
        let (resumption, ciphers) = (!self.no_resumption, self.cipher.clone());
        Ok(Client::new(ClientTerms { server_name, trust, identity, resumption, ciphers })?)
    }

    /// Whether a certificate of ours is to be shown.
    pub(crate) fn has_identity(&self) -> bool {
        self.cert.is_some()
    }

    /// The authorities to trust, in PEM form, if a file has them.
    pub(crate) fn authorities(&self) -> Result<Option<String>, Failure> {
        let Some(file) = &self.cacert else { return Ok(None) };
        let cannot = |error| Failure::usage(format_args!("--cacert {}: {error}", file.display()));
        assay_file::read(file, MOST_PEM_BYTES).map(Some).map_err(cannot)
    }

    /// Whether anything was said of TLS.
    pub(crate) fn is_given(&self) -> bool {
        self.cacert.is_some()
            || self.insecure
            || self.server_name.is_some()
            || self.cert.is_some()
            || !self.cipher.is_empty()
            || self.no_resumption
    }
}

/// Certificate and key of a server.
#[derive(Args)]
pub(crate) struct TlsServing {
    /// Serve over TLS, with a certificate of its own making unless one is named
    #[arg(long, help_heading = "TLS")]
    tls: bool,
    /// Certificate to serve with, and those that lead to its authority, in PEM form
    #[arg(long, value_name = "FILE", requires = "tls_key", help_heading = "TLS")]
    tls_cert: Option<PathBuf>,
    /// Its key, in PEM form
    #[arg(long, value_name = "FILE", requires = "tls_cert", help_heading = "TLS")]
    tls_key: Option<PathBuf>,
}

impl TlsServing {
    /// The server that is meant, at `address`; absent for plain HTTP.
    pub(crate) fn server(&self, address: IpAddr) -> Result<Option<Server>, Failure> {
        let identity = match (&self.tls_cert, &self.tls_key) {
            (Some(certificate), Some(key)) => Identity::read(certificate, key)?,
            _ if self.tls => Made::new(&names(address))?.identity()?,
            _ => return Ok(None),
        };
        Ok(Some(Server::new(identity)?))
    }

    /// The scheme of its URL.
    pub(crate) fn scheme(&self) -> &'static str {
        if self.tls || self.tls_cert.is_some() { "https" } else { "http" }
    }
}

/// What a server of our own may be called.
fn names(address: IpAddr) -> Vec<String> {
    let mut names = ["localhost", "127.0.0.1", "::1"].map(str::to_owned).to_vec();
    let own = address.to_string();
    if !address.is_unspecified() && !names.contains(&own) {
        names.push(own);
    }
    names
}
