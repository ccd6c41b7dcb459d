//! Circles between files: modules of one crate each of which needs another to be understood, all the way round. A module and
//! what it is made of (its submodules) are one thing and do not count, nor do tests: what two files share moves to the module
//! that holds both, or into a third file.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use syn::visit::{self, Visit};

/// A module by its path from the crate's root, which is empty.
type Module = Vec<String>;
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
    let modules: BTreeSet<Module> = sources.keys().cloned().collect();
    let (mut uses, mut tests) = (Uses::new(), BTreeSet::new());
    for (module, text) in sources {
        // What does not compile is found elsewhere.
        let Ok(file) = syn::parse_file(text) else { continue };
        let mut reader = Reader::new(module, &modules);
        reader.visit_file(&file);
        tests.append(&mut reader.tests);
        uses.insert(module.clone(), reader.uses);
    }
    let is_test = |module: &Module| tests.iter().any(|test| module.starts_with(test));
    uses.retain(|module, _| !is_test(module));
    circles(&uses).iter().map(|circle| in_words(root, circle)).collect()
}

fn in_words(root: &str, circle: &[Module]) -> String {
    let names: Vec<String> = circle.iter().map(|module| module.join("::")).collect();
    format!(
        "{root}: files use each other in a circle: {} → {}; move what they share to the module above them, or to a file below",
        names.join(" → "),
        names[0]
    )
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
    modules: &'m BTreeSet<Module>,
    /// The file's own.
    own: &'m Module,
    /// Where in the file, which may hold modules of its own.
    at: Module,
    uses: BTreeSet<Module>,
    /// Modules in other files that are there for tests alone.
    tests: BTreeSet<Module>,
}

impl<'m> Reader<'m> {
    fn new(own: &'m Module, modules: &'m BTreeSet<Module>) -> Self {
        Self { modules, own, at: own.clone(), uses: BTreeSet::new(), tests: BTreeSet::new() }
    }

    /// Takes note of a path, if it leads to another file that is neither above nor below this one.
    fn name(&mut self, path: &[String]) {
        let mut rest = path.iter().peekable();
        let mut module = match rest.next().map(String::as_str) {
            Some("crate") => Vec::new(),
            Some("self") => self.at.clone(),
            Some("super") => parent(&self.at),
            _ => return,
        };
        while rest.next_if(|step| *step == "super").is_some() {
            module = parent(&module);
        }
        for step in rest {
            let below = [module.as_slice(), std::slice::from_ref(step)].concat();
            if !self.modules.contains(&below) {
                break;
            }
            module = below;
        }
        if !module.starts_with(self.own) && !self.own.starts_with(&module) {
            self.uses.insert(module);
        }
    }

    fn name_tree(&mut self, above: &[String], tree: &syn::UseTree) {
        let with = |name: &syn::Ident| [above, &[name.to_string()]].concat();
        match tree {
            syn::UseTree::Path(path) => self.name_tree(&with(&path.ident), &path.tree),
            syn::UseTree::Name(name) => self.name(&with(&name.ident)),
            syn::UseTree::Rename(name) => self.name(&with(&name.ident)),
            syn::UseTree::Glob(_) => self.name(above),
            syn::UseTree::Group(group) => group.items.iter().for_each(|tree| self.name_tree(above, tree)),
        }
    }
}

fn parent(module: &Module) -> Module {
    module.split_last().map_or_else(Vec::new, |(_, above)| above.to_vec())
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
        self.name_tree(&[], &item.tree);
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

fn is_for_tests(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        syn::Meta::List(list) => list.path.is_ident("cfg") && list.tokens.to_string().contains("test"),
        _ => false,
    })
}

fn attributes(item: &syn::Item) -> &[syn::Attribute] {
    match item {
        syn::Item::Const(item) => &item.attrs,
        syn::Item::Enum(item) => &item.attrs,
        syn::Item::Fn(item) => &item.attrs,
        syn::Item::Impl(item) => &item.attrs,
        syn::Item::Mod(item) => &item.attrs,
        syn::Item::Static(item) => &item.attrs,
        syn::Item::Struct(item) => &item.attrs,
        syn::Item::Type(item) => &item.attrs,
        syn::Item::Use(item) => &item.attrs,
        _ => &[],
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
        assert!(found.starts_with("crates/x: files use each other in a circle: a → b → c → a; "), "{found}");
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

    #[test]
    fn modules_within_a_file_count_as_the_file() {
        let found = findings(&[
            ("crates/x/src/a.rs", "mod inner { pub(super) fn f() { super::super::b::g() } }"),
            ("crates/x/src/b.rs", "pub use super::a::inner;"),
        ]);
        assert_eq!(found.len(), 1, "{found:?}");
    }
}
