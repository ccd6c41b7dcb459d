//! From rustls's errors to the kinds of fault that a record knows.

use assay_model::tls::TlsFault;
use rustls::{AlertDescription, CertificateError, Error, InvalidMessage, OtherError};

/// What is wrong; `is_first` when nothing that the peer sent was understood before.
pub(crate) fn of(error: &Error, is_first: bool) -> TlsFault {
    match error {
        Error::InvalidCertificate(error) => certificate(error),
        Error::AlertReceived(alert) => alerted(*alert),
        Error::NoApplicationProtocol => TlsFault::NoProtocol,
        Error::PeerIncompatible(_) => TlsFault::NoCommonParameters,
        Error::InvalidMessage(
            InvalidMessage::InvalidContentType
            | InvalidMessage::UnknownProtocolVersion
            | InvalidMessage::MessageTooLarge
            | InvalidMessage::InvalidEmptyPayload,
        )
        | Error::InappropriateMessage { .. }
            if is_first =>
        {
            TlsFault::NotTls
        }
        _ => TlsFault::Broken,
    }
}

fn certificate(error: &CertificateError) -> TlsFault {
    match error {
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            TlsFault::WrongName
        }
        CertificateError::UnknownIssuer => TlsFault::UnknownIssuer,
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => TlsFault::Expired,
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => TlsFault::NotYetValid,
        CertificateError::InvalidPurpose | CertificateError::InvalidPurposeContext { .. } => {
            TlsFault::OtherPurpose
        }
        CertificateError::Other(error) => verified(error),
        _ => TlsFault::BadCertificate,
    }
}

/// What the verifier found that rustls has no name for; it tells the name that it has itself.
fn verified(error: &OtherError) -> TlsFault {
    match error.to_string().as_str() {
        "CaUsedAsEndEntity" => TlsFault::AuthorityCertificate,
        "UnsupportedCertVersion" => TlsFault::OldCertificate,
        _ => TlsFault::BadCertificate,
    }
}

fn alerted(alert: AlertDescription) -> TlsFault {
    match alert {
        AlertDescription::NoApplicationProtocol => TlsFault::NoProtocol,
        AlertDescription::CertificateRequired => TlsFault::CertificateWanted,
        AlertDescription::ProtocolVersion | AlertDescription::InsufficientSecurity => {
            TlsFault::NoCommonParameters
        }
        other => TlsFault::Refused(other.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_told_apart() {
        let invalid = |error| of(&Error::InvalidCertificate(error), true);
        assert_eq!(invalid(CertificateError::NotValidForName), TlsFault::WrongName);
        assert_eq!(invalid(CertificateError::UnknownIssuer), TlsFault::UnknownIssuer);
        assert_eq!(invalid(CertificateError::Expired), TlsFault::Expired);
        assert_eq!(invalid(CertificateError::NotValidYet), TlsFault::NotYetValid);
        assert_eq!(invalid(CertificateError::InvalidPurpose), TlsFault::OtherPurpose);
        assert_eq!(invalid(CertificateError::BadSignature), TlsFault::BadCertificate);
        let alert = |description| of(&Error::AlertReceived(description), false);
        assert_eq!(alert(AlertDescription::NoApplicationProtocol), TlsFault::NoProtocol);
        assert_eq!(alert(AlertDescription::CertificateRequired), TlsFault::CertificateWanted);
        assert_eq!(alert(AlertDescription::HandshakeFailure), TlsFault::Refused(40));
    }

    #[test]
    fn what_is_no_tls_is_so_only_at_the_beginning() {
        let error = Error::InvalidMessage(InvalidMessage::InvalidContentType);
        assert_eq!((of(&error, true), of(&error, false)), (TlsFault::NotTls, TlsFault::Broken));
    }
}
