//! A scenario's project as a git repository.

use std::path::{Path, PathBuf};
use std::{fs, io};

use super::{Checkout, Edit, Past, Scenario};
use crate::zoo::{commit, git};

/// What no run may take for work.
const EXCLUDED: &str = "__pycache__/\n.coverage\n.nox/\n.tox/\n";

/// A repository from which work trees of a scenario are made.
///
/// `main` has two commits, of which the second is the base; `change` has the
/// change on top of it, and `stacked` a further commit on top of that.
pub struct Repository<'a> {
    scenario: &'a Scenario,
    path: PathBuf,
}

impl<'a> Repository<'a> {
    /// Makes the repository in a folder that is not there yet.
    pub fn create(scenario: &'a Scenario, path: &Path) -> Self {
        fs::create_dir_all(path).expect("a folder can be made");
        git(path, &["init", "--quiet", "--initial-branch=main"]);
        let ignored: String = scenario.ignored.iter().map(|(name, _)| format!("{name}\n")).collect();
        write(&path.join(".git/info/exclude"), &format!("{EXCLUDED}{ignored}"));
        for (name, content) in &scenario.base {
            write(&path.join(name), content);
        }
        write(&path.join("NOTES.txt"), "one\n");
        commit(path, "the beginning");
        write(&path.join("NOTES.txt"), "two\n");
        commit(path, "the base");
        git(path, &["checkout", "--quiet", "-b", "change"]);
        apply(&scenario.edits(), path);
        if scenario.checkout != Checkout::Unchanged {
            commit(path, "the change");
        }
        git(path, &["checkout", "--quiet", "-b", "stacked"]);
        write(&path.join("NOTES.txt"), "three\n");
        commit(path, "on top of it");
        Self { scenario, path: path.to_owned() }
    }

    /// Makes the work tree of an earlier run.
    pub fn past(&self, past: Past, to: &Path) {
        let branch = match past {
            Past::Earlier => "main~1",
            Past::Base | Past::Uncommitted => "main",
            Past::Change => "change",
            Past::Stacked => "stacked",
        };
        self.copy(branch, to);
        if past == Past::Uncommitted {
            apply(&self.scenario.edits(), to);
        }
        self.write_ignored(to);
    }

    /// Makes the work tree of the run that is judged.
    pub fn judged(&self, to: &Path) {
        match self.scenario.checkout {
            Checkout::Branch => self.copy("change", to),
            Checkout::Unchanged => self.copy("main", to),
            Checkout::Uncommitted => {
                self.copy("main", to);
                apply(&self.scenario.edits(), to);
            }
            Checkout::Shallow => {
                let from = format!("file://{}", self.path.display());
                let to = to.to_str().expect("scratch folders have plain names");
                git(&self.path, &["clone", "--quiet", "--depth=1", "--branch=change", &from, to]);
            }
            Checkout::NoGit => {
                self.copy("change", to);
                fs::remove_dir_all(to.join(".git")).expect("a folder can be removed");
            }
        }
        self.write_ignored(to);
    }

    fn copy(&self, branch: &str, to: &Path) {
        copy(&self.path, to).expect("a repository can be copied");
        git(to, &["checkout", "--quiet", "--force", branch]);
    }

    fn write_ignored(&self, to: &Path) {
        for (name, content) in &self.scenario.ignored {
            write(&to.join(name), content);
        }
    }
}

fn apply(edits: &[Edit], path: &Path) {
    for edit in edits {
        let path = path.join(&edit.path);
        match &edit.content {
            Some(content) => write(&path, content),
            None => fs::remove_file(path).expect("what the change removes is in the base"),
        }
    }
}

fn write(path: &Path, content: &str) {
    fs::create_dir_all(path.parent().expect("a file has a folder")).expect("folders can be made");
    fs::write(path, content).expect("files can be written");
}

/// Copies a folder with all in it.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}
