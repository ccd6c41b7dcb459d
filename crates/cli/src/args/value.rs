//! Values with units, as people type them.

use assay_model::units::Nanos;

/// A span of time: `500ms`, `10s`, `2m`, or a plain number of seconds.
pub(crate) fn span(text: &str) -> Result<Nanos, String> {
    text.parse()
}

/// A count with an optional `k` or `M`: `64`, `10k`, `1M`.
pub(crate) fn count(text: &str) -> Result<u64, String> {
    let (number, factor) = match text.as_bytes().last() {
        Some(b'k' | b'K') => (&text[..text.len() - 1], 1e3),
        Some(b'm' | b'M') => (&text[..text.len() - 1], 1e6),
        _ => (text, 1.0),
    };
    match number.parse::<f64>() {
        Ok(value) if value > 0.0 && value.is_finite() && (value * factor).fract() == 0.0 => {
            Ok((value * factor) as u64)
        }
        _ => Err(format!("`{text}` is no positive whole number; write for example 64, 10k or 1M")),
    }
}

/// A number of connections.
pub(crate) fn connections(text: &str) -> Result<u32, String> {
    u32::try_from(count(text)?).map_err(|_| format!("{text} connections are more than any machine holds"))
}

/// An offered load in requests per second: `1000`, `50k`, `50k/s`.
pub(crate) fn rate(text: &str) -> Result<f64, String> {
    count(text.strip_suffix("/s").unwrap_or(text)).map(|n| n as f64)
}

/// A header field: `Name: value`.
pub(crate) fn field(text: &str) -> Result<(String, String), String> {
    let (name, value) =
        text.split_once(':').ok_or_else(|| format!("`{text}` is no header field; write `Name: value`"))?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_and_rates() {
        assert_eq!(count("10k"), Ok(10_000));
        assert_eq!(count("1.5M"), Ok(1_500_000));
        assert!(count("0").is_err());
        assert!(count("1.5").is_err());
        assert_eq!(rate("50k/s"), Ok(50_000.0));
        assert!(connections("5000M").is_err());
    }

    #[test]
    fn fields() {
        assert_eq!(field("Accept: text/plain"), Ok(("Accept".into(), "text/plain".into())));
        assert!(field("Accept").is_err());
    }
}
