//! A whole evaluation on a small data set that was made for it.

use std::path::{Path, PathBuf};

use flakewise_eval::{EvalOptions, Evaluation, Model, Protocol, evaluate};

fn testdata(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata").join(name)
}

fn options(names: &[&str]) -> EvalOptions {
    let mut options = EvalOptions { folds: 5, ..EvalOptions::default() };
    options.models.retain(|model| names.iter().any(|name| model.names[0].starts_with(name)));
    options
}

fn run(options: &EvalOptions) -> Evaluation {
    evaluate(&testdata("small.jsonl"), options, &|_| {}).expect("it is there")
}

fn files(evaluation: &Evaluation) -> Vec<(String, String)> {
    let folder = tempfile::tempdir().expect("it is there");
    evaluation.write(folder.path()).expect("it is there");
    let mut files: Vec<(String, String)> = std::fs::read_dir(folder.path())
        .expect("it is there")
        .map(|entry| entry.expect("it can be listed").path())
        .map(|path| {
            let text = std::fs::read_to_string(&path).expect("it is there");
            (path.file_name().expect("it is there").to_string_lossy().into_owned(), text)
        })
        .collect();
    files.sort();
    files
}

/// Set `FLAKEWISE_BLESS` to write them again.
#[test]
fn results_are_those_that_are_committed() {
    let evaluation = run(&options(&["FLAST", "same-class", "vocabulary", "linear SVM"]));
    let files = files(&evaluation);
    let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(
        names,
        [
            "class.tsv",
            "errors.tsv",
            "index.html",
            "project.tsv",
            "projects.tsv",
            "random.tsv",
            "reliability.tsv",
            "slices.tsv"
        ]
    );
    let protocols = Protocol::ALL.into_iter().map(Protocol::name);
    for name in protocols.chain(["slices"]).map(|name| format!("{name}.tsv")) {
        let written = &files.iter().find(|file| file.0 == name).unwrap().1;
        let committed = testdata("expected").join(&name);
        if std::env::var_os("FLAKEWISE_BLESS").is_some() {
            std::fs::create_dir_all(testdata("expected")).unwrap();
            std::fs::write(&committed, written).unwrap();
        }
        assert_eq!(*written, std::fs::read_to_string(&committed).unwrap(), "{name}");
    }
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let options = options(&["FLAST words", "linear SVM, body"]);
    let with = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        files(&pool.install(|| run(&options)))
    };
    assert_eq!(with(1), with(4));
}

#[test]
fn results_with_surroundings_do_not_depend_on_the_number_of_threads() {
    let with = |threads| {
        let mut options = options(&["Flakewise"]);
        options.models.retain(|model| ["Flakewise", "Flakewise + both + words"].contains(&&*model.names[0]));
        options.protocols = vec![Protocol::Class];
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| run(&options))
    };
    assert_eq!(files(&with(1)), files(&with(3)));
}

#[test]
fn slices_have_the_answers_of_published_tools_under_random_folds_only() {
    let evaluation = run(&options(&["FLAST words"]));
    for measured in &evaluation.protocols {
        let names: Vec<&str> = measured.slices.iter().map(|slice| slice.slice).collect();
        assert_eq!(names, ["all", "PEELER subset"]);
        let published = measured.slices.iter().map(|slice| slice.published.len()).sum::<usize>();
        assert_eq!(published, if measured.protocol == Protocol::Random { 4 } else { 0 });
        let [all, subset] = &measured.slices[..] else { panic!("two slices") };
        assert!(subset.tests < all.tests && subset.flaky < all.flaky);
        assert_eq!(all.models[0].confusion, measured.models[0].confusion);
    }
}

#[test]
fn two_tests_of_a_class_share_no_features_by_accident() {
    let dataset = flakewise_eval::Dataset::read(&testdata("small.jsonl")).unwrap();
    let corpus = flakewise_eval::Corpus::new(dataset, 1);
    for (left, one) in corpus.records.iter().enumerate() {
        for (right, other) in corpus.records.iter().enumerate().skip(left + 1) {
            if (&one.project, &one.class) == (&other.project, &other.class) && one.source != other.source {
                let [left, right] = [left, right].map(|row| &corpus.features[row].body);
                assert_ne!(left, right, "{} {}", one.id, other.id);
            }
        }
    }
}

#[test]
fn the_page_stands_alone() {
    let page = run(&options(&["FLAST words", "linear SVM, body"])).page();
    assert!(page.starts_with("<!doctype html>"));
    assert!(page.contains("<svg") && page.contains("one project left out"));
    for outside in ["http://", "https://", "src=", "@import", "<script"] {
        assert!(!page.contains(outside), "{outside}");
    }
}

#[test]
fn a_model_never_sees_the_labels_it_is_judged_by() {
    // A model that knows nothing but how many tests it is asked about.
    let mut options = options(&[]);
    options.models = vec![Model::new("constant", |corpus, fold, _| {
        let share = corpus.labels_of(&fold.train).iter().filter(|&&flaky| flaky).count() as f64
            / fold.train.len() as f64;
        flakewise_eval::FoldScores {
            probabilities: vec![share; fold.test.len()],
            threshold: 0.5,
            ..flakewise_eval::FoldScores::default()
        }
    })];
    for measured in run(&options).protocols {
        let model = &measured.models[0];
        assert_eq!(model.confusion.true_positives + model.confusion.false_positives, 0);
        let within = model.within_projects.unwrap();
        assert!((0.35..0.65).contains(&within), "{} {within}", measured.protocol.name());
    }
}

#[test]
fn too_few_tests_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("few.jsonl");
    std::fs::write(&path, "{\"id\":\"a\",\"source\":\"x\",\"label\":1}\n").unwrap();
    let error = evaluate(&path, &EvalOptions::default(), &|_| {}).unwrap_err().to_string();
    assert!(error.contains("1 flaky and 0 other"), "{error}");
}
