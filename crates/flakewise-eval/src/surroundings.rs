//! Surroundings of tests as a data set that is derived from their repositories:
//! one object a line, as `NAME_cut.jsonl.gz` beside `NAME.jsonl.gz`.

use std::collections::{BTreeMap, BTreeSet};

use flakewise_paths::{ApiCounts, ApiFamily, Calls, CodeUnderTest, Surroundings, TestTree};
use serde::{Deserialize, Serialize};

/// One line of the data set.
#[derive(Serialize, Deserialize)]
pub struct SurroundingsLine {
    pub(crate) id: String,
    /// 2 if the test method was found, 1 if only its class, 0 if neither.
    found: u8,
    /// Methods at depth 1 as `Class.method/arity:lines`, or their classes alone.
    #[serde(default)]
    m: Vec<String>,
    #[serde(default)]
    n: [u32; 4],
    #[serde(default)]
    l: [u32; 2],
    #[serde(default)]
    c: [u32; 2],
    #[serde(default)]
    f1: Counts,
    #[serde(default)]
    f2: Counts,
    #[serde(default)]
    md: Counts,
    #[serde(default)]
    calls: [u32; 7],
    #[serde(default)]
    tree: [u32; 6],
    #[serde(default)]
    base: Vec<String>,
    #[serde(default)]
    ft: Counts,
    #[serde(default)]
    fb: Counts,
    #[serde(default)]
    w: Counts,
    #[serde(default)]
    wt: Counts,
}

type Counts = BTreeMap<String, u32>;

impl SurroundingsLine {
    /// The line of a test; `None` stands for one that was not found.
    pub fn new(id: &str, surroundings: Option<&Surroundings>) -> Self {
        let found = if surroundings.is_some() { 2 } else { 0 };
        let Surroundings { calls, own, tree, under } = surroundings.cloned().unwrap_or_default();
        Self {
            id: id.to_owned(),
            found,
            m: under.class_names,
            n: under.methods,
            l: under.lines,
            c: under.classes,
            f1: named(&under.apis[0]),
            f2: named(&under.apis[1]),
            md: named(&under.nearest),
            calls: calls.numbers(),
            tree: tree.numbers(),
            base: tree.bases,
            ft: named(&tree.apis),
            fb: named(&own),
            w: under.words.into_iter().collect(),
            wt: tree.words.into_iter().collect(),
        }
    }

    /// What it says; nothing if the class was not found.
    pub(crate) fn surroundings(self) -> Option<Surroundings> {
        if self.found == 0 {
            return None;
        }
        let [all, production, test_tree, library, mocks, unresolved, by_unique_name] = self.calls;
        let [superclasses, test_superclasses, set_up, methods, lines, mock_calls] = self.tree;
        let class_names: BTreeSet<&str> =
            self.m.iter().filter_map(|method| method.split('.').next()).collect();
        Some(Surroundings {
            calls: Calls { all, production, test_tree, library, mocks, unresolved, by_unique_name },
            own: api_counts(&self.fb),
            tree: TestTree {
                superclasses,
                test_superclasses,
                set_up,
                methods,
                lines,
                mock_calls,
                apis: api_counts(&self.ft),
                bases: self.base,
                words: self.wt.into_iter().collect(),
            },
            under: CodeUnderTest {
                methods: self.n,
                lines: self.l,
                classes: self.c,
                apis: [api_counts(&self.f1), api_counts(&self.f2)],
                nearest: api_counts(&self.md),
                class_names: class_names.into_iter().map(str::to_owned).collect(),
                words: self.w.into_iter().collect(),
            },
        })
    }
}

fn named(counts: &ApiCounts) -> Counts {
    let named = ApiFamily::ALL.into_iter().map(|family| (family.name().to_owned(), counts.get(family)));
    named.filter(|(_, count)| *count > 0).collect()
}

/// Families of other names are left out.
fn api_counts(named: &Counts) -> ApiCounts {
    let mut counts = ApiCounts::default();
    for (name, &count) in named {
        if let Some(family) = ApiFamily::from_name(name) {
            counts.set(family, count);
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_becomes_surroundings() {
        let line = r#"{"id":"p/C#m","found":2,"m":["Server.start/0:5","Server.<init>/1:3","Pool.get/0:2"],
            "n":[3,1,0,0],"l":[10,4],"c":[2,1],"f1":{"net":2,"unknown":9},"f2":{"sleep":1},"md":{"net":1,"sleep":2},
            "calls":[9,4,1,3,1,0,0],"tree":[1,1,2,5,40,3],"base":["ServerTestBase"],"ft":{"thread":2},
            "fb":{"time":1},"w":{"server":4},"wt":{"port":2}}"#;
        let line: SurroundingsLine = serde_json::from_str(line).expect("it is JSON");
        let read = line.surroundings().expect("the test was found");
        assert_eq!((read.calls.all, read.calls.mocks, read.tree.lines, read.tree.mock_calls), (9, 1, 40, 3));
        assert_eq!(read.under.class_names, ["Pool", "Server"]);
        assert_eq!(read.under.apis[0].get(ApiFamily::Network), 2);
        assert_eq!(read.under.apis[0].0.iter().sum::<u32>(), 2, "families that are not known are left out");
        assert_eq!(read.under.nearest.get(ApiFamily::Sleep), 2);
        assert_eq!(read.own.get(ApiFamily::Time), 1);
        assert_eq!(read.tree.apis.get(ApiFamily::Thread), 2);
        assert_eq!(SurroundingsLine::new("p/C#m", Some(&read)).surroundings(), Some(read));
    }

    #[test]
    fn a_test_that_was_not_found_has_none() {
        let line: SurroundingsLine = serde_json::from_str(r#"{"id":"p/C#m","found":0}"#).expect("it is JSON");
        assert_eq!(line.surroundings(), None);
    }
}
