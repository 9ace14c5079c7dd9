//! Which keys of a configuration file changed, and what they act on.
//!
//! Every test of a suite "opens" `pyproject.toml`, because pytest does. What in
//! it changed tells whether that matters: a new version number does not, other
//! options for pytest do, another dependency changes what is installed.
//!
//! Both versions are parsed and compared key by key, so comments, white space
//! and order do not count. A file that is too large, too deep or broken has no
//! answer, which is never taken for "nothing changed". The parsers bound their
//! own recursion (TOML at 80 levels, JSON at 128); INI has no levels.

mod effects;

use std::collections::BTreeMap;

use configparser::ini::{Ini, IniDefault};
use toml::de::{DeTable, DeValue};

pub(crate) use effects::is_environment_by_key;
use effects::{Table, table};

/// Larger files are not compared by key.
pub(super) const MOST_BYTES: u64 = 1 << 20;

/// More changed keys than this are not distinguished.
const MOST_KEYS: usize = 1000;

/// What changed in a configuration file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyChanges {
    /// The keys that differ, in order. None if only comments, white space or
    /// the order changed.
    pub changed: Vec<ChangedKey>,
    /// The name of the project, if the file gives one.
    pub project: Option<String>,
}

/// A key whose value differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedKey {
    /// The key with its tables: `tool.pytest.ini_options.addopts`.
    pub name: String,
    /// What it acts on.
    pub effect: KeyEffect,
}

/// What a key of a configuration file acts on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum KeyEffect {
    /// Nothing that a test runs in: formatters, linters, type checkers.
    Nothing,
    /// Only what an installed package says about itself, such as its version.
    Metadata,
    /// How tests are found and run.
    Tests,
    /// What is installed, built or set before a test starts.
    Environment,
    /// Nobody knows.
    Unknown,
}

/// The leaves of a file: every key with its value as text.
type Leaves = BTreeMap<Vec<String>, String>;

/// Whether a file of this path can be compared by key.
pub(super) fn is_keyed(path: &str) -> bool {
    table(path).is_some()
}

/// What differs between two versions of a file; none if that cannot be determined.
pub(super) fn compare(path: &str, before: &[u8], after: &[u8]) -> Option<KeyChanges> {
    let table = table(path)?;
    let (before, after) = (read(table, before)?, read(table, after)?);
    let differs = |(path, value): &(&Vec<String>, &String)| before.get(*path) != Some(*value);
    let mut paths: Vec<&Vec<String>> = after.iter().filter(differs).map(|(path, _)| path).collect();
    paths.extend(before.keys().filter(|path| !after.contains_key(*path)));
    paths.sort_unstable();
    if paths.len() > MOST_KEYS {
        return None;
    }
    let changed = paths.into_iter().map(|path| {
        let parts: Vec<&str> = path.iter().map(String::as_str).collect();
        ChangedKey { name: parts.join("."), effect: table.effect(&parts) }
    });
    let project = table.project().iter().find_map(|path| {
        let path: Vec<String> = path.iter().map(|&part| part.to_owned()).collect();
        Some(after.get(&path)?.strip_prefix('=')?.trim_end_matches('\0').to_owned())
    });
    Some(KeyChanges { changed: changed.collect(), project })
}

fn read(table: Table, content: &[u8]) -> Option<Leaves> {
    if content.len() as u64 > MOST_BYTES {
        return None;
    }
    let text = std::str::from_utf8(content).ok()?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut leaves = Leaves::new();
    match table {
        Table::PackageJson => {
            let value: serde_json::Value = serde_json::from_str(text).ok()?;
            json_leaves(&mut Vec::new(), &value, &mut leaves);
        }
        Table::Pyproject | Table::OtherToml => {
            let value = DeTable::parse(text).ok()?;
            toml_leaves(&mut Vec::new(), value.get_ref(), &mut leaves);
        }
        Table::SetupCfg | Table::ToxIni | Table::CoverageRc | Table::OtherIni => {
            ini_leaves(text, &mut leaves)?;
        }
    }
    Some(leaves)
}

fn json_leaves(path: &mut Vec<String>, value: &serde_json::Value, leaves: &mut Leaves) {
    match value {
        serde_json::Value::Object(map) if !map.is_empty() || path.is_empty() => {
            for (key, value) in map {
                path.push(key.clone());
                json_leaves(path, value, leaves);
                path.pop();
            }
        }
        value => drop(leaves.insert(path.clone(), value.to_string())),
    }
}

fn toml_leaves(path: &mut Vec<String>, table: &DeTable<'_>, leaves: &mut Leaves) {
    // That a table is there may say something, though it is empty.
    if table.is_empty() && !path.is_empty() {
        leaves.insert(path.clone(), "{}".to_owned());
    }
    for (key, value) in table {
        path.push(key.get_ref().clone().into_owned());
        match value.get_ref() {
            DeValue::Table(table) => toml_leaves(path, table, leaves),
            value => {
                let mut text = String::new();
                toml_text(value, &mut text);
                leaves.insert(path.clone(), text);
            }
        }
        path.pop();
    }
}

