//! How well the kind of a flaky test is told: `FlakyLens`' flaky tests, each of
//! its four groups of projects held out in turn, answers pooled.
//!
//! Texts are read as words, so how a file was printed says nothing; names in the
//! data set are not looked at, since they give the kind away. `IDoFT` knows
//! three of the kinds; what it has of projects or sources that are also in
//! `FlakyLens` is left out.

use std::collections::{BTreeSet, HashSet};
use std::fmt;

use flakewise_learn::leave_one_group_out;
use flakewise_predict::{Category, CategoryExample, CategoryModel, CategoryTransfer, hits};
use flakewise_source::{Language, SourceTest, read_fragment};
use rayon::prelude::*;

/// A flaky test of a data set.
#[derive(Clone, Debug)]
pub struct CategoryRecord {
    /// The project, as the data set spells it.
    pub project: String,
    /// The part of the data set that is held out together.
    pub group: u32,
    /// The source of its method.
    pub source: String,
    /// Its kind.
    pub category: Category,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq)]
pub struct CategoryReport {
    /// The model, once for each seed.
    pub seeds: Vec<CategoryConfusion>,
    /// The same without the project that has most tests.
    pub without_largest: Vec<CategoryConfusion>,
    /// Which project that is.
    pub largest: String,
    /// The model without what `IDoFT` says, for each seed.
    pub without_transfer: Vec<CategoryConfusion>,
    /// The rule that ships, which learns nothing.
    pub rule: CategoryConfusion,
    /// How many tests of `IDoFT` were trained on.
    pub transferred: usize,
}

/// How often each kind, by row, was taken for each, by column.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CategoryConfusion(pub [[u32; 5]; 5]);

impl CategoryConfusion {
    fn new(pairs: impl IntoIterator<Item = (Category, Category)>) -> Self {
        let mut confusion = Self::default();
        pairs.into_iter().for_each(|(was, said)| confusion.0[was as usize][said as usize] += 1);
        confusion
    }

    /// The share of right answers.
    pub fn accuracy(&self) -> f64 {
        let right: u32 = (0..5).map(|kind| self.0[kind][kind]).sum();
        ratio(right, self.0.iter().flatten().sum())
    }

    /// Precision, recall and F1 of a kind.
    pub fn of(&self, category: Category) -> [f64; 3] {
        let kind = category as usize;
        let right = self.0[kind][kind];
        let said: u32 = self.0.iter().map(|row| row[kind]).sum();
        let were: u32 = self.0[kind].iter().sum();
        [ratio(right, said), ratio(right, were), ratio(2 * right, said + were)]
    }

    /// The mean of F1 over the kinds.
    pub fn macro_f1(&self) -> f64 {
        Category::ALL.iter().map(|&category| self.of(category)[2]).sum::<f64>() / 5.0
    }
}

/// Judges the model with these seeds, and the rule.
pub fn evaluate_categories(
    records: &[CategoryRecord],
    transfer: &[CategoryRecord],
    seeds: &[u64],
) -> CategoryReport {
    let rows = Rows::new(records);
    let projects: HashSet<&String> = rows.projects.iter().collect();
    let sources: HashSet<&String> = rows.sources.iter().collect();
    let other = Rows::new(transfer);
    let kept: Vec<usize> = (0..transfer.len())
        .filter(|&row| !projects.contains(&other.projects[row]) && !sources.contains(&other.sources[row]))
        .collect();
    let transferred = CategoryTransfer::train(&other.examples(&kept));
    let groups: Vec<u32> = records.iter().map(|record| record.group).collect();
    let folds = leave_one_group_out(&groups);
    let said = |seed: u64, transfer: Option<&CategoryTransfer>| {
        let mut said = vec![Category::AsyncWait; records.len()];
        for fold in &folds {
            // A copy of a test that is held out would give its kind away.
            let held: HashSet<&String> = fold.test.iter().map(|&row| &rows.sources[row]).collect();
            let train: Vec<usize> =
                fold.train.iter().copied().filter(|&row| !held.contains(&rows.sources[row])).collect();
            let model = CategoryModel::train(&rows.examples(&train), transfer.cloned(), seed);
            for &row in &fold.test {
                let probabilities = model.probabilities(&rows.tests[row]);
                said[row] = *Category::ALL
                    .iter()
                    .max_by(|&&left, &&right| {
                        probabilities[left as usize].total_cmp(&probabilities[right as usize])
                    })
                    .expect("there are kinds");
            }
        }
        said
    };
    let largest = rows.largest_project();
    let confusion = |said: &[Category], without: &str| {
        let kept = (0..records.len()).filter(|&row| rows.projects[row] != without);
        CategoryConfusion::new(kept.map(|row| (rows.categories[row], said[row])))
    };
    let answers: Vec<Vec<Category>> = seeds.par_iter().map(|&seed| said(seed, Some(&transferred))).collect();
    let alone: Vec<Vec<Category>> = seeds.par_iter().map(|&seed| said(seed, None)).collect();
    let guess = |test: &SourceTest| Category::guess(&hits(&test.body)).unwrap_or(Category::OrderDependent);
    let rule: Vec<Category> = rows.tests.iter().map(guess).collect();
    CategoryReport {
        seeds: answers.iter().map(|said| confusion(said, "")).collect(),
        without_largest: answers.iter().map(|said| confusion(said, largest)).collect(),
        largest: largest.to_owned(),
        without_transfer: alone.iter().map(|said| confusion(said, "")).collect(),
        rule: confusion(&rule, ""),
        transferred: kept.len(),
    }
}

