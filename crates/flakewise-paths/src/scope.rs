//! What a test can see of the classes around it: helpers, fields and names.

use std::collections::{HashMap, HashSet, VecDeque};

use flakewise_source::{Language, NodeIndex, SyntaxTree};

use crate::assertion::may_assert;
use crate::limits::{OVERLOADS, SUPERCLASSES};
use crate::outline::{Function, Outline};

/// A parsed file and what it declares.
#[derive(Clone, Debug)]
pub struct ParsedFile {
    /// The syntax.
    pub tree: SyntaxTree,
    /// The declarations.
    pub outline: Outline,
    /// By function: whether it holds an assertion, itself or through others of
    /// the file.
    asserts: Vec<bool>,
}

impl ParsedFile {
    /// Parses a file. `None` if it is too long, nested too deeply or takes too
    /// many steps.
    pub fn parse(language: Language, text: &str) -> Option<Self> {
        let tree = SyntaxTree::parse(language, text)?;
        let outline = Outline::read(&tree);
        let asserts = assert_helpers(&tree, &outline);
        Some(Self { tree, outline, asserts })
    }
}

/// A function of one of the files of a [`Scope`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct FunctionRef {
    pub(crate) file: usize,
    pub(crate) function: usize,
}

/// What a test can see. The first file is that of its class; further ones hold
/// superclasses.
pub struct Scope<'f> {
    files: Vec<&'f ParsedFile>,
    /// The class of the test and its superclasses, nearest first, then the
    /// classes around it.
    classes: Vec<(usize, u32)>,
    by_name: HashMap<&'f str, Vec<FunctionRef>>,
    fields: HashMap<&'f str, &'f str>,
    /// Imported names, classes and functions: names that are no variables.
    known_names: HashSet<&'f str>,
}

impl<'f> Scope<'f> {
    /// The scope of a class, named by its simple name; of a module if the name
    /// is empty or unknown. `files` begins with the file of the class.
    pub fn new(files: Vec<&'f ParsedFile>, class: &str) -> Self {
        let mut scope = Self {
            files,
            classes: Vec::new(),
            by_name: HashMap::new(),
            fields: HashMap::new(),
            known_names: HashSet::new(),
        };
        let Some(first) = scope.files.first().copied() else { return scope };
        let language = first.tree.language();
        let named = first.outline.class(class);
        // In Java every test is in a class.
        let fallback = || (language == Language::Java && !first.outline.classes.is_empty()).then_some(0);
        if let Some(class) = named.or_else(fallback) {
            scope.classes = scope.lineage(0, class);
            for outer in first.outline.around(class).skip(1).take(SUPERCLASSES) {
                let further = scope.lineage(0, outer);
                scope.classes.extend(further);
            }
        }
        for (file_at, file) in scope.files.iter().enumerate() {
            for (function_at, function) in file.outline.functions.iter().enumerate() {
                let namesakes = scope.by_name.entry(&function.name).or_default();
                if namesakes.len() < OVERLOADS {
                    namesakes.push(FunctionRef { file: file_at, function: function_at });
                }
                if function.class.is_none() {
                    scope.known_names.insert(&function.name);
                }
            }
            scope.known_names.extend(file.outline.classes.iter().map(|class| class.name.as_str()));
        }
        scope.known_names.extend(first.outline.imports.iter().map(|import| import.alias.as_str()));
        for (file, class) in &scope.classes {
            for field in &scope.files[*file].outline.classes[*class as usize].fields {
                scope.fields.entry(&field.name).or_insert(&field.type_name);
            }
        }
        scope
    }

    /// A class and its superclasses in the files, nearest first.
    fn lineage(&self, file: usize, class: u32) -> Vec<(usize, u32)> {
        let mut lineage = vec![(file, class)];
        let mut next = 0;
        while let Some((file, class)) = lineage.get(next).copied() {
            next += 1;
            for base in &self.files[file].outline.classes[class as usize].bases {
                let simple = base.rsplit('.').next().unwrap_or(base);
                let found = (0..self.files.len())
                    .find_map(|file| self.files[file].outline.class(simple).map(|class| (file, class)));
                if let Some(found) = found.filter(|found| !lineage.contains(found))
                    && lineage.len() < SUPERCLASSES
                {
                    lineage.push(found);
                }
            }
        }
        lineage
    }