/// A value as text, the same for the same value.
fn toml_text(value: &DeValue<'_>, text: &mut String) {
    match value {
        // The type is part of the value: 1 is neither 1.0 nor "1".
        DeValue::String(string) => text.push_str(&format!("={string}\0")),
        DeValue::Integer(number) => text.push_str(&format!("int {number}")),
        DeValue::Float(number) => text.push_str(&format!("float {number}")),
        DeValue::Boolean(value) => text.push_str(&format!("bool {value}")),
        DeValue::Datetime(time) => text.push_str(&format!("time {time}")),
        DeValue::Array(values) => {
            text.push('[');
            for value in values {
                toml_text(value.get_ref(), text);
                text.push(',');
            }
            text.push(']');
        }
        DeValue::Table(table) => {
            text.push('{');
            for (key, value) in table {
                text.push_str(&format!("{:?}=", key.get_ref()));
                toml_text(value.get_ref(), text);
                text.push(',');
            }
            text.push('}');
        }
    }
}

/// As pytest and Python read it: keys have a case, indented lines continue with a
/// value, and what follows a `#` in a value may be part of it.
fn ini_leaves(text: &str, leaves: &mut Leaves) -> Option<()> {
    let mut settings = IniDefault::default();
    settings.case_sensitive = true;
    settings.multiline = true;
    settings.enable_inline_comments = false;
    settings.comment_symbols = vec!['#', ';'];
    let mut ini = Ini::new_from_defaults(settings);
    for (section, keys) in ini.read(text.to_owned()).ok()? {
        if keys.is_empty() {
            leaves.insert(vec![section.clone()], String::new());
        }
        for (key, value) in keys {
            // Something is there, though it has no value.
            let value = value.map_or_else(String::new, |value| format!("={value}"));
            leaves.insert(vec![section.clone(), key], value);
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What changed, as `key effect`; none if it cannot be determined.
    fn changes(path: &str, before: &str, after: &str) -> Option<Vec<String>> {
        let changes = compare(path, before.as_bytes(), after.as_bytes())?;
        Some(changes.changed.iter().map(|key| format!("{} {:?}", key.name, key.effect)).collect())
    }

    fn changed(path: &str, before: &str, after: &str) -> Vec<String> {
        changes(path, before, after).expect("both versions can be read")
    }

    #[test]
    fn keys_of_toml_are_told_apart() {
        let before = "[project]\nname = 'shop'\nversion = '1.0'\ndependencies = ['httpx>1']\n\
            [tool.black]\nline-length = 88\n[tool.pytest.ini_options]\naddopts = '-q'\n";
        let same = "# A comment\n[tool]\nblack = { line-length = 88 } # more\n[project]\nversion = \"1.0\"\n\
            dependencies = [\n  'httpx>1',\n]\nname = 'shop'\n[tool.pytest]\nini_options.addopts = '-q'\n";
        assert_eq!(changed("pyproject.toml", before, same), Vec::<String>::new());
        let version = before.replace("1.0", "1.1");
        assert_eq!(changed("sub/pyproject.toml", before, &version), ["project.version Metadata"]);
        let all =
            before.replace("1.0", "2").replace("88", "99").replace("-q", "-x").replace("httpx>1", "httpx>2");
        assert_eq!(
            changed("pyproject.toml", before, &all),
            [
                "project.dependencies Environment",
                "project.version Metadata",
                "tool.black.line-length Nothing",
                "tool.pytest.ini_options.addopts Tests"
            ]
        );
        assert_eq!(
            compare("pyproject.toml", b"", before.as_bytes()).expect("read").project.as_deref(),
            Some("shop")
        );
    }

    #[test]
    fn types_and_empty_tables_are_part_of_the_value() {
        assert_eq!(changed("pytest.toml", "[pytest]\na = 1\n", "[pytest]\na = 1.0\n"), ["pytest.a Tests"]);
        assert_eq!(
            changed("pytest.toml", "[pytest]\na = [1]\n", "[pytest]\na = ['1']\n"),
            ["pytest.a Tests"]
        );
        assert_eq!(
            changed("pytest.toml", "[pytest]\na = 1\n", "[pytest]\na = 'int 1'\n"),
            ["pytest.a Tests"]
        );
        assert_eq!(
            changed("pyproject.toml", "", "[tool.pytest.ini_options]\n"),
            ["tool.pytest.ini_options Tests"]
        );
        assert_eq!(changed("package.json", "{}", "{\"a\": {}}"), ["a Environment"]);
    }

    #[test]
    fn keys_of_ini_files_are_told_apart() {
        let before = "[pytest]\naddopts =\n    -q\n    # a comment\n    -x\n[flake8]\nmax-line-length = 99\n\
            [testenv]\ndeps =\n    pytest\n[mypy-numpy.*]\nignore = 1\n";
        let same = "; a comment\n[flake8]\nmax-line-length=99\n\n[testenv]\ndeps =\n  pytest\n[pytest]\naddopts =\n  -q\n  -x\n\
            [mypy-numpy.*]\nignore = 1\n";
        assert_eq!(changed("tox.ini", before, same), Vec::<String>::new());
        let after = before.replace("-x", "-v").replace("99", "100").replace("    pytest\n", "    pytest>8\n");
        assert_eq!(
            changed("tox.ini", before, &after),
            ["flake8.max-line-length Nothing", "pytest.addopts Tests", "testenv.deps Environment"]
        );
        assert_eq!(changed("a.ini", "[pytest]\nx = 1\n", "[pytest]\nx = 1 # 2\n"), ["pytest.x Tests"]);
        assert_eq!(
            changed("a.ini", "[pytest]\nx = 1\n", "[pytest]\nX = 1\n"),
            ["pytest.X Tests", "pytest.x Tests"]
        );
        assert_eq!(changed("pytest.ini", "", "[pytest]\n"), ["pytest Tests"]);
    }

    #[test]
    fn what_cannot_be_read_has_no_answer() {
        for (path, broken) in [
            ("pyproject.toml", "[project"),
            ("pyproject.toml", "a = 1\na = 2\n"),
            ("setup.cfg", "[metadata\nname = x\n"),
            ("package.json", "{\"a\": 1"),
            ("package.json", "\u{1}"),
        ] {
            assert_eq!(changes(path, "", broken), None, "{broken}");
            assert_eq!(changes(path, broken, broken), None, "{broken}");
        }
        assert_eq!(compare("pyproject.toml", b"", b"a = '\xff'"), None);
        let many: String = (0..2000).map(|number| format!("k{number} = 1\n")).collect();
        assert_eq!(changes("pyproject.toml", "", &many), None);
        let large = format!("a = '{}'", "x".repeat(1 << 20));
        assert_eq!(changes("pyproject.toml", "", &large), None);
        assert_eq!(changes("data/prices.json", "{}", "{\"a\": 1}"), None, "it is data");
        assert_eq!(changes("README.md", "", "x"), None);
    }

    #[test]
    fn nothing_is_deep_enough_to_end_us() {
        let deep = |open: &str, close: &str, times| format!("{}{}", open.repeat(times), close.repeat(times));
        for times in [10, 79, 100, 10_000, 200_000] {
            let _ = changes("pyproject.toml", "", &format!("a = {}", deep("[", "]", times)));
            let _ = changes("pyproject.toml", "", &format!("a = {}", deep("{b=", "}", times)));
            let _ = changes("pyproject.toml", "", &format!("[{}a]\n", "a.".repeat(times)));
            let _ = changes("package.json", "", &deep("{\"a\":", "}", times));
            let _ = changes("package.json", "{}", &deep("[", "]", times));
        }
        let table = format!(
            "[{}a]\n{}a = {{{}a = {}}}\n",
            "a.".repeat(70),
            "a.".repeat(70),
            "a.".repeat(70),
            deep("[", "]", 70)
        );
        assert!(changes("pyproject.toml", "", &table).is_some_and(|keys| keys.len() == 1));
    }

    proptest! {
        #[test]
        fn any_text_is_survived(path in "(pyproject\\.toml|tox\\.ini|package\\.json)", before in "(?s).{0,80}", after in "[\\[\\]a-c=\"'.{}:,\n 0-9#;-]{0,80}") {
            let _ = changes(&path, &before, &after);
            // A version is never different from itself.
            prop_assert!(changes(&path, &after, &after).is_none_or(|keys| keys.is_empty()));
        }

        #[test]
        fn a_changed_value_is_a_changed_key(
            keys in proptest::collection::btree_map("[a-z]{1,6}", 0..9_u32, 1..6), at in any::<proptest::sample::Index>(),
        ) {
            let write = |keys: &std::collections::BTreeMap<String, u32>| -> String {
                keys.iter().map(|(key, value)| format!("{key} = {value}\n")).collect()
            };
            let mut other = keys.clone();
            let key = keys.keys().nth(at.index(keys.len())).expect("there is one").clone();
            other.insert(key.clone(), 10);
            for (path, head) in [("pyproject.toml", "[tool.x]\n"), ("setup.cfg", "[x]\n")] {
                let found = changed(path, &format!("{head}{}", write(&keys)), &format!("{head}{}", write(&other)));
                prop_assert_eq!(found.len(), 1);
                prop_assert!(found[0].ends_with(&format!(".{key} Unknown")) || found[0].starts_with(&format!("x.{key} ")), "{:?}", found);
            }
        }
    }
}
