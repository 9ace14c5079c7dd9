//! A model is trained, kept as a file, read back, and asked.

use flakewise_paths::{ApiFamily, Surroundings};
use flakewise_predict::{
    Category, Example, Familiarity, FeatureGroups, Features, Keys, Model, ModelError, ModelKind, Reason, Row,
    TrainOptions,
};
use flakewise_source::{Language, SourceTest, read_fragment};
use proptest::prelude::*;
use std::sync::LazyLock;

/// Tests of four projects: those that sleep and ask a server are flaky.
fn examples() -> Vec<Example> {
    let mut examples = Vec::new();
    for project in 0..8 {
        for class in 0..8 {
            for number in 0..6 {
                let flaky = class % 4 == 0 && number % 3 != 0;
                examples.push(Example {
                    test: test(project, class, number, flaky),
                    project: format!("project{project}"),
                    flaky,
                    category: None,
                    surroundings: None,
                });
            }
        }
    }
    examples
}

fn test(project: usize, class: usize, number: usize, flaky: bool) -> SourceTest {
    let name = ["adds", "parses", "copies", "rejects", "formats", "compares"][number];
    let waits = if flaky {
        "server.start();\n    Thread.sleep(500);\n    Response response = client.get(server.url());\n"
    } else {
        "List<String> parts = new ArrayList<>();\n    parts.add(\"one\");\n"
    };
    let source = format!(
        "@Test\npublic void {name}Thing{class}() throws Exception {{\n    {waits}    assertEquals({number}, value{project}());\n}}"
    );
    read_fragment(
        Language::Java,
        &source,
        None,
        &format!("org.acme{project}.part{class}.Thing{class}Test"),
        &format!("{name}Thing{class}"),
    )
}

static MODEL: LazyLock<Model> = LazyLock::new(|| {
    let options = TrainOptions { trained_on: "tests made up".to_owned(), seed: 7, ..TrainOptions::default() };
    Model::train(&examples(), &options).expect("there is enough to learn from")
});
static BYTES: LazyLock<Vec<u8>> = LazyLock::new(|| MODEL.to_bytes());

#[test]
fn a_model_with_surroundings_survives_its_file() {
    let examples = examples();
    let features: Vec<Features> = examples
        .iter()
        .map(|example| {
            let mut surroundings = Surroundings::default();
            surroundings.tree.bases.push(if example.flaky { "ServerTest" } else { "PlainTest" }.to_owned());
            surroundings.under.apis[0].set(ApiFamily::Network, u32::from(example.flaky));
            surroundings.under.words.push(("port".to_owned(), 1));
            Features::of(&example.test).with_surroundings(&surroundings)
        })
        .collect();
    let rows: Vec<Row<'_>> = examples
        .iter()
        .zip(&features)
        .map(|(example, features)| Row {
            features,
            keys: Keys::new(&example.project, &example.test.id, features),
            flaky: example.flaky,
            name: example.test.id.as_str(),
            weight: 1.0,
        })
        .collect();
    for groups in [FeatureGroups::NONE, FeatureGroups::ALL] {
        let familiarities = vec![Familiarity::NewProject];
        let options = TrainOptions { familiarities, groups, ..TrainOptions::default() };
        let model = Model::learn(&rows, &options).expect("there is enough to learn from");
        let bytes = model.to_bytes();
        // Only models with groups need the later format.
        assert_eq!(bytes[8], if groups == FeatureGroups::NONE { 1 } else { 2 });
        assert_eq!(Model::from_bytes(&bytes).expect("it is whole").to_bytes(), bytes);
    }
}

