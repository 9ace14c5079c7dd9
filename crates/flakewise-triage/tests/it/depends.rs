//! Whether a test meets the change.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use flakewise_model::{Touch, TouchedFile};
use flakewise_triage::{
    Change, ChangeKind, ChangedFile, ChangedKey, Dependencies, KeyChanges, KeyEffect, LineRange, Meeting,
    Shape, intersect,
};
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
        keys: None,
    }
}

/// A configuration file in which keys changed.
fn reconfigured(path: &str, keys: &[(&str, KeyEffect)]) -> ChangedFile {
    let key = |(name, effect): &(&str, KeyEffect)| ChangedKey { name: (*name).to_owned(), effect: *effect };
    let keys = KeyChanges { changed: keys.iter().map(key).collect(), project: Some("my-shop".to_owned()) };
    ChangedFile { keys: Some(keys), ..changed(Modified, path) }
}

fn change(files: impl Into<Vec<ChangedFile>>) -> Change {
    Change {
        root: PathBuf::from("/r"),
        head: "h".into(),
        base: "b".into(),
        found: "merge base with main".into(),
        target: None,
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
}

fn configured(path: &str) -> Dependencies {
    Dependencies { config: set(&[path]), ..dependencies() }
}

#[test]
fn being_configured_by_a_file_counts_by_what_changed_in_it() {
    use KeyEffect::{Environment, Metadata, Nothing, Tests, Unknown};
    let configured = configured("/r/pyproject.toml");
    let file = |keys: &[(&str, KeyEffect)]| reconfigured("pyproject.toml", keys);
    let by = |keys: &[&str]| Some(Touch::Configured(keys.iter().map(|key| (*key).to_owned()).collect()));
    assert_eq!(touch(file(&[]), &configured), None, "only comments changed");
    assert_eq!(touch(file(&[("project.version", Metadata), ("tool.ruff.x", Nothing)]), &configured), None);
    assert_eq!(
        touch(file(&[("project.version", Metadata), ("tool.pytest.addopts", Tests)]), &configured),
        by(&["tool.pytest.addopts"])
    );
    assert_eq!(touch(file(&[("tool.shop.x", Unknown)]), &configured), by(&["tool.shop.x"]));
    assert_eq!(touch(changed(Modified, "pyproject.toml"), &configured), by(&[]), "it could not be compared");
    assert_eq!(
        reason(file(&[("project.dependencies", Environment), ("project.version", Metadata)]), &configured),
        "`project.dependencies` changed in `pyproject.toml`, which may change what is installed or set"
    );
    // Reading it as data is something else.
    let read = Dependencies { opened: set(&["/r/pyproject.toml"]), ..configured.clone() };
    assert_eq!(touch(file(&[("project.version", Metadata)]), &read), Some(Touch::Opened));
    assert_eq!(touch(file(&[]), &read), Some(Touch::Opened), "it may compare the text");
}

#[test]
fn a_version_counts_for_whoever_asks_what_is_installed() {
    let asking = |path: &str| Dependencies { opened: set(&[path]), ..configured("/r/pyproject.toml") };
    let version = || reconfigured("pyproject.toml", &[("project.version", KeyEffect::Metadata)]);
    let own = asking("/v/site-packages/My_Shop-1.0.dist-info/METADATA");
    assert_eq!(touch(version(), &own), Some(Touch::Configured(vec!["project.version".to_owned()])));
    assert_eq!(touch(version(), &asking("/v/site-packages/other-1.0.dist-info/METADATA")), None);
    let unread = Dependencies { config: BTreeSet::new(), ..own };
    assert!(reason(version(), &unread).starts_with("`project.version` changed in `pyproject.toml`"));
}

#[test]
fn a_configuration_file_that_nobody_reads_matters_if_it_shapes_the_environment() {
    use KeyEffect::{Environment, Tests, Unknown};
    assert_eq!(touch(reconfigured("setup.cfg", &[("tool:pytest.addopts", Tests)]), &dependencies()), None);
    for effect in [Environment, Unknown] {
        let said = reason(reconfigured("tox.ini", &[("testenv.deps", effect)]), &dependencies());
        assert_eq!(said, "`testenv.deps` changed in `tox.ini`, which may change what is installed or set");
    }
    let said = reason(changed(Modified, "setup.cfg"), &dependencies());
    assert_eq!(said, "`setup.cfg` changed, which may change what is installed or set");
}

#[test]
fn only_configuration_is_told_from_more() {
    let by = |touch| TouchedFile { path: "a".to_owned(), touch };
    let configured = || by(Touch::Configured(vec![]));
    assert!(Meeting::Touches(vec![configured(), configured()]).only_configuration());
    assert!(!Meeting::Touches(vec![configured(), by(Touch::Loaded)]).only_configuration());
    assert!(!Meeting::Disjoint { dependencies: 1 }.only_configuration());
    assert!(!Meeting::Unknown { reason: String::new() }.only_configuration());
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
        for kind in [Added, Deleted] {
            assert_eq!(
                touch(changed(kind, name), &dependencies()),
                Some(Touch::Configured(vec![])),
                "{name}"
            );
            assert_eq!(touch(changed(kind, name), &listed("/r")), Some(Touch::LookedFor), "{name}");
        }
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
fn code_in_other_languages_is_run_by_something_else() {
    let plain = dependencies();
    let native = loaded("/v/site-packages/numpy/_core.so");
    let started = Dependencies { started: vec!["it started a process (`java`)".into()], ..dependencies() };
    let connected = Dependencies { connected: vec!["127.0.0.1:5432".into()], ..dependencies() };
    for path in ["src/App.java", "a.kt", "cmd/main.go", "web/app.ts", "lib.so", "tool", "x.bin", "schema.sql"]
    {
        for kind in [Added, Modified, Deleted] {
            assert_eq!(touch(changed(kind, path), &plain), None, "{path}");
            let said = reason(changed(kind, path), &native);
            assert_eq!(said, format!("`{path}` changed, which may be compiled into `_core.so`"));
            let said = reason(changed(kind, path), &started);
            let program = "which may be part of a program: it started a process (`java`)";
            assert_eq!(said, format!("`{path}` changed, {program}"));
            let said = reason(changed(kind, path), &connected);
            let service = "which may be part of a service: it connected to `127.0.0.1:5432`";
            assert_eq!(said, format!("`{path}` changed, {service}"));
        }
        let used = Dependencies { opened: set(&[&format!("/r/{path}")]), ..started.clone() };
        assert_eq!(touch(changed(Modified, path), &used), Some(Touch::Opened));
    }
    // A script is opened by whoever runs it, and that was seen.
    assert_eq!(touch(changed(Modified, "bin/run.sh"), &native), None);
    assert_eq!(touch(changed(Modified, "bin/run.sh"), &started), None);
    assert!(reason(changed(Modified, "web/index.php"), &connected).contains("part of a service"));
}

#[test]
fn documents_and_data_can_only_be_opened() {
    let busy = Dependencies {
        loaded: set(&["/v/site-packages/numpy/_core.so"]),
        started: vec!["it started a process (`git`)".into()],
        connected: vec!["127.0.0.1:5432".into()],
        ..dependencies()
    };
    for path in
        ["README.md", "docs/guide.rst", "LICENSE", "a.txt", "a.csv", "a.png", "pkg/other.py", "a.json"]
    {
        assert_eq!(touch(changed(Modified, path), &busy), None, "{path}");
    }
    let version = reconfigured("web/package.json", &[("version", KeyEffect::Nothing)]);
    assert_eq!(touch(version, &busy), None);
    let scripts = reconfigured("web/package.json", &[("dependencies.react", KeyEffect::Environment)]);
    assert!(reason(scripts, &busy).starts_with("`web/package.json` changed"));
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
    let acts = |effect: KeyEffect| matches!(effect, KeyEffect::Tests | KeyEffect::Unknown);
    let configures = file.keys.as_ref().is_none_or(|keys| keys.changed.iter().any(|key| acts(key.effect)));
    let nothing = BTreeSet::new();
    let config = if configures { &dependencies.config } else { &nothing };
    let is_used = [&dependencies.opened, &dependencies.loaded, config]
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

/// Whether anything may act on the test unseen, where none of the files is
/// touched.
fn is_open(files: &[ChangedFile], dependencies: &Dependencies) -> bool {
    // Of the names that are drawn, only `b` and `x.go` are no Python and no data.
    let is_code = |file: &ChangedFile| file.path.ends_with('b') || file.path.ends_with("x.go");
    let is_environment = |file: &ChangedFile| {
        file.path.ends_with("pyproject.toml")
            && file.keys.as_ref().is_none_or(|keys| {
                keys.changed
                    .iter()
                    .any(|key| matches!(key.effect, KeyEffect::Environment | KeyEffect::Unknown))
            })
    };
    let is_busy = !dependencies.started.is_empty() || !dependencies.connected.is_empty();
    !dependencies.hidden.is_empty()
        || files.iter().any(|file| is_environment(file) || (is_code(file) && is_busy))
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
        Just("x.go"),
        Just("pyproject.toml"),
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

fn any_effect() -> impl Strategy<Value = KeyEffect> {
    use KeyEffect::{Environment, Metadata, Nothing, Tests, Unknown};
    proptest::sample::select(vec![Nothing, Metadata, Tests, Environment, Unknown])
}

prop_compose! {
    fn any_file()(
        path in any_path(),
        kind in prop_oneof![Just(Added), Just(Modified), Just(Deleted), Just(ChangeKind::TypeChanged)],
        is_folder in proptest::bool::weighted(0.1),
        effects in proptest::option::of(proptest::collection::vec(any_effect(), 0..3)),
    ) -> ChangedFile {
        let shape = if is_folder { Shape::Folder } else { Shape::File };
        let keys = effects.filter(|_| !is_folder && kind == Modified && path.ends_with("pyproject.toml"));
        let key = |effect| ChangedKey { name: format!("{effect:?}"), effect };
        let keys = keys.map(|effects| KeyChanges { changed: effects.into_iter().map(key).collect(), project: None });
        ChangedFile { shape, keys, ..changed(kind, &path) }
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
        started in prop_oneof![3 => Just(vec![]), 1 => Just(vec!["started a process".to_owned()])],
        connected in prop_oneof![3 => Just(vec![]), 1 => Just(vec!["127.0.0.1:80".to_owned()])],
    ) -> Dependencies {
        Dependencies {
            test, opened, loaded, listed, looked_for, imports, executed, config, hidden, started, connected,
        }
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
        started: [&one.started[..], &other.started].concat(),
        connected: [&one.connected[..], &other.connected].concat(),
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
                prop_assert!(expected.is_empty() && !files.is_empty() && is_open(&files, &dependencies));
            }
            Meeting::Disjoint { .. } => {
                prop_assert!(expected.is_empty() && (files.is_empty() || !is_open(&files, &dependencies)));
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

fn any_meeting() -> impl Strategy<Value = Meeting> {
    let touch = prop_oneof![
        proptest::collection::btree_set(1_u32..9, 1..4)
            .prop_map(|lines| Touch::Executed(lines.into_iter().collect())),
        Just(Touch::Loaded),
        Just(Touch::Opened),
        Just(Touch::LookedFor),
        proptest::collection::btree_set("[ab]", 0..3)
            .prop_map(|keys| Touch::Configured(keys.into_iter().collect())),
    ];
    prop_oneof![
        (0_u32..9).prop_map(|dependencies| Meeting::Disjoint { dependencies }),
        "[ab]".prop_map(|reason| Meeting::Unknown { reason }),
        proptest::collection::btree_map("[a-d]\\.py", touch, 1..4).prop_map(|files| {
            let files: Vec<_> = files.into_iter().map(|(path, touch)| TouchedFile { path, touch }).collect();
            // As they are given: the surest first.
            Meeting::Touches(files.clone()).union(Meeting::Touches(files))
        }),
    ]
}

/// A meeting without the words in which it says that something is unknown.
fn wordless(meeting: Meeting) -> Meeting {
    match meeting {
        Meeting::Unknown { .. } => Meeting::Unknown { reason: String::new() },
        meeting => meeting,
    }
}

proptest! {
    #[test]
    fn a_union_says_the_most_of_both(one in any_meeting(), other in any_meeting()) {
        let union = one.clone().union(other.clone());
        prop_assert_eq!(strength(&union), strength(&one).max(strength(&other)));
        if let Meeting::Touches(files) = &union {
            let touches = |meeting: &Meeting| -> BTreeMap<String, Touch> {
                match meeting {
                    Meeting::Touches(files) => files.iter().map(|file| (file.path.clone(), file.touch.clone())).collect(),
                    _ => BTreeMap::new(),
                }
            };
            let (one, other, both) = (touches(&one), touches(&other), touches(&union));
            prop_assert_eq!(both.len(), files.len(), "every file is there once");
            prop_assert!(both.keys().all(|path| one.contains_key(path) || other.contains_key(path)));
            for (path, touch) in one.iter().chain(&other) {
                match (touch, &both[path]) {
                    (Touch::Executed(lines), Touch::Executed(all)) => {
                        prop_assert!(all.is_sorted() && lines.iter().all(|line| all.contains(line)));
                    }
                    (Touch::Executed(_), weaker) => prop_assert!(false, "executed became {:?}", weaker),
                    (Touch::Loaded, stronger) => prop_assert!(matches!(stronger, Touch::Executed(_) | Touch::Loaded)),
                    (Touch::Opened, stronger) => {
                        prop_assert!(!matches!(stronger, Touch::LookedFor | Touch::Configured(_)));
                    }
                    (Touch::LookedFor, stronger) => prop_assert!(!matches!(stronger, Touch::Configured(_))),
                    (Touch::Configured(keys), Touch::Configured(all)) => {
                        prop_assert!(keys.iter().all(|key| all.contains(key)));
                    }
                    (Touch::Configured(_), _) => {}
                }
            }
        }
    }

    #[test]
    fn the_order_of_observations_does_not_matter(
        one in any_meeting(), other in any_meeting(), third in any_meeting(),
    ) {
        prop_assert_eq!(one.clone().union(one.clone()), one.clone());
        prop_assert_eq!(
            wordless(one.clone().union(other.clone())), wordless(other.clone().union(one.clone()))
        );
        prop_assert_eq!(
            one.clone().union(other.clone()).union(third.clone()), one.union(other.union(third))
        );
    }
}
