//! What the names in a crate's modules stand for, as far as `use` says so: a path is followed through re-exports to the file
//! that defines what it names.

use std::collections::{BTreeMap, BTreeSet};

/// A module by its path from the crate's root, which is empty.
pub(crate) type Module = Vec<String>;
/// The segments of a path as it is written.
pub(crate) type Written = Vec<String>;

/// Every module of a crate, also those within files.
#[derive(Default)]
pub(crate) struct Names {
    scopes: BTreeMap<Module, Scope>,
}

/// What one module calls by name.
#[derive(Default)]
struct Scope {
    /// The paths that `use` gives each name to.
    used: BTreeMap<String, Vec<Written>>,
    /// The paths of which `use` takes everything.
    globs: Vec<Written>,
    /// What the module itself defines.
    defined: BTreeSet<String>,
}

/// What is being looked for, and in which modules: `use` can lead round.
type Asked = Vec<(Module, String)>;

impl Names {
    /// Takes note of what a file's modules define and use outside tests.
    pub(crate) fn read(&mut self, module: &Module, items: &[syn::Item]) {
        let mut scope = self.scopes.remove(module).unwrap_or_default();
        for item in items.iter().filter(|item| !is_for_tests(attributes(item))) {
            match item {
                syn::Item::Use(item) => {
                    for Leaf { path, name } in leaves(&item.tree) {
                        match name {
                            Some(name) => scope.used.entry(name).or_default().push(path),
                            None => scope.globs.push(path),
                        }
                    }
                }
                syn::Item::Mod(syn::ItemMod { ident, content: Some((_, items)), .. }) => {
                    self.read(&below(module, &ident.to_string()), items);
                }
                _ => scope.defined.extend(name_of(item)),
            }
        }
        self.scopes.insert(module.clone(), scope);
    }

    /// The modules to which a path leads that stands in a module: whoever exports again what it names, and who defines it;
    /// none, if it is another crate's.
    pub(crate) fn meaning(&self, at: &Module, path: &[String]) -> BTreeSet<Module> {
        self.follow(at, path, &mut Asked::new())
    }

    fn follow(&self, at: &Module, path: &[String], asked: &mut Asked) -> BTreeSet<Module> {
        let Some((first, after)) = path.split_first() else { return BTreeSet::new() };
        let (mut module, mut rest) = match first.as_str() {
            "crate" => (Module::new(), after),
            "self" => (at.clone(), after),
            "super" => (parent(at), after),
            name if self.knows(at, name, asked) => (at.clone(), path),
            _ => return BTreeSet::new(),
        };
        while let Some(("super", after)) = rest.split_first().map(|(step, after)| (step.as_str(), after)) {
            (module, rest) = (parent(&module), after);
        }
        self.walk(module, rest, asked)
    }

    fn walk(&self, mut module: Module, mut rest: &[String], asked: &mut Asked) -> BTreeSet<Module> {
        while let Some((step, after)) = rest.split_first() {
            let next = below(&module, step);
            if !self.scopes.contains_key(&next) {
                let ways = self.ways(&module, step, asked);
                if ways.is_empty() {
                    break;
                }
                let follow = |asked: &mut Asked| {
                    let paths = ways.iter().map(|way| [way.as_slice(), after].concat());
                    paths.flat_map(|path| self.follow(&module, &path, asked)).collect()
                };
                let mut all: BTreeSet<Module> = once(asked, &module, step, follow);
                all.insert(module);
                return all;
            }
            (module, rest) = (next, after);
        }
        BTreeSet::from([module])
    }

    /// The paths for which a name stands that a module does not define.
    fn ways(&self, module: &Module, name: &str, asked: &mut Asked) -> Vec<Written> {
        let Some(scope) = self.scopes.get(module) else { return Vec::new() };
        if let Some(ways) = scope.used.get(name) {
            return ways.clone();
        }
        if scope.defined.contains(name) {
            return Vec::new();
        }
        let through = scope.globs.iter().filter(|glob| self.gives(module, glob, name, asked));
        through.map(|glob| below(glob, name)).collect()
    }

