//! References to documents: every link of a Markdown file and every document that a comment names exists, and so does the
//! heading behind a `#`, by the anchor that GitHub makes of it. Every page of the documentation is linked from another.

use std::collections::{BTreeMap, BTreeSet};

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

/// The former single page of the method. Sources name the page and the heading that they mean.
const ONE_PAGE: &str = "METHODOLOGY";
/// Where documents live that sources may name by their path alone.
const DOCUMENTS: &str = "docs/";
/// The examples of this file lead nowhere.
const EXAMPLES: &str = "xtask/src/references.rs";

/// References that lead nowhere, of all files given by their paths from the root, in which only texts have a content.
pub(crate) fn check(files: &BTreeMap<String, Option<String>>) -> Vec<String> {
    let texts = || files.iter().filter_map(|(name, text)| Some((name, text.as_deref()?)));
    let documents = texts().filter(|(name, _)| is_document(name));
    let known = Known {
        files: files.keys().map(String::as_str).collect(),
        anchors: documents.map(|(name, text)| (name.as_str(), anchors(text))).collect(),
    };
    let broken =
        texts().filter(|(name, _)| *name != EXAMPLES).flat_map(|(name, text)| check_text(name, text, &known));
    broken.chain(orphans(texts().filter(|(name, _)| is_document(name)))).collect()
}

/// What a reference may lead to.
struct Known<'a> {
    files: BTreeSet<&'a str>,
    anchors: BTreeMap<&'a str, BTreeSet<String>>,
}

impl Known<'_> {
    /// Why `path#anchor`, from the root, leads nowhere, if so.
    fn objection(&self, target: &str) -> Option<String> {
        let (path, anchor) = target.split_once('#').map_or((target, None), |(path, of)| (path, Some(of)));
        let path = path.trim_end_matches('/');
        let is_folder =
            || path.is_empty() || self.files.iter().any(|file| file.starts_with(&format!("{path}/")));
        if !self.files.contains(path) && !is_folder() {
            return Some(format!("there is no file {path}"));
        }
        let anchors = self.anchors.get(path)?;
        let absent = anchor.filter(|anchor| !anchors.contains(*anchor))?;
        Some(format!("{path} has no heading for #{absent}"))
    }
}

/// Pages of the documentation that no document leads to.
fn orphans<'a>(documents: impl Iterator<Item = (&'a String, &'a str)> + Clone) -> Vec<String> {
    let targets =
        documents.clone().flat_map(|(name, text)| links(text).filter_map(|link| resolve(name, &link)));
    let linked: BTreeSet<String> =
        targets.map(|target| target.split('#').next().unwrap_or_default().to_owned()).collect();
    let pages = documents.filter(|(name, _)| name.starts_with(DOCUMENTS) && !linked.contains(*name));
    pages.map(|(name, _)| format!("{name}: no document links to it, so nobody finds it")).collect()
}

fn is_document(name: &str) -> bool {
    name.ends_with(".md")
}

fn check_text(name: &str, text: &str, known: &Known<'_>) -> Vec<String> {
    let mut findings: Vec<String> = Vec::new();
    if is_document(name) {
        let broken = links(text).filter_map(|link| known.objection(&resolve(name, &link)?));
        findings.extend(broken.map(|objection| format!("{name}: a link leads nowhere: {objection}")));
    }
    for (number, line) in text.lines().enumerate().map(|(i, line)| (i + 1, line)) {
        if !is_document(name) && line.contains(ONE_PAGE) {
            findings
                .push(format!("{name}:{number}: name the page and its heading: docs/method/PAGE.md#heading"));
        }
        // Most lines name none, and taking them apart is what takes time.
        if !line.contains(".md") {
            continue;
        }
        let broken = named(line, is_document(name)).filter_map(|target| known.objection(target));
        findings.extend(broken.map(|objection| format!("{name}:{number}: {objection}")));
    }
    findings
}

/// The documents that a line names by their path from the root. In a source, `WORKLOADS.md#writing-one` is one as well;
/// in a document that is a link, from its own folder.
fn named(line: &str, in_document: bool) -> impl Iterator<Item = &str> {
    let is_part = |c: char| c.is_alphanumeric() || "_./#-".contains(c);
    let tokens = line.split(move |c| !is_part(c)).map(|token| token.trim_end_matches('.'));
    tokens.filter(move |token| {
        let is_path = token.starts_with(DOCUMENTS) && (token.ends_with(".md") || token.contains(".md#"));
        is_path || (!in_document && !token.starts_with('/') && token.contains(".md#"))
    })
}

