//! Certificates of our own making, for where nobody brings any: an authority that lives as long as a run.

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::{Identity, TlsError};

/// A certificate for a server, its key, and the authority that issued it, all in PEM form. The keys are ECDSA on P-256.
pub struct Made {
    /// The authority's certificate, which a client is to trust. Its key is forgotten.
    pub authority: String,
    /// The server's certificate.
    pub certificate: String,
    /// The server's key.
    pub key: String,
}

impl Made {
    /// A certificate for these names and addresses.
    ///
    /// # Errors
    /// One of them is neither, or randomness cannot be had.
    pub fn new(names: &[String]) -> Result<Self, TlsError> {
        let mut authority = CertificateParams::new(Vec::new())?;
        authority.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        authority.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        let authority_key = KeyPair::generate()?;
        // Two authorities of one name would be taken for each other, and a certificate of one for a forged one of the other.
        let own = authority.key_identifier(&authority_key).iter().take(8).fold(String::new(), hex);
        authority
            .distinguished_name
            .push(DnType::CommonName, format!("assay, an authority for one run ({own})"));
        let authority_certificate = authority.self_signed(&authority_key)?;
        let issuer = Issuer::new(authority, authority_key);

        let mut server = CertificateParams::new(names)?;
        server.use_authority_key_identifier_extension = true;
        server.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        server.extended_key_usages =
            vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        server.distinguished_name.push(DnType::CommonName, "assay, a server");
        let key = KeyPair::generate()?;
        let certificate = server.signed_by(&key, &issuer)?;
        Ok(Self {
            authority: authority_certificate.pem(),
            certificate: certificate.pem(),
            key: key.serialize_pem(),
        })
    }

    /// The server's certificate and key, to be used in this process.
    ///
    /// # Errors
    /// Never, unless what was made was no certificate.
    pub fn identity(&self) -> Result<Identity, TlsError> {
        let unusable =
            |_| TlsError::Setup(rustls::Error::General("what was made is no certificate".to_owned()));
        let certificate = CertificateDer::from_pem_slice(self.certificate.as_bytes()).map_err(unusable)?;
        let key = PrivateKeyDer::from_pem_slice(self.key.as_bytes()).map_err(unusable)?;
        Ok(Identity { chain: vec![certificate], key })
    }
}

fn hex(text: String, byte: &u8) -> String {
    format!("{text}{byte:02x}")
}
