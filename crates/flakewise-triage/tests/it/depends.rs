//! Whether a test meets the change.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use flakewise_model::Touch;
use flakewise_triage::{Change, ChangeKind, ChangedFile, Dependencies, LineRange, Meeting, Shape, intersect};
use proptest::prelude::*;

use ChangeKind::{Added, Deleted, Modified};

fn changed(kind: ChangeKind, path: &str) -> ChangedFile {
    ChangedFile {
        path: path.to_owned(),
        lossy: false,
        kind,
        shape: Shape::File,
        lines: if kind == Deleted { vec![] } else { vec![LineRange { first: 3, last: 5 }] },
        inserted: vec![],
        source: std::path::Path::new(path).extension().is_some_and(|extension| extension == "py"),
        folder: None,
    }
}

fn change(files: impl Into<Vec<ChangedFile>>) -> Change {
    Change {
        root: PathBuf::from("/r"),
        head: "h".into(),
        base: "b".into(),
        found: "merge base with main".into(),
        files: files.into(),
        uncommitted: false,
    }
}

fn set(paths: &[&str]) -> BTreeSet<String> {
    paths.iter().map(|path| (*path).to_owned()).collect()
}

/// A test that loaded itself and nothing else.
fn dependencies() -> Dependencies {
    Dependencies {
        test: Some("/r/tests/test_a.py".into()),
        loaded: set(&["/r/tests/test_a.py"]),
        ..Dependencies::default()
    }
}

/// How the test touches a change of one file; none if it does not.
fn touch(file: ChangedFile, dependencies: &Dependencies) -> Option<Touch> {
    match intersect(&change([file]), dependencies) {
        Meeting::Touches(files) => Some(files[0].touch.clone()),
        Meeting::Disjoint { .. } => None,
        Meeting::Unknown { reason } => panic!("unknown: {reason}"),
    }
}

fn reason(file: ChangedFile, dependencies: &Dependencies) -> String {
    match intersect(&change([file]), dependencies) {
        Meeting::Unknown { reason } => reason,
        other => panic!("{other:?}"),
    }
}

fn opened(path: &str) -> Dependencies {
    Dependencies { opened: set(&[path]), ..dependencies() }
}

fn loaded(path: &str) -> Dependencies {
    Dependencies { loaded: set(&[path]), ..dependencies() }
}

fn listed(path: &str) -> Dependencies {
    Dependencies { listed: set(&[path]), ..dependencies() }
}

fn imports(name: &str) -> Dependencies {
    Dependencies { imports: set(&[name]), ..dependencies() }
}

#[test]
fn a_modified_file_is_touched_when_opened_or_loaded() {
    let data = || changed(Modified, "data/prices.json");
    assert_eq!(touch(data(), &opened("/r/data/prices.json")), Some(Touch::Opened));
    assert_eq!(touch(data(), &opened("/r/data/../data//prices.json")), Some(Touch::Opened));
    assert_eq!(touch(data(), &loaded("/r/data/prices.json")), Some(Touch::Loaded));
    assert_eq!(touch(data(), &opened("/elsewhere/data/prices.json")), None);
    assert_eq!(touch(data(), &opened("/r/data/prices.json.bak")), None);
    assert_eq!(touch(data(), &listed("/r/data")), None);
    let config = Dependencies { config: set(&["/r/data/prices.json"]), ..dependencies() };
    assert_eq!(touch(data(), &config), Some(Touch::Opened));
}

#[test]
fn byte_code_stands_for_its_source() {
    let source = || changed(Modified, "pkg/x.py");
    assert_eq!(touch(source(), &opened("/r/pkg/__pycache__/x.cpython-311.pyc")), Some(Touch::Opened));
    assert_eq!(touch(source(), &loaded("/r/pkg/__pycache__/x.cpython-313.opt-2.pyc")), Some(Touch::Loaded));
    assert_eq!(touch(source(), &loaded("/r/pkg/x.pyc")), Some(Touch::Loaded));
    assert_eq!(touch(source(), &loaded("/r/other/__pycache__/x.cpython-311.pyc")), None);
}

