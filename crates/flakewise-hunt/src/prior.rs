//! What is known of flaky tests before a hunt.
//!
//! Two things are hidden of every group of tests. Its *shift* says how much
//! flakier it is than its risks say, in log-odds. Its *place* says at what rate
//! its flaky tests typically fail. Both go down a chain: from the project to a
//! module to a class; the rate of a test is near the place of its class. How
//! near each step of the chain stays to the one before was fitted to projects
//! whose tests ran ten thousand times, see [`Prior::fit`].
//!
//! Those projects were chosen because they have flaky tests. Most have none, so
//! above the chain stands whether this one has any at all. That is learned from
//! the clean runs of all tests together: each makes it less likely that there
//! are flaky tests which just did not show.

/// Steps of a shift.
pub(crate) const SHIFTS: usize = 12;
const SHIFT_STEP: f64 = 1.5;
const LOWEST_SHIFT: f64 = -7.5;

/// Steps of a place.
pub(crate) const PLACES: usize = 7;
const PLACE_STEP: f64 = 0.6;
/// Steps of the rate at which one test fails.
pub(crate) const RATES: usize = 14;
const RATE_STEP: f64 = 0.3;
/// Whatever fails less often than once in ten thousand runs is not flaky here:
/// no hunt would find it.
const LOWEST_LOG_RATE: f64 = -4.0;

/// Shifts and places together.
pub(crate) const STATES: usize = SHIFTS * PLACES;
/// A number for each shift and place, those of one shift side by side.
pub(crate) type States = [f64; STATES];

/// What is known of flaky tests before a hunt, and how alike neighbours are.
#[derive(Clone, Debug, PartialEq)]
pub struct Prior {
    /// Added to the log-odds of every risk.
    pub offset: f64,
    /// By what the log-odds of every risk are multiplied before.
    pub slope: f64,
    /// How far shifts are spread: of projects, of modules about their project,
    /// of classes about their module.
    pub shift_spread: [f64; 3],
    /// How far rates are spread, in powers of ten: modules about their project,
    /// classes about their module, tests about their class.
    pub rate_spread: [f64; 3],
    /// How often a place or rate has nothing to do with the one above.
    pub rate_apart: f64,
    /// How common each rate is among flaky tests, from once in ten thousand runs
    /// to nearly always.
    pub rates: [f64; RATES],
    /// The share of tests that always fail.
    pub always_failing: f64,
    /// The share of projects in which no test fails randomly.
    pub clean: f64,
}

/// Of 22,352 projects on `PyPI` whose 876,186 tests ran 400 times each, 7,571 tests
/// were flaky: 59 % depend on order, 28 % on the infrastructure (Gruber et al., An
/// Empirical Study of Flaky Tests in Python, ICST 2021). Even if each of the 41 %
/// that do not depend on order were in a project of its own, 86 % of the projects
/// had none.
const CLEAN_PROJECTS: f64 = 0.86;

impl Default for Prior {
    fn default() -> Self {
        Self::new_project()
    }
}

impl Prior {
    /// For risks from models that have not seen the project.
    pub fn new_project() -> Self {
        Self {
            offset: -1.0,
            slope: 1.1,
            shift_spread: [3.7, 2.9, 2.0],
            rate_spread: [0.5, 0.23, 0.18],
            ..Self::known_project()
        }
    }

    /// For risks from models that know other classes of the project.
    pub fn known_project() -> Self {
        Self {
            offset: -0.5,
            slope: 1.7,
            shift_spread: [0.46, 0.35, 2.6],
            rate_spread: [0.5, 0.23, 0.18],
            rate_apart: 0.077,
            rates: [
                0.162, 0.043, 0.095, 0.061, 0.044, 0.061, 0.112, 0.124, 0.031, 0.013, 0.023, 0.134, 0.095,
                0.004,
            ],
            always_failing: 0.006,
            clean: CLEAN_PROJECTS,
        }
    }

    /// The odds that a test is flaky if nothing around it is shifted.
    pub(crate) fn odds(&self, risk: f64) -> f64 {
        // What is no number becomes a low risk.
        let risk = risk.max(0.0).clamp(1e-6, 1.0 - 1e-6);
        (self.offset + self.slope * (risk / (1.0 - risk)).ln()).exp()
    }

