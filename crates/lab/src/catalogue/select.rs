//! Selectors: `name`, `lang:go`, `kind:server`, a path, `http://…` or `h2c://…`; `!` before one excludes.

use std::path::Path;

use assay_model::contender::{Contender, Kind};

use super::{Catalogue, Warning, unknown};
use crate::error::LabError;
use crate::subject::Subject;
use crate::techempower;

impl Catalogue {
    /// The subjects that `selectors` name, in their order and each once, after the limits of the catalogue, which take
    /// part unless excluded. When every selector excludes, all contenders are selected first.
    ///
    /// # Errors
    /// A selector that matches nothing in the catalogue, or nothing being left.
    pub fn select(&self, selectors: &[String]) -> Result<(Vec<Subject>, Vec<Warning>), LabError> {
        self.select_after(self.subjects_where(|contender| contender.kind == Kind::Limit), selectors)
    }

    /// Selects as [`Self::select`] does, without the limits unless they are asked for.
    ///
    /// # Errors
    /// As [`Self::select`].
    pub fn select_only(&self, selectors: &[String]) -> Result<(Vec<Subject>, Vec<Warning>), LabError> {
        self.select_after(Vec::new(), selectors)
    }

    fn select_after(
        &self,
        first: Vec<Subject>,
        selectors: &[String],
    ) -> Result<(Vec<Subject>, Vec<Warning>), LabError> {
        let mut warnings = Vec::new();
        let mut chosen: Vec<Subject> = Vec::new();
        for selector in selectors.iter().filter(|selector| !selector.starts_with('!')) {
            for subject in self.resolve(selector, &mut warnings)? {
                push_once(&mut chosen, subject)?;
            }
        }
        if all_exclude(selectors) {
            chosen = self.subjects_where(|_| true);
        }
        let mut selected = first;
        for subject in chosen {
            push_once(&mut selected, subject)?;
        }
        for exclusion in selectors.iter().filter_map(|selector| selector.strip_prefix('!')) {
            let excluded = self.resolve(exclusion, &mut warnings)?;
            selected.retain(|subject| excluded.iter().all(|out| out.identity.name != subject.identity.name));
        }
        let asked_for = |subject: &Subject| {
            selectors.contains(&subject.identity.name) || selectors.iter().any(|s| s == "kind:limit")
        };
        let asked_for_limit = selected.iter().any(asked_for);
        if selected.iter().any(|subject| !subject.is_limit()) || asked_for_limit {
            return Ok((selected, warnings));
        }
        let reason =
            format!("`{}` leaves no contender; `assay list` shows what there is", selectors.join(" "));
        Err(LabError::NothingSelected { reason })
    }

    fn resolve(&self, selector: &str, warnings: &mut Vec<Warning>) -> Result<Vec<Subject>, LabError> {
        let schemes = ["http://", "https://", "h2c://", "ws://", "wss://"];
        if schemes.iter().any(|scheme| selector.starts_with(scheme)) {
            return Ok(vec![Subject::from_url(selector)?]);
        }
        if let Some(language) = selector.strip_prefix("lang:") {
            let found = self.subjects_where(|contender| contender.language == language);
            let known = self.contenders.iter().map(|(contender, _)| contender.language.as_str());
            return if found.is_empty() { Err(unknown("language", language, known)) } else { Ok(found) };
        }
        if let Some(kind) = selector.strip_prefix("kind:") {
            let known = KINDS.iter().map(|(name, _)| *name);
            let (_, kind) =
                KINDS.iter().find(|(name, _)| *name == kind).ok_or_else(|| unknown("kind", kind, known))?;
            return Ok(self.subjects_where(|contender| contender.kind == *kind));
        }
        if is_path(selector) && techempower::is_implementation(Path::new(selector)) {
            let (subjects, found) = techempower::subjects(Path::new(selector))?;
            warnings.extend(found);
            return Ok(subjects);
        }
        if is_path(selector) {
            let (subject, found) = Self::contender_in(Path::new(selector))?;
            warnings.extend(found);
            return Ok(vec![subject]);
        }
        let found = self.subjects_where(|contender| contender.name == selector);
        let known = self.contenders.iter().map(|(contender, _)| contender.name.as_str());
        if found.is_empty() { Err(unknown("contender", selector, known)) } else { Ok(found) }
    }