/// Where the links and pictures of a document lead.
fn links(text: &str) -> impl Iterator<Item = String> {
    Parser::new_ext(text, Options::ENABLE_TABLES).filter_map(|event| match event {
        Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
            Some(dest_url.into_string())
        }
        _ => None,
    })
}

/// A link in `name`, from the root; nothing for one that leaves the project.
fn resolve(name: &str, link: &str) -> Option<String> {
    if link.contains("://") || link.starts_with("mailto:") {
        return None;
    }
    if link.starts_with('#') {
        return Some(format!("{name}{link}"));
    }
    let mut path: Vec<&str> = name.split('/').collect();
    path.pop();
    for part in link.split('/') {
        match part {
            "." => {}
            ".." => drop(path.pop()),
            part => path.push(part),
        }
    }
    Some(path.join("/"))
}

/// The anchors that GitHub makes of a document's headings.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut anchors = BTreeSet::new();
    let mut heading: Option<String> = None;
    for event in Parser::new_ext(text, Options::ENABLE_TABLES) {
        match event {
            Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
            Event::Text(part) | Event::Code(part) => {
                if let Some(heading) = &mut heading {
                    heading.push_str(&part);
                }
            }
            Event::End(TagEnd::Heading(_)) => {
                let slug = slug(&heading.take().unwrap_or_default());
                let again = (1..).map(|times| format!("{slug}-{times}"));
                let free = std::iter::once(slug.clone()).chain(again).find(|of| !anchors.contains(of));
                anchors.extend(free);
            }
            _ => {}
        }
    }
    anchors
}

/// Letters, digits, hyphens and low lines stay, a space becomes a hyphen, all else goes.
fn slug(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is found in a file of a project that has one page beside it, `docs/a.md`, and a README that links to both.
    fn findings(name: &str, text: &str) -> Vec<String> {
        let page = "# The A/A control\n\n## `c10k`, 5 %\n\n## Why?\n\n## Why?\n\n```\n# no heading\n```\n";
        let readme = format!("[a](docs/a.md) [b]({name})\n");
        let files = [
            ("README.md", Some(&*readme)),
            ("docs/a.md", Some(page)),
            ("docs/a.png", None),
            (name, Some(text)),
        ];
        check(&files.map(|(name, text)| (name.to_owned(), text.map(str::to_owned))).into())
    }

    #[test]
    fn anchors_are_those_that_github_makes() {
        for anchor in ["the-aa-control", "c10k-5-", "why", "why-1"] {
            assert_eq!(findings("a.rs", &format!("// as docs/a.md#{anchor}.\n")), [""; 0]);
        }
        for anchor in ["The-AA-control", "no-heading", "why-2"] {
            let text = format!("// (see docs/a.md#{anchor})\n");
            assert_eq!(findings("a.rs", &text), [format!("a.rs:1: docs/a.md has no heading for #{anchor}")]);
        }
    }

    #[test]
    fn a_source_that_names_no_page_is_found() {
        assert_eq!(findings("a.rs", "\n//! docs/b.md says why\n"), ["a.rs:2: there is no file docs/b.md"]);
        assert_eq!(findings("a.rs", "// B.md#why and https://example.org/c.md#d\n").len(), 1);
        assert_eq!(findings("a.rs", "// (METHODOLOGY, trust)\n").len(), 1);
        assert!(findings("b.md", "METHODOLOGY is a page\n").is_empty());
    }

    #[test]
    fn links_between_documents_are_followed_from_their_folder() {
        let good = "[a](../a.md#why-1) [b](#b) ![c](../a.png) [d](https://example.org/x.md) [e](..)\n\n# B\n";
        assert_eq!(findings("docs/in/b.md", good), [""; 0]);
        let bad = "[a](a.md) | [b](#c) | ![d](../b.png)\n";
        assert_eq!(findings("docs/in/b.md", bad).len(), 3);
        assert!(findings("docs/in/b.md", "```\n[a](a.md)\n```\n").is_empty(), "that is no link");
    }

    #[test]
    fn a_page_that_no_document_links_to_is_found() {
        let files = |readme: &str| {
            [("README.md", readme), ("docs/a.md", "# A\n")]
                .map(|(name, text)| (name.to_owned(), Some(text.to_owned())))
                .into()
        };
        assert_eq!(check(&files("see docs/a.md\n")).len(), 1);
        assert!(check(&files("see [A](docs/a.md#a)\n")).is_empty());
    }
}
