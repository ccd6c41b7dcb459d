//! Values with units, as people type them.

use assay_http::render::check_request;
use assay_http::target::is_sendable;
use assay_model::experiment::MAX_GENERATOR_PROCESSES;
use assay_model::network::{Spec, SpecError};
use assay_model::offered::{MAX_PER_SECOND, Offered};
use assay_model::units::Nanos;

/// A span of time: `500ms`, `10s`, `2m`.
pub(crate) fn span(text: &str) -> Result<Nanos, String> {
    text.parse()
}

/// A path to ask for: `/users`, `/users/${id}`, or `*` of OPTIONS (RFC 9112 §3.2.4).
pub(crate) fn path(text: &str) -> Result<String, String> {
    match text.starts_with('/') || text == "*" {
        true if is_sendable(text) => Ok(text.to_owned()),
        true => Err(format!(
            "`{text}` cannot be asked for; percent-encode what a path cannot have, such as spaces and quotes"
        )),
        false => Err(format!("`{text}` is no path; begin it with /")),
    }
}

/// What joins client and server, one after the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Links(pub(crate) Vec<Spec>);

/// Links divided by commas, each with options behind commas: `loopback,veth:1gbit,loss=0.1%`.
pub(crate) fn links(text: &str) -> Result<Links, SpecError> {
    Spec::list(text).map(Links)
}

/// A count with an optional `k` or `M`: `64`, `10k`, `1M`.
pub(crate) fn count(text: &str) -> Result<u64, String> {
    match scaled(text) {
        Some(value) if value > 0.0 && value.fract() == 0.0 => Ok(value as u64),
        _ => Err(format!("`{text}` is no positive whole number; write for example 64, 10k or 1M")),
    }
}

/// A number that may end in `k`, `M` or `G`.
fn scaled(text: &str) -> Option<f64> {
    let (number, factor) = match text.as_bytes().last()? {
        b'k' | b'K' => (&text[..text.len() - 1], 1e3),
        b'm' | b'M' => (&text[..text.len() - 1], 1e6),
        b'g' | b'G' => (&text[..text.len() - 1], 1e9),
        _ => (text, 1.0),
    };
    number.parse().ok().map(|value: f64| value * factor).filter(|value| value.is_finite())
}

/// A number of connections, or of requests on one.
pub(crate) fn connections(text: &str) -> Result<u32, String> {
    u32::try_from(count(text)?).map_err(|_| format!("{text} is more than any machine holds"))
}

/// A number of generators.
pub(crate) fn generators(text: &str) -> Result<u32, String> {
    let number = count(text)?;
    let fits = u32::try_from(number).ok().filter(|number| *number <= MAX_GENERATOR_PROCESSES);
    fits.ok_or_else(|| format!("{number} generators; give 1 to {MAX_GENERATOR_PROCESSES}"))
}

/// A number of connections, or none.
pub(crate) fn idle(text: &str) -> Result<u32, String> {
    if text == "0" { Ok(0) } else { connections(text) }
}

/// An offered load in requests per second: `1000`, `50k`, `50k/s`, `0.5`.
pub(crate) fn rate(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix("/s").unwrap_or(text);
    match scaled(number).filter(|rate| *rate > 0.0) {
        Some(rate) if rate <= f64::from(MAX_PER_SECOND) => Ok(rate),
        Some(_) => Err(format!(
            "no generator can offer `{text}`; write at most {}M requests per second",
            MAX_PER_SECOND / 1_000_000
        )),
        None => {
            Err(format!("`{text}` is no rate above 0; write requests per second, such as 500, 50k or 0.5"))
        }
    }
}

/// A load that can be offered: `max`, `5k/s`, `50%`, `common`.
pub(crate) fn offered(text: &str) -> Result<Offered, String> {
    let offered: Offered = text.parse()?;
    offered.fault().map_or(Ok(offered), Err)
}

/// An amount of memory: `512MiB`, `2GiB`, `800M`. A number alone could mean any of these.
pub(crate) fn bytes(text: &str) -> Result<u64, String> {
    if text.parse::<f64>().is_ok_and(|number| number >= 1.0 && number.is_finite()) {
        return Err(format!("{text} what? Write {text}MiB or {text}GiB"));
    }
    let binary = |(unit, power): (&str, i32)| {
        Some(text.strip_suffix(unit)?.parse::<f64>().ok()? * 1024_f64.powi(power))
    };
    let value = [("KiB", 1), ("MiB", 2), ("GiB", 3)].into_iter().find_map(binary).or_else(|| scaled(text));
    match value {
        // `as` saturates.
        Some(value) if value >= 1.0 => Ok(value as u64),
        _ => Err(format!("`{text}` is no amount of memory; write for example 512MiB, 2GiB or 800M")),
    }
}