#[test]
fn executed_lines_make_it_precise_and_never_clear_a_test() {
    let executed = |lines: &[u32]| Dependencies {
        loaded: set(&["/r/pkg/x.py"]),
        executed: BTreeMap::from([("/r/pkg/x.py".to_owned(), lines.iter().copied().collect())]),
        ..dependencies()
    };
    assert_eq!(
        touch(changed(Modified, "pkg/x.py"), &executed(&[1, 4, 5, 9])),
        Some(Touch::Executed(vec![4, 5]))
    );
    assert_eq!(touch(changed(Modified, "pkg/x.py"), &executed(&[1, 9])), Some(Touch::Loaded));
    assert_eq!(touch(changed(Modified, "pkg/x.py"), &executed(&[])), Some(Touch::Loaded));
}

#[test]
fn an_installed_copy_counts_as_the_file_itself() {
    let installed = loaded("/v/lib/python3.11/site-packages/pkg/x.py");
    assert_eq!(touch(changed(Modified, "src/pkg/x.py"), &installed), Some(Touch::Loaded));
    assert_eq!(touch(changed(Modified, "pkg/x.py"), &installed), Some(Touch::Loaded));
    assert_eq!(touch(changed(Modified, "src/other/x.py"), &installed), None);
    assert_eq!(touch(changed(Modified, "x.py"), &installed), None);
}

#[test]
fn an_added_file_is_touched_by_whoever_could_notice_it() {
    let data = || changed(Added, "data/new.json");
    assert_eq!(touch(data(), &listed("/r/data")), Some(Touch::LookedFor));
    assert_eq!(touch(data(), &listed("/r/data/")), Some(Touch::LookedFor));
    assert_eq!(touch(data(), &listed("/r")), None);
    let sought = Dependencies { looked_for: set(&["/r/data/new.json"]), ..dependencies() };
    assert_eq!(touch(data(), &sought), Some(Touch::LookedFor));
    assert_eq!(touch(data(), &opened("/r/data/new.json")), Some(Touch::Opened));
    let module = || changed(Added, "src/pkg/models.py");
    assert_eq!(touch(module(), &imports("pkg.models")), Some(Touch::LookedFor));
    assert_eq!(touch(module(), &imports("models.sub")), Some(Touch::LookedFor));
    assert_eq!(touch(module(), &imports("other.models")), None);
}

#[test]
fn a_removed_file_is_touched_by_whoever_missed_it() {
    let module = || changed(Deleted, "src/pkg/models.py");
    assert_eq!(touch(module(), &imports("other.models")), Some(Touch::LookedFor));
    assert_eq!(touch(module(), &imports("pkg.models.attribute")), Some(Touch::LookedFor));
    assert_eq!(touch(module(), &imports("pkg.model")), None);
    assert_eq!(touch(module(), &opened("/r/src/pkg/models.py")), Some(Touch::LookedFor));
    assert_eq!(touch(module(), &listed("/r/src/pkg")), Some(Touch::LookedFor));
    assert_eq!(touch(changed(Deleted, "src/pkg/__init__.py"), &imports("pkg.x")), Some(Touch::LookedFor));
    assert_eq!(touch(changed(Deleted, "data/models.json"), &imports("models")), None);
}

#[test]
fn a_folder_that_comes_or_goes_is_noticed_from_outside() {
    for kind in [Added, Deleted] {
        let file = || ChangedFile { folder: Some("plugins/a".into()), ..changed(kind, "plugins/a/b/x.txt") };
        assert_eq!(touch(file(), &listed("/r/plugins")), Some(Touch::LookedFor));
        assert_eq!(touch(file(), &listed("/r/plugins/a")), Some(Touch::LookedFor));
        assert_eq!(touch(file(), &listed("/r")), None);
        let sought = |path: &str| Dependencies { looked_for: set(&[path]), ..dependencies() };
        assert_eq!(touch(file(), &sought("/r/plugins/a")), Some(Touch::LookedFor));
        assert_eq!(touch(file(), &sought("/r/plugins")), None);
        // Without any `__init__.py` it is a package still.
        assert_eq!(touch(file(), &imports("plugins.a")), Some(Touch::LookedFor));
        assert_eq!(touch(file(), &imports("plugins")), None);
    }
}