    fn subjects_where(&self, matches: impl Fn(&Contender) -> bool) -> Vec<Subject> {
        let matching = self.contenders.iter().filter(|(contender, _)| matches(contender));
        matching.map(|(contender, folder)| Subject::from_contender(contender, folder)).collect()
    }
}

fn is_path(selector: &str) -> bool {
    selector.contains('/') || selector.starts_with('.')
}

const KINDS: [(&str, Kind); 4] = [
    ("server", Kind::Server),
    ("framework", Kind::Framework),
    ("proxy", Kind::Proxy),
    ("limit", Kind::Limit),
];

/// Whether no selector selects: there is none, or each excludes.
pub fn all_exclude(selectors: &[String]) -> bool {
    selectors.iter().all(|selector| selector.starts_with('!'))
}

/// The selectors a person gave, after those of the experiment when the person's only exclude.
pub fn with_defaults(given: &[String], defaults: &[String]) -> Vec<String> {
    if all_exclude(given) { [defaults, given].concat() } else { given.to_vec() }
}

/// Appends a subject unless it is there already.
///
/// # Errors
/// When another subject has its name: a record could not tell them apart.
fn push_once(chosen: &mut Vec<Subject>, subject: Subject) -> Result<(), LabError> {
    match chosen.iter().find(|other| other.identity.name == subject.identity.name) {
        Some(same) if *same == subject => {}
        Some(_) => {
            return Err(LabError::Argument {
                given: subject.identity.title,
                problem: format!(
                    "another contender is called `{}` too; leave one out or rename it",
                    subject.identity.name
                ),
            });
        }
        None => chosen.push(subject),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    fn catalogue() -> Catalogue {
        let contender = |name: &str, language: &str, kind: &str| {
            let text = format!(
                "name = \"{name}\"\ntitle = \"\"\nlanguage = \"{language}\"\nkind = \"{kind}\"\nworkloads = [\"w\"]\n\
                 [run]\ncommand = [\"x\"]\n"
            );
            (toml::from_str(&text).expect("contender"), PathBuf::from("/"))
        };
        Catalogue {
            root: PathBuf::from("/"),
            contenders: vec![
                contender("assay", "rust", "limit"),
                contender("gin", "go", "framework"),
                contender("net-http", "go", "server"),
                contender("nginx", "c", "server"),
            ],
            databases: Vec::new(),
            workloads: Vec::new(),
            experiments: Vec::new(),
            warnings: Vec::new(),
        }
    }

    fn names(selectors: &str) -> Result<Vec<String>, LabError> {
        let selectors: Vec<String> = selectors.split_whitespace().map(str::to_owned).collect();
        let (subjects, _) = catalogue().select(&selectors)?;
        Ok(subjects.into_iter().map(|subject| subject.identity.name).collect())
    }

    #[test]
    fn selects_in_order_with_the_limit_first() {
        for (selectors, wanted) in [
            ("nginx gin", "assay nginx gin"),
            ("lang:go nginx gin", "assay gin net-http nginx"),
            ("kind:server !nginx", "assay net-http"),
            ("!lang:go", "assay nginx"),
            ("nginx !assay", "nginx"),
            ("assay", "assay"),
            ("http://localhost:1/x gin", "assay localhost-1-x gin"),
        ] {
            assert_eq!(names(selectors).expect(selectors).join(" "), wanted, "{selectors}");
        }
    }

    #[test]
    fn unknown_names_and_empty_selections_are_errors() {
        assert!(names("ngnix").expect_err("typo").to_string().contains("did you mean nginx?"));
        assert!(names("lang:rst").expect_err("typo").to_string().contains("did you mean rust?"));
        assert!(names("kind:servers").expect_err("typo").to_string().contains("did you mean server?"));
        assert!(names("nginx !ngnix").is_err());
        let empty = names("gin !lang:go").expect_err("empty");
        assert_eq!(empty.exit(), crate::error::Exit::NothingSelected);
        assert!(names("http://a_b/ http://a-b/").expect_err("one name for two").to_string().contains("too"));
    }

    #[test]
    fn exclusions_alone_keep_the_defaults() {
        let own = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
        assert_eq!(with_defaults(&own(&["!a"]), &own(&["b"])), own(&["b", "!a"]));
        assert_eq!(with_defaults(&own(&["a"]), &own(&["b"])), own(&["a"]));
    }
}