#[test]
fn surroundings_are_learnt_and_named_as_reasons() {
    // The tests of a kind read alike; only what their set-up does differs.
    let around = |on_the_network: bool| {
        let mut surroundings = Surroundings::default();
        surroundings.tree.apis.set(ApiFamily::Network, u32::from(on_the_network));
        surroundings.tree.apis.set(ApiFamily::File, 1);
        surroundings
    };
    let mut examples = Vec::new();
    for project in 0..8 {
        for class in 0..8 {
            for number in 0..6 {
                let flaky = class % 3 == 0;
                examples.push(Example {
                    test: test(project, class, number, false),
                    project: format!("project{project}"),
                    flaky,
                    category: None,
                    surroundings: Some(Box::new(around(flaky))),
                });
            }
        }
    }
    let groups = FeatureGroups { words_under_test: false, ..FeatureGroups::ALL };
    let familiarities = vec![Familiarity::NewProject];
    let options = TrainOptions { familiarities, groups, ..TrainOptions::default() };
    let model = Model::train(&examples, &options).expect("there is enough to learn from");
    assert_eq!(model.groups(), groups);
    let tests = [test(90, 20, 1, false), test(91, 21, 1, false)];
    let said = model.predict_within("elsewhere", &tests, &[Some(around(true)), Some(around(false))], 0.0);
    assert!(said[0].risk.get() > 5.0 * said[1].risk.get(), "{said:?}");
    let families = |prediction: &flakewise_predict::Prediction| {
        let around = prediction.reasons.iter().filter_map(|reason| match reason {
            Reason::Around { family, calls, weight, .. } => Some((*family, *calls, *weight > 0.0)),
            _ => None,
        });
        around.collect::<Vec<_>>()
    };
    assert_eq!(families(&said[0]), [("net", 0, true)], "files are used by all of them");
    assert_eq!(families(&said[1]), []);
}

#[test]
fn a_flaky_test_of_a_project_never_seen_is_told_by_what_it_does() {
    let unseen = [test(90, 1, 1, true), test(90, 2, 2, false)];
    let predictions = MODEL.predict("elsewhere", &unseen, 0.0);
    assert_eq!(predictions[0].familiarity, Familiarity::NewProject);
    assert!(predictions[0].risk.get() > 0.5, "{:?}", predictions[0]);
    assert!(predictions[1].risk.get() < 0.1, "{:?}", predictions[1]);
}

#[test]
fn a_test_is_as_familiar_as_its_surroundings() {
    let familiarity = |project: &str, test| MODEL.predict(project, &[test], 1.0)[0].familiarity;
    assert_eq!(familiarity("project1", test(1, 0, 1, true)), Familiarity::KnownClass);
    assert_eq!(familiarity("project1", test(1, 77, 1, true)), Familiarity::KnownProject);
    assert_eq!(familiarity("project1 of others", test(1, 0, 1, true)), Familiarity::NewProject);
}

#[test]
fn reasons_name_look_alikes_lines_words_and_siblings() {
    let predictions = MODEL.predict("project1", &[test(1, 0, 1, true)], 0.0);
    let reasons = &predictions[0].reasons;
    assert!(reasons.contains(&Reason::Siblings { flaky: 3, known: 5 }), "{reasons:?}");
    let alike = reasons.iter().any(|reason| {
        matches!(reason, Reason::LooksLike { similarity, lines, .. } if *similarity > 0.5 && lines.contains(&4))
    });
    assert!(alike, "{reasons:?}");
    assert!(reasons.iter().any(|reason| matches!(reason, Reason::Word { .. })), "{reasons:?}");
}

#[test]
fn lines_weigh_for_and_against_flakiness() {
    let weights = |flaky| MODEL.line_weights("elsewhere", &test(90, 1, 1, flaky));
    let sleep = weights(true).into_iter().find(|(line, _)| *line == 4).expect("the model knows its words");
    assert!(sleep.1 > 0.0, "{sleep:?}");
    let sum = |flaky| weights(flaky).into_iter().map(|(_, weight)| weight).sum::<f64>();
    assert!(sum(true) > sum(false));
    assert_eq!(weights(true), weights(true));
}

#[test]
fn nothing_is_explained_below_the_risk_asked_for() {
    let predictions = MODEL.predict("project1", &[test(1, 1, 0, false)], 0.9);
    assert_eq!(predictions[0].reasons, []);
}

#[test]
fn a_model_says_what_to_expect_of_it() {
    let card = MODEL.card();
    assert_eq!((card.tests, card.flaky, card.projects), (384, 64, 8));
    let at_half: Vec<_> =
        card.expectations.iter().filter(|expectation| (expectation.threshold - 0.5).abs() < 1e-9).collect();
    assert_eq!(at_half.len(), 3, "{card:?}");
    assert!(at_half.iter().all(|expectation| expectation.precision > 0.8), "{card:?}");
}

