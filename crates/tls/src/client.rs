//! The client's side: whom it trusts, what it shows, which sessions it may resume.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{Resumption, VerifierBuilderError, WantsClientCert, WebPkiServerVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, ClientConnection, ConfigBuilder, DigitallySignedStruct, Error,
    RootCertStore, SignatureScheme, StreamOwned,
};

use crate::identity::{Identity, certificates, certificates_in};
use crate::sessions::Sessions;
use crate::{HTTP1, HTTP2, TlsError, fault, parameters, provider};

/// What a client asks of a server, and what it brings.
#[derive(Debug)]
pub struct ClientTerms {
    /// Name or address that the server's certificate must be for; a name is sent beforehand (SNI, RFC 6066 §3).
    pub server_name: String,
    /// The authorities whose certificates are good.
    pub trust: Trust,
    /// What is shown to a server that asks for a certificate of ours.
    pub identity: Option<Identity>,
    /// Whether sessions may be resumed; else every handshake is a full one.
    pub resumption: bool,
    /// The only cipher suites to offer, by their names at IANA; empty for all.
    pub ciphers: Vec<String>,
}

/// The authorities whose certificates are good.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trust {
    /// The authorities that this machine trusts.
    Machine,
    /// The authorities in a file.
    Authorities(PathBuf),
    /// The authorities in this text, in PEM form.
    Pem(String),
    /// Anybody's: the connection is encrypted, and nobody knows with whom.
    Anybody,
}

/// A client's settings, made once; every thread takes [its own](Self::for_thread).
#[derive(Clone, Debug)]
pub struct Client {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
    insecure: bool,
    resumption: bool,
}

/// A connection for those who read and write in turn, over a socket or what wraps one.
pub type Stream<T = TcpStream> = StreamOwned<ClientConnection, T>;

impl Client {
    /// Makes the settings.
    ///
    /// # Errors
    /// A file is not what it should be, a name is none, or nobody would be trusted.
    pub fn new(terms: ClientTerms) -> Result<Self, TlsError> {
        let ClientTerms { server_name, trust, identity, resumption, ciphers } = terms;
        let name =
            ServerName::try_from(server_name.as_str()).map_err(|_| TlsError::Name(server_name.clone()))?;
        let insecure = trust == Trust::Anybody;
        let builder = trusting(&trust, offering(&ciphers)?)?;
        let mut config = match identity {
            Some(Identity { chain, key }) => {
                builder.with_client_auth_cert(chain, key).map_err(TlsError::Pair)?
            }
            None => builder.with_no_client_auth(),
        };
        config.alpn_protocols = vec![HTTP1.to_vec()];
        let client = Self { config: Arc::new(config), name: name.to_owned(), insecure, resumption };
        Ok(client.for_thread())
    }

    /// The terms for HTTP/2, which alone is offered.
    #[must_use]
    pub fn with_http2(&self) -> Self {
        let mut config = ClientConfig::clone(&self.config);
        config.alpn_protocols = vec![HTTP2.to_vec()];
        Self { config: Arc::new(config), ..self.clone() }
    }

    /// The terms with sessions of their own, so that threads share nothing.
    #[must_use]
    pub fn for_thread(&self) -> Self {
        let mut config = ClientConfig::clone(&self.config);
        config.resumption = match self.resumption {
            true => Resumption::store(Arc::new(Sessions::default())),
            false => Resumption::disabled(),
        };
        Self { config: Arc::new(config), ..self.clone() }
    }

    /// Secures a connection for those who read and write in turn; the handshake comes with the first of either.
    ///
    /// # Errors
    /// Randomness cannot be had.
    pub fn stream<T: Read + Write>(&self, transport: T) -> std::io::Result<Stream<T>> {
        Ok(StreamOwned::new(self.connection().map_err(std::io::Error::other)?, transport))
    }

    /// A connection with the handshake complete, each wait of which lasts as long as the transport's own limits allow.
    ///
    /// # Errors
    /// The connection cannot be secured, in words, or it takes too long.
    pub fn secured_stream<T: Read + Write>(&self, transport: T) -> std::io::Result<Stream<T>> {
        let mut stream = self.stream(transport)?;
        let mut is_first = true;
        while stream.conn.is_handshaking() {
            match stream.conn.complete_io(&mut stream.sock) {
                Ok(_) => is_first = false,
                Err(error) => return Err(in_words(error, is_first)),
            }
        }
        Ok(stream)
    }

