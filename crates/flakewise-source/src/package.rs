//! The package that a file belongs to.

use std::path::Path;

use toml::de::DeTable;

use crate::Language;

/// What a manifest says that a file's own text does not: Rust and Go name
/// their tests after it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Package {
    /// The folder of the manifest, from the root, with forward slashes; empty
    /// for the root itself.
    pub folder: String,
    /// The package of a `Cargo.toml`, or the module path of a `go.mod`.
    pub name: String,
}

/// A longer manifest is not read.
const MANIFEST_BYTES: u64 = 1 << 20;

impl Package {
    /// Looks for the nearest manifest above a file, up to the root. Languages
    /// whose ids need none have none.
    pub fn find(root: &Path, path: &str, language: Language) -> Option<Self> {
        let (manifest, name_of): (_, fn(&str) -> Option<String>) = match language {
            Language::Rust => ("Cargo.toml", cargo_name),
            Language::Go => ("go.mod", go_name),
            _ => return None,
        };
        let mut folder = path;
        loop {
            folder = folder.rsplit_once('/').map_or("", |(folder, _)| folder);
            let file = root.join(folder).join(manifest);
            let short = std::fs::metadata(&file).is_ok_and(|found| found.len() <= MANIFEST_BYTES);
            if short && let Ok(text) = std::fs::read_to_string(&file) {
                // A workspace need not be a package.
                if let Some(name) = name_of(&text) {
                    return Some(Self { folder: folder.to_owned(), name });
                }
            }
            if folder.is_empty() {
                return None;
            }
        }
    }

    /// A file's path from the folder of its package.
    pub(crate) fn within<'a>(&self, path: &'a str) -> &'a str {
        path.strip_prefix(self.folder.as_str()).map_or(path, |rest| rest.trim_start_matches('/'))
    }
}

/// `name` in the table `package`.
fn cargo_name(manifest: &str) -> Option<String> {
    let manifest = DeTable::parse(manifest).ok()?;
    let package = manifest.get_ref().get("package")?.get_ref();
    Some(package.get("name")?.get_ref().as_str()?.to_owned())
}

/// `module example.com/name`.
fn go_name(manifest: &str) -> Option<String> {
    let path = manifest.lines().find_map(|line| {
        let rest = line.trim().strip_prefix("module")?;
        rest.starts_with(char::is_whitespace).then_some(rest)
    })?;
    let path = path.split("//").next()?.trim().trim_matches(['"', '`']);
    (!path.is_empty()).then(|| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_from_manifests() {
        for (manifest, name) in [
            ("[package] # ours\nedition = \"2024\"\nname = \"acme\" # so\n", Some("acme")),
            ("[workspace]\nname = \"a\"\n[package]\nname='b'\n", Some("b")),
            ("package = { name = \"c\" }\n", Some("c")),
            ("[package]\ndescription = \"\"\"\nname = \"a\"\n\"\"\"\nname = \"d\"\n", Some("d")),
            ("[package]\n[lib]\nname = \"a\"\n", None),
            ("[package]\nname = é\n", None),
            ("[package]\nname.workspace = true\n", None),
        ] {
            assert_eq!(cargo_name(manifest).as_deref(), name, "{manifest}");
        }
        assert_eq!(
            go_name("// of acme\nmodule example.com/acme // so\n\ngo 1.22\n").as_deref(),
            Some("example.com/acme")
        );
        assert_eq!(go_name("modules x\n"), None);
    }

    #[test]
    fn the_nearest_package_is_found() {
        let root = tempfile::tempdir().expect("a folder");
        std::fs::create_dir_all(root.path().join("crates/a/src")).expect("folders");
        std::fs::write(root.path().join("Cargo.toml"), "[package]\nname = \"root\"\n").expect("a manifest");
        std::fs::write(root.path().join("crates/Cargo.toml"), "[workspace]\n").expect("a manifest");
        let find = |path| Package::find(root.path(), path, Language::Rust).expect("a package");
        assert_eq!(find("crates/a/src/lib.rs"), Package { folder: String::new(), name: "root".into() });
        std::fs::write(root.path().join("crates/a/Cargo.toml"), "[package]\nname = \"a\"\n")
            .expect("a manifest");
        let package = find("crates/a/src/lib.rs");
        assert_eq!((package.folder.as_str(), package.name.as_str()), ("crates/a", "a"));
        assert_eq!(package.within("crates/a/src/lib.rs"), "src/lib.rs");
        assert_eq!(find("src/lib.rs").within("src/lib.rs"), "src/lib.rs");
        assert_eq!(Package::find(root.path(), "a.py", Language::Python), None);
    }
}
