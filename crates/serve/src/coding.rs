//! Content codings and which of them a client takes: the negotiation of RFC 9110 §12.5.3.

/// How a file's bytes are coded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Coding {
    /// RFC 7932.
    Brotli,
    /// RFC 8878.
    Zstandard,
    /// RFC 1952.
    Gzip,
    /// Not at all.
    Identity,
}

/// In the order in which we choose among those that a client likes alike: the shortest first.
const ALL: [Coding; 4] = [Coding::Brotli, Coding::Zstandard, Coding::Gzip, Coding::Identity];

/// A weight in thousandths; absent for what the client did not speak of.
type Weight = Option<u16>;

impl Coding {
    /// Name of the coding in Content-Encoding; empty for none.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Brotli => "br",
            Self::Zstandard => "zstd",
            Self::Gzip => "gzip",
            Self::Identity => "",
        }
    }

    /// What the name of a file coded so has behind the file's own name.
    pub(crate) fn extension(self) -> &'static str {
        match self {
            Self::Brotli => ".br",
            Self::Zstandard => ".zst",
            Self::Gzip => ".gz",
            Self::Identity => "",
        }
    }

    fn is_named(self, name: &[u8]) -> bool {
        let names: &[&str] = match self {
            Self::Brotli => &["br"],
            Self::Zstandard => &["zstd"],
            Self::Gzip => &["gzip", "x-gzip"],
            Self::Identity => &["identity"],
        };
        names.iter().any(|known| name.eq_ignore_ascii_case(known.as_bytes()))
    }
}

/// The codings that a client takes, the best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Accepted([Option<Coding>; ALL.len()]);

impl Accepted {
    /// What the values of Accept-Encoding allow. Without that field any coding would be right; we send none then, as
    /// the client did not say that it can undo one. Elements that are malformed are not looked at.
    pub(crate) fn of<'i>(values: impl Iterator<Item = &'i [u8]>) -> Self {
        let mut weights = [Weight::None; ALL.len()];
        let mut others = Weight::None;
        for element in values.flat_map(|value| value.split(|&byte| byte == b',')) {
            let Some((name, weight)) = weighted(element) else { continue };
            if name == b"*" {
                others = Some(weight);
            } else if let Some(at) = ALL.iter().position(|coding| coding.is_named(name)) {
                weights[at] = Some(weight);
            }
        }
        Self::ranked(weights, others)
    }

    /// Accepted codings, the best first.
    pub(crate) fn best_first(self) -> impl Iterator<Item = Coding> {
        self.0.into_iter().flatten()
    }

    fn ranked(weights: [Weight; ALL.len()], others: Weight) -> Self {
        let mut taken: Vec<(u16, Coding)> = Vec::with_capacity(ALL.len());
        for (coding, weight) in ALL.into_iter().zip(weights) {
            match weight.or(others) {
                Some(0) => {}
                Some(weight) => taken.push((weight, coding)),
                // Always acceptable unless it is refused, yet nothing that was asked for.
                None if coding == Coding::Identity => taken.push((0, coding)),
                None => {}
            }
        }
        // Stable: among equals our own order stays.
        taken.sort_by_key(|&(weight, _)| std::cmp::Reverse(weight));
        let mut codings = [None; ALL.len()];
        for (place, (_, coding)) in codings.iter_mut().zip(taken) {
            *place = Some(coding);
        }
        Self(codings)
    }
}

/// `coding [";" "q=" qvalue]`; `None` when it is anything else.
fn weighted(element: &[u8]) -> Option<(&[u8], u16)> {
    let mut parts = element.split(|&byte| byte == b';').map(<[u8]>::trim_ascii);
    let name = parts.next().filter(|name| !name.is_empty())?;
    let weight = match parts.next() {
        None => 1000,
        Some([b'q' | b'Q', b'=', value @ ..]) => thousandths(value)?,
        Some(_) => return None,
    };
    parts.next().is_none().then_some((name, weight))
}

/// A qvalue: 0 to 1 with up to three digits behind the point (RFC 9110 §12.4.2).
fn thousandths(text: &[u8]) -> Option<u16> {
    let (whole, rest) = text.split_first()?;
    let digits = match rest {
        [] => &[][..],
        [b'.', digits @ ..] if digits.len() <= 3 && digits.iter().all(u8::is_ascii_digit) => digits,
        _ => return None,
    };
    let fraction =
        digits.iter().zip([100, 10, 1]).map(|(digit, place)| u16::from(digit - b'0') * place).sum();
    match (whole, fraction) {
        (b'0', fraction) => Some(fraction),
        (b'1', 0) => Some(1000),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Coding::{Brotli, Gzip, Identity, Zstandard};

    fn accepted(values: &[&str]) -> Vec<Coding> {
        Accepted::of(values.iter().map(|value| value.as_bytes())).best_first().collect()
    }

    #[test]
    fn clients_get_what_they_like_best_and_else_what_is_shortest() {
        assert_eq!(accepted(&[]), [Identity]);
        assert_eq!(accepted(&[""]), [Identity]);
        assert_eq!(accepted(&["gzip, deflate, br, zstd"]), [Brotli, Zstandard, Gzip, Identity]);
        assert_eq!(accepted(&["br;q=0.5, gzip;q=0.501"]), [Gzip, Brotli, Identity]);
        assert_eq!(accepted(&["gzip ; Q=1.000", "BR"]), [Brotli, Gzip, Identity], "two lines are one list");
        assert_eq!(accepted(&["x-gzip"]), [Gzip, Identity]);
        assert_eq!(accepted(&["br;q=0.5, identity"]), [Identity, Brotli]);
        assert_eq!(accepted(&["*"]), [Brotli, Zstandard, Gzip, Identity]);
        assert_eq!(accepted(&["*;q=0.1, gzip"]), [Gzip, Brotli, Zstandard, Identity]);
        assert_eq!(accepted(&["br;q=0, *"]), [Zstandard, Gzip, Identity]);
    }

    #[test]
    fn what_is_refused_is_not_sent() {
        assert_eq!(accepted(&["gzip;q=0"]), [Identity]);
        assert_eq!(accepted(&["gzip, identity;q=0"]), [Gzip]);
        assert_eq!(accepted(&["identity;q=0.0"]), []);
        assert_eq!(accepted(&["gzip, *;q=0"]), [Gzip], "the star refuses the identity too");
        assert_eq!(accepted(&["*;q=0, identity"]), [Identity]);
    }

    #[test]
    fn malformed_elements_neither_allow_nor_refuse() {
        for malformed in [
            "gzip;q=2",
            "gzip;q=1.001",
            "gzip;q=0.0001",
            "gzip;q=",
            "gzip;x=y",
            "gzip;q=1;q=1",
            ";q=1",
            "identity;q=-0",
        ] {
            assert_eq!(accepted(&[malformed]), [Identity], "{malformed}");
        }
    }
}
