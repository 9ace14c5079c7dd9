//! Every test of the zoo with what is to be said about it. The reason is in the
//! comment in each test.

use super::{Expectation, Expected};

/// What a run of the whole suite must say, for every test of it.
///
/// The crashes and hangs at the end of the suite take its process with them, so
/// that no test can be run again in it. What is left cannot tell a test that fails
/// only in that process from one that fails at random or for a while.
pub fn expectations() -> Vec<Expectation> {
    let violent = [
        (TRANSIENT_OR_UNDECIDED, VIOLENT_TRANSIENT),
        (BROKEN_BEFORE, VIOLENT_BROKEN_BEFORE),
        (REGRESSION, VIOLENT_REGRESSION),
        (Expected::Passes, VIOLENT_PASSES),
    ];
    let kinds = Kinds {
        transient: TRANSIENT_OR_UNDECIDED,
        bursty: BURSTY_OR_UNDECIDED,
        state_dependent: STATE_DEPENDENT_OR_UNDECIDED,
    };
    list(&kinds, &violent)
}

/// What a run without crashes and hangs must say.
pub fn calm_expectations() -> Vec<Expectation> {
    let kinds = Kinds {
        transient: flaky("transient"),
        bursty: flaky("bursty"),
        state_dependent: flaky("state-dependent"),
    };
    list(&kinds, &[])
}

/// What is to be said of kinds that can be determined only while the suite's process lives.
struct Kinds {
    transient: Expected,
    bursty: Expected,
    state_dependent: Expected,
}

