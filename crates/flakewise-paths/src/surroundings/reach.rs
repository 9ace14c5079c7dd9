//! The code that a test runs, as far as its repository shows it.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::OnceLock;

use flakewise_source::{Language, SyntaxTree, load_file};

use super::bodies::{Body, FileBodies};
use super::calls::{CallReader, Resolvers};
use super::{ApiCounts, CodeUnderTest, Surroundings, TestTree};
use crate::index::{ClassRef, FunctionRef, Index, Target};
use crate::limits::{
    BASES, CLASS_NAMES, HELPER_DEPTH, IMPLEMENTATIONS, OVERLOADS, REACHED_CALLS, REACHED_METHODS,
    TEST_TREE_METHODS, TREE_WORDS, UNDER_WORDS,
};
use crate::outline::Outline;

/// How deep production code is followed.
const DEPTH: usize = 4;

/// Finds the surroundings of the tests of a repository. A file is parsed when
/// a test first reaches it.
#[derive(Debug)]
pub struct Reach<'i> {
    root: &'i Path,
    index: &'i Index,
    bodies: Vec<OnceLock<FileBodies>>,
    resolvers: Resolvers<'i>,
    /// The functions of the code under test by name.
    by_name: HashMap<&'i str, Vec<FunctionRef>>,
    subclasses: HashMap<ClassRef, Vec<ClassRef>>,
}

impl<'i> Reach<'i> {
    /// For the tests of the repository at `root`, which has that index.
    pub fn new(root: &'i Path, index: &'i Index) -> Self {
        let resolvers = Resolvers::new(index);
        let mut by_name: HashMap<&str, Vec<FunctionRef>> = HashMap::new();
        let mut subclasses: HashMap<ClassRef, Vec<ClassRef>> = HashMap::new();
        for file in 0..index.len() {
            let outline = index.outline(file);
            let functions = if index.is_test_file(file) { &[][..] } else { &outline.functions };
            for (function, found) in (0..).zip(functions) {
                let named = by_name.entry(&found.name).or_default();
                if named.len() < OVERLOADS {
                    named.push(FunctionRef { file, function });
                }
            }
            let resolver = resolvers.file(file);
            for (class, found) in (0..).zip(&outline.classes) {
                for base in found.bases.iter().filter_map(|base| resolver.class(base)) {
                    subclasses.entry(base).or_default().push(ClassRef { file, class });
                }
            }
        }
        let bodies = (0..index.len()).map(|_| OnceLock::new()).collect();
        Self { root, index, bodies, resolvers, by_name, subclasses }
    }

    /// The surroundings of a test: by its file, the simple name of its class,
    /// its name and, if it is not 0, its line. `None` if it is not in the index.
    pub fn surroundings(&self, path: &str, class: &str, name: &str, line: u32) -> Option<Surroundings> {
        let file = self.index.file(path)?;
        let (test, class) = self.find(file, class, name, line)?;
        let own = self.body(Target::Function(test));
        let lineage = class.map(|class| self.index.lineage(class)).unwrap_or_default();
        let mut tree = TestTree { bases: self.bases(class, lineage), ..TestTree::default() };
        let superclasses = lineage.get(1..).unwrap_or_default();
        tree.superclasses = count(superclasses.len());
        tree.test_superclasses =
            count(superclasses.iter().filter(|class| self.index.is_test_file(class.file)).count());
        let set_up = self.set_up(test, file, lineage);
        tree.set_up = count(set_up.len());
        let under = self.test_tree(test, set_up, &mut tree);
        Some(Surroundings { calls: own.calls, own: own.apis, tree, under: self.under(under) })
    }

    /// A test, and the class that runs it.
    fn find(&self, file: u32, class: &str, name: &str, line: u32) -> Option<(FunctionRef, Option<ClassRef>)> {
        let outline = self.index.outline(file);
        let own = outline.class(class).map(|class| ClassRef { file, class });
        let named = || (0..).zip(&outline.functions).filter(|(_, function)| function.name == name);
        let of_class =
            || named().find(|(_, function)| own.is_some() && function.class == own.map(|own| own.class));
        let at_line = || named().find(|(_, function)| line > 0 && function.line == line);
        let inherited =
            || self.index.lineage(own?).iter().find_map(|class| self.index.own_method(*class, name, &[]));
        let here = at_line().or_else(of_class).map(|(function, _)| FunctionRef { file, function });
        let test = here
            .or_else(inherited)
            .or_else(|| named().next().map(|(function, _)| FunctionRef { file, function }))?;
        let class =
            own.or_else(|| self.index.function(test).class.map(|class| ClassRef { file: test.file, class }));
        Some((test, class))
    }

    /// Superclasses of the repository, then the first of a library.
    fn bases(&self, class: Option<ClassRef>, lineage: &[ClassRef]) -> Vec<String> {
        let own = lineage.iter().skip(1).take(BASES).map(|class| self.index.class_name(*class).to_owned());
        let library = class.and_then(|class| self.index.library_base(class));
        own.chain(library.map(|base| base.rsplit('.').next().unwrap_or(base).to_owned())).collect()
    }