    /// Whether a module has a meaning for a name, its own or one that `use` brings.
    fn knows(&self, module: &Module, name: &str, asked: &mut Asked) -> bool {
        let Some(scope) = self.scopes.get(module) else { return false };
        let any = |asked: &mut Asked| scope.globs.iter().any(|glob| self.gives(module, glob, name, asked));
        self.scopes.contains_key(&below(module, name))
            || scope.used.contains_key(name)
            || scope.defined.contains(name)
            || once(asked, module, name, any)
    }

    /// Whether a name comes with everything of a path.
    fn gives(&self, module: &Module, glob: &Written, name: &str, asked: &mut Asked) -> bool {
        let targets = self.follow(module, glob, asked);
        targets.iter().any(|target| target != module && self.knows(target, name, asked))
    }
}

/// Answers a question, or nothing where it is being asked already.
fn once<T: Default>(
    asked: &mut Asked,
    module: &Module,
    name: &str,
    answer: impl FnOnce(&mut Asked) -> T,
) -> T {
    let question = (module.clone(), name.to_owned());
    if asked.contains(&question) {
        return T::default();
    }
    asked.push(question);
    let answer = answer(asked);
    asked.pop();
    answer
}

/// A path of a `use` and what it is called; without a name it is everything there.
pub(crate) struct Leaf {
    pub(crate) path: Written,
    pub(crate) name: Option<String>,
}

/// All paths of a `use`.
pub(crate) fn leaves(tree: &syn::UseTree) -> Vec<Leaf> {
    match tree {
        syn::UseTree::Path(path) => {
            let mut leaves = leaves(&path.tree);
            leaves.iter_mut().for_each(|leaf| leaf.path.insert(0, path.ident.to_string()));
            // `use a::{self}` is `use a`.
            for leaf in leaves.iter_mut().filter(|leaf| leaf.path.len() == 2 && leaf.path[1] == "self") {
                leaf.path.pop();
                leaf.name =
                    leaf.name.take().map(|name| if name == "self" { leaf.path[0].clone() } else { name });
            }
            leaves
        }
        syn::UseTree::Name(name) => {
            let name = name.ident.to_string();
            vec![Leaf { path: vec![name.clone()], name: Some(name) }]
        }
        syn::UseTree::Rename(name) => {
            vec![Leaf { path: vec![name.ident.to_string()], name: Some(name.rename.to_string()) }]
        }
        syn::UseTree::Glob(_) => vec![Leaf { path: Vec::new(), name: None }],
        syn::UseTree::Group(group) => group.items.iter().flat_map(leaves).collect(),
    }
}

pub(crate) fn parent(module: &Module) -> Module {
    module.split_last().map_or_else(Vec::new, |(_, above)| above.to_vec())
}

pub(crate) fn below(module: &[String], name: &str) -> Module {
    [module, &[name.to_owned()]].concat()
}

pub(crate) fn is_for_tests(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        syn::Meta::List(list) => list.path.is_ident("cfg") && list.tokens.to_string().contains("test"),
        _ => false,
    })
}

pub(crate) fn attributes(item: &syn::Item) -> &[syn::Attribute] {
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

fn name_of(item: &syn::Item) -> Option<String> {
    Some(match item {
        syn::Item::Const(item) => item.ident.to_string(),
        syn::Item::Enum(item) => item.ident.to_string(),
        syn::Item::Fn(item) => item.sig.ident.to_string(),
        syn::Item::Macro(item) => item.ident.as_ref()?.to_string(),
        syn::Item::Static(item) => item.ident.to_string(),
        syn::Item::Struct(item) => item.ident.to_string(),
        syn::Item::Trait(item) => item.ident.to_string(),
        syn::Item::Type(item) => item.ident.to_string(),
        syn::Item::Union(item) => item.ident.to_string(),
        _ => return None,
    })
}
