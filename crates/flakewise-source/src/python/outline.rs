//! The classes and functions of a Python file.

use std::collections::HashMap;

use crate::kind::Kind;
use crate::limits::{BASE_CLASSES, CLASS_DEPTH};
use crate::lineage::lineage;
use crate::piece::simple_type;
use crate::tree::{At, Tree};

/// What a file declares.
pub(super) struct Outline<'a> {
    pub(super) imports: Vec<At>,
    /// The first is the module itself. A class stands after the one around it.
    pub(super) classes: Vec<Class<'a>>,
    pub(super) functions: Vec<Function<'a>>,
    by_name: HashMap<&'a str, usize>,
}

pub(super) struct Class<'a> {
    /// With decorators.
    pub(super) at: At,
    /// Where the body begins.
    pub(super) body: At,
    pub(super) name: &'a str,
    pub(super) outer: Option<usize>,
    pub(super) bases: Vec<&'a str>,
    pub(super) decorators: Vec<&'a str>,
    pub(super) functions: Vec<usize>,
    /// Assignments.
    pub(super) fields: Vec<At>,
}

pub(super) struct Function<'a> {
    /// With decorators.
    pub(super) at: At,
    pub(super) name: &'a str,
    /// The names of parameters that have no default.
    pub(super) parameters: Vec<&'a str>,
    pub(super) decorators: Vec<&'a str>,
}

/// The module among the classes.
pub(super) const MODULE: usize = 0;

impl<'a> Outline<'a> {
    pub(super) fn read(tree: &Tree<'a>) -> Self {
        let end = tree.after(Tree::ROOT);
        let module = Class {
            at: Tree::ROOT,
            body: Tree::ROOT,
            name: "",
            outer: None,
            bases: Vec::new(),
            decorators: Vec::new(),
            functions: Vec::new(),
            fields: Vec::new(),
        };
        let mut outline = Self {
            imports: Vec::new(),
            classes: vec![module],
            functions: Vec::new(),
            by_name: HashMap::new(),
        };
        // The classes around, with the node after each.
        let mut open: Vec<(usize, At)> = vec![(MODULE, end)];
        let mut at = Tree::ROOT + 1;
        while at < end {
            while open.last().is_some_and(|(_, after)| *after <= at) {
                open.pop();
            }
            let around = open.last().map_or(MODULE, |(class, _)| *class);
            match tree.kind(at) {
                Kind::Import | Kind::ImportFrom => outline.imports.push(at),
                Kind::Class if open.len() < CLASS_DEPTH => {
                    if let Some(class) = read_class(tree, at, around) {
                        let body = class.body;
                        open.push((outline.classes.len(), tree.after(at)));
                        // As in Python, the last of a name is the one.
                        outline.by_name.insert(class.name, outline.classes.len());
                        outline.classes.push(class);
                        at = body;
                        continue;
                    }
                }
                Kind::Function => {
                    if let Some(function) = read_function(tree, at) {
                        outline.classes[around].functions.push(outline.functions.len());
                        outline.functions.push(function);
                    }
                }
                Kind::Expression if tree.child(at, Kind::Assignment).is_some() => {
                    outline.classes[around].fields.push(at);
                }
                Kind::Decorated
                | Kind::If
                | Kind::Elif
                | Kind::Else
                | Kind::Try
                | Kind::Catch
                | Kind::Block
                | Kind::For
                | Kind::OtherStatement
                | Kind::Error
                | Kind::Other => {
                    at += 1;
                    continue;
                }
                _ => {}
            }
            at = tree.after(at);
        }
        outline
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
        let mut path: Vec<usize> = std::iter::successors(Some(class), |class| self.classes[*class].outer)
            .filter(|class| *class != MODULE)
            .collect();
        path.reverse();
        path
    }
}

fn read_class<'a>(tree: &Tree<'a>, at: At, outer: usize) -> Option<Class<'a>> {
    let name = tree.child(at, Kind::Identifier)?;
    let bases = tree.child(at, Kind::Arguments).into_iter().flat_map(|bases| tree.named_children(bases));
    let bases = bases
        .filter(|base| matches!(tree.kind(*base), Kind::Identifier | Kind::Attribute | Kind::Other))
        .map(|base| simple_type(tree, base))
        .take(BASE_CLASSES)
        .collect();
    let (whole, decorators) = decorators(tree, at);
    Some(Class {
        at: whole,
        body: tree.child(at, Kind::Block).unwrap_or(tree.after(at)),
        name: tree.text(name),
        outer: Some(outer),
        bases,
        decorators,
        functions: Vec::new(),
        fields: Vec::new(),
    })
}

fn read_function<'a>(tree: &Tree<'a>, at: At) -> Option<Function<'a>> {
    let name = tree.child(at, Kind::Identifier)?;
    let parameters = tree.child(at, Kind::Parameters).into_iter().flat_map(|list| tree.named_children(list));
    let parameters = parameters.filter_map(|parameter| match tree.kind(parameter) {
        Kind::Identifier => Some(tree.text(parameter)),
        // With a type; one with a default is no request for a fixture.
        Kind::Parameter if !tree.children(parameter).any(|child| tree.text(child) == "=") => {
            tree.child(parameter, Kind::Identifier).map(|name| tree.text(name))
        }
        _ => None,
    });
    let parameters = parameters.collect();
    let (whole, decorators) = decorators(tree, at);
    Some(Function { at: whole, name: tree.text(name), parameters, decorators })
}

/// A definition with its decorators.
fn decorators<'a>(tree: &Tree<'a>, definition: At) -> (At, Vec<&'a str>) {
    let parent = tree.parent(definition);
    if tree.kind(parent) != Kind::Decorated {
        return (definition, Vec::new());
    }
    let decorators = tree.children(parent).filter(|at| tree.kind(*at) == Kind::Annotation);
    (parent, decorators.map(|at| tree.text(at).trim_start_matches('@').trim_start()).collect())
}
