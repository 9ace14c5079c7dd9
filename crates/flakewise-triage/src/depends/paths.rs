//! Paths as text.

/// An absolute path with forward slashes and without `.`, `..` or empty parts.
/// What is relative counts from `root`.
pub(super) fn normalise(root: &str, path: &str) -> String {
    let path = if cfg!(windows) { path.replace('\\', "/") } else { path.to_owned() };
    let is_absolute = path.starts_with('/') || (cfg!(windows) && path.as_bytes().get(1) == Some(&b':'));
    let full = if is_absolute { path } else { format!("{root}/{path}") };
    let mut parts: Vec<&str> = Vec::new();
    for part in full.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    let joined = parts.join("/");
    if cfg!(windows) { joined } else { format!("/{joined}") }
}

/// The folder of a path; empty for what is at the top.
pub(super) fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// The last part of a path.
pub(super) fn name(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}

/// Whether a path is in a folder, at any depth. Everything is in the empty one.
pub(super) fn is_below(path: &str, folder: &str) -> bool {
    folder.is_empty() || path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}

/// A path and what remains of it after its first folder, its second, and so on.
pub(super) fn tails(path: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(path), |rest| rest.split_once('/').map(|(_, rest)| rest))
}

/// What a path is called inside of the folder that packages are installed to.
pub(super) fn installed(path: &str) -> Option<&str> {
    ["/site-packages/", "/dist-packages/"]
        .iter()
        .filter_map(|folder| path.rfind(folder).map(|place| &path[place + folder.len()..]))
        .min_by_key(|rest| rest.len())
}

/// The source of a file of byte code.
pub(super) fn source_of(path: &str) -> Option<String> {
    let (folder, name) = path.rsplit_once('/')?;
    let stem = name.strip_suffix(".pyc")?;
    let Some(folder) = folder.strip_suffix("__pycache__").and_then(|folder| folder.strip_suffix('/')) else {
        return Some(format!("{folder}/{stem}.py"));
    };
    // `x.cpython-311.pyc`, `x.cpython-311.opt-1.pyc`, and from pytest
    // `x.cpython-311-pytest-8.3.4.pyc`.
    let tag = [".cpython-", ".pypy", ".graalpy"].iter().filter_map(|tag| stem.rfind(tag)).max();
    let module = tag.map(|place| &stem[..place]).or_else(|| stem.split('.').next())?;
    Some(format!("{folder}/{module}.py"))
}

/// The folders a path is in, from the innermost to `top`.
pub(super) fn folders<'a>(path: &'a str, top: &'a str) -> impl Iterator<Item = &'a str> {
    std::iter::successors(Some(parent(path)), move |folder| {
        (*folder != top && !folder.is_empty()).then(|| parent(folder))
    })
}

/// The path of the module in a file, which is a folder's for `__init__.py`;
/// none if it cannot be imported.
pub(super) fn module(path: &str) -> Option<&str> {
    let (stem, extension) = name(path).split_once('.')?;
    let extension = extension.rsplit('.').next();
    if !["py", "pyc", "pyw", "so", "pyd"].iter().any(|known| extension == Some(known)) {
        return None;
    }
    let folder = parent(path);
    let separator = usize::from(!folder.is_empty());
    let module = if stem == "__init__" { folder } else { &path[..folder.len() + separator + stem.len()] };
    (!module.is_empty()).then_some(module)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(unix)]
    fn paths_are_compared_by_what_they_mean() {
        assert_eq!(normalise("/r", "/r/./a//b/../c"), "/r/a/c");
        assert_eq!(normalise("/r", "a/c"), "/r/a/c");
        assert_eq!(normalise("/r", "/../.."), "/");
        assert!(is_below("/r/a/c", "/r/a") && !is_below("/r/ab", "/r/a") && is_below("x", ""));
    }

    #[test]
    fn byte_code_leads_to_its_source() {
        for (code, source) in [
            ("/r/a/__pycache__/x.cpython-311.pyc", "/r/a/x.py"),
            ("/r/a/__pycache__/x.cpython-311.opt-1.pyc", "/r/a/x.py"),
            ("/r/a/__pycache__/test_x.cpython-311-pytest-8.3.4.pyc", "/r/a/test_x.py"),
            ("/r/a/__pycache__/x.y.pypy310.pyc", "/r/a/x.y.py"),
            ("/r/a/__pycache__/x.other-3.pyc", "/r/a/x.py"),
            ("/r/a/x.pyc", "/r/a/x.py"),
        ] {
            assert_eq!(source_of(code).as_deref(), Some(source), "{code}");
        }
        assert_eq!(source_of("/r/a/x.py"), None);
    }

    #[test]
    fn modules_are_named_by_their_folders() {
        assert_eq!(module("src/pkg/mod.py"), Some("src/pkg/mod"));
        assert_eq!(module("pkg/__init__.py"), Some("pkg"));
        assert_eq!(module("pkg/fast.cpython-311-x86_64-linux-gnu.so"), Some("pkg/fast"));
        assert_eq!(module("mod.py"), Some("mod"));
        assert_eq!(module("__init__.py"), None);
        assert_eq!(module("pkg/data.json"), None);
        assert_eq!(module("Makefile"), None);
    }

    #[test]
    fn installed_files_have_their_name_within_the_packages() {
        assert_eq!(installed("/v/lib/python3.11/site-packages/pkg/x.py"), Some("pkg/x.py"));
        assert_eq!(installed("/v/site-packages/a/dist-packages/b.py"), Some("b.py"));
        assert_eq!(installed("/r/pkg/x.py"), None);
    }
}