    pub(crate) fn tables(&self) -> Tables {
        let mut places = [0.0; PLACES];
        for (step, &weight) in self.rates.iter().enumerate() {
            places[(step / 2).min(PLACES - 1)] += weight;
        }
        let transition = |shift_spread: f64, rate_spread: f64| Transition {
            shifts: std::array::from_fn(|from| shifts_about(shift(from), shift_spread)),
            places: std::array::from_fn(|from| {
                let near = |to: usize| near(log_place(to) - log_place(from), rate_spread);
                self.apart(&places, std::array::from_fn(near))
            }),
        };
        let project = shifts_about(0.0, self.shift_spread[0]);
        let places = normal(places);
        Tables {
            project: std::array::from_fn(|state| project[state / PLACES] * places[state % PLACES]),
            module: transition(self.shift_spread[1], self.rate_spread[0]),
            class: transition(self.shift_spread[2], self.rate_spread[1]),
            rates: std::array::from_fn(|place| {
                let near = |step: usize| near(log_rate(step) - log_place(place), self.rate_spread[2]);
                self.apart(&self.rates, std::array::from_fn(near))
            }),
            odds: std::array::from_fn(|step| shift(step).exp()),
        }
    }

    /// How common each is, if it is near to something; now and then it is not.
    fn apart<const N: usize>(&self, common: &[f64; N], near: [f64; N]) -> [f64; N] {
        let near: [f64; N] = normal(std::array::from_fn(|step| common[step] * near[step]));
        let common = normal(*common);
        std::array::from_fn(|step| (1.0 - self.rate_apart) * near[step] + self.rate_apart * common[step])
    }
}

/// The rate of a step.
pub(crate) fn rate(step: usize) -> f64 {
    10f64.powf(log_rate(step))
}

fn log_rate(step: usize) -> f64 {
    LOWEST_LOG_RATE + RATE_STEP * step as f64
}

fn log_place(place: usize) -> f64 {
    LOWEST_LOG_RATE + PLACE_STEP * place as f64
}

fn shift(step: usize) -> f64 {
    LOWEST_SHIFT + SHIFT_STEP * step as f64
}

fn shifts_about(middle: f64, spread: f64) -> [f64; SHIFTS] {
    normal(std::array::from_fn(|step| (-0.5 * ((shift(step) - middle) / spread).powi(2)).exp()))
}

/// Falls off more slowly than a bell curve: rates within a class differ little,
/// but sometimes much.
fn near(distance: f64, spread: f64) -> f64 {
    (-distance.abs() / spread).exp()
}

fn normal<const N: usize>(weights: [f64; N]) -> [f64; N] {
    let sum: f64 = weights.iter().sum();
    weights.map(|weight| weight / sum)
}

/// A prior, worked out.
#[derive(Clone, Debug)]
pub(crate) struct Tables {
    /// How likely each state of the project is.
    pub(crate) project: States,
    /// From the project to a module.
    pub(crate) module: Transition,
    /// From a module to a class.
    pub(crate) class: Transition,
    /// For each place how likely each rate is.
    pub(crate) rates: [[f64; RATES]; PLACES],
    /// By what each shift multiplies odds.
    pub(crate) odds: [f64; SHIFTS],
}

/// How the state of a group depends on that of the group above.
#[derive(Clone, Debug)]
pub(crate) struct Transition {
    shifts: [[f64; SHIFTS]; SHIFTS],
    places: [[f64; PLACES]; PLACES],
}

impl Transition {
    pub(crate) fn chance(&self, from: usize, to: usize) -> f64 {
        self.shifts[from / PLACES][to / PLACES] * self.places[from % PLACES][to % PLACES]
    }

    /// How likely each state below is, given that of each above.
    pub(crate) fn down(&self, above: &States) -> States {
        let mut half = [0.0; STATES];
        for (from, row) in self.shifts.iter().enumerate() {
            for (to, &chance) in row.iter().enumerate() {
                for place in 0..PLACES {
                    half[to * PLACES + place] += chance * above[from * PLACES + place];
                }
            }
        }
        let mut below = [0.0; STATES];
        for shift in (0..STATES).step_by(PLACES) {
            for (from, row) in self.places.iter().enumerate() {
                for (to, &chance) in row.iter().enumerate() {
                    below[shift + to] += chance * half[shift + from];
                }
            }
        }
        below
    }

    /// How likely what is seen below is for each state above.
    pub(crate) fn up(&self, below: &States) -> States {
        let mut half = [0.0; STATES];
        for (from, row) in self.shifts.iter().enumerate() {
            for (to, &chance) in row.iter().enumerate() {
                for place in 0..PLACES {
                    half[from * PLACES + place] += chance * below[to * PLACES + place];
                }
            }
        }
        let mut above = [0.0; STATES];
        for shift in (0..STATES).step_by(PLACES) {
            for (from, row) in self.places.iter().enumerate() {
                above[shift + from] =
                    row.iter().enumerate().map(|(to, &chance)| chance * half[shift + to]).sum();
            }
        }
        above
    }
}
