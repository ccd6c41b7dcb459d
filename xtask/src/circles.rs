//! Circles among the modules of a crate: each needs another to be understood, all the way round. A module and what it is made of
//! (its submodules) are one thing, so the two may use each other, and a module counts with all that is below it. Tests do not count.
//! What two modules share moves to the module that holds both, or into a third file.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use syn::visit::{self, Visit};

use crate::names::{Leaf, Module, Names, attributes, is_for_tests, leaves};

/// The modules that each module names.
type Uses = BTreeMap<Module, BTreeSet<Module>>;

/// The circles of every crate, of all files by their paths from the root, in which only texts have a content.
pub(crate) fn check(files: &BTreeMap<String, Option<String>>) -> Vec<String> {
    let mut crates: BTreeMap<&str, BTreeMap<Module, &str>> = BTreeMap::new();
    for (name, text) in files {
        if let (Some((root, module)), Some(text)) = (source(name), text) {
            crates.entry(root).or_default().insert(module, text);
        }
    }
    crates.iter().flat_map(|(root, sources)| check_crate(root, sources)).collect()
}

/// The crate and the module that a source file holds.
fn source(name: &str) -> Option<(&str, Module)> {
    let (root, path) = name.strip_suffix(".rs")?.split_once("/src/")?;
    let is_ours = root.starts_with("crates/") || root == "xtask";
    let module = match path.strip_suffix("/mod").unwrap_or(path) {
        "lib" | "main" => Vec::new(),
        path => path.split('/').map(str::to_owned).collect(),
    };
    is_ours.then_some((root, module))
}

fn check_crate(root: &str, sources: &BTreeMap<Module, &str>) -> Vec<String> {
    // What does not compile is found elsewhere.
    let parsed = sources.iter().filter_map(|(module, text)| Some((module, syn::parse_file(text).ok()?)));
    let files: BTreeMap<&Module, syn::File> = parsed.collect();
    let mut names = Names::default();
    files.iter().for_each(|(module, file)| names.read(module, &file.items));
    let (mut uses, mut tests) = (Uses::new(), BTreeSet::new());
    for (&module, file) in &files {
        let mut reader = Reader::new(module, &files, &names);
        reader.visit_file(file);
        tests.append(&mut reader.tests);
        uses.insert(module.clone(), reader.uses);
    }
    let is_test = |module: &Module| tests.iter().any(|test| module.starts_with(test));
    uses.retain(|module, _| !is_test(module));
    let circles = circles(&among_siblings(&uses));
    circles.iter().map(|circle| in_words(root, circle, &uses)).collect()
}

fn in_words(root: &str, circle: &[Module], uses: &Uses) -> String {
    let names: Vec<String> = circle.iter().map(|module| module.join("::")).collect();
    let files = steps(circle, uses);
    let files = if files.is_empty() { files } else { format!(" ({files})") };
    format!(
        "{root}: modules use each other in a circle: {} → {}{files}; move what they share to the module above them, or to a file below",
        names.join(" → "),
        names[0]
    )
}

/// For each step of a circle two files that make it; nothing where each module of the circle is the file itself.
fn steps(circle: &[Module], uses: &Uses) -> String {
    let steps = circle.iter().zip(circle.iter().cycle().skip(1));
    let files = steps.filter_map(|step| {
        let all = uses.iter().flat_map(|(file, used)| used.iter().map(move |used| (file, used)));
        all.filter(|(file, used)| file.starts_with(step.0) && used.starts_with(step.1))
            .min_by_key(|of| *of != step)
    });
    let files: Vec<(&Module, &Module)> = files.collect();
    if files.iter().all(|(file, used)| circle.contains(file) && circle.contains(used)) {
        return String::new();
    }
    let told = files.iter().map(|(file, used)| format!("{} uses {}", file.join("::"), used.join("::")));
    told.collect::<Vec<String>>().join(", ")
}

/// What modules name beside them, each taken with all that is below it: for two files these are the modules in which their paths part.
fn among_siblings(uses: &Uses) -> Uses {
    let mut siblings = Uses::new();
    for (module, used) in uses.iter().flat_map(|(module, used)| used.iter().map(move |used| (module, used))) {
        let shared = module.iter().zip(used).take_while(|(own, other)| own == other).count();
        let parted = |path: &Module| path.iter().take(shared + 1).cloned().collect::<Module>();
        siblings.entry(parted(module)).or_default().insert(parted(used));
    }
    siblings
}