    pub(crate) fn language(&self) -> Language {
        self.files.first().map_or(Language::Java, |file| file.tree.language())
    }

    pub(crate) fn file(&self, at: usize) -> &'f ParsedFile {
        self.files[at]
    }

    pub(crate) fn function(&self, at: FunctionRef) -> &'f Function {
        &self.files[at.file].outline.functions[at.function]
    }

    pub(crate) fn field_type(&self, name: &str) -> Option<&'f str> {
        self.fields.get(name).copied()
    }

    /// Whether a name is a class, a function or a module rather than a variable.
    pub(crate) fn is_known_name(&self, name: &str) -> bool {
        self.known_names.contains(name)
    }

    pub(crate) fn asserts(&self, at: FunctionRef) -> bool {
        self.files[at.file].asserts[at.function]
    }

    /// The function that a call without a receiver, on the test's own object
    /// or on a class of the files runs.
    pub(crate) fn callee(&self, receiver: Receiver<'_>, name: &str, arguments: usize) -> Option<FunctionRef> {
        let candidates = self.by_name.get(name)?;
        let class_of = |at: &FunctionRef| self.function(*at).class.map(|class| (at.file, class));
        let fits = |at: &&FunctionRef| self.function(**at).accepts(arguments);
        let within = |classes: &[(usize, u32)]| {
            classes.iter().find_map(|class| {
                let own = || candidates.iter().filter(|at| class_of(at) == Some(*class));
                own().find(fits).or_else(|| own().next()).copied()
            })
        };
        match receiver {
            Receiver::None if self.language() == Language::Python => {
                candidates.iter().rev().find(|at| class_of(at).is_none()).copied()
            }
            Receiver::None | Receiver::Own => within(&self.classes),
            Receiver::Class(class) => {
                let found = (0..self.files.len())
                    .find_map(|file| self.files[file].outline.class(class).map(|class| (file, class)))?;
                within(&self.lineage(found.0, found.1))
            }
        }
    }

    /// A function by name and, if it is not 0, by line, in the first file.
    pub(crate) fn test(&self, name: &str, line: u32) -> Option<NodeIndex> {
        let functions = &self.files.first()?.outline.functions;
        let named = || functions.iter().filter(|function| function.name == name);
        let found = named().find(|function| function.line == line);
        let own = |function: &&Function| {
            let class = function.class.map(|class| (0, class));
            class.is_some() && class == self.classes.first().copied()
        };
        found.or_else(|| named().find(own)).or_else(|| named().next()).map(|function| function.node)
    }
}

/// What a call is made on, as far as helpers go.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Receiver<'a> {
    None,
    /// `this`, `super`, `self` or `cls`.
    Own,
    /// The name of a class.
    Class(&'a str),
}

/// Which functions of a file hold an assertion, directly or through calls.
fn assert_helpers(tree: &SyntaxTree, outline: &Outline) -> Vec<bool> {
    let mut asserts = vec![false; outline.functions.len()];
    let mut callers: HashMap<&str, Vec<usize>> = HashMap::new();
    for (at, function) in outline.functions.iter().enumerate() {
        for node in function.node..tree.after(function.node) {
            let name = match tree.kind(node) {
                "assert_statement" => {
                    asserts[at] = true;
                    continue;
                }
                "method_invocation" => tree.child(node, "name"),
                "call" => tree.child(node, "function").map(|called| {
                    if tree.kind(called) == "attribute" {
                        tree.child(called, "attribute").unwrap_or(called)
                    } else {
                        called
                    }
                }),
                _ => continue,
            };
            let Some(name) = name.map(|name| tree.text(name)) else { continue };
            if may_assert(name) {
                asserts[at] = true;
            } else {
                callers.entry(name).or_default().push(at);
            }
        }
    }
    let mut queue: VecDeque<usize> = (0..asserts.len()).filter(|at| asserts[*at]).collect();
    while let Some(at) = queue.pop_front() {
        // Each name is followed once: afterwards all its callers are marked.
        for caller in callers.remove(outline.functions[at].name.as_str()).unwrap_or_default() {
            if !asserts[caller] {
                asserts[caller] = true;
                queue.push_back(caller);
            }
        }
    }
    asserts
}
