//! TLS of the Rust contenders: rustls with the certificate in $CERT and the key in $KEY.

use std::env;
use std::error::Error;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// What secures the connections, where a certificate is given; over it HTTP/2 is agreed on where that is to be spoken.
pub fn config() -> Result<Option<ServerConfig>, Box<dyn Error>> {
    let (Ok(certificate), Ok(key)) = (env::var("CERT"), env::var("KEY")) else { return Ok(None) };
    if certificate.is_empty() {
        return Ok(None);
    }
    let chain = CertificateDer::pem_file_iter(certificate)?.collect::<Result<Vec<_>, _>>()?;
    let key = PrivateKeyDer::from_pem_file(key)?;
    let builder = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let builder = builder.with_safe_default_protocol_versions()?.with_no_client_auth();
    let mut config = builder.with_single_cert(chain, key)?;
    if env::var("PROTOCOL").is_ok_and(|protocol| protocol == "h2") {
        config.alpn_protocols = [&b"h2"[..], b"http/1.1"].map(<[u8]>::to_vec).to_vec();
    }
    Ok(Some(config))
}
