//! The classes and methods of a Java file.

use std::collections::HashMap;

use crate::kind::Kind;
use crate::limits::{BASE_CLASSES, CLASS_DEPTH};
use crate::lineage::lineage;
use crate::piece::simple_type;
use crate::tree::{At, Tree};

/// What a file declares.
pub(super) struct Outline<'a> {
    pub(super) package: &'a str,
    pub(super) imports: Vec<Import<'a>>,
    /// A class stands after the one around it.
    pub(super) classes: Vec<Class<'a>>,
    pub(super) methods: Vec<Method<'a>>,
    by_name: HashMap<&'a str, usize>,
}

pub(super) struct Import<'a> {
    pub(super) at: At,
    /// Without `import`, `static`, `.*` and the semicolon.
    pub(super) name: &'a str,
    /// Of all that is in it.
    pub(super) wildcard: bool,
    pub(super) is_static: bool,
}

pub(super) struct Class<'a> {
    pub(super) at: At,
    /// Where the body begins.
    pub(super) body: At,
    pub(super) name: &'a str,
    pub(super) outer: Option<usize>,
    /// Class and interfaces, by their simple names.
    pub(super) bases: Vec<&'a str>,
    pub(super) modifiers: Modifiers<'a>,
    pub(super) interface: bool,
    pub(super) methods: Vec<usize>,
    pub(super) fields: Vec<At>,
    /// Constructors and blocks that run when it is created or loaded.
    pub(super) initializers: Vec<At>,
}

pub(super) struct Method<'a> {
    pub(super) at: At,
    /// The node after it.
    pub(super) after: At,
    pub(super) name: &'a str,
    pub(super) parameters: u32,
    pub(super) returns_nothing: bool,
    pub(super) modifiers: Modifiers<'a>,
}

#[derive(Default)]
pub(super) struct Modifiers<'a> {
    /// As written, without the sign and the arguments.
    pub(super) annotations: Vec<&'a str>,
    words: Vec<&'a str>,
}

impl<'a> Modifiers<'a> {
    pub(super) fn is(&self, word: &str) -> bool {
        self.words.contains(&word)
    }

    /// Annotations without their packages.
    pub(super) fn simple_annotations(&self) -> impl Iterator<Item = &'a str> + '_ {
        self.annotations.iter().map(|name| name.rsplit('.').next().unwrap_or(name).trim())
    }

    fn read(tree: &Tree<'a>, declaration: At) -> Self {
        let mut modifiers = Self::default();
        for at in tree.child(declaration, Kind::Modifiers).into_iter().flat_map(|at| tree.children(at)) {
            match tree.kind(at) {
                Kind::Annotation => {
                    let name = tree
                        .children(at)
                        .find(|child| matches!(tree.kind(*child), Kind::Identifier | Kind::QualifiedName));
                    modifiers.annotations.extend(name.map(|name| tree.text(name)));
                }
                Kind::Keyword | Kind::Default => modifiers.words.push(tree.text(at)),
                _ => {}
            }
        }
        modifiers
    }
}

impl<'a> Outline<'a> {
    pub(super) fn read(tree: &Tree<'a>) -> Self {
        let mut outline = Self {
            package: "",
            imports: Vec::new(),
            classes: Vec::new(),
            methods: Vec::new(),
            by_name: HashMap::new(),
        };
        // The classes around, with the node after each.
        let mut open: Vec<(usize, At)> = Vec::new();
        let end = tree.after(Tree::ROOT);
        let mut at = Tree::ROOT + 1;
        while at < end {
            while open.last().is_some_and(|(_, after)| *after <= at) {
                open.pop();
            }
            let kind = tree.kind(at);
            // Where a brace too many ends a class early, what follows is still
            // of that class.
            let around = open.last().map(|(class, _)| *class);
            let owner = around.or_else(|| outline.classes.len().checked_sub(1));
            match (kind, owner) {
                (Kind::Package, _) => outline.package = dotted_name(tree, at).unwrap_or_default(),
                (Kind::Import, _) => outline.imports.extend(read_import(tree, at)),
                (Kind::Class | Kind::Interface, _) if open.len() < CLASS_DEPTH => {
                    let body = tree.child(at, Kind::Body).unwrap_or(tree.after(at));
                    if let Some(class) = outline.add_class(tree, at, body, around) {
                        open.push((class, tree.after(at)));
                        at = body;
                        continue;
                    }
                }
                (Kind::Function, Some(owner)) => {
                    if let Some(method) = read_method(tree, at) {
                        let start = outline.methods.len();
                        outline.methods.push(method);
                        if tree.broken {
                            outline.add_swallowed(tree, at);
                        }
                        outline.classes[owner].methods.extend(start..outline.methods.len());
                    }
                }
                (Kind::Field, Some(owner)) => outline.classes[owner].fields.push(at),
                (Kind::Constructor | Kind::Initializer | Kind::Block, Some(owner)) => {
                    outline.classes[owner].initializers.push(at);
                }
                // The head of a class whose body the parser lost.
                (Kind::Keyword, _) if is_lost_class(tree, at) && open.len() < CLASS_DEPTH => {
                    let until = around.map_or(end, |class| tree.after(outline.classes[class].at));
                    if let Some(class) = outline.add_class(tree, at, at + 2, around) {
                        open.push((class, until));
                    }
                    at += 1;
                    continue;
                }
                (Kind::Body | Kind::Error | Kind::Other, _) => {
                    at += 1;
                    continue;
                }
                _ => {}
            }
            at = tree.after(at);
        }
        outline
    }

