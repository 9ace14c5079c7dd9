//! The network over paths is trained, kept as a file, read back, and asked.

use std::sync::LazyLock;

use flakewise_learn::NetworkOptions;
use flakewise_paths::{PathWords, graph_of_source, path_words};
use flakewise_predict::{
    Embeddings, Familiarity, Features, Keys, ModelError, PathModel, PathOptions, PathRow,
};
use flakewise_source::{Language, SourceTest, read_fragment};

/// Tests that assert on what a socket answered are flaky.
fn tests() -> Vec<(SourceTest, bool)> {
    (0..240)
        .map(|number| {
            let flaky = number % 4 == 0;
            let value = if flaky { "socket.read(port)" } else { "parser.read(text)" };
            let class = number / 4;
            let source = format!(
                "@Test public void reads{number}() {{\n  String answer{class} = {value};\n  \
                 assertEquals(\"a\", answer{class});\n  assertTrue(counter{class}.get() > {number});\n}}"
            );
            let name = format!("reads{number}");
            (read_fragment(Language::Java, &source, None, &format!("org.acme.Part{class}Test"), &name), flaky)
        })
        .collect()
}

static WORDS: LazyLock<Vec<(PathWords, Keys, bool)>> = LazyLock::new(|| {
    let keys = |test: &SourceTest| Keys::new("acme", &test.id, &Features::of(test));
    tests().iter().map(|(test, flaky)| (path_words(&graph_of_source(test)), keys(test), *flaky)).collect()
});

fn options() -> PathOptions {
    PathOptions {
        familiarity: Familiarity::KnownProject,
        embeddings: None,
        network: NetworkOptions {
            embedding: 8,
            item: 8,
            hidden: 8,
            steps: 20,
            epochs: 4,
            learning_rate: 1e-2,
            ..NetworkOptions::default()
        },
    }
}

fn train(options: &PathOptions) -> PathModel {
    let rows: Vec<PathRow<'_>> =
        WORDS.iter().map(|(words, keys, flaky)| PathRow { words, keys: *keys, flaky: *flaky }).collect();
    PathModel::train(&rows, options, |_, _| {}).expect("there is enough to learn from").0
}

static MODEL: LazyLock<PathModel> = LazyLock::new(|| train(&options()));

#[test]
fn what_flows_into_an_assertion_is_learned() {
    let judged = MODEL.judge(WORDS.iter().map(|(words, ..)| words));
    for ((words, _, flaky), judged) in WORDS.iter().zip(judged) {
        assert_eq!(judged.risk > 0.5, *flaky, "{judged:?}");
        assert_eq!(judged.attention.len(), words.paths.len());
    }
}

#[test]
fn a_model_survives_its_file_and_is_the_same_for_a_seed() {
    let bytes = MODEL.to_bytes();
    let again = PathModel::from_bytes(&bytes).expect("it is whole");
    assert_eq!(again.to_bytes(), bytes);
    let words = &WORDS[0].0;
    assert_eq!(again.judge(std::iter::once(words)), MODEL.judge(std::iter::once(words)));
    assert_eq!(train(&options()).to_bytes(), bytes);
}

#[test]
fn a_damaged_or_foreign_file_is_refused() {
    let bytes = MODEL.to_bytes();
    let error = |bytes: &[u8]| PathModel::from_bytes(bytes).err();
    assert_eq!(error(b""), Some(ModelError::NotAModel));
    assert_eq!(error(b"flkwmodl and so on"), Some(ModelError::NotAModel));
    assert_eq!(error(&[0xff; 64]), Some(ModelError::NotAModel));
    let head = 8 + usize::try_from(u64::from_le_bytes(bytes[..8].try_into().unwrap())).unwrap();
    // A file that ends early, and every change of the head: no panic, and never
    // another model than the one that was written.
    for length in (0..bytes.len()).step_by(97) {
        assert!(error(&bytes[..length]).is_some(), "{length}");
    }
    for place in 0..head {
        let mut changed = bytes.clone();
        changed[place] = changed[place].wrapping_add(1);
        if let Ok(model) = PathModel::from_bytes(&changed) {
            assert_eq!(model.judge(std::iter::once(&WORDS[0].0)).len(), 1);
        }
    }
    let mut endless = bytes.clone();
    let last = endless.len() - 4;
    endless[last..].copy_from_slice(&f32::INFINITY.to_le_bytes());
    assert!(matches!(error(&endless), Some(ModelError::Damaged(_)) | None));
}

#[test]
fn pretrained_embeddings_are_used() {
    let embeddings = Embeddings::parse("2 5\nsocket 1 0 0 0 0\nparser 0 1 0 0 0\n").expect("it is right");
    let model = train(&PathOptions { embeddings: Some(embeddings), ..options() });
    assert_ne!(model.to_bytes(), MODEL.to_bytes());
    assert_eq!(model.judge(std::iter::once(&WORDS[0].0)).len(), 1);
}

#[test]
fn data_without_both_classes_teaches_nothing() {
    let rows: Vec<PathRow<'_>> =
        WORDS.iter().map(|(words, keys, _)| PathRow { words, keys: *keys, flaky: false }).collect();
    assert!(PathModel::train(&rows, &options(), |_, _| {}).is_none());
    assert!(PathModel::train(&[], &options(), |_, _| {}).is_none());
}
