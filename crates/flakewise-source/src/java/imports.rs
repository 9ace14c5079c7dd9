//! Which modules of other projects a Java file imports.

use std::collections::HashMap;

use super::outline::Outline;

/// Owners of many projects: what comes after them names the project.
const HOSTS: [&str; 10] = [
    "apache",
    "codehaus",
    "eclipse",
    "facebook",
    "github",
    "google",
    "googlecode",
    "jboss",
    "sourceforge",
    "springframework",
];
/// What runs tests is not a module that a test uses.
const RUNNERS: [&str; 3] = ["junit", "org.junit", "org.testng"];

/// The names that imports bring, and the modules they are of. Names that
/// cannot be known are under the empty name.
pub(super) fn external_modules<'a>(outline: &Outline<'a>, package: &str) -> HashMap<&'a str, Vec<&'a str>> {
    let mut modules: HashMap<&str, Vec<&str>> = HashMap::new();
    let own = project(package);
    for import in &outline.imports {
        let module = project(import.name);
        let standard =
            ["java", "javax", "jdk", "sun"].contains(&module.split('.').next().unwrap_or_default());
        if standard || module == own || RUNNERS.contains(&module) {
            continue;
        }
        let last = import.name.rsplit('.').next().unwrap_or_default().trim();
        let name = if import.wildcard { "" } else { last };
        let known = modules.entry(name).or_default();
        if !known.contains(&module) {
            known.push(module);
        }
    }
    modules
}

/// The beginning of a package that names a project: `org.mockito`,
/// `org.apache.hadoop`.
fn project(name: &str) -> &str {
    let mut dots = name.match_indices('.').map(|(at, _)| at);
    let host = name.split('.').nth(1).is_some_and(|owner| HOSTS.contains(&owner));
    let package = name.split('.').next().is_some_and(|first| first.starts_with("junit"));
    let end = if package { dots.next() } else { dots.nth(if host { 2 } else { 1 }) };
    &name[..end.unwrap_or(name.len())]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn projects_are_beginnings_of_packages() {
        assert_eq!(project("org.mockito.stubbing.Answer"), "org.mockito");
        assert_eq!(project("org.apache.hadoop.fs.Path"), "org.apache.hadoop");
        assert_eq!(project("com.google.common.collect.Lists"), "com.google.common");
        assert_eq!(project("junit.framework.TestCase"), "junit");
        assert_eq!(project("org.junit.jupiter.api.Test"), "org.junit");
        assert_eq!(project("java.util.List"), "java.util");
        assert_eq!(project("Cart"), "Cart");
        assert_eq!(project(""), "");
    }
}
