//! What a test depends on, and whether that meets the change.
//!
//! The set of dependencies is safe: a file that was opened counts, whatever was
//! done with it, and so does a name that was looked for where a file came or
//! went. The lines that were executed are the precise set; they tell which of
//! the dependencies matter most and never clear a test. What could not be
//! observed makes the answer unknown, never "no".
//!
//! Nothing here does I/O or asks git: paths are compared as text.

mod environment;
mod paths;

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use flakewise_model::{Touch, TouchedFile};

use crate::change::keys::is_environment_by_key;
use crate::{Change, ChangeKind, ChangedFile, KeyChanges, KeyEffect, Shape};
use environment::Kind;
use paths::{folders, installed, is_below, module, name, normalise, parent, source_of, tails};

/// Files that pytest takes for its configuration, wherever they appear.
const CONFIGURATION: [&str; 7] =
    ["pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml", "pyproject.toml", "tox.ini", "setup.cfg"];

/// How many reasons for not knowing are named.
const MOST_REASONS: usize = 3;

/// What one execution of a test depended on. Paths are absolute and without
/// symbolic links; files of byte code may stand for their sources.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dependencies {
    /// The file the test is in; none if that is not known.
    pub test: Option<String>,
    /// Files it opened, or tried to.
    pub opened: BTreeSet<String>,
    /// Files of the modules that were loaded.
    pub loaded: BTreeSet<String>,
    /// Folders it listed.
    pub listed: BTreeSet<String>,
    /// Paths it queried, which may not exist.
    pub looked_for: BTreeSet<String>,
    /// Dotted names of the modules it requested, found or not.
    pub imports: BTreeSet<String>,
    /// The lines it executed, of changed files only.
    pub executed: BTreeMap<String, BTreeSet<u32>>,
    /// Files the runner was configured by. Those that the test opened too are
    /// also among the opened ones.
    pub config: BTreeSet<String>,
    /// Why something could not be observed: "started a process (`git`)".
    pub hidden: Vec<String>,
    /// Processes it started, even if the files they open were observed: "it
    /// started a process (`java`)". They may run what was built earlier.
    pub started: Vec<String>,
    /// Addresses it connected to: "127.0.0.1:5432".
    pub connected: Vec<String>,
}

/// How a test and a change meet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Meeting {
    /// The test depends on nothing that changed.
    Disjoint {
        /// How many files it depends on.
        dependencies: u32,
    },
    /// The test depends on these, the surest first.
    Touches(Vec<TouchedFile>),
    /// It is not known to depend on anything that changed, and may.
    Unknown {
        /// Why, for people.
        reason: String,
    },
}

impl Meeting {
    /// What two observations of one test say together. Each saw one execution,
    /// and another may go another way: what either touched is touched, with the
    /// surest touch of both, and only what both did not touch is not.
    #[must_use]
    pub fn union(self, other: Self) -> Self {
        match (self, other) {
            (Self::Touches(one), Self::Touches(other)) => Self::Touches(joined(one, other)),
            (touches @ Self::Touches(_), _) | (_, touches @ Self::Touches(_)) => touches,
            (unknown @ Self::Unknown { .. }, _) | (_, unknown @ Self::Unknown { .. }) => unknown,
            (Self::Disjoint { dependencies: one }, Self::Disjoint { dependencies: other }) => {
                Self::Disjoint { dependencies: one.max(other) }
            }
        }
    }

    /// Whether the test depends on the change, but only because its runner is
    /// configured by what changed. That is the same for every test of the
    /// suite and says little about this one: what it does at the base decides.
    pub fn only_configuration(&self) -> bool {
        matches!(self, Self::Touches(files) if files.iter().all(|file| file.touch.is_configuration()))
    }
}

/// Files that either touched, each with the surest touch.
fn joined(one: Vec<TouchedFile>, other: Vec<TouchedFile>) -> Vec<TouchedFile> {
    let mut all: BTreeMap<String, Touch> = BTreeMap::new();
    for TouchedFile { path, touch } in one.into_iter().chain(other) {
        match all.entry(path) {
            Entry::Vacant(entry) => drop(entry.insert(touch)),
            Entry::Occupied(mut entry) => {
                let known = entry.get_mut();
                match (known, touch) {
                    (Touch::Executed(known), Touch::Executed(more)) => merge(known, more),
                    (Touch::Configured(known), Touch::Configured(more)) => merge(known, more),
                    (known, touch) if rank(&touch) < rank(known) => *known = touch,
                    _ => {}
                }
            }
        }
    }
    sorted(all.into_iter().map(|(path, touch)| TouchedFile { path, touch }).collect())
}