#[test]
fn files_around_a_test_count_for_all_tests_below() {
    for (kind, expected) in [(Added, Touch::Loaded), (Modified, Touch::Loaded), (Deleted, Touch::LookedFor)] {
        assert_eq!(touch(changed(kind, "tests/conftest.py"), &dependencies()), Some(expected.clone()));
        assert_eq!(touch(changed(kind, "conftest.py"), &dependencies()), Some(expected.clone()));
        assert_eq!(touch(changed(kind, "tests/deeper/conftest.py"), &dependencies()), None);
        let unknown = Dependencies { test: None, ..dependencies() };
        assert_eq!(touch(changed(kind, "tests/deeper/conftest.py"), &unknown), Some(expected));
    }
    let unseen = Dependencies { loaded: BTreeSet::new(), ..dependencies() };
    assert_eq!(touch(changed(Modified, "tests/test_a.py"), &unseen), Some(Touch::Loaded));
    for name in ["pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg"] {
        assert_eq!(touch(changed(Added, name), &dependencies()), Some(Touch::LookedFor), "{name}");
        assert_eq!(touch(changed(Deleted, name), &dependencies()), Some(Touch::LookedFor), "{name}");
    }
}

#[test]
fn anything_inside_of_a_submodule_touches_it() {
    let module = || ChangedFile { shape: Shape::Folder, lines: vec![], ..changed(Modified, "vendor/other") };
    assert_eq!(touch(module(), &loaded("/r/vendor/other/a/b.py")), Some(Touch::Loaded));
    assert_eq!(touch(module(), &opened("/r/vendor/other/x")), Some(Touch::Opened));
    assert_eq!(touch(module(), &listed("/r/vendor/other")), Some(Touch::LookedFor));
    assert_eq!(touch(module(), &opened("/r/vendor/other-2/x")), None);
}

#[test]
fn what_cannot_be_seen_leaves_the_answer_open() {
    let hidden = Dependencies { hidden: vec!["started a process (`git`)".into()], ..dependencies() };
    assert_eq!(reason(changed(Modified, "README.md"), &hidden), "started a process (`git`)");
    assert_eq!(touch(changed(Modified, "tests/test_a.py"), &hidden), Some(Touch::Loaded));
    let many = Dependencies { hidden: ["a", "b", "c", "d", "e"].map(str::to_owned).into(), ..dependencies() };
    assert_eq!(reason(changed(Modified, "README.md"), &many), "a; b; c; and 2 more");
    assert_eq!(intersect(&change([]), &hidden), Meeting::Disjoint { dependencies: 1 });
}

#[test]
fn what_is_installed_compiled_or_linked_leaves_the_answer_open() {
    let lock = reason(changed(Modified, "uv.lock"), &dependencies());
    assert_eq!(lock, "`uv.lock` changed, which may change what is installed or set");
    let native = loaded("/r/pkg/fast.cpython-311-x86_64-linux-gnu.so");
    assert_eq!(
        reason(changed(Modified, "pkg/fast.c"), &native),
        "`pkg/fast.c` changed, which may be compiled into `fast.cpython-311-x86_64-linux-gnu.so`"
    );
    assert_eq!(touch(changed(Modified, "pkg/fast.c"), &dependencies()), None);
    let link = ChangedFile { shape: Shape::Symlink, ..changed(Modified, "data/current") };
    assert_eq!(reason(link, &dependencies()), "the symbolic link `data/current` changed");
    let lossy = ChangedFile { lossy: true, ..changed(Modified, "data/\u{fffd}") };
    assert_eq!(reason(lossy, &dependencies()), "`data/\u{fffd}` changed, whose name is not UTF-8");
}

#[test]
fn the_surest_touch_comes_first() {
    let dependencies = Dependencies {
        loaded: set(&["/r/z.py", "/r/b.py"]),
        opened: set(&["/r/a.json"]),
        listed: set(&["/r/data"]),
        executed: BTreeMap::from([("/r/z.py".to_owned(), BTreeSet::from([4]))]),
        ..dependencies()
    };
    let files = ["a.json", "b.py", "z.py"].map(|path| changed(Modified, path));
    let meeting = intersect(&change([&files[..], &[changed(Added, "data/0")]].concat()), &dependencies);
    let Meeting::Touches(touched) = meeting else {
        panic!("{meeting:?}");
    };
    let paths: Vec<_> = touched.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(paths, ["z.py", "b.py", "a.json", "data/0"]);
}

#[test]
fn byte_code_and_its_source_are_one_dependency() {
    let dependencies = Dependencies {
        opened: set(&["/r/pkg/__pycache__/x.cpython-311.pyc", "/r/data.json"]),
        loaded: set(&["/r/pkg/x.py", "/r/tests/test_a.py"]),
        ..dependencies()
    };
    let meeting = intersect(&change([changed(Modified, "README.md")]), &dependencies);
    assert_eq!(meeting, Meeting::Disjoint { dependencies: 3 });
}