    /// What runs before and after a test: set-up methods, constructors and
    /// initialisers of its classes, and fixtures.
    fn set_up(&self, test: FunctionRef, file: u32, lineage: &[ClassRef]) -> Vec<Target> {
        let mut found = Vec::new();
        for class in lineage.iter().filter(|class| self.index.is_test_file(class.file)) {
            let outline = self.index.outline(class.file);
            for function in self.index.functions(*class) {
                let at = FunctionRef { file: class.file, function };
                let declared = &outline.functions[function as usize];
                let constructs =
                    declared.name == "__init__" || declared.name == self.index.class_name(*class);
                if constructs || self.body(Target::Function(at)).is_set_up {
                    found.push(Target::Function(at));
                }
            }
            if self.body(Target::Class(*class)).lines > 0 {
                found.push(Target::Class(*class));
            }
        }
        if self.index.language(file) == Language::Python {
            self.fixtures(test, file, &mut found);
        }
        found
    }

    /// Functions of the module and of the `conftest.py` files above it that have
    /// the name of a parameter, and those that run for every test.
    fn fixtures(&self, test: FunctionRef, file: u32, found: &mut Vec<Target>) {
        let mut files = vec![file];
        let mut folder = self.index.path(file);
        while let Some((above, _)) = folder.rsplit_once('/') {
            files.extend(self.index.file(&format!("{above}/conftest.py")));
            folder = above;
        }
        files.extend(self.index.file("conftest.py"));
        files.dedup();
        let mut wanted: Vec<&str> =
            self.index.function(test).parameters.iter().map(|parameter| parameter.name.as_str()).collect();
        let mut next = 0;
        for file in &files {
            for function in self.index.module_functions(*file) {
                let at = Target::Function(FunctionRef { file: *file, function });
                if self.body(at).is_set_up && !found.contains(&at) {
                    found.push(at);
                }
            }
        }
        // Fixtures of fixtures, too.
        while let Some(name) = wanted.get(next).copied().filter(|_| next < TEST_TREE_METHODS) {
            next += 1;
            let fixture = files.iter().find_map(|file| {
                let named =
                    |function: &u32| self.index.outline(*file).functions[*function as usize].name == name;
                let function = self.index.module_functions(*file).find(named)?;
                Some(FunctionRef { file: *file, function })
            });
            let Some(fixture) = fixture else { continue };
            if !found.contains(&Target::Function(fixture)) {
                found.push(Target::Function(fixture));
                for parameter in &self.index.function(fixture).parameters {
                    if !wanted.contains(&parameter.name.as_str()) {
                        wanted.push(&parameter.name);
                    }
                }
            }
        }
    }

    /// Walks the test tree, fills in what it holds, and returns what it calls
    /// of the production code.
    fn test_tree(&self, test: FunctionRef, set_up: Vec<Target>, tree: &mut TestTree) -> Vec<Target> {
        let mut queue: Vec<(Target, u32)> = vec![(Target::Function(test), 0)];
        queue.extend(set_up.into_iter().map(|target| (target, 0)));
        let mut seen: HashSet<Target> = queue.iter().map(|(target, _)| *target).collect();
        let mut under = Vec::new();
        let mut words = Words::default();
        let mut next = 0;
        while let Some((target, depth)) = queue.get(next).copied() {
            let body = self.body(target);
            tree.methods += 1;
            tree.lines += body.lines;
            tree.mock_calls += body.calls.mocks;
            // The first one is the test itself.
            if next > 0 {
                add(&mut tree.apis, &body.apis);
                words.add(self, target);
            }
            next += 1;
            for called in body.targets.iter().flat_map(|called| self.runs(*called)) {
                if !self.index.is_test(called) {
                    under.extend((under.len() < REACHED_CALLS).then_some(called));
                } else if depth < HELPER_DEPTH && queue.len() < TEST_TREE_METHODS && seen.insert(called) {
                    queue.push((called, depth + 1));
                }
            }
        }
        tree.words = words.most_frequent(TREE_WORDS);
        under
    }