fn merge<T: Ord>(known: &mut Vec<T>, more: Vec<T>) {
    known.extend(more);
    known.sort_unstable();
    known.dedup();
}

/// The surest first.
fn sorted(mut files: Vec<TouchedFile>) -> Vec<TouchedFile> {
    files.sort_by(|one, other| rank(&one.touch).cmp(&rank(&other.touch)).then(one.path.cmp(&other.path)));
    files
}

/// Says whether a test depends on anything that changed.
pub fn intersect(change: &Change, dependencies: &Dependencies) -> Meeting {
    let seen = Seen::new(change, dependencies);
    let disjoint = Meeting::Disjoint { dependencies: seen.count() };
    if change.files.is_empty() {
        return disjoint;
    }
    let touched =
        |file: &ChangedFile| Some(TouchedFile { path: file.path.clone(), touch: seen.touch(file)? });
    let files: Vec<_> = change.files.iter().filter_map(touched).collect();
    if !files.is_empty() {
        return Meeting::Touches(sorted(files));
    }
    let mut reasons = dependencies.hidden.iter().cloned().chain(seen.open_questions(change));
    let named: Vec<_> = reasons.by_ref().take(MOST_REASONS).collect();
    if named.is_empty() {
        return disjoint;
    }
    let more = match reasons.count() {
        0 => String::new(),
        count => format!("; and {count} more"),
    };
    Meeting::Unknown { reason: named.join("; ") + &more }
}

fn rank(touch: &Touch) -> u8 {
    match touch {
        Touch::Executed(_) => 0,
        Touch::Loaded => 1,
        Touch::Opened => 2,
        Touch::LookedFor => 3,
        Touch::Configured(_) => 4,
    }
}

/// The same dependencies, to be queried quickly.
struct Seen<'a> {
    root: String,
    test: Option<String>,
    opened: BTreeSet<String>,
    configured: BTreeSet<String>,
    loaded: BTreeSet<String>,
    listed: BTreeSet<String>,
    looked_for: BTreeSet<String>,
    executed: BTreeMap<String, BTreeSet<u32>>,
    /// Files among installed packages, by their names there. They may have
    /// been copied from the work tree.
    copies: HashMap<String, Vec<String>>,
    /// Modules requested and the packages they are in, with slashes for dots.
    imports: HashSet<String>,
    /// All parts of their names.
    import_parts: HashSet<&'a str>,
    /// What else it brought into play.
    started: Option<&'a str>,
    connected: Option<&'a str>,
}

impl<'a> Seen<'a> {
    fn new(change: &Change, dependencies: &'a Dependencies) -> Self {
        let root = normalise("", &change.root.to_string_lossy());
        let root = root.trim_end_matches('/').to_owned();
        let files = |paths: &BTreeSet<String>| -> BTreeSet<String> {
            let normal = paths.iter().map(|path| normalise(&root, path));
            normal.flat_map(|path| source_of(&path).into_iter().chain([path])).collect()
        };
        let (opened, mut loaded) = (files(&dependencies.opened), files(&dependencies.loaded));
        // The runner loads the test's own file, often before anybody watches.
        let source = |path: &String| {
            let path = normalise(&root, path);
            source_of(&path).unwrap_or(path)
        };
        let test = dependencies.test.as_ref().map(source);
        loaded.extend(test.clone());
        let looked_for = files(&dependencies.looked_for);
        let mut executed: BTreeMap<String, BTreeSet<u32>> = BTreeMap::new();
        for (path, lines) in &dependencies.executed {
            executed.entry(source(path)).or_default().extend(lines);
        }
        let mut copies: HashMap<String, Vec<String>> = HashMap::new();
        for path in opened.iter().chain(&loaded).chain(&looked_for).chain(executed.keys()) {
            if let Some(tail) = installed(path) {
                copies.entry(tail.to_owned()).or_default().push(path.clone());
            }
        }
        let mut imports = HashSet::new();
        let mut import_parts = HashSet::new();
        for import in &dependencies.imports {
            let dots = import.match_indices('.').map(|(place, _)| place).chain([import.len()]);
            imports.extend(dots.map(|end| import[..end].replace('.', "/")));
            import_parts.extend(import.split('.'));
        }
        Self {
            test,
            // As the folder of what is at the top is written.
            listed: dependencies
                .listed
                .iter()
                .map(|path| normalise(&root, path).trim_end_matches('/').to_owned())
                .collect(),
            configured: files(&dependencies.config),
            started: dependencies.started.first().or(dependencies.hidden.first()).map(String::as_str),
            connected: dependencies.connected.first().map(String::as_str),
            root,
            opened,
            loaded,
            looked_for,
            executed,
            copies,
            imports,
            import_parts,
        }
    }

