//! Which fixtures of its own file a test asks for.

use std::collections::HashMap;

use super::outline::{Function, MODULE, Outline};

/// The fixtures of a file by the class they are in and their names.
pub(super) struct Fixtures<'a> {
    by_name: HashMap<(usize, &'a str), usize>,
    automatic: Vec<(usize, usize)>,
}

impl<'a> Fixtures<'a> {
    pub(super) fn read(outline: &Outline<'a>) -> Self {
        let mut fixtures = Self { by_name: HashMap::new(), automatic: Vec::new() };
        for (class_at, class) in outline.classes.iter().enumerate() {
            for function_at in &class.functions {
                let function = &outline.functions[*function_at];
                let Some(decorator) = function.decorators.iter().find(|text| is_fixture(text)) else {
                    continue;
                };
                let name = argument(decorator, "name").and_then(|value| texts(value).next());
                fixtures.by_name.insert((class_at, name.unwrap_or(function.name)), *function_at);
                if argument(decorator, "autouse").is_some_and(|value| value.starts_with("True")) {
                    fixtures.automatic.push((class_at, *function_at));
                }
            }
        }
        fixtures
    }

    /// The fixtures that run before a test of a class, in the order of the
    /// file. `scopes` are the classes they can be in, the nearest first.
    pub(super) fn of(&self, outline: &Outline<'a>, scopes: &[usize], test: &Function<'a>) -> Vec<usize> {
        let in_scope = |class: &usize| *class == MODULE || scopes.contains(class);
        let automatic = self.automatic.iter().filter(|(class, _)| in_scope(class));
        let mut found: Vec<usize> = automatic.map(|(_, fixture)| *fixture).collect();
        let by_name = |name: &str| {
            let mut classes = scopes.iter().chain([&MODULE]);
            classes.find_map(|class| self.by_name.get(&(*class, name)).copied())
        };
        let marks = scopes.iter().flat_map(|class| &outline.classes[*class].decorators);
        let marks = marks.chain(&test.decorators).filter_map(|text| text.split_once("usefixtures("));
        let mut asked: Vec<&str> = marks.flat_map(|(_, names)| texts(names)).collect();
        asked.extend(&test.parameters);
        let mut next = 0;
        loop {
            for name in asked.drain(..) {
                if let Some(fixture) = by_name(name)
                    && !found.contains(&fixture)
                {
                    found.push(fixture);
                }
            }
            // A fixture may ask for others.
            let Some(fixture) = found.get(next) else { break };
            asked.extend(&outline.functions[*fixture].parameters);
            next += 1;
        }
        found.sort_unstable();
        found
    }
}

/// Whether a decorator makes a fixture of a function.
pub(super) fn is_fixture(decorator: &str) -> bool {
    let name = decorator.split('(').next().unwrap_or(decorator).trim();
    matches!(name.rsplit('.').next(), Some("fixture" | "yield_fixture"))
}

/// What is after `name=` in a call.
fn argument<'a>(call: &'a str, name: &str) -> Option<&'a str> {
    call.split(['(', ',']).find_map(|argument| {
        let (key, value) = argument.split_once('=')?;
        (key.trim() == name).then(|| value.trim_start())
    })
}

/// The texts in quotes.
fn texts(source: &str) -> impl Iterator<Item = &str> {
    source.split(['"', '\'']).skip(1).step_by(2)
}