/// Records, read.
struct Rows {
    tests: Vec<SourceTest>,
    categories: Vec<Category>,
    projects: Vec<String>,
    /// The words alone, by which copies are found.
    sources: Vec<String>,
}

impl Rows {
    fn new(records: &[CategoryRecord]) -> Self {
        let read = |record: &CategoryRecord| read_fragment(Language::Java, &record.source, None, "", "");
        let tests: Vec<SourceTest> = records.par_iter().map(read).collect();
        Self {
            categories: records.iter().map(|record| record.category).collect(),
            projects: records.iter().map(|record| repository(&record.project)).collect(),
            sources: tests.iter().map(own_words).collect(),
            tests,
        }
    }

    fn examples(&self, rows: &[usize]) -> Vec<CategoryExample<'_>> {
        let example = |&row: &usize| CategoryExample {
            test: &self.tests[row],
            category: self.categories[row],
            project: &self.projects[row],
        };
        rows.iter().map(example).collect()
    }

    fn largest_project(&self) -> &str {
        let projects: BTreeSet<&String> = self.projects.iter().collect();
        let tests = |project: &&&String| self.projects.iter().filter(|one| one == *project).count();
        projects.iter().max_by_key(tests).map_or("", |project| project.as_str())
    }
}

/// The name of a repository regardless of its owner: `apache-dubbo`, `alibaba_dubbo`
/// and `dubbo` are one.
fn repository(project: &str) -> String {
    let project = project.to_lowercase();
    let name = match project.split_once('_') {
        Some((owner, name)) if !owner.contains('.') => name,
        _ => &project,
    };
    let name = name.strip_prefix("incubator-").or_else(|| name.strip_prefix("apache-")).unwrap_or(name);
    name.chars().filter(char::is_ascii_alphanumeric).collect()
}

/// A test's words from the parameters on, without name and annotations.
fn own_words(test: &SourceTest) -> String {
    let words = test.body.tokens.iter().map(|token| test.body.word(token));
    let mut text = String::new();
    words.skip_while(|word| *word != "{").for_each(|word| {
        text.push_str(word);
        text.push(' ');
    });
    text
}

