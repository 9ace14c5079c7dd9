//! One file.

use crate::language::mentions_tests;
use crate::limits::{FILE_BYTES, ISSUES_PER_FILE};
use crate::tree::Tree;
use crate::{Issue, Language, Package, SourceFile, go, java, python, rust, script};

/// Finds and measures the tests of a file. `path` is from the root of the
/// repository, with forward slashes.
///
/// Rust and Go name tests after a manifest. Without it, as here, the folder
/// stands for it; [`read_packaged`] gives the ids that are reported.
pub fn read_source(path: &str, language: Language, bytes: &[u8]) -> SourceFile {
    read_packaged(path, language, None, bytes)
}

/// Finds and measures the tests of a file of a package.
pub fn read_packaged(path: &str, language: Language, package: Option<&Package>, bytes: &[u8]) -> SourceFile {
    let mut file = SourceFile { path: path.to_owned(), language, tests: Vec::new(), issues: Vec::new() };
    if bytes.len() > FILE_BYTES {
        file.issues.push(too_long(bytes.len() as u64));
        return file;
    }
    if !mentions_tests(language, bytes) {
        return file;
    }
    let text = String::from_utf8_lossy(bytes);
    if matches!(text, std::borrow::Cow::Owned(_)) {
        file.issues.push(Issue { line: 0, text: "it is not valid UTF-8".into() });
    }
    let Some(tree) = Tree::parse(language, &text) else {
        file.issues
            .push(Issue { line: 0, text: "it is nested too deeply or takes too many steps to parse".into() });
        return file;
    };
    file.tests = match language {
        Language::Java => java::read(&tree, &mut file.issues),
        Language::Python => python::read(&tree, path, &mut file.issues),
        Language::Rust => rust::outline(&tree, path, package).cut(&tree, &mut file.issues),
        Language::Go => go::outline(&tree, path, package).cut(&tree, &mut file.issues),
        Language::JavaScript | Language::TypeScript | Language::Tsx => {
            script::outline(&tree, path).cut(&tree, &mut file.issues)
        }
    };
    if tree.broken {
        file.issues.push(Issue { line: tree.first_error(), text: "not all of it could be parsed".into() });
    }
    file.issues.truncate(ISSUES_PER_FILE);
    file
}

pub(crate) fn too_long(bytes: u64) -> Issue {
    Issue { line: 0, text: format!("it has {bytes} bytes; the limit is {FILE_BYTES}") }
}