    /// The production code that is reached from these functions.
    fn under(&self, mut layer: Vec<Target>) -> CodeUnderTest {
        let mut under = CodeUnderTest::default();
        let mut seen = HashSet::new();
        for depth in 0..DEPTH {
            layer.retain(|target| seen.insert(*target));
            under.methods[depth] = count(layer.len());
            let mut words = Words::default();
            let mut classes = HashSet::new();
            let mut below = Vec::new();
            for target in &layer {
                let body = self.body(*target);
                for (nearest, uses) in under.nearest.0.iter_mut().zip(body.apis.0) {
                    if *nearest == 0 && uses > 0 {
                        *nearest = count(depth + 1);
                    }
                }
                if let (Some(lines), Some(apis)) = (under.lines.get_mut(depth), under.apis.get_mut(depth)) {
                    *lines += body.lines;
                    add(apis, &body.apis);
                    classes.extend(self.index.class_of(*target));
                }
                if depth == 0 {
                    words.add(self, *target);
                }
                let called = body.targets.iter().flat_map(|called| self.runs(*called));
                let room = REACHED_CALLS.saturating_sub(below.len());
                below.extend(called.filter(|called| !self.index.is_test(*called)).take(room));
            }
            if let Some(known) = under.classes.get_mut(depth) {
                *known = count(classes.len());
            }
            if depth == 0 {
                let mut names: Vec<String> =
                    classes.iter().map(|class| self.index.class_name(*class).to_owned()).collect();
                names.sort_unstable();
                names.dedup();
                names.truncate(CLASS_NAMES);
                under.class_names = names;
                under.words = words.most_frequent(UNDER_WORDS);
            }
            if seen.len() >= REACHED_METHODS {
                break;
            }
            layer = below;
        }
        under
    }

    /// What a call runs: of an abstract method its implementations, with a
    /// constructor what its class does when it is created.
    fn runs(&self, called: Target) -> Vec<Target> {
        let Target::Function(at) = called else {
            return if self.body(called).lines > 0 { vec![called] } else { Vec::new() };
        };
        let function = self.index.function(at);
        let Some(class) = function.class.map(|class| ClassRef { file: at.file, class }) else {
            return vec![called];
        };
        if self.body(called).is_abstract {
            let implementations = self.implementations(class, at);
            if !implementations.is_empty() {
                return implementations;
            }
        }
        let mut runs = vec![called];
        if function.name == self.index.class_name(class) && self.body(Target::Class(class)).lines > 0 {
            runs.push(Target::Class(class));
        }
        runs
    }

    fn implementations(&self, class: ClassRef, method: FunctionRef) -> Vec<Target> {
        let method = self.index.function(method);
        let arguments: Vec<String> =
            method.parameters.iter().map(|parameter| parameter.type_name.clone()).collect();
        let mut classes = vec![class];
        let mut found = Vec::new();
        let mut next = 0;
        while let Some(class) = classes.get(next).copied().filter(|_| next < OVERLOADS) {
            next += 1;
            for subclass in self.subclasses.get(&class).into_iter().flatten() {
                if classes.contains(subclass) {
                    continue;
                }
                classes.push(*subclass);
                let own = self.index.own_method(*subclass, &method.name, &arguments).map(Target::Function);
                found.extend(own.filter(|own| !self.body(*own).is_abstract));
                if found.len() >= IMPLEMENTATIONS {
                    return found;
                }
            }
        }
        found
    }

    fn file(&self, file: u32) -> &FileBodies {
        self.bodies[file as usize]
            .get_or_init(|| self.read(file).unwrap_or_else(|| missing(self.index.outline(file))))
    }

    /// Reads a file again. `None` if it is not the one that was indexed.
    fn read(&self, file: u32) -> Option<FileBodies> {
        let bytes = load_file(self.root, self.index.path(file)).ok()?;
        let tree = SyntaxTree::parse(self.index.language(file), &String::from_utf8_lossy(&bytes))?;
        let outline = Outline::read(&tree);
        if !outline.declares_same(self.index.outline(file)) {
            return None;
        }
        let calls =
            CallReader { index: self.index, file, resolvers: &self.resolvers, by_name: &self.by_name };
        Some(FileBodies::read(&tree, &outline, &calls))
    }

    fn body(&self, target: Target) -> &Body {
        match target {
            Target::Function(at) => &self.file(at.file).functions[at.function as usize],
            Target::Class(at) => &self.file(at.file).initialisers[at.class as usize],
        }
    }
}

/// The bodies of a file that cannot be read any more.
fn missing(outline: &Outline) -> FileBodies {
    FileBodies {
        functions: outline.functions.iter().map(|_| Body::default()).collect(),
        initialisers: outline.classes.iter().map(|_| Body::default()).collect(),
        words: Vec::new(),
    }
}

/// Words of several bodies.
#[derive(Default)]
struct Words<'w>(HashMap<&'w str, u32>);

impl<'w> Words<'w> {
    fn add(&mut self, reach: &'w Reach<'_>, target: Target) {
        let words = &reach.file(target.file()).words;
        for (word, times) in &reach.body(target).words {
            *self.0.entry(&words[*word as usize]).or_default() += times;
        }
    }

    fn most_frequent(self, most: usize) -> Vec<(String, u32)> {
        let mut words: Vec<(&str, u32)> = self.0.into_iter().collect();
        words.sort_unstable_by(|left, right| right.1.cmp(&left.1).then(left.0.cmp(right.0)));
        words.truncate(most);
        words.sort_unstable();
        words.into_iter().map(|(word, times)| (word.to_owned(), times)).collect()
    }
}

fn add(to: &mut ApiCounts, from: &ApiCounts) {
    for (to, from) in to.0.iter_mut().zip(from.0) {
        *to += from;
    }
}

fn count(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}
