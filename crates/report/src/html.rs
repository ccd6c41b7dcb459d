//! The page: one HTML file that works from a disk, without any network.

use std::io::Write as _;

use assay_model::record::Record;
use assay_model::verdict::Verdict;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use serde::Serialize;
use serde_json::{Number, Value};

use crate::page::PageRun;
use crate::static_page::static_page;
use crate::words::{FINDINGS, in_words};
use crate::{ReportError, foreign, page};

/// Built from `report-ui/` by `npm run build`.
const TEMPLATE: &str = include_str!("../assets/report.html");
const TITLE: &str = "<title>assay report</title>";
/// What the script replaces as soon as it runs.
const STATIC_PAGE: &str =
    r#"<p class="notice">This report draws itself with JavaScript, without any network.</p>"#;
const DATA: &str = r#"<script id="assay-data" type="application/json"></script>"#;
/// Begins the data of every page.
const MARK: &str = r#"<script id="assay-data" type="application/json">"#;
/// Where the policy begins, which forbids every network.
const POLICY: &str = "content=\"default-src 'none'; ";
/// The policy of a page that gets news from its own server, and from nobody else.
const LIVE_POLICY: &str = "content=\"default-src 'none'; connect-src 'self'; ";
/// What tells the script that there are news, and where.
const LIVE: &str = r#"<script id="assay-live" type="application/json">"events"</script>"#;

/// Significant digits of a figure: more than anybody sees, and half of the bytes.
const DIGITS: i32 = 6;

/// The data as they travel: each part is base64 of zlib-compressed JSON, so that no character of a log or a name can end
/// the script element or be run, and so that the page unpacks only what is looked at.
#[derive(Serialize)]
struct Packed<'a> {
    schema: &'a str,
    runs: Vec<PackedRun>,
}

/// [`page::RunPage`].
#[derive(Serialize)]
struct PackedRun {
    head: String,
    findings: Vec<String>,
}

/// The whole report of a run as one HTML file.
///
/// # Errors
/// [`ReportError`] when a histogram of the record cannot be read, or when the built page is not what it should be.
pub fn page(record: &Record, verdict: &Verdict) -> Result<String, ReportError> {
    pages(&[(record, verdict)])
}

/// One report over several runs, between which its reader switches. A run is a record with its verdict, or a [`PageRun`].
///
/// # Errors
/// Those of [`page()`].
pub fn pages<'a, R: Copy + Into<PageRun<'a>>>(runs: &[R]) -> Result<String, ReportError> {
    document(&told(runs)?, false)
}

/// Whether a text is a page of ours, of this version or an earlier one.
pub fn is_page(text: &str) -> bool {
    text.contains(MARK)
}

/// A page while its run goes on: what there is so far, as [`page()`] has it, for a server that sends it news.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveEdition {
    /// The page for a browser that opens it now. It asks its server for `events`, which are server-sent events, and nobody else for anything.
    pub html: String,
    /// What a page that is open needs to show the same, as one line of JSON: the text of an event `edition`, or of `end`.
    pub update: String,
}

/// What a page tells of a run that goes on.
///
/// # Errors
/// Those of [`page()`].
pub fn live(record: &Record, verdict: &Verdict) -> Result<LiveEdition, ReportError> {
    let told = told(&[(record, verdict)])?;
    Ok(LiveEdition { html: document(&told, true)?, update: update(&told, None)? })
}

/// The last edition of a page whose run is over: `saved` is its report, which the page hands over to be kept.
///
/// # Errors
/// Those of [`page()`].
pub fn ended(run: PageRun<'_>, saved: &str) -> Result<LiveEdition, ReportError> {
    let told = told(&[run])?;
    Ok(LiveEdition { html: saved.to_owned(), update: update(&told, Some(saved))? })
}

/// What a document is made of.
struct Told {
    title: String,
    static_page: String,
    /// [`Packed`] as JSON.
    data: String,
}

