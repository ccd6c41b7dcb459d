//! TLS of the Rust contenders: rustls with the certificate in $CERT and the key in $KEY.

use std::env;
use std::error::Error;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// What secures the connections, where a certificate is given.
pub fn config() -> Result<Option<ServerConfig>, Box<dyn Error>> {
    let (Ok(certificate), Ok(key)) = (env::var("CERT"), env::var("KEY")) else { return Ok(None) };
    if certificate.is_empty() {
        return Ok(None);
    }
    let chain = CertificateDer::pem_file_iter(certificate)?.collect::<Result<Vec<_>, _>>()?;
    let key = PrivateKeyDer::from_pem_file(key)?;
    let builder = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let builder = builder.with_safe_default_protocol_versions()?.with_no_client_auth();
    Ok(Some(builder.with_single_cert(chain, key)?))
}