/// A share: `2%` or `0.02`.
pub(crate) fn share(text: &str) -> Result<f64, String> {
    let (number, unit) = text.strip_suffix('%').map_or((text, 1.0), |number| (number, 0.01));
    match number.trim().parse::<f64>() {
        Ok(value) if value > 0.0 && value * unit < 1.0 => Ok(value * unit),
        _ => Err(format!("`{text}` is no share between 0 and 1; write for example 2% or 0.02")),
    }
}

/// A method that a request can have.
pub(crate) fn method(text: &str) -> Result<String, String> {
    let written = check_request(text, &[]).map(|()| text.to_owned());
    written.map_err(|error| format!("{error}; write for example GET or POST"))
}

/// A header field that a request can have: `Name: value`.
pub(crate) fn field(text: &str) -> Result<(String, String), String> {
    let (name, value) = text
        .split_once(':')
        .map(|(name, value)| (name.trim(), value.trim()))
        .filter(|(name, _)| !name.is_empty())
        .ok_or_else(|| format!("`{text}` is no header field; write `Name: value`"))?;
    check_request("GET", &[(name, value)]).map_err(|error| error.to_string())?;
    Ok((name.to_owned(), value.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_one_that_can_be_asked_for() {
        assert!(["/", "*", "/a%20b?c=[d]", "/users/${id=random:1..9}"].iter().all(|text| path(text).is_ok()));
        assert!(path("users").unwrap_err().contains("begin it with /"));
        assert!(
            ["/a b", "/a?b=\"c\"", "/ü"]
                .iter()
                .all(|text| path(text).unwrap_err().contains("percent-encode"))
        );
    }

    #[test]
    fn counts_and_rates() {
        assert_eq!(count("10k"), Ok(10_000));
        assert_eq!(count("1.5M"), Ok(1_500_000));
        assert!(count("0").is_err());
        assert!(count("1.5").is_err());
        assert_eq!(rate("50k/s"), Ok(50_000.0));
        assert_eq!((rate("0.5"), rate("2.5k")), (Ok(0.5), Ok(2500.0)));
        assert!(["0", "-1", "inf", "nan", "k", "", "1e"].iter().all(|bad| rate(bad).is_err()));
        for text in ["4000000000", "1e9/s", "101M"] {
            let told = (rate(text).unwrap_err(), offered(text).map(|load| load.to_string()).unwrap_err());
            assert!(told.0.contains("at most 100M"), "{told:?}");
        }
        assert_eq!((rate("100M"), offered("100M/s")), (Ok(1e8), Ok(Offered::Rate(MAX_PER_SECOND))));
        assert!(connections("5000M").is_err());
        assert_eq!(
            (generators("3"), generators("0").is_err(), generators("2k").is_err()),
            (Ok(3), true, true)
        );
    }

    #[test]
    fn amounts_of_memory() {
        assert_eq!((bytes("512MiB"), bytes("2GiB"), bytes("0.5KiB")), (Ok(512 << 20), Ok(2 << 30), Ok(512)));
        assert_eq!((bytes("800M"), bytes("2k")), (Ok(800_000_000), Ok(2000)));
        assert_eq!(bytes("512"), Err("512 what? Write 512MiB or 512GiB".to_owned()));
        assert!(["0", "-1MiB", "MiB", "", "much", "nan"].iter().all(|bad| bytes(bad).is_err()));
    }

    #[test]
    fn shares() {
        assert_eq!(share("2%"), Ok(0.02));
        assert_eq!(share("0.5"), Ok(0.5));
        assert!(["0", "100%", "2", "-1%", "much"].iter().all(|text| share(text).is_err()));
    }

    #[test]
    fn fields() {
        assert_eq!(field("Accept: text/plain"), Ok(("Accept".into(), "text/plain".into())));
        assert!(field("Accept").is_err());
        for (bad, words) in [
            ("Host: x", "assay writes the field Host itself"),
            ("content-length: 1", "leave it out"),
            ("Transfer-Encoding: chunked", "leave it out"),
            (": b", "write `Name: value`"),
            ("a b: c", "is not a token"),
            ("a: b\r\nc: d", "control character"),
        ] {
            let told = field(bad).unwrap_err();
            assert!(told.contains(words), "{told}");
        }
    }

    #[test]
    fn methods() {
        assert_eq!(method("PURGE"), Ok("PURGE".to_owned()));
        assert!(["", "G T", "CONNECT"].iter().all(|text| method(text).unwrap_err().contains("for example")));
    }
}
