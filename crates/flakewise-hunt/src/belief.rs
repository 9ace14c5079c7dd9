//! What is believed of every test, after all that was seen.
//!
//! Groups form a tree: the project, its modules, their classes, their tests.
//! Given the state of its class a test is independent of all others, and so are
//! classes given their module's; messages up and down the tree therefore give
//! the exact chances. Evidence is kept in logarithms.
//!
//! Beside the tree stands the chance that no test of the project is flaky. What
//! was shown is compared under both.

use std::collections::HashMap;

use flakewise_model::Hidden;
use rand::Rng;

use crate::prior::{PLACES, Prior, SHIFTS, STATES, States, Tables, Transition};
use crate::survival::{Shown, Survival, greatest};

/// A test as a belief begins with it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Member {
    pub(crate) risk: f64,
    pub(crate) class: u32,
    pub(crate) module: u32,
    pub(crate) shown: Shown,
}

#[derive(Clone, Debug)]
pub(crate) struct Belief {
    tables: Tables,
    survival: Survival,
    /// The same for those that fail often enough to be counted.
    often: Survival,
    /// How many tests always fail, for each that does not.
    broken: f64,
    tests: Vec<Test>,
    classes: Vec<Class>,
    modules: Vec<Module>,
    /// What modules say of the project, with the prior.
    project: States,
    /// Changes whenever `project` does.
    edition: u64,
    /// The odds that no test of a project is flaky, before anything ran.
    clean_odds: f64,
    /// How likely what classes told is if no test is flaky.
    clean: Clean,
    /// The chance that some are, after what classes told.
    weight: f64,
}

/// How likely what was shown is if no test is flaky: impossible once one has
/// shown both outcomes.
#[derive(Clone, Copy, Debug, Default)]
struct Clean {
    logarithm: f64,
    found: i64,
}

#[derive(Clone, Copy, Debug)]
struct Test {
    class: usize,
    odds: f64,
    /// The same before it was set aside.
    prior_odds: f64,
    shown: Shown,
}

#[derive(Clone, Debug)]
struct Class {
    module: usize,
    members: Vec<usize>,
    /// How likely what its tests showed is.
    evidence: States,
    /// The same if no test is flaky.
    clean: Clean,
    clean_said: Clean,
    /// What it last told its module, and how far its evidence moved since.
    said: States,
    drift: f64,
    /// What its module last told it, and in which edition.
    heard: States,
    heard_edition: u64,
    /// How likely each state is after all this; none if something changed.
    posterior: Option<Box<States>>,
}

#[derive(Clone, Debug)]
struct Module {
    classes: Vec<usize>,
    /// What its classes say of it.
    evidence: States,
    said: States,
    heard: States,
    heard_edition: u64,
    /// Changes whenever what its classes should hear does.
    edition: u64,
}

/// Beyond this a class tells its module at once what it learned; what is less can
/// wait until everybody is asked.
const DRIFT: f64 = 1.0;

impl Belief {
    pub(crate) fn new(prior: &Prior, members: &[Member]) -> Self {
        let tables = prior.tables();
        let always_failing = prior.always_failing.clamp(1e-9, 0.5);
        let clean = prior.clean.clamp(0.0, 1.0 - 1e-9);
        let mut belief = Self {
            project: tables.project.map(f64::ln),
            survival: Survival::new(&tables),
            often: Survival::at_least(&tables, Hidden::LEAST_RATE),
            broken: always_failing / (1.0 - always_failing),
            tests: Vec::with_capacity(members.len()),
            classes: Vec::new(),
            modules: Vec::new(),
            edition: 1,
            clean_odds: clean / (1.0 - clean),
            clean: Clean::default(),
            weight: 1.0,
            tables,
        };
        let (mut class_places, mut module_places) = (HashMap::new(), HashMap::new());
        for (place, &Member { risk, class, module, shown }) in members.iter().enumerate() {
            let module =
                *module_places.entry(module).or_insert_with(|| add(&mut belief.modules, Module::new()));
            let class = *class_places.entry((module, class)).or_insert_with(|| {
                let class = add(&mut belief.classes, Class::new(module));
                belief.modules[module].classes.push(class);
                class
            });
            let test = Test { class, odds: prior.odds(risk), prior_odds: prior.odds(risk), shown };
            belief.tests.push(test);
            belief.keep(shown);
            let likelihood = belief.likelihood(test);
            let clean = belief.clean_likelihood(shown);
            let class = &mut belief.classes[class];
            class.members.push(place);
            class.clean.add(clean);
            for (evidence, likelihood) in class.evidence.iter_mut().zip(likelihood) {
                *evidence += likelihood.ln();
            }
        }
        belief.tell_all();
        belief
    }