/// Whether a file is touched, said as plainly as possible: every rule for every
/// pair of a changed file and a dependency.
fn touches(file: &ChangedFile, dependencies: &Dependencies) -> bool {
    let path = format!("/r/{}", file.path);
    let folder_of =
        |path: &str| path.rsplit_once('/').map(|(folder, _)| folder.to_owned()).unwrap_or_default();
    let as_source = |used: &String| match used.split_once("/__pycache__/") {
        Some((folder, code)) => format!("{folder}/{}.py", code.split('.').next().unwrap_or_default()),
        None => used.clone(),
    };
    let is_copy = |used: &String| {
        let source = as_source(used);
        source
            .split_once("/site-packages/")
            .is_some_and(|(_, inner)| file.path == inner || file.path.ends_with(&format!("/{inner}")))
    };
    let is_same = |used: &String| match file.shape {
        Shape::Folder => as_source(used) == path || used.starts_with(&format!("{path}/")),
        _ => *used == path || as_source(used) == path || is_copy(used),
    };
    let is_used = [&dependencies.opened, &dependencies.loaded, &dependencies.config]
        .into_iter()
        .flatten()
        .chain(dependencies.executed.keys())
        .chain(&dependencies.test)
        .any(is_same);
    let name = file.path.rsplit('/').next().unwrap_or_default();
    let test = dependencies.test.clone();
    let is_around = file.shape != Shape::Folder
        && name == "conftest.py"
        && test.is_none_or(|test| test.starts_with(&format!("{}/", folder_of(&path))));
    let is_inside =
        |asked: &String| *asked == path || as_source(asked) == path || asked.starts_with(&format!("{path}/"));
    let is_asked = file.shape == Shape::Folder
        && dependencies.listed.iter().chain(&dependencies.looked_for).any(is_inside);
    if is_used || is_around || is_asked || file.kind == Modified {
        return is_used || is_around || is_asked;
    }
    let mut modules: Vec<String> =
        file.path.strip_suffix("/__init__.py").map(str::to_owned).into_iter().collect();
    modules
        .extend(file.path.strip_suffix(".py").filter(|path| !path.ends_with("__init__")).map(str::to_owned));
    if file.shape == Shape::Folder {
        modules = vec![file.path.clone()];
    }
    let is_asked_for = |module: &String, import: &String| {
        let parts: Vec<&str> = import.split('.').collect();
        let exact = (1..=parts.len()).any(|count| {
            let asked = parts[..count].join("/");
            *module == asked || module.ends_with(&format!("/{asked}"))
        });
        exact || (file.kind != Added && parts.contains(&module.rsplit('/').next().unwrap_or_default()))
    };
    let configuration = ["pytest.ini", "pyproject.toml"].contains(&name);
    dependencies.listed.contains(&folder_of(&path))
        || dependencies.looked_for.iter().any(|asked| is_same(asked) || is_copy(asked))
        || configuration
        || modules.iter().any(|module| dependencies.imports.iter().any(|import| is_asked_for(module, import)))
}

fn any_path() -> impl Strategy<Value = String> {
    let folder = prop_oneof![Just(""), Just("a/"), Just("a/b/"), Just("src/a/"), Just("b/")];
    let name = prop_oneof![
        Just("x.py"),
        Just("a.py"),
        Just("b"),
        Just("__init__.py"),
        Just("conftest.py"),
        Just("pytest.ini"),
        Just("data.json"),
        Just("x.json"),
    ];
    (folder, name).prop_map(|(folder, name)| format!("{folder}{name}"))
}

fn any_dependency() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => any_path().prop_map(|path| format!("/r/{path}")),
        1 => any_path().prop_map(|path| format!("/v/site-packages/{path}")),
        1 => any_path().prop_map(|path| format!("/other/{path}")),
        1 => Just("/r/a/__pycache__/x.cpython-311.pyc".to_owned()),
    ]
}

prop_compose! {
    fn any_file()(
        path in any_path(),
        kind in prop_oneof![Just(Added), Just(Modified), Just(Deleted), Just(ChangeKind::TypeChanged)],
        is_folder in proptest::bool::weighted(0.1),
    ) -> ChangedFile {
        let shape = if is_folder { Shape::Folder } else { Shape::File };
        ChangedFile { shape, ..changed(kind, &path) }
    }
}

