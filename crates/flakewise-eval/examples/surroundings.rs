//! Derives the surroundings of labelled tests from clones of their projects,
//! and compares them with a data set that was derived before.
//!
//!     surroundings DATA CLONES OUT
//!
//! CLONES has a folder for each project, named as in the data set, at the commit
//! that was labelled. OUT is written as `NAME_cut.jsonl`; put beside the data
//! set, `evaluate` reads it. All is done on one thread, so that what it takes is
//! processor time.

#![expect(clippy::print_stdout, reason = "it reports what it measured")]

use std::collections::{BTreeMap, HashMap};
use std::error::Error;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use flakewise_eval::{CpuClock, Dataset, Record, SurroundingsLine};
use flakewise_paths::{Index, Reach, Surroundings};
use flakewise_source::{Language, list_sources};
use rayon::prelude::*;

fn main() -> Result<(), Box<dyn Error>> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
    pool.install(|| run().map_err(|error| error.to_string()))?;
    Ok(())
}

fn run() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let [data, clones, out] = arguments.as_slice() else {
        return Err("usage: surroundings DATA CLONES OUT".into());
    };
    let dataset = Dataset::read(data)?;
    let mut projects: BTreeMap<&str, Vec<&Record>> = BTreeMap::new();
    for record in &dataset.records {
        projects.entry(&record.project).or_default().push(record);
    }
    let mut out = std::io::BufWriter::new(std::fs::File::create(out)?);
    let mut pairs = Vec::new();
    println!("{:<32} {:>6} {:>6} {:>6} {:>8}", "project", "files", "tests", "found", "seconds");
    for (project, records) in projects {
        let root = clones.join(project);
        if !root.is_dir() {
            println!("{project:<32} no clone");
            continue;
        }
        let clock = CpuClock::start();
        let (index, summary) = Index::build(&root, None);
        let reach = Reach::new(&root, &index);
        let files = Files::new(&root);
        let derived: Vec<Option<Surroundings>> =
            records.par_iter().map(|record| files.surroundings(&reach, record)).collect();
        let found = derived.iter().flatten().count();
        let seconds = clock.seconds();
        println!("{project:<32} {:>6} {:>6} {found:>6} {seconds:>8.2}", summary.files, records.len());
        for (record, derived) in records.iter().zip(derived) {
            serde_json::to_writer(&mut out, &SurroundingsLine::new(&record.id, derived.as_ref()))?;
            out.write_all(b"\n")?;
            if let (Some(derived), Some(known)) = (derived, &record.surroundings) {
                pairs.push((derived, known.as_ref().clone()));
            }
        }
    }
    out.flush()?;
    compare(&pairs);
    Ok(())
}

/// The files of a clone by the class that they are named after.
struct Files {
    by_name: HashMap<String, Vec<String>>,
}

impl Files {
    fn new(root: &Path) -> Self {
        let mut by_name: HashMap<String, Vec<String>> = HashMap::new();
        for source in list_sources(root, &[Language::Java], usize::MAX) {
            let name = source.path.rsplit('/').next().unwrap_or(&source.path).to_owned();
            by_name.entry(name).or_default().push(source.path);
        }
        Self { by_name }
    }

    fn surroundings(&self, reach: &Reach<'_>, record: &Record) -> Option<Surroundings> {
        let (package, class) = record.class.rsplit_once('.').unwrap_or(("", &record.class));
        let outer = class.split('$').next().unwrap_or(class);
        let inner = class.rsplit('$').next().unwrap_or(class);
        let end = format!("{}/{outer}.java", package.replace('.', "/"));
        let paths = self.by_name.get(&format!("{outer}.java"))?;
        let path = paths.iter().find(|path| path.ends_with(&end))?;
        // `count[0]` and `count(Reader)` are runs of one method.
        let method = record.method.split(['[', '(']).next().unwrap_or(&record.method);
        reach.surroundings(path, inner, method, 0)
    }
}

type Number = fn(&Surroundings) -> u32;

/// How numbers that were derived here rank tests beside those of the data set.
fn compare(pairs: &[(Surroundings, Surroundings)]) {
    if pairs.is_empty() {
        return;
    }
    let numbers: [(&str, Number); 16] = [
        ("calls", |all| all.calls.all),
        ("calls of production code", |all| all.calls.production),
        ("calls of the test tree", |all| all.calls.test_tree),
        ("calls of libraries", |all| all.calls.library),
        ("calls on mocks", |all| all.calls.mocks),
        ("calls unresolved", |all| all.calls.unresolved),
        ("superclasses", |all| all.tree.superclasses),
        ("set-up", |all| all.tree.set_up),
        ("methods of the test tree", |all| all.tree.methods),
        ("lines of the test tree", |all| all.tree.lines),
        ("methods at depth 1", |all| all.under.methods[0]),
        ("methods at depth 2", |all| all.under.methods[1]),
        ("methods at depth 3", |all| all.under.methods[2]),
        ("lines at depth 1", |all| all.under.lines[0]),
        ("families at depth 1", |all| all.under.apis[0].0.iter().sum()),
        ("families in the test", |all| all.own.0.iter().sum()),
    ];
    println!("\n{} tests in both; mean here and there, rank correlation", pairs.len());
    for (name, number) in numbers {
        let here: Vec<f64> = pairs.iter().map(|(here, _)| f64::from(number(here))).collect();
        let there: Vec<f64> = pairs.iter().map(|(_, there)| f64::from(number(there))).collect();
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let correlation = correlation(&ranks(&here), &ranks(&there));
        println!("{name:<26} {:>9.2} {:>9.2} {correlation:>6.3}", mean(&here), mean(&there));
    }
}

/// The rank of each value; equals share the middle of theirs.
fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|left, right| values[*left].total_cmp(&values[*right]));
    let mut ranks = vec![0.0; values.len()];
    for equal in order.chunk_by(|left, right| values[*left].total_cmp(&values[*right]).is_eq()) {
        let before = order.partition_point(|at| values[*at] < values[equal[0]]);
        for at in equal {
            ranks[*at] = before as f64 + (equal.len() - 1) as f64 / 2.0;
        }
    }
    ranks
}

fn correlation(left: &[f64], right: &[f64]) -> f64 {
    let count = left.len() as f64;
    let (left_mean, right_mean) = (left.iter().sum::<f64>() / count, right.iter().sum::<f64>() / count);
    let mut sums = (0.0, 0.0, 0.0);
    for (left, right) in left.iter().zip(right) {
        let (left, right) = (left - left_mean, right - right_mean);
        sums = (sums.0 + left * right, sums.1 + left * left, sums.2 + right * right);
    }
    sums.0 / (sums.1 * sums.2).sqrt()
}
