use super::*;

#[test]
fn evidence_of_another_version_is_unknown_and_no_error() {
    let read = |text: &str| serde_json::from_str::<Evidence>(text).expect("evidence");
    assert_eq!(read(r#"{"kind":"right_answers","ok":3}"#), Evidence::RightAnswers { ok: 3 });
    assert_eq!(read(r#"{"kind":"of_the_future","ok":3}"#), Evidence::Unknown);
}