    /// A test has shown this in all.
    pub(crate) fn show(&mut self, test: usize, shown: Shown) {
        let before = self.tests[test];
        if before.shown == shown {
            return;
        }
        self.keep(shown);
        self.tests[test].shown = shown;
        self.moved(before, test);
    }

    /// A test ends differently for reasons that have nothing to do with chance:
    /// neither it nor what it showed counts any more.
    pub(crate) fn set_aside(&mut self, test: usize) {
        let before = self.tests[test];
        self.tests[test] = Test { odds: 0.0, shown: Shown::default(), ..before };
        self.moved(before, test);
    }

    /// A test that was set aside counts after all.
    pub(crate) fn reinstate(&mut self, test: usize, shown: Shown) {
        let before = self.tests[test];
        self.keep(shown);
        self.tests[test] = Test { odds: before.prior_odds, shown, ..before };
        self.moved(before, test);
    }

    fn moved(&mut self, before: Test, test: usize) {
        let (old, new) = (self.likelihood(before), self.likelihood(self.tests[test]));
        let (clean_old, clean_new) =
            (self.clean_likelihood(before.shown), self.clean_likelihood(self.tests[test].shown));
        let class = &mut self.classes[before.class];
        class.clean.add(clean_new);
        class.clean.remove(clean_old);
        let mut most: f64 = 0.0;
        for state in 0..STATES {
            let change = (new[state] / old[state]).ln();
            class.evidence[state] += change;
            most = most.max(change.abs());
        }
        class.posterior = None;
        class.drift += most;
        if class.drift > DRIFT {
            self.tell(before.class);
        }
    }

    /// Makes what comes quick.
    fn keep(&mut self, shown: Shown) {
        self.survival.keep(shown.and_again(1));
        self.often.keep(shown.and_again(1));
    }

    /// Lets every class tell what it learned.
    pub(crate) fn tell_all(&mut self) {
        for class in 0..self.classes.len() {
            if self.classes[class].drift > 0.0 {
                self.tell(class);
            }
        }
    }

    /// The chance that a test is flaky, and that its next run shows the outcome
    /// that it has not shown.
    pub(crate) fn chances(&self, test: usize) -> (f64, f64) {
        let Test { class, odds, shown, .. } = self.tests[test];
        if shown.both() {
            return (1.0, 0.0);
        }
        let class = &self.classes[class];
        let own;
        let posterior = if let Some(posterior) = &class.posterior {
            posterior
        } else {
            own = self.posterior(class);
            &own
        };
        let now = self.survival.places(shown);
        let next = self.survival.places(shown.and_again(1));
        let (mut flaky, mut reveal) = (0.0, 0.0);
        for shift in 0..SHIFTS {
            let odds = odds * self.tables.odds[shift];
            let constant = self.constant(shown, odds);
            for place in 0..PLACES {
                let weight = posterior[shift * PLACES + place] * odds / (constant + odds * now[place]);
                flaky += weight * now[place];
                reveal += weight * (now[place] - next[place]);
            }
        }
        (self.weight * flaky, self.weight * reveal)
    }