    fn add_class(&mut self, tree: &Tree<'a>, at: At, body: At, outer: Option<usize>) -> Option<usize> {
        let lost = tree.kind(at) == Kind::Keyword;
        let name = if lost { at + 1 } else { tree.child(at, Kind::Identifier)? };
        let mut bases = Vec::new();
        if !lost {
            for at in tree.children(at) {
                let types = match tree.kind(at) {
                    Kind::Superclass => at,
                    // The list of types below it.
                    Kind::Interfaces => at + 2,
                    _ => continue,
                };
                bases.extend(
                    tree.named_children(types).map(|base| simple_type(tree, base)).take(BASE_CLASSES),
                );
            }
        }
        let class = self.classes.len();
        self.by_name.entry(tree.text(name)).or_insert(class);
        self.classes.push(Class {
            at,
            body,
            name: tree.text(name),
            outer,
            bases,
            modifiers: if lost { Modifiers::default() } else { Modifiers::read(tree, at) },
            interface: tree.kind(at) == Kind::Interface,
            methods: Vec::new(),
            fields: Vec::new(),
            initializers: Vec::new(),
        });
        Some(class)
    }

    /// Methods that follow one whose end is missing look like its variables:
    /// `void name` with parameters that the parser could not place.
    fn add_swallowed(&mut self, tree: &Tree<'a>, function: At) {
        for at in function + 1..tree.after(function) {
            let next = tree.after(at);
            if tree.kind(at) != Kind::OtherStatement
                || tree.child(at, Kind::VoidType).is_none()
                || next >= tree.after(function)
                || tree.kind(next) != Kind::Error
            {
                continue;
            }
            let Some(parameters) = tree.child(next, Kind::Parameters) else { continue };
            if let Some(before) = self.methods.last_mut() {
                before.after = at;
            }
            self.methods.push(Method {
                at,
                after: tree.after(function),
                name: declared_name(tree, at),
                parameters: count_parameters(tree, parameters),
                returns_nothing: true,
                modifiers: Modifiers::read(tree, at),
            });
        }
    }

    pub(super) fn class(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied()
    }

    /// A class and those of its bases that are in the file, nearest first.
    pub(super) fn lineage(&self, class: usize) -> Vec<usize> {
        lineage(class, |class| self.classes[class].bases.iter().filter_map(|base| self.class(base)))
    }

    /// The classes around a class, outermost first, and the class itself.
    pub(super) fn path(&self, class: usize) -> Vec<usize> {
        let mut path: Vec<usize> =
            std::iter::successors(Some(class), |class| self.classes[*class].outer).collect();
        path.reverse();
        path
    }
}

/// `class Name` among what the parser could not place. `Name.class` is not it.
fn is_lost_class(tree: &Tree<'_>, at: At) -> bool {
    matches!(tree.text(at), "class" | "interface" | "enum")
        && tree.kind(tree.parent(at)) == Kind::Error
        && tree.text(at - 1) != "."
        && at + 1 < tree.after(Tree::ROOT)
        && tree.kind(at + 1) == Kind::Identifier
}

fn dotted_name<'a>(tree: &Tree<'a>, at: At) -> Option<&'a str> {
    let name =
        tree.children(at).find(|at| matches!(tree.kind(*at), Kind::QualifiedName | Kind::Identifier))?;
    Some(tree.text(name))
}

fn read_import<'a>(tree: &Tree<'a>, at: At) -> Option<Import<'a>> {
    Some(Import {
        at,
        name: dotted_name(tree, at)?,
        wildcard: tree.child(at, Kind::Asterisk).is_some(),
        is_static: tree.children(at).any(|child| tree.text(child) == "static"),
    })
}

fn read_method<'a>(tree: &Tree<'a>, at: At) -> Option<Method<'a>> {
    let parameters = tree.child(at, Kind::Parameters)?;
    Some(Method {
        at,
        after: tree.after(at),
        name: tree.child(at, Kind::Identifier).map(|name| tree.text(name))?,
        parameters: count_parameters(tree, parameters),
        returns_nothing: tree.child(at, Kind::VoidType).is_some(),
        modifiers: Modifiers::read(tree, at),
    })
}

fn count_parameters(tree: &Tree<'_>, parameters: At) -> u32 {
    let count = tree.children(parameters).filter(|child| tree.kind(*child) == Kind::Parameter).count();
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// The first name that a field or a variable declares.
pub(super) fn declared_name<'a>(tree: &Tree<'a>, declaration: At) -> &'a str {
    let declarator = tree.named_children(declaration).find(|at| {
        tree.kind(*at) == Kind::Other && at + 1 < tree.after(*at) && tree.kind(at + 1) == Kind::Identifier
    });
    declarator.map_or("", |at| tree.text(at + 1))
}
