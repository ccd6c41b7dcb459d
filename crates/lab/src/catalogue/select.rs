//! Selectors: `name`, `lang:go`, `kind:server`, a path, `http://…`, `h2c://…` or `host:port`; `!` before one excludes.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use assay_model::contender::{Contender, Kind};

use super::{Catalogue, Warning, unknown};
use crate::error::LabError;
use crate::subject::Subject;
use crate::techempower;
use crate::url::Url;

impl Catalogue {
    /// The subjects that `selectors` name, in their order and each once, after the limits of the catalogue, which take
    /// part unless excluded. When every selector excludes, all contenders are selected first.
    ///
    /// # Errors
    /// A selector that matches nothing in the catalogue, or nothing being left.
    pub fn select(&self, selectors: &[String]) -> Result<(Vec<Subject>, Vec<Warning>), LabError> {
        self.select_after(self.limits(), selectors)
    }

    /// The limits of the catalogue.
    pub fn limits(&self) -> Vec<Subject> {
        self.subjects_where(|contender| contender.kind == Kind::Limit)
    }

    /// The limits that take part beside servers of the user's own, where `selectors` do nothing but exclude.
    ///
    /// # Errors
    /// A selector that matches nothing in the catalogue.
    pub fn select_limits(&self, selectors: &[String]) -> Result<(Vec<Subject>, Vec<Warning>), LabError> {
        let mut limits = self.limits();
        let warnings = self.exclude(&mut limits, selectors)?;
        Ok((limits, warnings))
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
        warnings.extend(self.exclude(&mut selected, selectors)?);
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

    fn exclude(&self, selected: &mut Vec<Subject>, selectors: &[String]) -> Result<Vec<Warning>, LabError> {
        let mut warnings = Vec::new();
        for exclusion in selectors.iter().filter_map(|selector| selector.strip_prefix('!')) {
            let excluded = self.resolve(exclusion, &mut warnings)?;
            selected.retain(|subject| excluded.iter().all(|out| out.identity.name != subject.identity.name));
        }
        Ok(warnings)
    }

    fn resolve(&self, selector: &str, warnings: &mut Vec<Warning>) -> Result<Vec<Subject>, LabError> {
        if is_url(selector) {
            let scheme = if Url::lacks_scheme(selector) { "http://" } else { "" };
            return Ok(vec![Subject::from_url(&format!("{scheme}{selector}"))?]);
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
        if let Some(command) = command_for(selector) {
            let problem = format!("it is no contender; to start it and measure it, write --cmd '{command}'");
            return Err(LabError::Argument { given: selector.to_owned(), problem });
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

/// Whether a selector names a server that runs: by its URL, or by HOST:PORT[/path], which is taken for one of plain HTTP. No name of a
/// contender has a colon.
pub fn is_url(selector: &str) -> bool {
    Url::has_scheme(selector) || Url::lacks_scheme(selector)
}

/// The command that was probably meant by a word that is none of those that assay knows: a command line as it is, or what starts a
/// program's file.
pub fn command_for(word: &str) -> Option<String> {
    let is_word = !word.trim().is_empty() && !word.contains('\'');
    if is_word && word.trim().contains(char::is_whitespace) && !Path::new(word).exists() {
        return Some(word.trim().to_owned());
    }
    let file = Path::new(word);
    if !is_word || !file.is_file() {
        return None;
    }
    let ending = file.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    let runtime = RUNTIMES.iter().find(|(endings, _)| endings.contains(&ending)).map(|(_, runtime)| *runtime);
    let may_be_run = || file.metadata().is_ok_and(|of| of.permissions().mode() & 0o111 != 0);
    match runtime {
        Some(runtime) => Some(format!("{runtime} {word}")),
        None if !may_be_run() => None,
        None => Some(if word.contains('/') { word.to_owned() } else { format!("./{word}") }),
    }
}

/// What starts a file, by its ending.
const RUNTIMES: [(&[&str], &str); 6] = [
    (&["js", "mjs", "cjs"], "node"),
    (&["py"], "python3"),
    (&["rb"], "ruby"),
    (&["php"], "php"),
    (&["jar"], "java -jar"),
    (&["sh"], "sh"),
];

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
    use std::fs::Permissions;
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
            ("localhost:1/x gin", "assay localhost-1-x gin"),
            ("HTTP://localhost:1/x gin", "assay localhost-1-x gin"),
            ("grpc://localhost:1/x gin", "assay localhost-1-x gin"),
        ] {
            assert_eq!(names(selectors).expect(selectors).join(" "), wanted, "{selectors}");
        }
    }

    #[test]
    fn beside_servers_of_ones_own_the_limit_is_alone_or_excluded() {
        let limits = |selectors: &[&str]| {
            let selectors: Vec<String> = selectors.iter().map(|&of| of.to_owned()).collect();
            catalogue().select_limits(&selectors).map(|(limits, _)| limits.len())
        };
        assert_eq!(
            [limits(&[]).ok(), limits(&["!assay"]).ok(), limits(&["!gin"]).ok()],
            [Some(1), Some(0), Some(1)]
        );
        assert!(limits(&["!asay"]).expect_err("typo").to_string().contains("did you mean assay?"));
    }

    #[test]
    fn unknown_names_and_empty_selections_are_errors() {
        assert!(names("ngnix").expect_err("typo").to_string().contains("did you mean nginx?"));
        assert!(names("lang:rst").expect_err("typo").to_string().contains("did you mean rust?"));
        assert!(names("kind:servers").expect_err("typo").to_string().contains("did you mean server?"));
        assert!(names("nginx !ngnix").is_err());
        assert!(names("ftp://localhost/").expect_err("no server's").to_string().contains("use http://"));
        let empty = names("gin !lang:go").expect_err("empty");
        assert_eq!(empty.exit(), crate::error::Exit::NothingSelected);
        assert!(names("http://a_b/ http://a-b/").expect_err("one name for two").to_string().contains("too"));
    }

    #[test]
    fn a_file_or_a_command_line_is_told_how_it_is_measured() {
        let folder = tempfile::tempdir().expect("folder");
        let of = |name: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, "").expect("file");
            let is_program = if name == "server" { 0o755 } else { 0o644 };
            std::fs::set_permissions(&path, Permissions::from_mode(is_program)).expect("permissions");
            let path = path.display().to_string();
            (command_for(&path), path)
        };
        for (name, runtime) in [("app.js", "node "), ("app.py", "python3 "), ("server", "")] {
            let (command, path) = of(name);
            assert_eq!(command, Some(format!("{runtime}{path}")));
            let told = catalogue().select(std::slice::from_ref(&path)).expect_err(name).to_string();
            assert!(told.contains(&format!("--cmd '{runtime}{path}'")), "{told}");
        }
        assert_eq!(command_for("node app.js").as_deref(), Some("node app.js"));
        for word in ["nginx", "", " ", "./absent", "last~1"] {
            assert_eq!(command_for(word), None, "{word}");
        }
        assert_eq!((of("contender.toml").0, of("record.json").0), (None, None));
    }

    #[test]
    fn exclusions_alone_keep_the_defaults() {
        let own = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
        assert_eq!(with_defaults(&own(&["!a"]), &own(&["b"])), own(&["b", "!a"]));
        assert_eq!(with_defaults(&own(&["a"]), &own(&["b"])), own(&["a"]));
    }
}