    /// The chance that a test is flaky, has not shown it, and fails often enough to
    /// be counted.
    pub(crate) fn hidden_chance(&self, test: usize) -> f64 {
        let test = self.tests[test];
        if test.shown.both() {
            return 0.0;
        }
        let class = &self.classes[test.class];
        let posterior = class.posterior.as_deref().copied().unwrap_or_else(|| self.posterior(class));
        let flaky = self.flaky_by_state(test, &self.often);
        self.weight * posterior.iter().zip(flaky).map(|(weight, flaky)| weight * flaky).sum::<f64>()
    }

    /// Works out what [`Belief::chances`] needs for a test and its class-mates.
    pub(crate) fn prepare(&mut self, test: usize) {
        let class = self.tests[test].class;
        let module = self.classes[class].module;
        if self.modules[module].heard_edition != self.edition {
            let heard = self.module_hears(&self.modules[module]);
            let module = &mut self.modules[module];
            module.heard = heard;
            module.heard_edition = self.edition;
            module.edition += 1;
        }
        if self.classes[class].heard_edition != self.modules[module].edition {
            let heard = self.class_hears(&self.classes[class], &self.modules[module].heard);
            let edition = self.modules[module].edition;
            let class = &mut self.classes[class];
            class.heard = heard;
            class.heard_edition = edition;
            class.posterior = None;
        }
        if self.classes[class].posterior.is_none() {
            let posterior = self.posterior(&self.classes[class]);
            self.classes[class].posterior = Some(Box::new(posterior));
        }
    }

    /// How likely all that was shown is, in logarithms and but for a constant.
    pub(crate) fn log_likelihood(&self) -> f64 {
        // Both are likely beforehand as their odds say.
        self.some_flaky() - self.weight.ln() - self.clean_odds.ln_1p()
    }

    /// How likely all that was shown is if some tests are flaky.
    fn some_flaky(&self) -> f64 {
        let most = greatest(&self.project);
        most + self.project.iter().map(|value| (value - most).exp()).sum::<f64>().ln()
    }

    /// The chance that some tests are flaky.
    fn weighed(&self) -> f64 {
        if self.clean.found > 0 || self.clean_odds == 0.0 {
            return 1.0;
        }
        1.0 / (1.0 + self.clean_odds * (self.clean.logarithm - self.some_flaky()).exp())
    }

    /// Draws how many tests are flaky and have not shown it; of all, or of those
    /// that fail often enough to be counted.
    pub(crate) fn draw(&self, draws: usize, all: bool, random: &mut impl Rng) -> Vec<u32> {
        let rates = if all { &self.survival } else { &self.often };
        let mut counts = vec![0; draws];
        let project = scaled(&self.project);
        let states: Vec<usize> = (0..draws).map(|_| pick(&project, random)).collect();
        let is_flaky: Vec<bool> = (0..draws).map(|_| random.random_bool(self.weight)).collect();
        for module in &self.modules {
            let mut steps = Steps::new(&self.tables.module, &module.evidence);
            let states: Vec<usize> = states.iter().map(|&state| steps.draw(state, random)).collect();
            for class in module.classes.iter().map(|&class| &self.classes[class]) {
                let mut steps = Steps::new(&self.tables.class, &class.evidence);
                let chances: Vec<States> = class
                    .members
                    .iter()
                    .map(|&member| self.tests[member])
                    .filter(|test| !test.shown.both())
                    .map(|test| self.flaky_by_state(test, rates))
                    .collect();
                // For each state that came up, how likely each number is at most.
                let mut numbers: Vec<Option<Vec<f64>>> = vec![None; STATES];
                for (count, &state) in counts.iter_mut().zip(&states) {
                    let state = steps.draw(state, random);
                    let sums = numbers[state].get_or_insert_with(|| sums_of_numbers(&chances, state));
                    let aim = random.random::<f64>();
                    let number = sums.partition_point(|sum| *sum <= aim).min(chances.len());
                    *count += u32::try_from(number).unwrap_or(u32::MAX);
                }
            }
        }
        for (count, is_flaky) in counts.iter_mut().zip(is_flaky) {
            *count *= u32::from(is_flaky);
        }
        counts
    }