    /// How many files there are, byte code and its source being one.
    fn count(&self) -> u32 {
        let files = self
            .opened
            .iter()
            .chain(&self.configured)
            .chain(&self.loaded)
            .filter(|path| source_of(path).is_none());
        let files: HashSet<&String> = files.collect();
        u32::try_from(files.len()).unwrap_or(u32::MAX)
    }

    fn touch(&self, file: &ChangedFile) -> Option<Touch> {
        let path = self.absolute(&file.path);
        let used = match file.shape {
            Shape::Folder => self.used_below(&path),
            Shape::File | Shape::Symlink => self.used(file, &path),
        };
        match file.kind {
            // Whoever used it found nothing there.
            ChangeKind::Deleted => used.map(|_| Touch::LookedFor).or_else(|| self.missed(file, &path)),
            ChangeKind::Added | ChangeKind::TypeChanged => used.or_else(|| self.missed(file, &path)),
            ChangeKind::Modified => used,
        }
    }

    /// Whether a file itself was used, here or as an installed copy.
    fn used(&self, file: &ChangedFile, path: &str) -> Option<Touch> {
        let places: Vec<&str> = [path].into_iter().chain(self.copies_of(file)).collect();
        let mut executed = BTreeSet::new();
        for lines in places.iter().filter_map(|place| self.executed.get(*place)) {
            executed.extend(lines.iter().copied().filter(|line| file.is_changed(*line)));
        }
        let is_in = |set: &BTreeSet<String>| places.iter().any(|place| set.contains(*place));
        // So it does with what surrounds the test.
        let is_above = name(path) == "conftest.py" && self.is_test_below(parent(path));
        if !executed.is_empty() {
            Some(Touch::Executed(executed.into_iter().collect()))
        } else if is_in(&self.loaded)
            || places.iter().any(|place| self.executed.contains_key(*place))
            || is_above
        {
            Some(Touch::Loaded)
        } else if is_in(&self.opened) {
            Some(Touch::Opened)
        } else if is_in(&self.configured) {
            self.configuration(file)
        } else {
            None
        }
    }

    /// What a changed file does to a test whose runner it configures, and that
    /// does not read it otherwise.
    fn configuration(&self, file: &ChangedFile) -> Option<Touch> {
        let Some(keys) = &file.keys else { return Some(Touch::Configured(Vec::new())) };
        let acts = |effect| match effect {
            KeyEffect::Tests | KeyEffect::Unknown => true,
            KeyEffect::Metadata => self.reads_metadata(keys),
            // The latter is an open question.
            KeyEffect::Nothing | KeyEffect::Environment => false,
        };
        let acting = keys.changed.iter().filter(|key| acts(key.effect));
        let names: Vec<String> = acting.map(|key| key.name.clone()).collect();
        (!names.is_empty()).then_some(Touch::Configured(names))
    }

    /// Whether what an installed package says about itself was read, where it
    /// may be that of the project.
    fn reads_metadata(&self, keys: &KeyChanges) -> bool {
        let project = keys.project.as_deref().map(environment::distribution);
        let read =
            self.opened.iter().chain(&self.looked_for).filter_map(|path| environment::metadata_of(path));
        read.into_iter().any(|name| project.as_ref().is_none_or(|project| *project == name))
    }

    /// Whether a folder whose inside is not known was used.
    fn used_below(&self, path: &str) -> Option<Touch> {
        let inside = format!("{path}/");
        let any = |set: &BTreeSet<String>| {
            let next = set.range(inside.clone()..).next();
            set.contains(path) || next.is_some_and(|next| next.starts_with(&inside))
        };
        let is_executed = self.executed.keys().any(|file| file == path || is_below(file, path));
        if any(&self.loaded) || is_executed {
            Some(Touch::Loaded)
        } else if any(&self.opened) || any(&self.configured) {
            Some(Touch::Opened)
        } else if any(&self.listed) || any(&self.looked_for) {
            Some(Touch::LookedFor)
        } else {
            None
        }
    }