#[test]
fn a_model_read_back_is_the_same() {
    let again = Model::from_bytes(&BYTES).expect("what was written is read");
    assert_eq!(again.to_bytes(), *BYTES);
    let tests = [test(1, 0, 1, true), test(90, 2, 2, false)];
    assert_eq!(again.predict("project1", &tests, 0.0), MODEL.predict("project1", &tests, 0.0));
}

#[test]
fn the_same_seed_gives_the_same_model() {
    let options = TrainOptions { trained_on: "tests made up".to_owned(), seed: 7, ..TrainOptions::default() };
    let again = rayon_free(|| Model::train(&examples(), &options)).expect("there is enough to learn from");
    assert_eq!(again.to_bytes(), *BYTES);
}

/// On one thread only.
fn rayon_free<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a pool of one thread").install(work)
}

#[test]
fn too_few_examples_are_refused() {
    let few: Vec<Example> = examples().into_iter().take(4).collect();
    let error = Model::train(&few, &TrainOptions::default()).expect_err("four tests teach nothing");
    assert_eq!(error, ModelError::TooFewExamples { flaky: 2, other: 2 });
}

#[test]
fn the_model_that_ships_is_whole_and_modest() {
    let model = Model::pretrained();
    assert!(model.to_bytes().len() < 2_000_000, "it is {} bytes", model.to_bytes().len());
    assert!(
        model
            .card()
            .expectations
            .iter()
            .all(|expectation| expectation.familiarity == Familiarity::NewProject)
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_model_with_flipped_bits_is_refused(place in 0_usize..1_000_000, bit in 0_u8..8) {
        let mut bytes = BYTES.clone();
        let place = place % bytes.len();
        bytes[place] ^= 1 << bit;
        prop_assert!(Model::from_bytes(&bytes).is_err());
    }

    /// As if somebody made the checksum right as well.
    #[test]
    fn a_model_made_to_do_harm_is_read_or_refused(
        changes in proptest::collection::vec((0_usize..1_000_000, any::<u8>()), 1..8),
    ) {
        const HEAD: usize = 8 + 4 + 32;
        let mut bytes = BYTES.clone();
        for (place, value) in changes {
            let place = HEAD + place % (bytes.len() - HEAD);
            bytes[place] = value;
        }
        let checksum = *blake3::hash(&bytes[HEAD..]).as_bytes();
        bytes[HEAD - 32..HEAD].copy_from_slice(&checksum);
        if let Ok(model) = Model::from_bytes(&bytes) {
            model.predict("project1", &[test(1, 0, 1, true), test(90, 2, 2, false)], 0.0);
        }
    }

    #[test]
    fn a_model_cut_short_is_refused(length in 0_usize..1_000_000) {
        prop_assert!(Model::from_bytes(&BYTES[..length % BYTES.len()]).is_err());
    }
}

/// Models of the other techniques, trained on the same tests.
static OTHERS: LazyLock<Vec<Model>> = LazyLock::new(|| {
    let train = |kind| {
        let options = TrainOptions { kind, seed: 7, ..TrainOptions::default() };
        Model::train(&examples(), &options).expect("there is enough to learn from")
    };
    vec![train(ModelKind::Flast), train(ModelKind::Paths)]
});

#[test]
fn each_technique_tells_flaky_tests_of_a_known_project() {
    for model in &*OTHERS {
        let tests = [test(1, 77, 1, true), test(1, 77, 2, false)];
        let said = model.predict("project1", &tests, 0.0);
        let kind = model.kind().name();
        assert!(said[0].risk.get() > 0.4 && said[1].risk.get() < 0.2, "{kind}: {said:?}");
        assert_eq!(said[0].familiarity, Familiarity::KnownProject, "{kind}");
        assert!(!model.card().expectations.is_empty(), "{kind}");
        let expected = match model.kind() {
            ModelKind::Flast => {
                said[0].reasons.iter().any(|reason| matches!(reason, Reason::LooksLike { .. }))
            }
            _ => said[0].reasons.iter().any(|reason| matches!(reason, Reason::Path { .. })),
        };
        assert!(expected, "{kind}: {said:?}");
        assert!(model.predict("project1", &tests, 1.0).iter().all(|said| said.reasons.is_empty()), "{kind}");
        assert_eq!(model.predict("project1", &[], 0.0), []);
    }
}

#[test]
fn a_known_test_does_not_speak_for_itself() {
    // Its look-alikes are not flaky; that it is itself is not held against it.
    let mut examples = examples();
    let own = examples.iter_mut().find(|example| !example.flaky).expect("there are some");
    own.flaky = true;
    let (project, test) = (own.project.clone(), own.test.clone());
    let options = TrainOptions { kind: ModelKind::Flast, ..TrainOptions::default() };
    let model = Model::train(&examples, &options).expect("there is enough to learn from");
    assert!(model.predict(&project, &[test], 1.0)[0].risk.get() < 0.3);
}

#[test]
fn every_technique_survives_its_file_and_damage_is_refused() {
    for model in &*OTHERS {
        let bytes = model.to_bytes();
        let kind = model.kind().name();
        let again = Model::from_bytes(&bytes).expect("it is whole");
        assert_eq!((again.to_bytes(), again.kind()), (bytes.clone(), model.kind()));
        assert_eq!(again.checksum(), model.checksum());
        for length in (0..bytes.len()).step_by(bytes.len() / 200 + 1) {
            assert!(Model::from_bytes(&bytes[..length]).is_err(), "{kind} at {length}");
        }
    }
}

#[test]
fn techniques_need_tests_of_both_kinds() {
    let examples: Vec<Example> = examples().into_iter().filter(|example| !example.flaky).collect();
    for kind in [ModelKind::Blend, ModelKind::Flast, ModelKind::Paths] {
        let error = Model::train(&examples, &TrainOptions { kind, ..TrainOptions::default() }).err();
        assert!(matches!(error, Some(ModelError::TooFewExamples { flaky: 0, .. })), "{error:?}");
    }
}

/// Labels with kinds: what sleeps is async, and what asks the warehouse depends on
/// the time, which nothing but the labels tells.
fn with_kinds() -> Vec<Example> {
    let mut examples = examples();
    for example in &mut examples {
        example.category = example.flaky.then_some(Category::AsyncWait);
    }
    for project in 0..8 {
        for class in 20..24 {
            let source = "@Test\npublic void shares() {\n    Warehouse.fill(3);\n    assertEquals(3, Warehouse.size());\n}";
            let class = format!("org.acme{project}.part{class}.Warehouse{class}Test");
            let test = read_fragment(Language::Java, source, None, &class, "shares");
            let project = format!("project{project}");
            examples.push(Example {
                test,
                project,
                flaky: true,
                category: Some(Category::Time),
                surroundings: None,
            });
        }
    }
    examples
}

#[test]
fn categories_are_learned_from_labels_if_that_beats_the_rule() {
    let model = Model::train(&with_kinds(), &TrainOptions::default()).expect("there is enough to learn from");
    let shares = read_fragment(
        Language::Java,
        "@Test\npublic void moves() {\n    Warehouse.fill(4);\n    assertEquals(4, Warehouse.size());\n}",
        None,
        "org.acme1.other.MovesTest",
        "moves",
    );
    let tests = [shares, test(1, 77, 1, true)];
    let kinds = |model: &Model| -> Vec<Option<Category>> {
        let said = model.predict("project1", &tests, 1.0);
        said.iter().map(|said| said.category.map(|guess| guess.category)).collect()
    };
    let trained = [Some(Category::Time), Some(Category::AsyncWait)];
    assert_eq!(kinds(&model), trained);
    // The rule takes the warehouse for state that tests share.
    assert_eq!(kinds(&MODEL), [Some(Category::OrderDependent), Some(Category::AsyncWait)]);
    let bytes = model.to_bytes();
    let again = Model::from_bytes(&bytes).expect("it is whole");
    assert_eq!((kinds(&again), again.to_bytes()), (trained.to_vec(), bytes));
}