    fn tell(&mut self, class: usize) {
        let class = &mut self.classes[class];
        class.drift = 0.0;
        self.clean.add(class.clean);
        self.clean.remove(class.clean_said);
        class.clean_said = class.clean;
        let module = &mut self.modules[class.module];
        // What a group heard was reckoned without what it said: it stays true.
        let (class_knows, module_knows) =
            (class.heard_edition == module.edition, module.heard_edition == self.edition);
        retell(&self.tables.class, &class.evidence, &mut class.said, &mut module.evidence);
        retell(&self.tables.module, &module.evidence, &mut module.said, &mut self.project);
        module.edition += 1;
        self.edition += 1;
        if class_knows {
            class.heard_edition = module.edition;
        }
        if module_knows {
            module.heard_edition = self.edition;
        }
        self.weight = self.weighed();
    }

    fn module_hears(&self, module: &Module) -> States {
        let others: States = std::array::from_fn(|state| self.project[state] - module.said[state]);
        self.tables.module.down(&scaled(&others))
    }

    fn class_hears(&self, class: &Class, module_heard: &States) -> States {
        let module = &self.modules[class.module];
        let others: States = std::array::from_fn(|state| module.evidence[state] - class.said[state]);
        let others = scaled(&others);
        self.tables.class.down(&std::array::from_fn(|state| others[state] * module_heard[state]))
    }

    fn posterior(&self, class: &Class) -> States {
        let module = &self.modules[class.module];
        let module_knows = module.heard_edition == self.edition;
        let heard = if module_knows && class.heard_edition == module.edition {
            class.heard
        } else if module_knows {
            self.class_hears(class, &module.heard)
        } else {
            self.class_hears(class, &self.module_hears(module))
        };
        let evidence = scaled(&class.evidence);
        let weights: States = std::array::from_fn(|state| evidence[state] * heard[state]);
        let sum: f64 = weights.iter().sum();
        weights.map(|weight| weight / sum)
    }

    /// How likely what a test showed is in each state.
    fn likelihood(&self, test: Test) -> States {
        let places = self.survival.places(test.shown);
        let mut likelihood = [0.0; STATES];
        for shift in 0..SHIFTS {
            let odds = test.odds * self.tables.odds[shift];
            let constant = self.constant(test.shown, odds);
            for place in 0..PLACES {
                likelihood[shift * PLACES + place] = (constant + odds * places[place]) / (1.0 + odds);
            }
        }
        likelihood
    }

    /// How likely what was shown is of a test that is not flaky, if one that is
    /// has these odds. What always fails is as common where many are flaky as
    /// elsewhere: it says nothing of its mates.
    fn constant(&self, shown: Shown, odds: f64) -> f64 {
        let broken = self.broken * (1.0 + odds);
        match (shown.passed, shown.failed) {
            (0, 0) => 1.0 + broken,
            (_, 0) => 1.0,
            (0, _) => broken,
            _ => 0.0,
        }
    }

    /// How likely what was shown is if no test is flaky.
    fn clean_likelihood(&self, shown: Shown) -> Clean {
        if shown.both() {
            return Clean { logarithm: 0.0, found: 1 };
        }
        Clean { logarithm: self.constant(shown, 0.0).ln(), found: 0 }
    }

    /// In each state, how likely a test is flaky and fails at some rates.
    fn flaky_by_state(&self, test: Test, rates: &Survival) -> States {
        let (now, wanted) = (self.survival.places(test.shown), rates.places(test.shown));
        std::array::from_fn(|state| {
            let odds = test.odds * self.tables.odds[state / PLACES];
            let place = state % PLACES;
            odds * wanted[place] / (self.constant(test.shown, odds) + odds * now[place])
        })
    }
}

impl Clean {
    fn add(&mut self, other: Self) {
        self.logarithm += other.logarithm;
        self.found += other.found;
    }