    /// Whether a test may have noticed that something came or went.
    fn missed(&self, file: &ChangedFile, path: &str) -> Option<Touch> {
        // With a file, folders may have come or gone. Whoever lists the folder
        // around the topmost of them notices.
        let top = file.folder.as_ref().map(|folder| self.absolute(folder));
        let outermost = parent(top.as_deref().unwrap_or(path));
        let is_listed = folders(path, outermost).any(|folder| self.listed.contains(folder));
        let is_sought = self.looked_for.contains(path)
            || self.copies_of(file).any(|copy| self.looked_for.contains(copy))
            || folders(path, outermost).any(|folder| folder != outermost && self.looked_for.contains(folder));
        if is_listed || is_sought || self.is_imported(file) {
            Some(Touch::LookedFor)
        } else {
            CONFIGURATION.contains(&name(path)).then(|| Touch::Configured(Vec::new()))
        }
    }

    /// Whether a module was requested that this file may have been.
    fn is_imported(&self, file: &ChangedFile) -> bool {
        let module = match file.shape {
            Shape::Folder => Some(file.path.as_str()),
            Shape::File | Shape::Symlink => module(&file.path),
        };
        let is_asked_for = |path: &str| tails(path).any(|tail| self.imports.contains(tail));
        // What was added and is used was loaded. What is gone leaves only its
        // name behind, and packages may be mapped to other folders.
        let is_module = module.is_some_and(|path| {
            is_asked_for(path) || (file.kind != ChangeKind::Added && self.import_parts.contains(name(path)))
        });
        // A folder without any `__init__.py` is a package too.
        let is_package = file.folder.as_deref().is_some_and(|top| {
            folders(&file.path, top).any(|folder| !folder.is_empty() && is_asked_for(folder))
        });
        is_module || is_package
    }

    /// Where it may be installed.
    fn copies_of<'b>(&'b self, file: &'b ChangedFile) -> impl Iterator<Item = &'b str> {
        tails(&file.path).filter_map(|tail| self.copies.get(tail)).flatten().map(String::as_str)
    }

    /// What may act on the test in ways that cannot be seen.
    fn open_questions(&self, change: &Change) -> impl Iterator<Item = String> {
        let native = self.opened.iter().chain(&self.loaded).find(|path| environment::is_native(path));
        let native = native.map(|path| name(path).to_owned());
        change.files.iter().filter_map(move |file| {
            let path = &file.path;
            if file.lossy {
                Some(format!("`{path}` changed, whose name is not UTF-8"))
            } else if file.shape == Shape::Symlink {
                Some(format!("the symbolic link `{path}` changed"))
            } else if is_environment_by_key(path) {
                self.environment_by_key(file)
            } else if environment::shapes_environment(path) {
                Some(format!("`{path}` changed, which may change what is installed or set"))
            } else {
                self.run_by_others(file, native.as_deref())
            }
        })
    }

    /// The same for a file whose keys tell whether it is about the environment.
    fn environment_by_key(&self, file: &ChangedFile) -> Option<String> {
        let path = &file.path;
        let Some(keys) = &file.keys else {
            return Some(format!("`{path}` changed, which may change what is installed or set"));
        };
        let is_open = |effect| match effect {
            KeyEffect::Environment | KeyEffect::Unknown => true,
            KeyEffect::Metadata => self.reads_metadata(keys),
            // A runner that does not read it is not configured by it.
            KeyEffect::Nothing | KeyEffect::Tests => false,
        };
        let key = &keys.changed.iter().find(|key| is_open(key.effect))?.name;
        Some(format!("`{key}` changed in `{path}`, which may change what is installed or set"))
    }

    /// Code in other languages acts on a test through what others made of it:
    /// libraries that the test's process loads, programs that it starts, and
    /// services that it connects to. None of these opens the source.
    fn run_by_others(&self, file: &ChangedFile, native: Option<&str>) -> Option<String> {
        let path = &file.path;
        let inert = |keys: &KeyChanges| keys.changed.iter().all(|key| key.effect == KeyEffect::Nothing);
        let kind = environment::kind(path);
        if kind == Kind::Opened || file.keys.as_ref().is_some_and(inert) {
            return None;
        }
        if kind == Kind::Built {
            if let Some(native) = native {
                return Some(format!("`{path}` changed, which may be compiled into `{native}`"));
            }
            if let Some(started) = self.started {
                return Some(format!("`{path}` changed, which may be part of a program: {started}"));
            }
        }
        let address = self.connected?;
        Some(format!("`{path}` changed, which may be part of a service: it connected to `{address}`"))
    }

    fn is_test_below(&self, folder: &str) -> bool {
        self.test.as_deref().is_none_or(|test| is_below(test, folder))
    }

    fn absolute(&self, path: &str) -> String {
        format!("{}/{path}", self.root)
    }
}
