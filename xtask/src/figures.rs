//! Figures for people are written by `report::format` alone, so that a number reads alike wherever it stands: outside the
//! report no format string may ask for a number of decimals.

/// Files and folders where one may, each with the reason.
const ALLOWED: &[(&str, &str)] = &[
    ("crates/report/", "here numbers become text"),
    ("crates/host/src/doctor/", "findings about the machine, told without a report"),
    ("crates/cli/src/command/load/hdr_log.rs", "a file format of others"),
    ("crates/lab/src/store.rs", "the same file format"),
    ("crates/lab/src/contender/ask.rs", "the time-out in an error"),
    ("crates/check/src/dialogue.rs", "the time-out in an error"),
];

/// Lines of a crate's source that format a figure; tests may.
pub(crate) fn check(name: &str, text: &str) -> Vec<String> {
    let is_source = name.starts_with("crates/") && name.contains("/src/") && name.ends_with(".rs");
    let is_allowed = ALLOWED.iter().any(|(place, _)| name.starts_with(place));
    if !is_source || is_allowed || name.ends_with("tests.rs") {
        return Vec::new();
    }
    let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default().lines();
    let lines = code.enumerate().filter(|(_, line)| !line.trim_start().starts_with("//"));
    let figures = lines.filter(|(_, line)| has_precision(line));
    let told = |(index, _)| {
        format!("{name}:{}: a figure is formatted outside the report; use report::format", index + 1)
    };
    figures.map(told).collect()
}

/// Whether a line has a placeholder with a precision (std::fmt): `{:.1}`, `{share:>6.2}`, `{:.*}`, `{x:.digits$}`.
fn has_precision(line: &str) -> bool {
    let inside = |(from, _)| line[from + 1..].split(['}', '{', '"']).next().unwrap_or_default();
    let placeholders = line.match_indices('{').map(inside);
    placeholders.filter_map(|inner| inner.split_once(':')).any(|(argument, spec)| {
        let is_argument = argument.chars().all(|c| c.is_alphanumeric() || c == '_');
        let is_placeholder = !line.contains(&format!("${{{argument}:{spec}"));
        is_argument && is_placeholder && asks_for_decimals(spec)
    })
}

fn asks_for_decimals(spec: &str) -> bool {
    let Some((_, precision)) = spec.split_once('.') else { return false };
    let precision = precision.trim_end_matches('?');
    precision == "*"
        || precision.strip_suffix('$').is_some_and(|name| !name.is_empty())
        || (!precision.is_empty() && precision.chars().all(|c| c.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_with_decimals_is_found_outside_the_report_only() {
        for line in [
            "format!(\"{:.1} s\", wait)",
            "format!(\"{share:>6.2} %\")",
            "format!(\"{:.*}\", digits, x)",
            "format!(\"{x:.digits$}\")",
        ] {
            assert_eq!(check("crates/lab/src/plan.rs", line).len(), 1, "{line}");
            assert!(check("crates/report/src/format.rs", line).is_empty(), "{line}");
            assert!(check("crates/lab/tests/run.rs", line).is_empty(), "{line}");
            assert!(check("crates/lab/src/plan.rs", &format!("// {line}")).is_empty(), "{line}");
            let tested = format!("#[cfg(test)]\nmod tests {{\n{line}\n}}\n");
            assert!(check("crates/lab/src/plan.rs", &tested).is_empty(), "{line}");
        }
    }

    #[test]
    fn what_only_looks_like_one_is_none() {
        for line in
            ["\"${random:1..500}\"", "\"{bar:16.cyan/dim}\"", "\"{name:<12}{count:>8}\"", "Some { x: 0.5 }"]
        {
            assert!(check("crates/lab/src/plan.rs", line).is_empty(), "{line}");
        }
    }
}
