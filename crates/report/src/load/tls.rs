//! TLS in two lines of the summary: what was agreed on, and what it took.

use assay_model::load::LoadReport;
use assay_model::tls::{Handshakes, TlsReport};
use assay_stats::{Histogram, StatsError};

use crate::format;

/// What the connections agreed on, and whether anybody knows with whom.
pub(super) fn agreed(tls: &TlsReport) -> String {
    let agreed =
        tls.agreed.as_ref().map_or_else(|| "no connection was secured".to_owned(), ToString::to_string);
    let otherwise = match tls.otherwise {
        0 => String::new(),
        n => format!(" · {} connections agreed on something else", format::count(n)),
    };
    let whom = match tls.insecure {
        true => "any certificate was taken (--insecure)".to_owned(),
        false => format!("certificate valid for {}", tls.server_name),
    };
    format!("{agreed} · {whom}{otherwise}")
}

/// How many handshakes there were, and how long connections took until they could be used.
pub(super) fn handshakes(report: &LoadReport, tls: &TlsReport) -> Result<String, StatsError> {
    let connect = median(Some(&report.latency.connect_hdr))?;
    let first_byte = median(Some(&report.latency.ttfb_hdr))?;
    let mut parts = Vec::new();
    for (name, kind) in [("full", &tls.full), ("resumed", &tls.resumed)] {
        if kind.count > 0 {
            parts.push(one_kind(name, kind, report)?);
        }
    }
    if tls.failed > 0 {
        parts.push(format!("{} failed", format::count(tls.failed)));
    }
    if parts.is_empty() {
        parts.push("none".to_owned());
    }
    let times = [("connection", connect), ("first byte", first_byte)];
    let times = times.into_iter().filter_map(|(name, time)| Some(format!("{name} p50 {}", time?)));
    parts.extend(times);
    Ok(parts.join(" · "))
}

/// Handshakes of one kind: how many, how many a second where they went on under load, how long one took.
fn one_kind(name: &str, kind: &Handshakes, report: &LoadReport) -> Result<String, StatsError> {
    let count = format::count(kind.count);
    let rate = match kind.in_window {
        0 => String::new(),
        _ => format!(", {}/s", format::rate(kind.per_second(report.window_ns))),
    };
    let time = median(kind.time_hdr.as_ref())?.map_or_else(String::new, |time| format!(", p50 {time}"));
    Ok(format!("{count} {name}{rate}{time}"))
}

fn median(histogram: Option<&String>) -> Result<Option<String>, StatsError> {
    let Some(text) = histogram.filter(|text| !text.is_empty()) else { return Ok(None) };
    let times = Histogram::from_hdr_base64(text)?;
    Ok(times.quantile(0.5).map(|time| format::duration(time as f64)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::tls::Agreed;
    use assay_model::units::Nanos;

    fn report() -> (LoadReport, TlsReport) {
        let mut times = Histogram::new();
        times.record_n(1_000_000, 10);
        let time_hdr = times.to_hdr_base64().ok();
        let agreed = Agreed {
            version: "TLS 1.3".into(),
            cipher: "TLS_AES_256_GCM_SHA384".into(),
            group: Some("X25519".into()),
            key: "ECDSA P-256".into(),
            protocol: Some("http/1.1".into()),
        };
        let full = Handshakes { count: 10, in_window: 8, time_hdr };
        let tls =
            TlsReport { server_name: "localhost".into(), agreed: Some(agreed), full, ..TlsReport::default() };
        (LoadReport { window_ns: Nanos::from_millis(2000), ..LoadReport::default() }, tls)
    }

    #[test]
    fn what_was_agreed_says_whether_the_certificate_was_looked_at() {
        let (_, mut tls) = report();
        let text = agreed(&tls);
        assert_eq!(
            text,
            "TLS 1.3, TLS_AES_256_GCM_SHA384, ECDSA P-256, X25519 · certificate valid for localhost"
        );
        tls.insecure = true;
        tls.otherwise = 3;
        let text = agreed(&tls);
        assert!(
            text.contains("--insecure") && text.ends_with("3 connections agreed on something else"),
            "{text}"
        );
    }

    #[test]
    fn handshakes_have_a_rate_and_a_time() {
        let (load, tls) = report();
        assert_eq!(handshakes(&load, &tls).unwrap(), "10 full, 4.00/s, p50 1.00 ms");
        let none = TlsReport::default();
        assert_eq!(handshakes(&load, &none).unwrap(), "none");
    }
}
