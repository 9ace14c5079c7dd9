//! Files of a repository.

use std::path::PathBuf;

use flakewise_source::{list_files, read_tree};

fn repository(files: &[&str]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for file in files {
        let path = folder.path().join(file);
        std::fs::create_dir_all(path.parent().expect("it is in a folder")).expect("folders");
        std::fs::write(path, "def test_one(): pass\n").expect("a file");
    }
    folder
}

#[test]
fn what_nobody_wrote_is_passed_over() {
    let folder = repository(&[
        "tests/test_b.py",
        "tests/test_a.py",
        "tests/helper.py",
        ".tox/test_x.py",
        "env/pyvenv.cfg",
        "env/lib/test_x.py",
        "node_modules/a/test_x.py",
        "setup.py",
        "build/lib/test_x.py",
        "acme/build/test_c.py",
        "src/A.java",
    ]);
    let list = |paths: &[&str]| -> Vec<String> {
        let paths: Vec<PathBuf> = paths.iter().map(PathBuf::from).collect();
        list_files(folder.path(), &paths).into_iter().map(|file| file.path).collect()
    };
    assert_eq!(list(&[]), ["acme/build/test_c.py", "src/A.java", "tests/test_a.py", "tests/test_b.py"]);
    assert_eq!(list(&["tests/test_b.py", "tests", "./tests/"]), ["tests/test_a.py", "tests/test_b.py"]);
    assert_eq!(list(&["missing", "../.."]), [""; 0]);
    assert_eq!(list(&["build/lib"]), ["build/lib/test_x.py"]);
}

#[test]
fn a_long_file_is_not_read() {
    let folder = repository(&["test_a.py", "test_b.py"]);
    let long = std::fs::File::create(folder.path().join("test_b.py")).expect("a file");
    long.set_len(1 << 40).expect("a file with a hole");
    let files = read_tree(folder.path(), &[]);
    assert_eq!(files[0].tests.len(), 1);
    assert_eq!(files[1].tests.len(), 0);
    assert!(files[1].issues[0].text.contains("1099511627776 bytes"));
}
