//! The kinds of flakiness, and how to tell which one a test has.

mod judge;
mod model;
mod numbers;
mod transfer;

pub(crate) use judge::CategoryJudge;
pub use model::{CategoryExample, CategoryModel};
pub use transfer::CategoryTransfer;

use crate::families::{FamilyHit, families};

/// A kind of flakiness, by what causes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Category {
    /// It does not wait properly for something that happens by itself.
    AsyncWait,
    /// Threads meet in more than one way.
    Concurrency,
    /// It depends on the clock or the calendar.
    Time,
    /// It depends on the order of a collection that has none.
    UnorderedCollection,
    /// It depends on what other tests left behind.
    OrderDependent,
}

impl Category {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::AsyncWait, Self::Concurrency, Self::Time, Self::UnorderedCollection, Self::OrderDependent];

    /// The name in machine formats, and in "allow async-wait".
    pub fn name(self) -> &'static str {
        match self {
            Self::AsyncWait => "async-wait",
            Self::Concurrency => "concurrency",
            Self::Time => "time",
            Self::UnorderedCollection => "unordered-collection",
            Self::OrderDependent => "order-dependent",
        }
    }

    /// How far the families used speak for each kind: the share of its own
    /// families that are used. Nothing was learned for this from labelled tests.
    pub fn shares(hits: &[FamilyHit]) -> [f64; 5] {
        let mut shares = [0.0; 5];
        for hit in hits {
            if let Some(category) = families()[hit.family].category {
                shares[category as usize] += 1.0;
            }
        }
        for (share, category) in shares.iter_mut().zip(Self::ALL) {
            *share /= families().iter().filter(|family| family.category == Some(category)).count() as f64;
        }
        shares
    }

    /// The kind that the families used speak for most, if they speak for one.
    /// Of several that are equal it is the first.
    pub fn guess(hits: &[FamilyHit]) -> Option<Self> {
        let shares = Self::shares(hits);
        let best = shares.iter().copied().fold(0.0, f64::max);
        Self::ALL.into_iter().find(|&category| best > 0.0 && shares[category as usize] >= best)
    }
}

#[cfg(test)]
mod tests {
    use flakewise_source::{Language, read_fragment};

    use super::*;
    use crate::families::hits;

    fn check(language: Language, source: &str, expected: Option<Category>) {
        let test = read_fragment(language, source, None, "C", "m");
        assert_eq!(Category::guess(&hits(&test.body)), expected, "{source}");
    }

    #[test]
    fn families_tell_the_kind_of_a_test_in_java() {
        let check = |statements: &str, expected| {
            check(Language::Java, &format!("@Test public void m() {{ {statements} }}"), expected);
        };
        check(
            "server.start(); Thread.sleep(100); assertTrue(server.isRunning());",
            Some(Category::AsyncWait),
        );
        check(
            "AtomicInteger n = new AtomicInteger(); Thread a = new Thread(n::incrementAndGet); a.start(); a.join();",
            Some(Category::Concurrency),
        );
        check("assertEquals(new Date(), LocalDate.now().plusDays(1));", Some(Category::Time));
        check(
            "Map<String, String> m = new HashMap<>(); assertEquals(\"{a=1, b=2}\", m.toString());",
            Some(Category::UnorderedCollection),
        );
        check("Registry.clear(); assertNull(Registry.getInstance());", Some(Category::OrderDependent));
        check("int a = 1;", None);
    }

    #[test]
    fn families_tell_the_kind_of_a_test_in_python() {
        let check = |statement: &str, expected| {
            check(Language::Python, &format!("def m(a):\n    {statement}\n"), expected);
        };
        check("a.start_server(); time.sleep(1)", Some(Category::AsyncWait));
        check("b = threading.Thread(target=a); b.start(); b.join()", Some(Category::Concurrency));
        check("assert a.day == datetime.now().day + timedelta(days=1)", Some(Category::Time));
        check("assert json.dumps(set(a)) == '[1, 2]'", Some(Category::UnorderedCollection));
        check("monkeypatch.setattr(a, 'cache', None); os.chdir(a)", Some(Category::OrderDependent));
        check("b = 1", None);
    }
}