    fn remove(&mut self, other: Self) {
        self.logarithm -= other.logarithm;
        self.found -= other.found;
    }
}

impl Class {
    fn new(module: usize) -> Self {
        Self {
            module,
            members: Vec::new(),
            evidence: [0.0; STATES],
            clean: Clean::default(),
            clean_said: Clean::default(),
            said: [0.0; STATES],
            drift: f64::INFINITY,
            heard: [0.0; STATES],
            heard_edition: 0,
            posterior: None,
        }
    }
}

impl Module {
    fn new() -> Self {
        Self {
            classes: Vec::new(),
            evidence: [0.0; STATES],
            said: [0.0; STATES],
            heard: [0.0; STATES],
            heard_edition: 0,
            edition: 1,
        }
    }
}

fn add<T>(all: &mut Vec<T>, one: T) -> usize {
    all.push(one);
    all.len() - 1
}

/// Says to the group above what is known now, instead of what was said before.
fn retell(transition: &Transition, evidence: &States, said: &mut States, above: &mut States) {
    let most = greatest(evidence);
    let saying = transition.up(&scaled(evidence)).map(|value| most + value.ln());
    for state in 0..STATES {
        above[state] += saying[state] - said[state];
    }
    *said = saying;
}

/// From logarithms; the greatest becomes 1.
fn scaled(logarithms: &States) -> States {
    let most = greatest(logarithms);
    logarithms.map(|value| (value - most).exp())
}

/// How likely it is that no more than 0, 1, 2… tests are flaky in a state.
fn sums_of_numbers(chances: &[States], state: usize) -> Vec<f64> {
    let mut numbers = vec![1.0];
    for chances in chances {
        let chance = chances[state];
        numbers.push(0.0);
        for place in (1..numbers.len()).rev() {
            numbers[place] = numbers[place] * (1.0 - chance) + numbers[place - 1] * chance;
        }
        numbers[0] *= 1.0 - chance;
    }
    let mut sum = 0.0;
    for number in &mut numbers {
        sum += *number;
        *number = sum;
    }
    numbers
}

/// Draws the state of a group, given that of the one above it.
struct Steps<'a> {
    transition: &'a Transition,
    evidence: States,
    /// For each state above that came up, the sums of weights.
    sums: Vec<Option<Box<States>>>,
}

impl<'a> Steps<'a> {
    fn new(transition: &'a Transition, evidence: &States) -> Self {
        Self { transition, evidence: scaled(evidence), sums: vec![None; STATES] }
    }

    fn draw(&mut self, from: usize, random: &mut impl Rng) -> usize {
        let sums = self.sums[from].get_or_insert_with(|| {
            let mut sum = 0.0;
            Box::new(std::array::from_fn(|to| {
                sum += self.transition.chance(from, to) * self.evidence[to];
                sum
            }))
        });
        let aim = random.random::<f64>() * sums[STATES - 1];
        sums.partition_point(|sum| *sum <= aim).min(STATES - 1)
    }
}

