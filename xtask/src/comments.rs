//! Comments are read by people: in plain English, and without scrolling to the right.

/// Longest line of a comment.
const COLUMNS_AT_MOST: usize = 150;
/// Phrases that are translated word by word, and no English.
const PHRASES: &[&str] = &["it is looked", "for who", "of whom nothing", "One who"];
/// Where a docstring is the description of a schema, in which its lines stay apart, so that wrapping it would change the schema.
const DESCRIBED: &str = "crates/model/src/";

/// Comments of a source file that are too wide, or hard to read.
pub(crate) fn check(name: &str, text: &str) -> Vec<String> {
    if !name.ends_with(".rs") {
        return Vec::new();
    }
    let comments = text.lines().enumerate().filter(|(_, line)| line.trim_start().starts_with("//"));
    let faults = comments.flat_map(|(index, line)| {
        let columns = line.chars().count();
        let is_wide = columns > COLUMNS_AT_MOST && !name.starts_with(DESCRIBED);
        let wide = is_wide.then(|| format!("{columns} columns, {COLUMNS_AT_MOST} at most; wrap it"));
        let phrase = phrase(line).map(|phrase| format!("“{phrase}” is not English; say it plainly"));
        wide.into_iter().chain(phrase).map(move |fault| format!("{name}:{}: a comment: {fault}", index + 1))
    });
    faults.collect()
}

fn phrase(line: &str) -> Option<&'static str> {
    let is_whole = |rest: &str| !rest.starts_with(|c: char| c.is_alphanumeric());
    PHRASES.iter().copied().find(|phrase| line.split(phrase).skip(1).any(is_whole))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_that_is_no_english_is_found() {
        let text = [
            "/// One who plays.",
            "/// One whose turn it is.",
            "    // It is there for who comes.",
            "// It is there for whoever comes.",
            "let said = \"it is looked at\";",
            "//! How often it is looked whether there is room for one of whom nothing is known.",
        ]
        .join("\n");
        let found = check("crates/x/src/a.rs", &text);
        let begins =
            [":1: a comment: “One who”", ":3: a comment: “for who”", ":6: a comment: “it is looked”"];
        assert_eq!(found.len(), begins.len(), "{found:?}");
        for (found, begin) in found.iter().zip(begins) {
            assert!(found.starts_with(&format!("crates/x/src/a.rs{begin}")), "{found}");
        }
    }

    #[test]
    fn a_comment_is_at_most_150_columns_wide_and_code_is_formatted_by_others() {
        let wide = |columns: usize| format!("/// {}", "ä".repeat(columns - 4));
        assert!(check("crates/x/src/a.rs", &wide(150)).is_empty());
        let found = check("crates/x/src/a.rs", &format!("fn a() {{}}\n{}", wide(151)));
        assert_eq!(found, ["crates/x/src/a.rs:2: a comment: 151 columns, 150 at most; wrap it"]);
        assert!(check("crates/x/src/a.rs", &format!("let a = \"{}\";", wide(200))).is_empty());
        assert!(check("crates/model/src/a.rs", &wide(200)).is_empty(), "it is a schema's description");
        assert!(check("report-ui/src/a.ts", &wide(200)).is_empty());
    }
}
