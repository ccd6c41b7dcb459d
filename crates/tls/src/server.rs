//! The server's side: who it is.

use std::sync::Arc;

use rustls::{Error, ServerConfig, ServerConnection};

use crate::{HTTP1, Identity, PROTOCOLS, TlsError, provider};

/// A server's settings; all threads share them, so that one resumes what another began.
#[derive(Clone, Debug)]
pub struct Server {
    config: Arc<ServerConfig>,
}

impl Server {
    /// A server that shows this certificate to everybody, asks for none, and lets sessions be resumed.
    ///
    /// # Errors
    /// Certificate and key do not belong together, or randomness cannot be had.
    pub fn new(identity: Identity) -> Result<Self, TlsError> {
        let builder = ServerConfig::builder_with_provider(provider::provider())
            .with_safe_default_protocol_versions()?;
        let config = builder.with_no_client_auth().with_single_cert(identity.chain, identity.key);
        let mut config = config.map_err(TlsError::Pair)?;
        config.alpn_protocols = vec![HTTP1.to_vec()];
        config.ticketer = provider::ticketer()?;
        Ok(Self { config: Arc::new(config) })
    }

    /// The terms with HTTP/2 too, which is preferred with those who offer both.
    #[must_use]
    pub fn with_http2(&self) -> Self {
        let mut config = ServerConfig::clone(&self.config);
        config.alpn_protocols = PROTOCOLS.map(<[u8]>::to_vec).into();
        Self { config: Arc::new(config) }
    }

    /// The terms without tickets, so that nothing is sent that nobody asked for.
    #[must_use]
    pub fn without_tickets(&self) -> Self {
        let mut config = ServerConfig::clone(&self.config);
        config.send_tls13_tickets = 0;
        Self { config: Arc::new(config) }
    }

    pub(crate) fn connection(&self) -> Result<ServerConnection, Error> {
        ServerConnection::new(Arc::clone(&self.config))
    }
}
