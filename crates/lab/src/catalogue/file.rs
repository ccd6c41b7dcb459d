//! A TOML file into a value: wrong types are errors and unknown keys are warnings, each with its place.

use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde_ignored::Path as KeyPath;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::error::{LabError, SourcePlace};
use crate::names::hint;
use crate::warning::Warning;

/// Keys and indices from the root to a key that nobody knows, and its place.
type UnknownKey = (Vec<String>, SourcePlace);

/// A file's text with its name, so that offsets can be told as places.
pub(crate) struct FileText<'a> {
    /// The file.
    pub file: &'a Path,
    /// The text of the file.
    pub text: &'a str,
}

impl FileText<'_> {
    /// The folder in which the file is.
    pub(crate) fn folder(&self) -> PathBuf {
        self.file.parent().map(Path::to_owned).unwrap_or_default()
    }

    /// Reads a `T`; keys that it does not know are appended to `warnings`.
    ///
    /// # Errors
    /// [`LabError::File`] when the text is no TOML or no `T`.
    pub(crate) fn parse<T: DeserializeOwned>(&self, warnings: &mut Vec<Warning>) -> Result<T, LabError> {
        let (value, unknown) = self.parse_beside()?;
        warnings.extend(unknown.into_iter().map(|(path, place)| Warning {
            place,
            message: format!("unknown key `{}` is ignored; mend or remove it", path.join(".")),
        }));
        Ok(value)
    }

    /// Reads a `T` of which all keys must be known; `known` has those of the table to which a path leads.
    ///
    /// # Errors
    /// As [`Self::parse`], and at the first unknown key with the one that was perhaps meant.
    pub(crate) fn parse_strictly<T: DeserializeOwned>(
        &self,
        known: impl Fn(&[String]) -> &'static [&'static str],
    ) -> Result<T, LabError> {
        let (value, unknown) = self.parse_beside()?;
        let Some((path, place)) = unknown.into_iter().next() else { return Ok(value) };
        let (key, table) = path.split_last().map_or(("", &path[..]), |(key, table)| (key.as_str(), table));
        let mend = hint(key, known(table).iter().copied());
        Err(LabError::File { place, problem: format!("unknown key `{key}`"), mend })
    }

    /// Reads a `T`, and what is in the text beside it.
    fn parse_beside<T: DeserializeOwned>(&self) -> Result<(T, Vec<UnknownKey>), LabError> {
        let document = DeTable::parse(self.text).map_err(|error| self.error(&error))?;
        let mut unknown = Vec::new();
        let value = serde_ignored::deserialize(toml::Deserializer::from(document.clone()), |path| {
            unknown.push(steps(&path));
        })
        .map_err(|error| self.error(&error))?;
        let placed = |path: Vec<String>| {
            let place = self.place(offset_of(document.get_ref(), &path));
            (path, place)
        };
        Ok((value, unknown.into_iter().map(placed).collect()))
    }

    /// An error about the value of `key` (`a.b.0.c`, indices from 0), at its place or the nearest known above it.
    pub(crate) fn invalid(&self, key: &str, problem: impl Into<String>, mend: impl Into<String>) -> LabError {
        let path: Vec<String> = key.split('.').map(str::to_owned).collect();
        let offset = DeTable::parse(self.text).map_or(0, |table| offset_of(table.get_ref(), &path));
        LabError::File { place: self.place(offset), problem: problem.into(), mend: mend.into() }
    }

    fn error(&self, error: &toml::de::Error) -> LabError {
        let message = for_people(&error.message().trim().replace('\n', ", "));
        let mend = if message.starts_with("missing field") {
            "add it"
        } else if ["invalid type", "invalid value", "invalid length", "unknown variant"]
            .iter()
            .any(|kind| message.contains(kind))
        {
            "write a value of the kind named"
        } else {
            "mend the syntax (toml.io explains it)"
        };
        let offset = error.span().map_or(0, |span| span.start);
        LabError::File { place: self.place(offset), problem: message, mend: mend.to_owned() }
    }

    fn place(&self, offset: usize) -> SourcePlace {
        let before = self.text.get(..offset).unwrap_or(self.text);
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        SourcePlace {
            file: self.file.to_owned(),
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
        }
    }
}