impl fmt::Display for CategoryReport {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scores =
            |runs: &[CategoryConfusion]| runs.iter().map(CategoryConfusion::macro_f1).collect::<Vec<_>>();
        for (name, runs) in [
            ("model", &self.seeds),
            ("model without IDoFT", &self.without_transfer),
            (&format!("model, without {}", self.largest), &self.without_largest),
        ] {
            let scores = scores(runs);
            let average = mean(&scores);
            let spread =
                mean(&scores.iter().map(|score| (score - average).powi(2)).collect::<Vec<_>>()).sqrt();
            let least = scores.iter().copied().fold(f64::INFINITY, f64::min);
            let greatest = scores.iter().copied().fold(0.0, f64::max);
            let accuracy = mean(&runs.iter().map(CategoryConfusion::accuracy).collect::<Vec<_>>());
            writeln!(
                out,
                "{name}: macro-F1 {average:.3} (deviation {spread:.3}, {least:.3} to {greatest:.3}, \
                 {} seeds), accuracy {accuracy:.3}",
                runs.len()
            )?;
        }
        let (rule, accuracy) = (self.rule.macro_f1(), self.rule.accuracy());
        writeln!(out, "rule that learns nothing: macro-F1 {rule:.3}, accuracy {accuracy:.3}")?;
        writeln!(out, "{} training tests from IDoFT", self.transferred)?;
        let of_all = |category: Category, measure: usize| {
            mean(&self.seeds.iter().map(|run| run.of(category)[measure]).collect::<Vec<_>>())
        };
        for category in Category::ALL {
            let [precision, recall, f1] = [0, 1, 2].map(|measure| of_all(category, measure));
            let [_, _, rule] = self.rule.of(category);
            let name = category.name();
            writeln!(
                out,
                "{name:21} precision {precision:.3} recall {recall:.3} F1 {f1:.3}, rule {rule:.3}"
            )?;
        }
        writeln!(out, "first seed, rows are what they were:")?;
        for row in self.seeds.first().map(|confusion| confusion.0).into_iter().flatten() {
            writeln!(out, "{}", row.map(|count| format!("{count:4}")).concat())?;
        }
        Ok(())
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

fn ratio(part: u32, whole: u32) -> f64 {
    if whole == 0 { 0.0 } else { f64::from(part) / f64::from(whole) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measures_of_a_confusion_are_those_of_the_definition() {
        use Category::{AsyncWait, Time};
        // Of three async ones two are found; of two time ones one; one answer each is wrong.
        let confusion = CategoryConfusion::new([
            (AsyncWait, AsyncWait),
            (AsyncWait, AsyncWait),
            (AsyncWait, Time),
            (Time, Time),
            (Time, AsyncWait),
        ]);
        assert!((confusion.accuracy() - 0.6).abs() < 1e-9);
        let [precision, recall, f1] = confusion.of(Time);
        assert!((precision - 0.5).abs() < 1e-9 && (recall - 0.5).abs() < 1e-9 && (f1 - 0.5).abs() < 1e-9);
        // Kinds that never occur count as zero.
        assert!((confusion.macro_f1() - (2.0 / 3.0 + 0.5) / 5.0).abs() < 1e-9);
    }

    #[test]
    fn a_repository_is_the_same_whoever_owns_it() {
        for project in ["alibaba_dubbo", "apache-dubbo", "apache_incubator-dubbo", "Dubbo"] {
            assert_eq!(repository(project), "dubbo");
        }
        assert_ne!(repository("x_spring-boot"), repository("x_spring"));
    }

    #[test]
    fn tests_of_a_project_in_both_data_sets_are_not_transferred() {
        let record = |project: &str, group: u32, category, statements: &str| CategoryRecord {
            project: project.to_owned(),
            group,
            source: format!("@Test public void m() {{ {statements} }}"),
            category,
        };
        let kinds = [
            (Category::AsyncWait, "Thread.sleep(5);"),
            (Category::Concurrency, "lock.lock(); thread.join();"),
            (Category::Time, "new Date();"),
            (Category::UnorderedCollection, "new HashMap().toString();"),
            (Category::OrderDependent, "Registry.clear();"),
        ];
        let records: Vec<CategoryRecord> = (1..4)
            .flat_map(|group| {
                kinds.map(|(kind, does)| record("o_p", group, kind, &format!("{does} a({group});")))
            })
            .collect();
        let transfer = [
            record("p", 0, Category::AsyncWait, "sleep(7);"),
            record("q", 0, Category::AsyncWait, "Thread.sleep(5); a(1);"),
            record("q", 0, Category::AsyncWait, "sleep(8);"),
            record("r", 0, Category::OrderDependent, "Registry.reset();"),
        ];
        let report = evaluate_categories(&records, &transfer, &[0]);
        assert_eq!(report.transferred, 2, "neither the project nor the copy");
        assert_eq!(report.seeds[0].0.iter().flatten().sum::<u32>(), 15);
        assert!((report.rule.macro_f1() - 1.0).abs() < 1e-9, "{report}");
    }
}