fn pick(weights: &States, random: &mut impl Rng) -> usize {
    let mut left = random.random::<f64>() * weights.iter().sum::<f64>();
    weights
        .iter()
        .position(|weight| {
            left -= weight;
            left < 0.0
        })
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::prior::{RATES, rate};

    /// How likely all that was shown is: a sum over every state of every group.
    fn likelihood(prior: &Prior, members: &[Member]) -> f64 {
        let tables = prior.tables();
        let one = |member: &Member, state: usize| {
            let odds = prior.odds(member.risk) * tables.odds[state / PLACES];
            let Shown { passed, failed } = member.shown;
            let show = |step: usize| rate(step).powf(failed.into()) * (1.0 - rate(step)).powf(passed.into());
            let flaky: f64 = (0..RATES).map(|step| tables.rates[state % PLACES][step] * show(step)).sum();
            let clean = odds / (1.0 + odds) * flaky + f64::from(failed == 0) / (1.0 + odds);
            (1.0 - prior.always_failing) * clean + prior.always_failing * f64::from(passed == 0)
        };
        let groups = |of: &dyn Fn(&Member) -> u32, members: &[Member]| -> Vec<Vec<Member>> {
            let mut names: Vec<u32> = members.iter().map(of).collect();
            names.sort_unstable();
            names.dedup();
            let group = |name: &u32| members.iter().copied().filter(|member| of(member) == *name).collect();
            names.iter().map(group).collect()
        };
        let all = |weights: &dyn Fn(usize) -> f64| (0..STATES).map(weights).sum::<f64>();
        // By class and state of its module, by module and state of the project.
        let class = |members: &[Member], above: usize| {
            all(&|state| {
                tables.class.chance(above, state)
                    * members.iter().map(|member| one(member, state)).product::<f64>()
            })
        };
        let modules: Vec<States> = groups(&|member| member.module, members)
            .iter()
            .map(|members| {
                let classes = groups(&|member| member.class, members);
                let module: States = std::array::from_fn(|state| {
                    classes.iter().map(|members| class(members, state)).product()
                });
                std::array::from_fn(|above| all(&|state| tables.module.chance(above, state) * module[state]))
            })
            .collect();
        let flaky =
            all(&|state| tables.project[state] * modules.iter().map(|module| module[state]).product::<f64>());
        let never = |member: &Member| {
            let Shown { passed, failed } = member.shown;
            (1.0 - prior.always_failing) * f64::from(failed == 0)
                + prior.always_failing * f64::from(passed == 0)
        };
        prior.clean * members.iter().map(never).product::<f64>() + (1.0 - prior.clean) * flaky
    }

    fn members() -> impl Strategy<Value = Vec<Member>> {
        let one = (0.001..0.9f64, 0..2u32, 0..2u32, 0..40u32, 0..3u32);
        let one = one.prop_map(|(risk, class, module, passed, failed)| Member {
            risk,
            class,
            module,
            shown: Shown { passed, failed },
        });
        proptest::collection::vec(one, 1..6)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(12))]

        #[test]
        fn chances_equal_those_of_summing_over_everything(
            members in members(), prior_of_known: bool, clean in prop::sample::select(vec![0.0, 0.2, 0.86]),
        ) {
            let prior = if prior_of_known { Prior::known_project() } else { Prior::new_project() };
            let prior = Prior { clean, ..prior };
            // Told one after the other, which must not matter.
            let blank: Vec<Member> =
                members.iter().map(|&member| Member { shown: Shown::default(), ..member }).collect();
            let mut belief = Belief::new(&prior, &blank);
            for (test, member) in members.iter().enumerate() {
                belief.prepare(test);
                belief.show(test, member.shown);
            }
            belief.tell_all();
            let whole = likelihood(&prior, &members);
            for test in 0..members.len() {
                let shown = members[test].shown;
                let (flaky, reveal) = belief.chances(test);
                if shown.both() {
                    prop_assert_eq!((flaky, reveal), (1.0, 0.0));
                    continue;
                }
                let mut after = members.clone();
                let surprise = if shown.failed == 0 { &mut after[test].shown.failed } else { &mut after[test].shown.passed };
                *surprise += 1;
                let expected = likelihood(&prior, &after) / whole;
                if shown != Shown::default() {
                    prop_assert!((reveal - expected).abs() < 1e-6 * expected + 1e-12, "{reveal} {expected}");
                }
                // Not flaky is what shows the same for ever.
                after[test].shown = shown.and_again(1 << 20);
                let clean = likelihood(&prior, &after) / whole;
                if shown != Shown::default() {
                    prop_assert!((flaky - (1.0 - clean)).abs() < 1e-6, "{flaky} {clean}");
                }
                belief.prepare(test);
                prop_assert_eq!(belief.chances(test), (flaky, reveal));
            }
        }
    }
}
