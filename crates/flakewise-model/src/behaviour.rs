//! How a test behaves and what it is made of, in numbers.

/// The 18 features of a test that CANNIER (Parry et al., 2023, Table 1) predicts
/// flakiness from. One that could not be measured is missing, which is not 0.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct BehaviourFeatures {
    /// How often it read.
    pub read_count: Option<f64>,
    /// How often it wrote.
    pub write_count: Option<f64>,
    /// How long it took, in seconds.
    pub run_time: Option<f64>,
    /// How long of that it waited for input and output, in seconds.
    pub wait_time: Option<f64>,
    /// How often it gave up the processor voluntarily.
    pub context_switches: Option<f64>,
    /// Lines of the project it executed.
    pub covered_lines: Option<f64>,
    /// Those that are not in files of tests.
    pub source_covered_lines: Option<f64>,
    /// How often the lines it executed changed lately, summed.
    pub covered_changes: Option<f64>,
    /// The most threads at once.
    pub max_threads: Option<f64>,
    /// The most child processes at once.
    pub max_children: Option<f64>,
    /// The most memory at once, in bytes.
    pub max_memory: Option<f64>,
    /// The depth of nested statements.
    pub ast_depth: Option<f64>,
    /// Assertions.
    pub assertions: Option<f64>,
    /// Modules of other projects.
    pub external_modules: Option<f64>,
    /// Halstead's volume.
    pub halstead_volume: Option<f64>,
    /// `McCabe`'s cyclomatic complexity.
    pub cyclomatic_complexity: Option<f64>,
    /// Lines of the test.
    pub test_lines_of_code: Option<f64>,
    /// The maintainability index.
    pub maintainability: Option<f64>,
}

impl BehaviourFeatures {
    /// How many there are.
    pub const COUNT: usize = 18;

    /// Their names, in the order of the paper's table and of [`Self::values`].
    pub const NAMES: [&'static str; Self::COUNT] = [
        "Read Count",
        "Write Count",
        "Run Time",
        "Wait Time",
        "Context Switches",
        "Covered Lines",
        "Source Covered Lines",
        "Covered Changes",
        "Max. Threads",
        "Max. Children",
        "Max. Memory",
        "AST Depth",
        "Assertions",
        "External Modules",
        "Halstead Volume",
        "Cyclomatic Complexity",
        "Test Lines of Code",
        "Maintainability",
    ];

    /// The features in order.
    pub fn values(&self) -> [Option<f64>; Self::COUNT] {
        [
            self.read_count,
            self.write_count,
            self.run_time,
            self.wait_time,
            self.context_switches,
            self.covered_lines,
            self.source_covered_lines,
            self.covered_changes,
            self.max_threads,
            self.max_children,
            self.max_memory,
            self.ast_depth,
            self.assertions,
            self.external_modules,
            self.halstead_volume,
            self.cyclomatic_complexity,
            self.test_lines_of_code,
            self.maintainability,
        ]
    }

    /// The features from their values in order.
    pub fn from_values(values: [Option<f64>; Self::COUNT]) -> Self {
        let [
            read_count,
            write_count,
            run_time,
            wait_time,
            context_switches,
            covered_lines,
            source_covered_lines,
            covered_changes,
            max_threads,
            max_children,
            max_memory,
            ast_depth,
            assertions,
            external_modules,
            halstead_volume,
            cyclomatic_complexity,
            test_lines_of_code,
            maintainability,
        ] = values;
        Self {
            read_count,
            write_count,
            run_time,
            wait_time,
            context_switches,
            covered_lines,
            source_covered_lines,
            covered_changes,
            max_threads,
            max_children,
            max_memory,
            ast_depth,
            assertions,
            external_modules,
            halstead_volume,
            cyclomatic_complexity,
            test_lines_of_code,
            maintainability,
        }
    }

    /// These, and those of another where these are missing.
    #[must_use]
    pub fn or(&self, other: &Self) -> Self {
        let (ours, theirs) = (self.values(), other.values());
        Self::from_values(std::array::from_fn(|place| ours[place].or(theirs[place])))
    }

    /// The mean of several runs, as the paper's equation 2 has it. A feature that
    /// some runs could not measure is the mean of the others.
    pub fn average(runs: &[Self]) -> Self {
        let mut sums = [(0.0, 0_u32); Self::COUNT];
        for run in runs {
            for ((sum, count), value) in sums.iter_mut().zip(run.values()) {
                if let Some(value) = value {
                    *sum += value;
                    *count += 1;
                }
            }
        }
        Self::from_values(sums.map(|(sum, count)| (count > 0).then(|| sum / f64::from(count))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbered(offset: f64) -> BehaviourFeatures {
        let mut next = offset;
        BehaviourFeatures::from_values(std::array::from_fn(|_| {
            next += 1.0;
            Some(next)
        }))
    }

    #[test]
    fn values_come_back_in_the_order_they_went_in() {
        let features = numbered(0.0);
        assert_eq!(features.read_count, Some(1.0));
        assert_eq!(features.maintainability, Some(18.0));
        assert_eq!(BehaviourFeatures::from_values(features.values()), features);
        let of = |name: &str| {
            let place =
                BehaviourFeatures::NAMES.iter().position(|known| *known == name).expect("it is known");
            features.values()[place]
        };
        assert_eq!(of("Covered Changes"), features.covered_changes);
        assert_eq!(of("AST Depth"), features.ast_depth);
    }

    #[test]
    fn what_is_missing_is_taken_from_another() {
        let (first, second) = (numbered(0.0), numbered(2.0));
        let part = BehaviourFeatures { run_time: None, ..first };
        assert_eq!(part.or(&second), BehaviourFeatures { run_time: second.run_time, ..first });
    }

    #[test]
    fn an_average_leaves_out_what_is_missing_and_nothing_else() {
        let (mut first, mut second) = (numbered(0.0), numbered(2.0));
        first.wait_time = None;
        (first.max_memory, second.max_memory) = (None, None);
        let mean = BehaviourFeatures::average(&[first, second]);
        assert_eq!(mean.read_count, Some(2.0));
        assert_eq!(mean.wait_time, Some(6.0));
        assert_eq!(mean.max_memory, None);
        assert_eq!(BehaviourFeatures::average(&[]), BehaviourFeatures::default());
    }
}