fn told<'a, R: Copy + Into<PageRun<'a>>>(runs: &[R]) -> Result<Told, ReportError> {
    let data = page::build(runs)?;
    let first: Option<PageRun<'a>> = runs.first().map(|run| (*run).into());
    let static_page =
        first.map(|PageRun { record, verdict, .. }| static_page(record, verdict)).unwrap_or_default();
    let runs = data.runs.iter().map(packed_run).collect::<Result<_, _>>()?;
    Ok(Told {
        title: data.title,
        static_page,
        data: serde_json::to_string(&Packed { schema: data.schema, runs })?,
    })
}

fn document(told: &Told, is_live: bool) -> Result<String, ReportError> {
    let title = format!("<title>{}</title>", foreign::markup(&told.title));
    let live = if is_live { LIVE } else { "" };
    let data = format!(r#"{live}<script id="assay-data" type="application/json">{}</script>"#, told.data);
    let page = put(TEMPLATE, TITLE, &title, "the title")?;
    let page = put(&page, STATIC_PAGE, &told.static_page, "what stands without a script")?;
    let page = if is_live { put(&page, POLICY, LIVE_POLICY, "the policy")? } else { page };
    put(&page, DATA, &data, "the data")
}

fn update(told: &Told, saved: Option<&str>) -> Result<String, ReportError> {
    #[derive(Serialize)]
    struct Update<'a> {
        title: String,
        data: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        saved: Option<&'a str>,
    }
    let title = foreign::line(&told.title);
    Ok(serde_json::to_string(&Update { title, data: &told.data, saved })?)
}

fn put(page: &str, place: &str, part: &str, name: &'static str) -> Result<String, ReportError> {
    let (before, after) = page.split_once(place).ok_or(ReportError::Template(name))?;
    Ok([before, part, after].concat())
}

fn packed_run(run: &page::RunPage) -> Result<PackedRun, ReportError> {
    let findings = run.findings.iter().map(packed).collect::<Result<_, _>>()?;
    Ok(PackedRun { head: packed(&run.head)?, findings })
}

fn packed(part: &impl Serialize) -> Result<String, ReportError> {
    pack(&serde_json::to_vec(&readable(in_words(serde_json::to_value(part)?)))?)
}

/// The data with every fraction cut to [`DIGITS`], without the findings of which there is a sentence, and every text made harmless:
/// what the page shows, people also copy.
fn readable(value: Value) -> Value {
    match value {
        Value::Number(number) if number.is_f64() => number
            .as_f64()
            .and_then(|figure| Number::from_f64(to_digits(figure)))
            .map_or(Value::Null, Value::Number),
        Value::Array(items) => items.into_iter().map(readable).collect(),
        Value::Object(fields) => {
            let told = fields.into_iter().filter(|(name, _)| !FINDINGS.contains(&name.as_str()));
            told.map(|(name, field)| (foreign::line(&name), readable(field))).collect()
        }
        Value::String(text) => Value::String(foreign::lines(&text)),
        other => other,
    }
}

fn to_digits(figure: f64) -> f64 {
    if figure == 0.0 || !figure.is_finite() {
        return figure;
    }
    let places = DIGITS - 1 - figure.abs().log10().floor() as i32;
    // Dividing by a whole power of ten gives the float that is nearest to the decimal fraction.
    let scale = 10_f64.powi(places.abs());
    if places >= 0 { (figure * scale).round() / scale } else { (figure / scale).round() * scale }
}

fn pack(json: &[u8]) -> Result<String, ReportError> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(json)?;
    Ok(BASE64.encode(encoder.finish()?))
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
    fn figures_keep_six_digits_and_whole_numbers_all_of_them() {
        let cut = readable(
            serde_json::json!({"a": [0.123_456_789, 78_123.456_7, 1e-9, -1_234.567_89, 0.0], "b": 123_456_789}),
        );
        assert_eq!(cut.to_string(), r#"{"a":[0.123457,78123.5,1e-9,-1234.57,0.0],"b":123456789}"#);
    }

    #[test]
    fn a_template_without_its_places_is_an_error_that_says_how_to_mend() {
        let error = put("<html></html>", TITLE, "", "the title").unwrap_err().to_string();
        assert!(error.contains("the title") && error.contains("npm run build"), "{error}");
    }
}