/// The shortest circle through each module that is on any, each told once, beginning with its first module by name.
fn circles(uses: &Uses) -> BTreeSet<Vec<Module>> {
    uses.keys().filter_map(|module| shortest(uses, module)).collect()
}

fn shortest(uses: &Uses, start: &Module) -> Option<Vec<Module>> {
    let mut before: BTreeMap<&Module, &Module> = BTreeMap::new();
    let mut waiting = VecDeque::from([start]);
    while let Some(module) = waiting.pop_front() {
        for used in uses.get(module).into_iter().flatten() {
            if used == start {
                let back = std::iter::successors(Some(module), |module| before.get(module).copied());
                let mut circle: Vec<Module> = back.cloned().collect();
                circle.reverse();
                let first = (0..circle.len()).min_by_key(|&place| &circle[place]).unwrap_or(0);
                circle.rotate_left(first);
                return Some(circle);
            }
            if !before.contains_key(used) {
                before.insert(used, module);
                waiting.push_back(used);
            }
        }
    }
    None
}

/// Takes note of what a file names.
struct Reader<'m> {
    /// The modules that have files.
    files: &'m BTreeMap<&'m Module, syn::File>,
    names: &'m Names,
    /// The file's own.
    own: &'m Module,
    /// Where in the file, which may hold modules of its own.
    at: Module,
    uses: BTreeSet<Module>,
    /// Modules in other files that are there for tests alone.
    tests: BTreeSet<Module>,
}

impl<'m> Reader<'m> {
    fn new(own: &'m Module, files: &'m BTreeMap<&'m Module, syn::File>, names: &'m Names) -> Self {
        Self { files, names, own, at: own.clone(), uses: BTreeSet::new(), tests: BTreeSet::new() }
    }

    /// Takes note of a path, if what it names is in another file that is neither above nor below this one.
    fn name(&mut self, path: &[String]) {
        for mut module in self.names.meaning(&self.at, path) {
            while !self.files.contains_key(&module) && module.pop().is_some() {}
            if !module.starts_with(self.own) && !self.own.starts_with(&module) {
                self.uses.insert(module);
            }
        }
    }
}