    /// Name or address that the server's certificate must be for.
    pub fn server_name(&self) -> String {
        self.name.to_str().into_owned()
    }

    /// Whether any certificate is taken.
    pub fn is_insecure(&self) -> bool {
        self.insecure
    }

    /// Whether sessions may be resumed.
    pub fn resumes(&self) -> bool {
        self.resumption
    }

    pub(crate) fn connection(&self) -> Result<ClientConnection, Error> {
        ClientConnection::new(Arc::clone(&self.config), self.name.clone())
    }
}

/// The fault that an error of the protocol is; others as they are.
fn in_words(error: std::io::Error, is_first: bool) -> std::io::Error {
    let fault =
        error.get_ref().and_then(|inner| inner.downcast_ref::<Error>()).map(|of| fault::of(of, is_first));
    fault.map_or(error, std::io::Error::other)
}

/// The cryptography, with these cipher suites alone or, where none is named, with all.
fn offering(ciphers: &[String]) -> Result<Arc<CryptoProvider>, TlsError> {
    let provider = provider::provider();
    if ciphers.is_empty() {
        return Ok(provider);
    }
    let known = || provider.cipher_suites.iter().map(|suite| parameters::cipher(suite.suite()));
    if let Some(unknown) = ciphers.iter().find(|name| known().all(|known| known != *name)) {
        let known = known().collect::<Vec<_>>().join(", ");
        return Err(TlsError::Cipher { name: unknown.clone(), known });
    }
    let mut some = CryptoProvider::clone(&provider);
    some.cipher_suites.retain(|suite| ciphers.iter().any(|name| name == parameters::cipher(suite.suite())));
    Ok(Arc::new(some))
}

fn roots(certificates: Vec<CertificateDer<'static>>, from: &Path) -> Result<RootCertStore, TlsError> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates {
        let unusable = |source| TlsError::Certificate { path: from.to_owned(), source };
        roots.add(certificate).map_err(unusable)?;
    }
    Ok(roots)
}

fn trusting(
    trust: &Trust,
    provider: Arc<CryptoProvider>,
) -> Result<ConfigBuilder<ClientConfig, WantsClientCert>, TlsError> {
    let builder =
        ClientConfig::builder_with_provider(Arc::clone(&provider)).with_safe_default_protocol_versions()?;
    let roots = match trust {
        Trust::Machine => Some(machine_roots()?),
        Trust::Authorities(path) => Some(roots(certificates(path)?, path)?),
        Trust::Pem(text) => {
            let path = Path::new("the authorities that were sent");
            Some(roots(certificates_in(text.as_bytes(), path)?, path)?)
        }
        Trust::Anybody => None,
    };
    let verifier = Verifier::new(roots, provider)?;
    Ok(builder.dangerous().with_custom_certificate_verifier(Arc::new(verifier)))
}

fn machine_roots() -> Result<RootCertStore, TlsError> {
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    let (usable, _) = roots.add_parsable_certificates(found.certs);
    if usable == 0 {
        let why = found.errors.first().map_or_else(|| "none was found".to_owned(), ToString::to_string);
        return Err(TlsError::NobodyTrusted(why));
    }
    Ok(roots)
}

/// Takes the certificates of those who are trusted, or any where nobody is named; its owner must have its key.
#[derive(Debug)]
struct Verifier {
    trusted: Option<Arc<WebPkiServerVerifier>>,
    provider: Arc<CryptoProvider>,
}

impl Verifier {
    fn new(roots: Option<RootCertStore>, provider: Arc<CryptoProvider>) -> Result<Self, TlsError> {
        let trusting = |roots| {
            WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider)).build()
        };
        let unusable = |why: VerifierBuilderError| Error::General(why.to_string());
        Ok(Self { trusted: roots.map(trusting).transpose().map_err(unusable)?, provider })
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(trusted) = &self.trusted else { return Ok(ServerCertVerified::assertion()) };
        trusted.verify_server_cert(certificate, intermediates, name, ocsp, now).map_err(|error| match error {
            // Somebody is trusted who has the issuer's name and not its key: another, as for one that signs itself.
            Error::InvalidCertificate(CertificateError::BadSignature) => {
                Error::InvalidCertificate(CertificateError::UnknownIssuer)
            }
            other => other,
        })
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(
            message,
            certificate,
            signature,
            &self.provider.signature_verification_algorithms,
        )
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(
            message,
            certificate,
            signature,
            &self.provider.signature_verification_algorithms,
        )
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
