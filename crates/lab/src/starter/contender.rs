//! A contender of the user's own: the folder of a small server in a language, under the name that it is given.

use std::collections::BTreeMap;
use std::path::Path;

use assay_file::NewFile;

use super::quoted;
use crate::catalogue::{self, CONTENDER_FILE, Catalogue};
use crate::error::LabError;
use crate::names::is_name;

/// What stands for the name and the title in a template. The title stands in quotes in what is TOML.
const NAME: &str = "@NAME@";
const TITLE: &str = "@TITLE@";

/// The files of a small server for each language.
#[derive(Clone, Debug, Default)]
pub struct Templates(pub BTreeMap<String, Vec<NewFile>>);

/// Who a new contender is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewContender<'a> {
    /// Unique name, `[a-z0-9-]+`.
    pub name: &'a str,
    /// How people call it; one line.
    pub title: &'a str,
}

impl Templates {
    /// The languages for which there is a template, in order.
    pub fn languages(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// The template of a language.
    ///
    /// # Errors
    /// [`LabError::UnknownName`] with the nearest languages.
    pub fn of(&self, language: &str) -> Result<&[NewFile], LabError> {
        let found = self.0.get(language).map(Vec::as_slice);
        found.ok_or_else(|| catalogue::unknown("template for the language", language, self.languages()))
    }
}

impl NewContender<'_> {
    /// The files of a template with name and title in their places.
    ///
    /// # Errors
    /// [`LabError::Argument`] for a name or a title that cannot be one, and whatever the reader of contenders says of the result.
    pub fn files(&self, template: &[NewFile]) -> Result<Vec<NewFile>, LabError> {
        let argument = |given: &str, problem: String| LabError::Argument { given: given.to_owned(), problem };
        checked_name(self.name).map_err(|problem| argument(self.name, problem))?;
        if self.title.trim().is_empty() || self.title.chars().any(char::is_control) {
            return Err(argument(self.title, "is no title; write one line".to_owned()));
        }
        let files: Vec<NewFile> = template.iter().map(|file| self.file(file)).collect();
        let text_of = |file: &NewFile| String::from_utf8_lossy(&file.content).into_owned();
        let own = files.iter().find(|file| file.path == Path::new(CONTENDER_FILE));
        let own = own.ok_or_else(|| LabError::Bug(format!("a template without {CONTENDER_FILE}")))?;
        Catalogue::check_text(&own.path, &text_of(own))?;
        Ok(files)
    }

    fn file(&self, file: &NewFile) -> NewFile {
        let Ok(text) = std::str::from_utf8(&file.content) else { return file.clone() };
        let text = text
            .replace(&format!("\"{TITLE}\""), &quoted(self.title))
            .replace(TITLE, self.title)
            .replace(NAME, self.name);
        NewFile { content: text.into_bytes(), ..file.clone() }
    }
}

/// A name that a contender can have.
///
/// # Errors
/// What is wrong with it, and what would do.
pub fn checked_name(name: &str) -> Result<(), String> {
    if is_name(name) { Ok(()) } else { Err("is no name; use a-z, 0-9 and -".to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn template() -> Vec<NewFile> {
        let file = |path: &str, text: &str| NewFile {
            path: path.into(),
            content: text.into(),
            is_executable: path.ends_with(".sh"),
        };
        let toml = "name = \"@NAME@\"\ntitle = \"@TITLE@\"\nlanguage = \"sh\"\nkind = \"server\"\nworkloads = [\"hello\"]\n\
                    [run]\ncommand = [\"./serve.sh\"]\n";
        vec![file("README.md", "# @TITLE@\n"), file("contender.toml", toml), file("serve.sh", "exit 1\n")]
    }

    #[test]
    fn name_and_title_stand_in_their_places() {
        let files = NewContender { name: "mine", title: "My \"server\"" }.files(&template()).expect("filled");
        let texts: Vec<_> = files.iter().map(|file| String::from_utf8_lossy(&file.content)).collect();
        assert_eq!(texts[0], "# My \"server\"\n");
        let file: assay_model::contender::Contender = toml::from_str(&texts[1]).expect("TOML");
        assert_eq!((file.name.as_str(), file.title.as_str()), ("mine", "My \"server\""));
        assert_eq!((texts[2].as_ref(), files[2].is_executable), ("exit 1\n", true));
    }

    #[test]
    fn what_can_be_no_name_no_title_and_no_language_is_told() {
        let told = |name, title| NewContender { name, title }.files(&template()).expect_err(name).to_string();
        assert!(told("My server", "x").contains("`My server`: is no name; use a-z, 0-9 and -"));
        assert!(told("mine", "two\nlines").contains("write one line"));
        let templates = Templates([("rust".to_owned(), template()), ("go".to_owned(), template())].into());
        assert!(templates.of("go").is_ok());
        let told = templates.of("rst").expect_err("unknown").to_string();
        assert_eq!(told, "there is no template for the language `rst`; did you mean rust?");
        assert!(templates.of("cobol").expect_err("none").to_string().ends_with("known are go, rust"));
    }
}