prop_compose! {
    fn any_dependencies()(
        test in proptest::option::of(any_dependency()),
        opened in proptest::collection::btree_set(any_dependency(), 0..3),
        loaded in proptest::collection::btree_set(any_dependency(), 0..3),
        config in proptest::collection::btree_set(any_dependency(), 0..2),
        looked_for in proptest::collection::btree_set(any_dependency(), 0..2),
        listed in proptest::collection::btree_set(
            prop_oneof![Just("/r"), Just("/r/a"), Just("/r/a/b"), Just("/q")].prop_map(str::to_owned), 0..2),
        imports in proptest::collection::btree_set(
            prop_oneof![Just("a"), Just("a.x"), Just("x.b"), Just("src.a"), Just("json")].prop_map(str::to_owned), 0..3),
        executed in proptest::collection::btree_map(
            any_dependency(), proptest::collection::btree_set(1_u32..9, 0..4), 0..2),
        hidden in prop_oneof![3 => Just(vec![]), 1 => Just(vec!["started a process".to_owned()])],
    ) -> Dependencies {
        Dependencies { test, opened, loaded, listed, looked_for, imports, executed, config, hidden }
    }
}

fn union(one: &Dependencies, other: &Dependencies) -> Dependencies {
    let join = |one: &BTreeSet<String>, other: &BTreeSet<String>| one.union(other).cloned().collect();
    let mut executed = one.executed.clone();
    for (path, lines) in &other.executed {
        executed.entry(path.clone()).or_default().extend(lines);
    }
    Dependencies {
        test: one.test.clone(),
        opened: join(&one.opened, &other.opened),
        loaded: join(&one.loaded, &other.loaded),
        listed: join(&one.listed, &other.listed),
        looked_for: join(&one.looked_for, &other.looked_for),
        imports: join(&one.imports, &other.imports),
        executed,
        config: join(&one.config, &other.config),
        hidden: [&one.hidden[..], &other.hidden].concat(),
    }
}

/// 0 for disjoint, 1 for unknown, 2 for touching.
fn strength(meeting: &Meeting) -> u8 {
    match meeting {
        Meeting::Disjoint { .. } => 0,
        Meeting::Unknown { .. } => 1,
        Meeting::Touches(_) => 2,
    }
}

proptest! {
    #[test]
    fn the_answer_is_that_of_the_plain_rules(
        files in proptest::collection::vec(any_file(), 0..4),
        dependencies in any_dependencies(),
    ) {
        let expected: BTreeSet<_> =
            files.iter().filter(|file| touches(file, &dependencies)).map(|file| file.path.clone()).collect();
        match intersect(&change(files.clone()), &dependencies) {
            Meeting::Touches(touched) => {
                let found: BTreeSet<_> = touched.into_iter().map(|file| file.path).collect();
                prop_assert_eq!(found, expected);
            }
            Meeting::Unknown { .. } => {
                prop_assert!(expected.is_empty() && !files.is_empty() && !dependencies.hidden.is_empty());
            }
            Meeting::Disjoint { .. } => {
                prop_assert!(expected.is_empty() && (files.is_empty() || dependencies.hidden.is_empty()));
            }
        }
    }

    #[test]
    fn more_dependencies_never_weaken_the_answer(
        files in proptest::collection::vec(any_file(), 0..4),
        one in any_dependencies(),
        other in any_dependencies(),
    ) {
        let change = change(files);
        let (few, many) = (intersect(&change, &one), intersect(&change, &union(&one, &other)));
        prop_assert!(strength(&many) >= strength(&few), "{:?} became {:?}", few, many);
    }

    #[test]
    fn a_larger_change_never_weakens_the_answer(
        files in proptest::collection::vec(any_file(), 0..3),
        more in proptest::collection::vec(any_file(), 0..3),
        dependencies in any_dependencies(),
    ) {
        let few = intersect(&change(files.clone()), &dependencies);
        let many = intersect(&change([files, more].concat()), &dependencies);
        prop_assert!(strength(&many) >= strength(&few));
    }

    #[test]
    fn executed_lines_are_changed_lines_that_were_executed(
        files in proptest::collection::vec(any_file(), 1..4),
        dependencies in any_dependencies(),
    ) {
        let all: BTreeSet<u32> = dependencies.executed.values().flatten().copied().collect();
        if let Meeting::Touches(touched) = intersect(&change(files), &dependencies) {
            for touch in touched.into_iter().map(|file| file.touch) {
                if let Touch::Executed(lines) = touch {
                    prop_assert!(!lines.is_empty() && lines.is_sorted());
                    prop_assert!(lines.iter().all(|line| (3..=5).contains(line) && all.contains(line)));
                }
            }
        }
    }
}
