//! Installed packages of a run, and how those of two runs differ.
//!
//! A test that fails although nothing in the repository changed often fails
//! because a dependency did. Each run keeps the versions it saw, as text:
//! one `name==version` per line, sorted.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// The longest list kept, in bytes. A list that is longer is cut after a line.
pub const PACKAGES_LIMIT: usize = 64 << 10;

/// The list of these packages and their versions as a run keeps it: sorted,
/// without duplicates and within [`PACKAGES_LIMIT`].
///
/// ```
/// use flakewise_model::packages_text;
///
/// let text = packages_text([("httpx", "0.28.1"), ("anyio", "4.4.0")]);
/// assert_eq!(text.as_deref(), Some("anyio==4.4.0\nhttpx==0.28.1"));
/// assert_eq!(packages_text([]), None);
/// ```
pub fn packages_text<'a>(packages: impl IntoIterator<Item = (&'a str, &'a str)>) -> Option<Arc<str>> {
    let plain = |text: &str| !text.is_empty() && !text.contains(char::is_control);
    let mut lines: Vec<String> = packages
        .into_iter()
        .map(|(name, version)| (name.trim(), version.trim()))
        .filter(|(name, version)| plain(name) && plain(version) && !name.contains("=="))
        .map(|(name, version)| format!("{name}=={version}"))
        .collect();
    lines.sort_unstable();
    lines.dedup();
    let mut text = String::new();
    for line in lines {
        if text.len() + line.len() + 1 > PACKAGES_LIMIT {
            break;
        }
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&line);
    }
    (!text.is_empty()).then(|| text.into())
}

/// One package whose version is not the same in two runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackageChange {
    /// The package, as it is named now; as it was, if it is gone.
    pub name: String,
    /// The version it had; none if it was not installed.
    pub then: Option<String>,
    /// The version it has; none if it is not installed any more.
    pub now: Option<String>,
}

impl fmt::Display for PackageChange {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, then, now } = self;
        match (then, now) {
            (Some(then), Some(now)) => write!(formatter, "{name} {then} → {now}"),
            (None, Some(now)) => write!(formatter, "{name} {now} (added)"),
            (Some(then), None) => write!(formatter, "{name} {then} (removed)"),
            (None, None) => formatter.write_str(name),
        }
    }
}

/// How the packages of two runs differ, in the order of their names. Names are
/// compared as Python's installers do: case, `-`, `_` and `.` do not matter.
///
/// Of a list that reaches [`PACKAGES_LIMIT`], the rest is unknown: what comes
/// after its last name is not taken for removed or added.
///
/// ```
/// use flakewise_model::differences;
///
/// let changes = differences("anyio==4.4.0\nhttpx==0.27.0", "anyio==4.4.0\nhttpx==0.28.1");
/// assert_eq!(changes[0].to_string(), "httpx 0.27.0 → 0.28.1");
/// assert_eq!(changes.len(), 1);
/// ```
pub fn differences(then: &str, now: &str) -> Vec<PackageChange> {
    let (old, new) = (by_name(then), by_name(now));
    let mut names: Vec<_> = old.keys().chain(new.keys()).collect();
    names.sort_unstable();
    names.dedup();
    let known = |text: &str, line: &str| {
        text.len() + 512 <= PACKAGES_LIMIT || text.lines().next_back().is_none_or(|last| line <= last)
    };
    let change = |name: &String| {
        let (old, new) = (old.get(name), new.get(name));
        let versions = |found: Option<&Package<'_>>| {
            let mut versions = found.map(|package| package.versions.clone()).unwrap_or_default();
            versions.sort_unstable();
            versions.dedup();
            (!versions.is_empty()).then(|| versions.join(", "))
        };
        let (was, is) = (versions(old), versions(new));
        let line = new.or(old).map(|package| package.line)?;
        let both_known = known(then, line) && known(now, line);
        (was != is && both_known).then(|| PackageChange {
            name: new.or(old).map_or_else(String::new, |package| package.name.to_owned()),
            then: was,
            now: is,
        })
    };
    names.into_iter().filter_map(change).collect()
}

struct Package<'a> {
    name: &'a str,
    line: &'a str,
    /// More than one if it is installed twice.
    versions: Vec<&'a str>,
}

fn by_name(text: &str) -> BTreeMap<String, Package<'_>> {
    let mut packages: BTreeMap<String, Package<'_>> = BTreeMap::new();
    for line in text.lines() {
        let Some((name, version)) = line.split_once("==") else { continue };
        let (name, version) = (name.trim(), version.trim());
        let key = name.to_lowercase().replace(['-', '.'], "_");
        packages
            .entry(key)
            .or_insert_with(|| Package { name, line, versions: Vec::new() })
            .versions
            .push(version);
    }
    packages
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(then: &str, now: &str, expected: &[&str]) {
        let found: Vec<_> = differences(then, now).iter().map(ToString::to_string).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn what_differs_is_named_with_both_versions() {
        check("a==1\nb==1\nc==1", "a==1\nb==2\nd==3", &["b 1 → 2", "c 1 (removed)", "d 3 (added)"]);
        check("", "a==1", &["a 1 (added)"]);
        check("a==1", "a==1", &[]);
    }

    #[test]
    fn spellings_of_one_name_are_one_package() {
        check("Typing_Extensions==4.1", "typing-extensions==4.1", &[]);
        check("ruamel.yaml==0.17", "ruamel-yaml==0.18", &["ruamel-yaml 0.17 → 0.18"]);
    }

    #[test]
    fn a_package_that_is_installed_twice_has_both_versions() {
        check("a==1\na==2", "a==2\na==1", &[]);
        check("a==1\na==2", "a==2", &["a 1, 2 → 2"]);
    }

    #[test]
    fn a_long_list_is_cut_after_a_line_and_the_rest_is_unknown() {
        let names: Vec<_> = (0..9000).map(|number| format!("package-{number:04}")).collect();
        let all = packages_text(names.iter().map(|name| (name.as_str(), "1.0"))).expect("some");
        assert!(all.len() <= PACKAGES_LIMIT && all.ends_with("==1.0"));
        let fewer = packages_text(names[..100].iter().map(|name| (name.as_str(), "1.0"))).expect("some");
        let last = all.lines().next_back().expect("lines").split_once("==").expect("a version").0.to_owned();
        let changes = differences(&all, &fewer);
        assert!(changes.iter().all(|change| change.name <= last));
        // One more at the beginning pushes one out at the end.
        let shifted = std::iter::once(("aaa", "1")).chain(names.iter().map(|name| (name.as_str(), "1.0")));
        let shifted = packages_text(shifted).expect("some");
        assert_eq!(differences(&all, &shifted)[0].name, "aaa");
        assert_eq!(differences(&all, &shifted).len(), 1);
    }

    proptest! {
        #[test]
        fn any_text_can_be_compared(then in any::<String>(), now in any::<String>()) {
            prop_assert_eq!(differences(&then, &then), []);
            let _ = differences(&then, &now);
        }

        #[test]
        fn lists_are_sorted_and_made_of_whole_lines(names in prop::collection::vec("\\PC{0,8}", 0..20)) {
            let packages = names.iter().map(|name| (name.as_str(), "1"));
            if let Some(text) = packages_text(packages) {
                prop_assert!(text.lines().is_sorted());
                prop_assert!(text.lines().all(|line| line.ends_with("==1")));
            }
        }
    }
}