fn list(kinds: &Kinds, more: &[(Expected, &[&'static str])]) -> Vec<Expectation> {
    let groups: &[(Expected, &[&'static str])] = &[
        (Expected::Passes, PASSES),
        (Expected::Skipped, SKIPPED),
        (kinds.transient, TRANSIENT),
        (kinds.bursty, BURSTY),
        (kinds.state_dependent, STATE_DEPENDENT),
        (flaky("hash-seed"), HASH_SEED),
        (flaky("process-dependent"), PROCESS_DEPENDENT),
        (PASSES_AT_BASE, UNTOUCHED),
        (REGRESSION, REGRESSIONS),
        (BROKEN_BEFORE, BROKEN),
        (INFRASTRUCTURE, OUTAGES),
        (undecided("dependencies-unknown"), DEPENDENCIES_UNKNOWN),
    ];
    groups
        .iter()
        .chain(more)
        .flat_map(|&(expected, tests)| tests.iter().map(move |&test| Expectation { test, expected }))
        .chain(UNCERTAIN.iter().copied())
        .collect()
}

const REGRESSION: Expected = Expected::Verdict { conclusion: "regression", detail: None };
const BROKEN_BEFORE: Expected = Expected::Verdict { conclusion: "broken-before", detail: None };
const ENVIRONMENT: Expected = Expected::Verdict { conclusion: "environment", detail: None };
const INFRASTRUCTURE: Expected = Expected::Verdict { conclusion: "infrastructure", detail: None };

const fn flaky(kind: &'static str) -> Expected {
    Expected::Verdict { conclusion: "flaky", detail: Some(kind) }
}

const fn undecided(question: &'static str) -> Expected {
    Expected::Verdict { conclusion: "undecided", detail: Some(question) }
}

const UNDECIDED_KIND: Expected = flaky("undecided-kind");
const TRANSIENT_OR_UNDECIDED: Expected = Expected::OneOf(&[flaky("transient"), UNDECIDED_KIND]);
const STATE_DEPENDENT_OR_UNDECIDED: Expected = Expected::OneOf(&[flaky("state-dependent"), UNDECIDED_KIND]);
/// What was in the way has gone by then, so it passes elsewhere.
const BURSTY_OR_UNDECIDED: Expected =
    Expected::OneOf(&[flaky("bursty"), flaky("state-dependent"), UNDECIDED_KIND]);

/// It fails here, passes in a checkout of the base and depends on nothing that
/// changed. With few runs a flake is as likely.
const PASSES_AT_BASE: Expected =
    Expected::OneOf(&[undecided("passes-at-base"), undecided("not-enough-runs")]);

/// What can be said of a test that is random for real: it leaves the ladder at
/// any rung, or never, and passes or fails at the base. It depends on nothing that
/// changed, so it is never called a regression.
const RANDOM: Expected = Expected::OneOf(&[
    Expected::Passes,
    flaky("transient"),
    flaky("bursty"),
    flaky("state-dependent"),
    flaky("hash-seed"),
    flaky("process-dependent"),
    UNDECIDED_KIND,
    ENVIRONMENT,
    BROKEN_BEFORE,
    undecided("passes-at-base"),
    undecided("not-enough-runs"),
]);

/// A fixture of a module or class whose set-up fails once. pytest keeps the
/// error; it depends on whether a rerun at once makes the fixture again. With
/// the suite's process gone, two failures in it look like a dependency on it.
const FAILED_OUTER_FIXTURE: Expected =
    Expected::OneOf(&[flaky("transient"), flaky("bursty"), flaky("state-dependent"), UNDECIDED_KIND]);

const UNCERTAIN: &[Expectation] = &[
    // Fails with a probability of 1/2 and of 1/8.
    Expectation { test: "tests/test_random.py::test_half", expected: RANDOM },
    Expectation { test: "tests/test_random.py::test_one_in_eight", expected: RANDOM },
    // Two threads with nothing to order them.
    Expectation { test: "tests/test_race.py::test_real_race", expected: RANDOM },
    Expectation { test: "tests/test_fixtures_module.py::test_server_is_up", expected: FAILED_OUTER_FIXTURE },
    Expectation {
        test: "tests/test_unittest.py::TestLateServer::test_server",
        expected: FAILED_OUTER_FIXTURE,
    },
    // Whether Python children are watched is up to the agent.
    Expectation {
        test: "tests/test_dependencies.py::test_command_line",
        expected: Expected::OneOf(&[undecided("dependencies-unknown"), REGRESSION]),
    },
    // A file that is looked for and never opened. Undecided is as honest as it
    // gets where looks are not seen; flaky would be wrong.
    Expectation {
        test: "tests/test_regressions.py::test_through_a_flag",
        expected: Expected::OneOf(&[REGRESSION, undecided("dependencies-unknown")]),
    },
    // One failure and then only skips, at the base too: neither flaky nor not.
    Expectation {
        test: "tests/test_skips.py::test_fails_and_then_skips",
        expected: Expected::OneOf(&[undecided("not-enough-runs"), undecided("base-unknown")]),
    },
    // Skipped before pytest 9, which brought subtests.
    Expectation {
        test: "tests/test_subtests.py::test_subtests",
        expected: Expected::OneOf(&[flaky("transient"), UNDECIDED_KIND, Expected::Skipped]),
    },
    Expectation {
        test: "tests/test_subtests.py::test_subtests_that_pass",
        expected: Expected::OneOf(&[Expected::Passes, Expected::Skipped]),
    },
];

const TRANSIENT: &[&str] = &[
    "tests/test_added.py::test_new_and_flaky",
    "tests/test_async.py::test_job_is_done_in_time",
    "tests/test_changed_expectation.py::test_flaky_in_a_changed_file",
    "tests/test_classes.py::TestInstance::test_new_instance_every_time",
    "tests/test_classes.py::TestNested::TestInner::test_deep_down",
    "tests/test_clock.py::test_same_day_in_a_second",
    "tests/test_fixtures.py::test_set_up_breaks_once",
    "tests/test_fixtures.py::test_tear_down_breaks_once",
    "tests/test_fixtures.py::test_scratch_folder_is_new",
    "tests/test_fixtures.py::test_patches_are_undone",
    "tests/test_manual_flaky.txt::test_manual_flaky.txt",
    r"tests/test_names.py::test_printed[emoji \U0001f6d2]",
    "tests/test_names.py::test_printed[]",
    "tests/test_network.py::test_server_listens_late",
    "tests/test_odd_failures.py::test_message_that_is_no_text",
    "tests/test_odd_failures.py::test_message_that_is_long",
    "tests/test_odd_failures.py::test_message_that_raises",
    "tests/test_odd_failures.py::test_system_exit",
    "tests/test_odd_failures.py::test_base_exception",
    "tests/test_odd_failures.py::test_chain_and_deep_trace",
    "tests/test_odd_failures.py::test_recursion",
    "tests/test_race.py::test_forced_race",
    "tests/test_unittest.py::TestLedger::test_entry_fails_once",
    "tests/test_unittest.py::TestLedger::test_sub_test_fails_once",
    "tests/test_unittest.py::TestCleanUp::test_clean_up_fails_once",
    "tests/test_unittest.py::TestAsync::test_coroutine_fails_once",
];

const BURSTY: &[&str] = &[
    "tests/test_bursty.py::test_port_b_is_needed",
    "tests/test_bursty.py::test_lock_b_is_needed",
    "tests/test_bursty.py::test_job_b_wants_quiet",
    "tests/test_bursty.py::test_queue_drains",
    "tests/test_bursty.py::test_window_b_is_maintenance",
    "tests/test_bursty.py::test_folder_b_is_relative",
    "tests/test_bursty_fixture.py::test_connection_is_good",
    "tests/test_names.py::test_printed[path/like.py]",
];

const STATE_DEPENDENT: &[&str] = &[
    "tests/test_classes.py::TestClassAttribute::test_b_expects_none",
    "tests/test_leaks.py::test_mock_b",
    "tests/test_leaks.py::test_environment_b",
    "tests/test_leaks.py::test_singleton_b",
    "tests/test_leaks.py::test_timezone_b",
    "tests/test_leaks.py::test_precision_b",
    "tests/test_leaks.py::test_seed_b",
    "tests/test_leaks.py::test_pool_b",
    "tests/test_leaks.py::test_descriptors_b",
    "tests/test_leaks.py::test_module_b",
    "tests/test_leaks.py::test_method_b",
    "tests/test_names.py::test_printed[[brackets]]",
    "tests/test_promo_victim.py::test_full_price",
];

const HASH_SEED: &[&str] = &[
    "tests/test_hash_seed.py::test_hash_of_text",
    "tests/test_hash_seed.py::test_order_of_a_set",
    r"tests/test_names.py::test_printed[gr\xf6\xdfe]",
    r#"tests/test_names.py::test_printed[quote'"$HOME]"#,
];

const PROCESS_DEPENDENT: &[&str] = &[
    "tests/test_names.py::test_printed[two words]",
    "tests/test_process.py::test_token_made_at_import",
    "tests/test_process.py::test_registry_without_vouchers",
];

const UNTOUCHED: &[&str] = &[
    "tests/test_outside.py::test_database_b_is_empty",
    "tests/test_outside.py::test_stale_lock",
    "tests/test_outside.py::TestQuota::test_quota",
    "tests/test_licence.py::test_licensed[accounts]",
    "tests/test_licence.py::test_licensed[billing]",
    "tests/test_licence.py::test_licensed[claims]",
    "tests/test_licence.py::test_licensed[deals]",
    "tests/test_licence.py::test_licensed[export]",
];

const REGRESSIONS: &[&str] = &[
    "tests/test_dependencies.py::test_label_printer",
    "tests/test_dependencies.py::test_opening_hours",
    "tests/checkout/test_checkout.py::test_adult",
    "tests/checkout/test_helper.py::test_discount",
    "tests/test_added.py::test_new_feature",
    "tests/test_catalog.py::test_price[apple]",
    "tests/test_catalog.py::test_price[bread]",
    "tests/test_catalog.py::test_price[cheese]",
    "tests/test_catalog.py::test_price[dates]",
    "tests/test_catalog.py::test_price[eggs]",
    "tests/test_changed_expectation.py::test_default_currency",
    "tests/test_pricing.py::test_total",
    r"tests/test_pricing.py::test_total_of[50 % off::sommerschlu\xdf]",
    "tests/test_regressions.py::test_through_another_module",
    "tests/test_regressions.py::test_through_a_late_import",
    "tests/test_regressions.py::test_through_a_data_file",
    "tests/test_regressions.py::test_through_a_removed_file",
    "tests/test_regressions.py::test_through_a_folder",
];

const BROKEN: &[&str] = &[
    "tests/test_broken.py::test_always_wrong",
    "tests/test_broken.py::test_cheapest_of_nothing",
    "tests/test_broken.py::test_strict_xfail_that_passes",
    "tests/test_broken.py::test_gateway_is_down",
    "tests/test_fixtures.py::test_tear_down_breaks_always",
    "tests/test_names.py::test_printed[a::b]",
    r"tests/test_names.py::test_printed[line\nbreak]",
    "tests/test_names.py::test_printed[-k]",
];

/// Five tests with no connection.
const OUTAGES: &[&str] = &[
    "tests/test_database.py::test_customers",
    "tests/test_database.py::test_orders",
    "tests/test_database.py::test_products",
    "tests/test_database.py::test_suppliers",
    "tests/test_database.py::test_returns",
];

const DEPENDENCIES_UNKNOWN: &[&str] = &["tests/test_dependencies.py::test_legacy_scanner"];

const VIOLENT_TRANSIENT: &[&str] = &[
    "tests/zz_violent/test_crash.py::test_segmentation_fault_once",
    "tests/zz_violent/test_crash.py::test_exit_once",
    "tests/zz_violent/test_crash.py::test_exit_zero_once",
    "tests/zz_violent/test_crash.py::test_killed_once",
    "tests/zz_violent/test_hang.py::test_sleeps_once",
    "tests/zz_violent/test_hang.py::test_deadlock_once",
    "tests/zz_violent/test_hang.py::test_grandchild_once",
    "tests/zz_violent/test_hang.py::test_grandchild_in_a_session_of_its_own_once",
    "tests/zz_violent/test_hang.py::test_tear_down_hangs_once",
];

const VIOLENT_BROKEN_BEFORE: &[&str] = &[
    "tests/zz_violent/test_crash.py::test_abort_always",
    "tests/zz_violent/test_hang.py::test_hangs_always",
];

const VIOLENT_REGRESSION: &[&str] =
    &["tests/zz_violent/test_crash.py::test_engine_starts", "tests/zz_violent/test_hang.py::test_boxes"];

const VIOLENT_PASSES: &[&str] = &[
    "tests/zz_violent/test_crash.py::test_after_a_crash",
    "tests/zz_violent/test_crash.py::test_last_after_crashes",
    "tests/zz_violent/test_hang.py::test_last_after_hangs",
];

const SKIPPED: &[&str] = &[
    "tests/test_skips.py::test_marked",
    "tests/test_skips.py::test_marked_if",
    "tests/test_skips.py::test_called",
    "tests/test_skips.py::test_expected_failure",
    "tests/test_skips.py::test_expected_failure_not_run",
    "tests/test_skips.py::TestUnittestSkips::test_skipped",
    "tests/test_skips.py::TestUnittestSkips::test_expected",
];

/// Among them the polluters, and brittle tests, which only fail alone.
const PASSES: &[&str] = &[
    "tests/checkout/test_checkout.py::test_name",
    "tests/test_added.py::test_new_and_good",
    "tests/test_async.py::test_job_is_done_when_awaited",
    "tests/test_brittle.py::test_a_sets_up",
    "tests/test_brittle.py::test_b_needs_the_settings",
    "tests/test_brittle.py::test_c_needs_the_environment",
    "tests/test_bursty.py::test_port_a_is_taken",
    "tests/test_bursty.py::test_port_c_is_free_again",
    "tests/test_bursty.py::test_lock_a_is_taken",
    "tests/test_bursty.py::test_lock_c_is_free_again",
    "tests/test_bursty.py::test_job_a_starts",
    "tests/test_bursty.py::test_job_c_ends",
    "tests/test_bursty.py::test_window_a_opens",
    "tests/test_bursty.py::test_window_c_closes",
    "tests/test_bursty.py::test_folder_a_is_left",
    "tests/test_bursty.py::test_folder_c_comes_back",
    "tests/test_bursty_fixture.py::test_connection_exists",
    "tests/test_changed_expectation.py::test_stable_in_a_changed_file",
    "tests/test_classes.py::TestInstance::test_no_shared_instance",
    "tests/test_classes.py::TestClassAttribute::test_a_adds",
    "tests/test_dependencies.py::test_child_that_works",
    "tests/test_fixtures.py::test_fixture_knows_its_test",
    "tests/test_hash_seed.py::test_sorted_set",
    "tests/test_leaks.py::test_mock_a_is_left",
    "tests/test_leaks.py::test_environment_a_is_left",
    "tests/test_leaks.py::test_singleton_a_is_filled",
    "tests/test_leaks.py::test_timezone_a_is_set",
    "tests/test_leaks.py::test_precision_a_is_low",
    "tests/test_leaks.py::test_seed_a_is_fixed",
    "tests/test_leaks.py::test_pool_a_is_emptied",
    "tests/test_leaks.py::test_descriptors_a_are_leaked",
    "tests/test_leaks.py::test_module_a_is_replaced",
    "tests/test_leaks.py::test_method_a_is_wrapped",
    "tests/test_manual.txt::test_manual.txt",
    r"tests/test_names.py::test_listed[gr\xf6\xdfe]",
    "tests/test_names.py::test_listed[a::b]",
    "tests/test_names.py::test_listed[two words]",
    "tests/test_names.py::test_listed[[brackets]]",
    "tests/test_names.py::test_listed[path/like.py]",
    r"tests/test_names.py::test_listed[line\nbreak]",
    r"tests/test_names.py::test_listed[emoji \U0001f6d2]",
    r#"tests/test_names.py::test_listed[quote'"$HOME]"#,
    "tests/test_names.py::test_listed[-k]",
    "tests/test_names.py::test_listed[]",
    "tests/test_odd_failures.py::test_noisy",
    "tests/test_outside.py::test_database_a_is_filled",
    "tests/test_pricing.py::test_total_of[nothing]",
    "tests/test_process_imports.py::test_registry_with_vouchers",
    "tests/test_promo.py::test_promotion_halves",
    "tests/test_skips.py::test_unexpected_pass",
    "tests/test_stable.py::test_number[0]",
    "tests/test_stable.py::test_number[1]",
    "tests/test_stable.py::test_number[2]",
    "tests/test_stable.py::test_number[3]",
    "tests/test_stable.py::test_number[4]",
    "tests/test_stable.py::test_number[5]",
    "tests/test_stable.py::test_number[6]",
    "tests/test_stable.py::test_number[7]",
    "tests/test_stable.py::test_number[8]",
    "tests/test_stable.py::test_number[9]",
    "tests/test_stable.py::test_number[10]",
    "tests/test_stable.py::test_number[11]",
    "tests/test_stable.py::test_number[12]",
    "tests/test_stable.py::test_number[13]",
    "tests/test_stable.py::test_number[14]",
    "tests/test_stable.py::test_number[15]",
    "tests/test_stable.py::test_number[16]",
    "tests/test_stable.py::test_number[17]",
    "tests/test_stable.py::test_number[18]",
    "tests/test_stable.py::test_number[19]",
    "tests/test_stable.py::test_addition",
    "tests/test_stable.py::test_text",
    "tests/test_stable.py::test_list",
    "tests/test_stable.py::test_mapping",
    "tests/test_stable.py::test_raises",
    "tests/test_stable.py::test_approximately",
    "tests/test_stable.py::test_scratch",
    "tests/test_stable.py::test_output",
    "tests/test_stable.py::test_warning",
    "tests/test_stable.py::test_log",
    "tests/test_stable.py::TestGroup::test_in_a_class",
    "tests/test_stable.py::TestGroup::test_static",
    "tests/test_unittest.py::TestLedger::test_opening",
];