impl<'ast> Visit<'ast> for Reader<'_> {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        if !is_for_tests(attributes(item)) {
            visit::visit_item(self, item);
        } else if let syn::Item::Mod(module) = item {
            self.tests.insert([self.at.as_slice(), &[module.ident.to_string()]].concat());
        }
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        if !is_for_tests(&function.attrs) {
            visit::visit_impl_item_fn(self, function);
        }
    }

    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        self.at.push(module.ident.to_string());
        visit::visit_item_mod(self, module);
        self.at.pop();
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        leaves(&item.tree).iter().for_each(|Leaf { path, .. }| self.name(path));
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        self.name(&names);
        visit::visit_path(self, path);
    }

    /// What a macro is given is no syntax yet, so it is read for words that look like paths.
    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        let text = call.tokens.to_string().replace(" :: ", "::");
        for word in text.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':')) {
            self.name(&word.split("::").map(str::to_owned).collect::<Vec<_>>());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(files: &[(&str, &str)]) -> Vec<String> {
        check(&files.iter().map(|(name, text)| ((*name).to_owned(), Some((*text).to_owned()))).collect())
    }

    #[test]
    fn files_that_use_each_other_are_found_once_with_the_way_round() {
        let found = findings(&[
            ("crates/x/src/lib.rs", "mod b; mod a; mod c;"),
            ("crates/x/src/b.rs", "use crate::{c::{C, D as E}, z};"),
            ("crates/x/src/a.rs", "fn a() { super::b::of(1) }"),
            ("crates/x/src/c/mod.rs", "fn c() { println!(\"{}\", crate::a::a()) }"),
        ]);
        let [found] = found.as_slice() else { panic!("{found:?}") };
        assert!(
            found.starts_with("crates/x: modules use each other in a circle: a → b → c → a; "),
            "{found}"
        );
    }

    #[test]
    fn what_is_above_or_below_and_what_is_tested_is_no_circle() {
        let found = findings(&[
            ("xtask/src/main.rs", "mod a; mod b; use a::A; struct Shared;"),
            ("xtask/src/a/mod.rs", "mod deep; #[cfg(test)] mod tests; use crate::Shared; use self::deep::D;"),
            ("xtask/src/a/deep.rs", "use super::A;"),
            ("xtask/src/a/tests.rs", "use crate::b::B;"),
            ("xtask/src/b.rs", "use crate::a::A; #[cfg(test)] mod tests { use super::super::a::tests::T; }"),
        ]);
        assert!(found.is_empty(), "{found:?}");
    }

    /// No file of `words` and `table` needs itself, but who reads one of the folders has to know the other.
    #[test]
    fn folders_that_use_each_other_by_different_files_are_found_with_the_files() {
        let found_in = |folder: &str, module: &str| {
            let words = format!("use crate::{module}words::names::N;");
            let sides = format!("use crate::{module}table::sides::S; use super::names::N;");
            let files = [
                ("mod", ""),
                ("table/mod", "mod rows; mod sides;"),
                ("table/rows", &words),
                ("table/sides", "pub struct S;"),
                ("words/mod", "mod names; mod told;"),
                ("words/names", "pub struct N;"),
                ("words/told", &sides),
            ];
            let files = files.map(|(name, text)| (format!("crates/x/src/{folder}{name}.rs"), text));
            findings(&files.each_ref().map(|(name, text)| (name.as_str(), *text)))
        };
        for (folder, module) in [("", ""), ("deep/", "deep::")] {
            let found = found_in(folder, module);
            let [found] = found.as_slice() else { panic!("{found:?}") };
            let circle = format!(": {module}table → {module}words → {module}table ");
            let files = format!(
                "({module}table::rows uses {module}words::names, {module}words::told uses {module}table::sides); "
            );
            assert!(found.contains(&(circle + &files)), "{found}");
        }
    }

    /// As `wrong::answer` took `super::Fault`, which `fault` defined with the help of `answer`.
    #[test]
    fn what_another_file_exports_again_leads_to_the_file_that_defines_it() {
        let over = |uses: &str| {
            findings(&[
                ("crates/x/src/lib.rs", uses),
                ("crates/x/src/answer.rs", "use super::Fault;"),
                ("crates/x/src/fault.rs", "use super::answer::answer; pub struct Fault;"),
                ("crates/x/src/ways.rs", "pub use super::fault::Fault as Error;"),
            ])
        };
        for uses in [
            "pub use fault::Fault;",
            "use self::fault::{self, Fault};",
            "pub use fault::*;",
            "use ways::Error as Fault;",
            "mod inner { pub use crate::fault::*; } use inner::Fault;",
        ] {
            let found = over(uses);
            assert!(
                found.iter().any(|found| found.contains(": answer → fault → answer; ")),
                "{uses}: {found:?}"
            );
        }
        for uses in ["pub struct Fault;", "use std::fmt::Error as Fault;", "pub use Fault;", ""] {
            assert_eq!(over(uses), [""; 0], "{uses}");
        }
    }

    #[test]
    fn what_a_name_brings_along_is_followed_where_it_is_used() {
        let found = findings(&[
            ("crates/x/src/a.rs", "use crate::base; fn a() { base::Access::grant() }"),
            ("crates/x/src/base/mod.rs", "mod supply; pub use supply::Access;"),
            ("crates/x/src/base/supply.rs", "pub struct Access(crate::a::A);"),
        ]);
        let [found] = found.as_slice() else { panic!("{found:?}") };
        assert!(found.contains(": a → base → a (a uses base, base::supply uses a); "), "{found}");
    }

    #[test]
    fn modules_within_a_file_count_as_the_file() {
        let found = findings(&[
            ("crates/x/src/a.rs", "mod inner { pub(super) fn f() { super::super::b::g() } }"),
            ("crates/x/src/b.rs", "pub use super::a::inner;"),
        ]);
        assert_eq!(found.len(), 1, "{found:?}");
    }
}
