//! `assay new`: a contender of one's own to go on from.

use std::io::{BufRead, Write};
use std::path::{Path, PathBuf};

use assay_lab::Exit;
use assay_lab::starter::{NewContender, Templates, checked_name};

use super::written::{told, word};
use crate::args::NewArguments;
use crate::ask::{Questions, at_terminal};
use crate::embedded;
use crate::failure::Failure;
use crate::output;

/// All that is to be known.
#[derive(Debug, PartialEq, Eq)]
struct Choice {
    language: String,
    name: String,
    title: String,
    folder: PathBuf,
}

pub(crate) fn run(arguments: &NewArguments) -> Result<Exit, Failure> {
    let templates = embedded::templates()?;
    let choice = choose(arguments, &templates)?;
    let new = NewContender { name: &choice.name, title: &choice.title };
    let files = new.files(templates.of(&choice.language)?)?;
    assay_file::write_folder(&choice.folder, &files)?;
    let names: Vec<&Path> = files.iter().map(|file| file.path.as_path()).collect();
    let folder = word(&choice.folder);
    let commands = ["check", "run --quick"].map(|what| format!("assay {what} {folder}"));
    output::result(&told(&choice.folder, &names, &commands));
    Ok(Exit::Ok)
}

/// What was given, and what a person says where that is not enough.
fn choose(arguments: &NewArguments, templates: &Templates) -> Result<Choice, Failure> {
    if let (Some(name), Some(language)) = (&arguments.name, &arguments.language) {
        let title = arguments.title.clone().unwrap_or_else(|| name.clone());
        let folder = arguments.folder.clone().unwrap_or_else(|| Path::new(".").join(name));
        return Ok(Choice { language: language.clone(), name: name.clone(), title, folder });
    }
    let Some(mut person) = at_terminal() else {
        let languages: Vec<&str> = templates.languages().collect();
        return Err(Failure::usage(format_args!(
            "there is no terminal to ask on: give a name and --language ({}), such as `assay new mine --language go`",
            languages.join(", ")
        )));
    };
    asked(arguments, templates, &mut person)
}

/// Four questions, but for those whose answer was given.
fn asked<R: BufRead, W: Write>(
    arguments: &NewArguments,
    templates: &Templates,
    person: &mut Questions<R, W>,
) -> Result<Choice, Failure> {
    let languages: Vec<&str> = templates.languages().collect();
    let language = match &arguments.language {
        Some(language) => language.clone(),
        None => {
            let known = |text: &str| match templates.of(text) {
                Ok(_) => Ok(text.to_owned()),
                Err(error) => Err(format!("is not known: {error}")),
            };
            person.ask(&format!("Language ({})", languages.join(", ")), None, known)?
        }
    };
    let name = match &arguments.name {
        Some(name) => name.clone(),
        None => {
            let name = |text: &str| checked_name(text).map(|()| text.to_owned());
            person.ask("Name (a-z, 0-9 and -)", Some(&format!("my-{language}")), name)?
        }
    };
    let title = match &arguments.title {
        Some(title) => title.clone(),
        None => person.ask("How people call it", Some(&name), |text| Ok(text.to_owned()))?,
    };
    let folder = match &arguments.folder {
        Some(folder) => folder.clone(),
        None => person.ask("Folder", Some(&format!("./{name}")), free)?,
    };
    Ok(Choice { language, name, title, folder })
}

/// A name at which nothing is yet.
pub(super) fn free(text: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    match path.symlink_metadata() {
        Ok(_) => Err("exists already and stays as it is; name another".to_owned()),
        Err(_) => Ok(path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: Option<&str>, language: Option<&str>, answers: &str) -> Result<Choice, Failure> {
        let own = |text: Option<&str>| text.map(str::to_owned);
        let arguments = NewArguments { name: own(name), language: own(language), title: None, folder: None };
        let templates = embedded::templates().expect("templates");
        asked(&arguments, &templates, &mut Questions::between(answers.as_bytes(), Vec::new()))
    }

    #[test]
    fn four_questions_have_three_defaults() {
        let choice = of(None, None, "goo\ngo\n\n\n\n").expect("answers");
        let wanted = ("go", "my-go", "my-go", Path::new("./my-go"));
        assert_eq!((&*choice.language, &*choice.name, &*choice.title, &*choice.folder), wanted);
        let choice = of(Some("mine"), None, "rust\nMy server\n/tmp\n/tmp/mine\n").expect("answers");
        let wanted = ("rust", "mine", "My server", Path::new("/tmp/mine"));
        assert_eq!(
            (&*choice.language, &*choice.name, &*choice.title, &*choice.folder),
            wanted,
            "/tmp is there"
        );
    }

    #[test]
    fn who_stops_answering_gets_nothing() {
        assert!(of(None, None, "go\nmine\n").is_err());
    }
}
