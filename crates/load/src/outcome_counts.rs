//! Counts of outcomes by class (docs/method/validation.md#the-books-balance).

use std::collections::BTreeMap;

use assay_model::load::ErrorClass;

use crate::inspection::Depth;

/// Every class, in the order of their numbers.
const CLASSES: [ErrorClass; 40] = [
    ErrorClass::ConnectRefused,
    ErrorClass::ConnectTimeout,
    ErrorClass::ConnectOther,
    ErrorClass::AddressExhausted,
    ErrorClass::TlsWrongName,
    ErrorClass::TlsUnknownIssuer,
    ErrorClass::TlsExpired,
    ErrorClass::TlsBadCertificate,
    ErrorClass::TlsNoProtocol,
    ErrorClass::TlsRefused,
    ErrorClass::TlsNotSpoken,
    ErrorClass::TlsClosed,
    ErrorClass::TlsBroken,
    ErrorClass::UpgradeRefused,
    ErrorClass::SendReset,
    ErrorClass::SendTimeout,
    ErrorClass::ResetBeforeHead,
    ErrorClass::ResetInBody,
    ErrorClass::StreamReset,
    ErrorClass::EarlyEof,
    ErrorClass::HeadTimeout,
    ErrorClass::BodyTimeout,
    ErrorClass::Parse,
    ErrorClass::UnexpectedStatus,
    ErrorClass::BadGateway,
    ErrorClass::WrongBody,
    ErrorClass::WrongLength,
    ErrorClass::WrongHeader,
    ErrorClass::BadFrame,
    ErrorClass::WrongKind,
    ErrorClass::RpcStatus,
    ErrorClass::RpcNoStatus,
    ErrorClass::RpcNoMessage,
    ErrorClass::RpcBadFrame,
    ErrorClass::RpcCompressed,
    ErrorClass::BadCoding,
    ErrorClass::Inflates,
    ErrorClass::UnsentNoConnection,
    ErrorClass::UnsentEnd,
    ErrorClass::ClientInternal,
];

/// How many requests had which outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OutcomeCounts {
    /// Right answers.
    pub(crate) ok: u64,
    /// Bytes of right answers' bodies.
    pub(crate) body_bytes: u64,
    /// Right answers whose bodies were checked by length and first bytes only.
    pub(crate) by_length: u64,
    /// Right answers of whose bodies nothing was expected.
    pub(crate) unjudged: u64,
    errors: [u64; CLASSES.len()],
}

impl Default for OutcomeCounts {
    fn default() -> Self {
        Self { ok: 0, body_bytes: 0, by_length: 0, unjudged: 0, errors: [0; CLASSES.len()] }
    }
}

impl OutcomeCounts {
    #[inline]
    pub(crate) fn succeed(&mut self, body_bytes: u64, depth: Depth) {
        self.ok += 1;
        self.by_length += u64::from(depth == Depth::Length);
        self.unjudged += u64::from(depth == Depth::Unjudged);
        self.body_bytes += body_bytes;
    }

    pub(crate) fn fail(&mut self, class: ErrorClass, n: u64) {
        self.errors[class as usize] += n;
    }

    pub(crate) fn count(&self, class: ErrorClass) -> u64 {
        self.errors[class as usize]
    }

    pub(crate) fn failed(&self) -> u64 {
        self.errors.iter().sum()
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        self.ok += other.ok;
        self.body_bytes += other.body_bytes;
        self.by_length += other.by_length;
        self.unjudged += other.unjudged;
        for (mine, theirs) in self.errors.iter_mut().zip(other.errors) {
            *mine += theirs;
        }
    }

    /// The classes that count something.
    pub(crate) fn errors(&self) -> BTreeMap<ErrorClass, u64> {
        CLASSES.into_iter().zip(self.errors).filter(|&(_, n)| n > 0).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_class_has_its_own_counter() {
        let mut outcomes = OutcomeCounts::default();
        for (number, class) in CLASSES.into_iter().enumerate() {
            assert_eq!(class as usize, number);
            outcomes.fail(class, number as u64 + 1);
        }
        let mut twice = outcomes.clone();
        twice.merge(&outcomes);
        let classes = CLASSES.len() as u64;
        assert_eq!(twice.failed(), classes * (classes + 1));
        assert_eq!(twice.errors()[&ErrorClass::Parse], 2 * (ErrorClass::Parse as u64 + 1));
        assert_eq!(twice.errors().len(), CLASSES.len());
    }
}
