//! The page: one HTML file that works from a disk, without any network.

use std::io::Write as _;

use assay_model::record::Record;
use assay_model::verdict::Verdict;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use flate2::Compression;
use flate2::write::ZlibEncoder;

use crate::{ReportError, page};

/// Built from `report-ui/` by `npm run build`.
const TEMPLATE: &str = include_str!("../assets/report.html");
const TITLE: &str = "<title>assay report</title>";
const DATA: &str = r#"<script id="assay-data" type="application/json"></script>"#;

/// The whole report as one HTML file.
///
/// The data travel as base64 of zlib-compressed JSON ([`page::Page`]): no character of a log or a name can end the
/// script element or be run, and the browser's own `DecompressionStream("deflate")` reads it.
///
/// # Errors
/// [`ReportError`] when a histogram of the record cannot be read, or when the built page is not what it should be.
pub fn page(record: &Record, verdict: &Verdict) -> Result<String, ReportError> {
    let data = page::build(record, verdict)?;
    let packed = pack(&serde_json::to_vec(&data)?)?;
    let title = format!("<title>{}</title>", escape(&data.title));
    let data =
        format!(r#"<script id="assay-data" type="application/json">{{"deflate":"{packed}"}}</script>"#);
    let page = put(TEMPLATE, TITLE, &title, "the title")?;
    put(&page, DATA, &data, "the data")
}

fn put(page: &str, place: &str, part: &str, name: &'static str) -> Result<String, ReportError> {
    let (before, after) = page.split_once(place).ok_or(ReportError::Template(name))?;
    Ok([before, part, after].concat())
}

fn pack(json: &[u8]) -> Result<String, ReportError> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(json)?;
    Ok(BASE64.encode(encoder.finish()?))
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read as _;

    #[test]
    fn packed_data_unpack_and_hold_no_markup() {
        let json = br#"{"log":"</script><script>alert(1)</script>"}"#;
        let packed = pack(json).unwrap();
        assert!(packed.chars().all(|c| c.is_ascii_alphanumeric() || "+/=".contains(c)), "{packed}");
        let mut back = Vec::new();
        let bytes = BASE64.decode(packed).unwrap();
        flate2::read::ZlibDecoder::new(bytes.as_slice()).read_to_end(&mut back).unwrap();
        assert_eq!(back, json);
    }

    #[test]
    fn a_template_without_its_places_is_an_error_that_says_how_to_mend() {
        let error = put("<html></html>", TITLE, "", "the title").unwrap_err().to_string();
        assert!(error.contains("the title") && error.contains("npm run build"), "{error}");
    }
}