/// What serde expects, without the names of types in Rust.
fn for_people(message: &str) -> String {
    let names = [
        ("expected a sequence", "expected a list, such as [64]"),
        ("expected f32", "expected a number"),
        ("expected f64", "expected a number"),
        ("expected u8", "expected a whole number from 0 to 255"),
        ("expected u16", "expected a whole number from 0 to 65535"),
        ("expected u32", "expected a whole number from 0 to 4294967295"),
        ("expected u64", "expected a whole number"),
        ("expected usize", "expected a whole number"),
    ];
    let is_whole = |name: &str| message.strip_suffix(name).is_some();
    let known = names.iter().find(|(name, _)| is_whole(name));
    known.map_or_else(|| message.to_owned(), |(name, words)| message.replace(name, words))
}

/// Keys and indices from the root to the end of a path.
fn steps(path: &KeyPath<'_>) -> Vec<String> {
    match path {
        KeyPath::Root => Vec::new(),
        KeyPath::Map { parent, key } => [steps(parent), vec![key.clone()]].concat(),
        KeyPath::Seq { parent, index } => [steps(parent), vec![index.to_string()]].concat(),
        KeyPath::Some { parent } | KeyPath::NewtypeStruct { parent } | KeyPath::NewtypeVariant { parent } => {
            steps(parent)
        }
    }
}

/// Byte offset of the last step that can be found.
fn offset_of(root: &DeTable<'_>, path: &[String]) -> usize {
    let Some((first, rest)) = path.split_first() else { return 0 };
    root.get_key_value(first.as_str()).map_or(0, |(key, value)| offset_in(key.span().start, value, rest))
}

fn offset_in(found: usize, value: &Spanned<DeValue<'_>>, path: &[String]) -> usize {
    let Some((first, rest)) = path.split_first() else { return found };
    match value.get_ref() {
        DeValue::Table(table) => table
            .get_key_value(first.as_str())
            .map_or(found, |(key, value)| offset_in(key.span().start, value, rest)),
        DeValue::Array(array) => first
            .parse::<usize>()
            .ok()
            .and_then(|index| array.get(index))
            .map_or(found, |item| offset_in(item.span().start, item, rest)),
        _ => found,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::workload::Workload;

    fn parse(text: &str) -> (Result<Workload, LabError>, Vec<Warning>) {
        let mut warnings = Vec::new();
        let value = FileText { file: Path::new("w.toml"), text }.parse(&mut warnings);
        (value, warnings)
    }

    const GOOD: &str =
        "name = \"w\"\nabout = \"\"\n[[request]]\npath = \"/\"\n  [request.expect]\n  status = 200\n";

    #[test]
    fn unknown_keys_are_warnings_with_their_place() {
        let (value, warnings) = parse(&format!("{GOOD}  boddy = \"x\"\n"));
        assert_eq!(value.expect("parses").requests[0].expect.status, Some(200));
        assert_eq!(
            warnings.iter().map(ToString::to_string).collect::<Vec<_>>(),
            ["w.toml:7:3: unknown key `request.0.expect.boddy` is ignored; mend or remove it"]
        );
    }

    #[test]
    fn wrong_types_and_missing_keys_are_errors_with_their_place() {
        let wrong = GOOD.replace("status = 200", "status = \"ok\"");
        let error = parse(&wrong).0.expect_err("wrong type").to_string();
        assert!(
            error.starts_with(
                "w.toml:6:12: invalid type: string \"ok\", expected a whole number from 0 to 65535"
            ),
            "{error}"
        );
        let listed = GOOD.replace("path = \"/\"", "path = \"/\"\nheaders = 64");
        let error = parse(&listed).0.expect_err("a number").to_string();
        assert!(error.starts_with("w.toml:5:11: invalid type: integer `64`, expected a list"), "{error}");
        let long = GOOD.replace("path = \"/\"", "path = \"/\"\nheaders = [[\"A\", \"b\", \"c\"]]");
        let error = parse(&long).0.expect_err("three").to_string();
        let wanted = "w.toml:5:12: invalid length 3, expected a name and a value; write a value";
        assert!(error.starts_with(wanted), "{error}");
        let error = parse("name = \"w\"\nabout = \"\"\n").0.expect_err("no request").to_string();
        assert!(error.starts_with("w.toml:1:1: missing field `request`; add it"), "{error}");
        let error = parse("name = \n").0.expect_err("syntax").to_string();
        assert!(error.starts_with("w.toml:1:"), "{error}");
    }

    #[test]
    fn invalid_values_are_told_at_their_key() {
        let source = FileText { file: Path::new("w.toml"), text: GOOD };
        let error = source.invalid("request.0.path", "wrong", "mend").to_string();
        assert_eq!(error, "w.toml:4:1: wrong; mend");
    }
}
