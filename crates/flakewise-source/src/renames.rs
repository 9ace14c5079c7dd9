//! Tests that were renamed or moved between two versions of a repository.
//!
//! A test that is gone and a test that is new are the same test if their source
//! is alike, and nothing else is nearly as alike. How alike it must be depends
//! on what else they share: a test that kept its name may have changed a lot, a
//! test with another name in another file hardly at all.
//!
//! Two tests are compared by the longest common subsequence of their words.
//! Words that many tests have weigh little: tests of one file are often copies
//! of each other that differ in a single literal, and that literal tells them
//! apart. Where two candidates are about equally good, nothing is matched: a
//! test without its past costs less than a test with the past of another.

use std::collections::{BTreeMap, HashMap, HashSet};

use flakewise_model::{Rename, TestId};

use crate::{SourceFile, SourceTest};

/// How alike two tests must be, from 0 to 1, by what else they share.
mod bounds {
    /// The same name in the same class of a file that was moved.
    pub(super) const SAME_PLACE: f64 = 0.4;
    /// The same name elsewhere in the file, such as in another class.
    pub(super) const SAME_NAME_AND_FILE: f64 = 0.5;
    /// The same name in another file.
    pub(super) const SAME_NAME: f64 = 0.6;
    /// Another name that is much like the former one, in the same file.
    pub(super) const LIKE_NAME: f64 = 0.7;
    /// Another name in the same file.
    pub(super) const SAME_FILE: f64 = 0.85;
    /// Nothing but the source.
    pub(super) const SOURCE: f64 = 0.95;
}

/// By how much a match must be better than every other of the two tests.
const MARGIN: f64 = 0.04;
/// What a shared place adds when matches are compared.
const NAME_BONUS: f64 = 0.4;
const CLASS_BONUS: f64 = 0.2;
const FILE_BONUS: f64 = 0.1;
/// What it adds that no word was changed.
const EQUAL_BONUS: f64 = 0.05;
/// A shorter word is in many names by accident.
const SHORTEST_SUBJECT: usize = 4;
/// From which similarity names count as alike.
const LIKE_NAME: f64 = 0.7;
/// A test with fewer words is not recognised under another name: too many tests
/// look like `assert parse("") == None`.
const FEWEST_WORDS: usize = 6;
/// The words of a test beyond these are not compared.
const MOST_WORDS: usize = 1500;
/// With more pairs than this, only tests of the same name are compared.
const MOST_PAIRS: usize = 4_000_000;
/// How many pairs of words are compared in all: some seconds. Beyond it, nothing is matched.
const MOST_STEPS: u64 = 3_000_000_000;

/// Finds the tests that were renamed or moved. `before` and `after` are the two
/// versions of every file that changed, `moved` are files that git takes for
/// the same, by their paths before and after.
///
/// No id is in two matches, in the order of former ids.
pub fn find_renames(before: &[SourceFile], after: &[SourceFile], moved: &[(String, String)]) -> Vec<Rename> {
    let moved: HashMap<&str, &str> = moved.iter().map(|(from, to)| (from.as_str(), to.as_str())).collect();
    let (former, current) = (by_id(before), by_id(after));
    let mut words = Words::default();
    let names = [common_names(&former), common_names(&current)];
    let gone = candidates(&former, &current, &names, &mut words);
    let new = candidates(&current, &former, &names, &mut words);
    // Tests that stayed tell which words are common.
    for (_, test) in current.values() {
        words.count(test);
    }
    let places = [Places::of(&former, &mut words), Places::of(&current, &mut words)];
    let Some(pairs) = compare(&gone, &new, &moved, &places, &words) else { return Vec::new() };
    let mut renames: Vec<Rename> = choose(pairs)
        .into_iter()
        .map(|pair| Rename {
            former: gone[pair.gone].test.id.clone(),
            current: new[pair.new].test.id.clone(),
            similarity: Some(pair.similarity),
        })
        .collect();
    renames.sort_by(|left, right| left.former.cmp(&right.former));
    renames
}

/// The tests of some files with the paths of these. A function that is defined
/// twice is what it was last.
fn by_id(files: &[SourceFile]) -> BTreeMap<&TestId, (&str, &SourceTest)> {
    files
        .iter()
        .flat_map(|file| file.tests.iter().map(move |test| (&test.id, (file.path.as_str(), test))))
        .collect()
}

/// The names that several tests of a version have, such as `test_it`.
fn common_names(tests: &BTreeMap<&TestId, (&str, &SourceTest)>) -> HashSet<String> {
    let mut seen = HashSet::new();
    tests.keys().map(|id| id.name()).filter(|name| !seen.insert(name.clone())).collect()
}

/// A test that is only in one of the versions.
struct Candidate<'a> {
    path: &'a str,
    test: &'a SourceTest,
    /// The classes around it, as one text.
    classes: String,
    name: String,
    /// Whether other tests have the name, too.
    common_name: bool,
    /// Every two letters that follow each other in the name, sorted.
    letters: Vec<[u8; 2]>,
    /// The same of the classes.
    class_letters: Vec<[u8; 2]>,
    /// The words of the source by number, in order.
    words: Vec<usize>,
    /// The same, sorted.
    sorted: Vec<usize>,
}

fn candidates<'a>(
    tests: &BTreeMap<&'a TestId, (&'a str, &'a SourceTest)>,
    others: &BTreeMap<&TestId, (&str, &SourceTest)>,
    names: &[HashSet<String>; 2],
    words: &mut Words<'a>,
) -> Vec<Candidate<'a>> {
    let only_here = tests.iter().filter(|(id, _)| !others.contains_key(*id));
    only_here
        .map(|(id, (path, test))| {
            let own = words.of(test);
            let mut sorted = own.clone();
            sorted.sort_unstable();
            let name = id.name();
            let letters = letters(&name);
            let common_name = names.iter().any(|names| names.contains(&name));
            let classes = classes_of(id);
            let class_letters = self::letters(&classes);
            Candidate { path, test, classes, name, common_name, letters, class_letters, words: own, sorted }
        })
        .collect()
}

/// Every two letters of a name that follow each other, whatever is between words, sorted.
fn letters(name: &str) -> Vec<[u8; 2]> {
    let plain = plain(name.strip_prefix("test").unwrap_or(name));
    let mut letters: Vec<[u8; 2]> = plain.as_bytes().windows(2).map(|pair| [pair[0], pair[1]]).collect();
    letters.sort_unstable();
    letters
}

/// A name without what is between its words.
fn plain(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).map(|letter| letter.to_ascii_lowercase()).collect()
}

fn classes_of(id: &TestId) -> String {
    id.class_path().join("::")
}

/// The words of the tests of each class, by file and class.
#[derive(Default)]
struct Places<'a>(HashMap<&'a str, HashMap<String, HashSet<usize>>>);

impl<'a> Places<'a> {
    fn of(tests: &BTreeMap<&'a TestId, (&'a str, &'a SourceTest)>, words: &mut Words<'a>) -> Self {
        let mut places = Self::default();
        for (id, (path, test)) in tests {
            let classes = places.0.entry(path).or_default();
            classes.entry(classes_of(id)).or_default().extend(words.of(test));
        }
        places
    }

    fn has(&self, path: &str, classes: &str, word: usize) -> bool {
        let words = self.0.get(path).and_then(|file| file.get(classes));
        words.is_some_and(|words| words.contains(&word))
    }
}

/// The share of what two sorted lists have in common.
fn overlap(left: &[[u8; 2]], right: &[[u8; 2]]) -> f64 {
    let (mut here, mut there, mut common) = (0, 0, 0_u32);
    while let (Some(one), Some(other)) = (left.get(here), right.get(there)) {
        common += u32::from(one == other);
        here += usize::from(one <= other);
        there += usize::from(other <= one);
    }
    let all = left.len() + right.len();
    if all == 0 { 0.0 } else { 2.0 * f64::from(common) / all as f64 }
}

/// The words of all tests, by number, and in how many tests each is.
#[derive(Default)]
struct Words<'a> {
    numbers: HashMap<&'a str, usize>,
    texts: Vec<&'a str>,
    tests_with: Vec<u32>,
    tests: u32,
}

impl<'a> Words<'a> {
    /// The words of a test but for its own name and for punctuation.
    fn of(&mut self, test: &'a SourceTest) -> Vec<usize> {
        let body = &test.body;
        // A long text may be a program of its own, of which a part has changed.
        let words = body.tokens.iter().flat_map(|token| body.word(token).split_whitespace());
        let telling = words.filter(|word| *word != body.name && word.contains(char::is_alphanumeric));
        let mut numbers = Vec::new();
        for word in telling.take(MOST_WORDS) {
            let next = self.numbers.len();
            let number = *self.numbers.entry(word).or_insert(next);
            if number == next {
                self.tests_with.push(0);
                self.texts.push(word);
            }
            numbers.push(number);
        }
        numbers
    }

    fn count(&mut self, test: &'a SourceTest) {
        let mut numbers = self.of(test);
        numbers.sort_unstable();
        numbers.dedup();
        self.tests += 1;
        for number in numbers {
            self.tests_with[number] += 1;
        }
    }

    fn text(&self, word: usize) -> &'a str {
        self.texts[word]
    }

    fn weight(&self, word: usize) -> f64 {
        1.0 + (f64::from(self.tests.max(1)) / f64::from(self.tests_with[word].max(1))).ln()
    }

    fn total(&self, words: &[usize]) -> f64 {
        words.iter().map(|word| self.weight(*word)).sum()
    }

    /// The weight of the words that both have, in any order: no common
    /// subsequence weighs more.
    fn common(&self, left: &[usize], right: &[usize]) -> f64 {
        let (mut left, mut right) = (left.iter().peekable(), right.iter().peekable());
        let mut sum = 0.0;
        while let (Some(one), Some(other)) = (left.peek(), right.peek()) {
            match one.cmp(other) {
                std::cmp::Ordering::Less => drop(left.next()),
                std::cmp::Ordering::Greater => drop(right.next()),
                std::cmp::Ordering::Equal => {
                    sum += self.weight(**one);
                    left.next();
                    right.next();
                }
            }
        }
        sum
    }

    /// The weight of the heaviest common subsequence.
    fn subsequence(&self, left: &[usize], right: &[usize]) -> f64 {
        let mut row = vec![0.0_f64; right.len() + 1];
        for one in left {
            let weight = self.weight(*one);
            let mut diagonal = 0.0;
            for (at, other) in right.iter().enumerate() {
                let above = row[at + 1];
                row[at + 1] = if one == other { diagonal + weight } else { above.max(row[at]) };
                diagonal = above;
            }
        }
        row[right.len()]
    }
}

/// Two tests that may be the same.
#[derive(Clone, Copy)]
struct Pair {
    gone: usize,
    new: usize,
    similarity: f64,
    /// The similarity and what a shared place adds.
    score: f64,
    /// Whether it would be enough if nothing else came close.
    enough: bool,
}

fn compare(
    gone: &[Candidate<'_>],
    new: &[Candidate<'_>],
    moved: &HashMap<&str, &str>,
    places: &[Places<'_>; 2],
    words: &Words<'_>,
) -> Option<Vec<Pair>> {
    let by_name_only = gone.len().saturating_mul(new.len()) > MOST_PAIRS;
    let mut named: HashMap<&str, Vec<usize>> = HashMap::new();
    for (number, candidate) in new.iter().enumerate() {
        named.entry(&candidate.name).or_default().push(number);
    }
    let all: Vec<usize> = (0..new.len()).collect();
    let totals: Vec<f64> = new.iter().map(|candidate| words.total(&candidate.words)).collect();
    let mut pairs = Vec::new();
    let mut steps = 0;
    for (number, former) in gone.iter().enumerate() {
        let total = words.total(&former.words);
        let others = if by_name_only { named.get(former.name.as_str()) } else { Some(&all) };
        for other in others.into_iter().flatten() {
            let current = &new[*other];
            if former.test.id.scheme() != current.test.id.scheme() {
                continue;
            }
            let relation = Relation::of(former, current, moved);
            let Some(bound) = relation.bound(former, current) else { continue };
            let both = total + totals[*other];
            // Below the bound it can still be a rival of a match.
            let most = 2.0 * words.common(&former.sorted, &current.sorted) / both;
            if both == 0.0 || most < bound - MARGIN {
                continue;
            }
            let is_equal = former.words == current.words;
            let similarity = if is_equal {
                1.0
            } else {
                steps += former.words.len() as u64 * current.words.len() as u64;
                2.0 * words.subsequence(&former.words, &current.words) / both
            };
            if steps > MOST_STEPS {
                return None;
            }
            let is_other = !relation.same_name && has_other_subject(former, current, places, words);
            let bound = if is_other { bounds::SOURCE } else { bound };
            let equal = if is_equal { EQUAL_BONUS } else { 0.0 };
            let score = similarity + relation.bonus() + equal;
            pairs.push(Pair { gone: number, new: *other, similarity, score, enough: similarity >= bound });
        }
    }
    Some(pairs)
}

/// Whether two tests with different names are about different things: a word of the former
/// name that its source has, and the current one has not, is still used by tests beside the
/// current one; or the other way round. If the word was renamed, no test there has both.
fn has_other_subject(
    former: &Candidate<'_>,
    current: &Candidate<'_>,
    [before, after]: &[Places<'_>; 2],
    words: &Words<'_>,
) -> bool {
    let subjects = |of: &Candidate<'_>, other: &Candidate<'_>| -> Vec<usize> {
        let (own, others) = (plain(&of.name), plain(&other.name));
        let is_subject = |word: &&usize| {
            let text = plain(words.text(**word));
            text.len() >= SHORTEST_SUBJECT && own.contains(&text) && !others.contains(&text)
        };
        of.words
            .iter()
            .filter(|word| other.sorted.binary_search(word).is_err())
            .filter(is_subject)
            .copied()
            .collect()
    };
    subjects(former, current).into_iter().any(|word| after.has(current.path, &current.classes, word))
        || subjects(current, former).into_iter().any(|word| before.has(former.path, &former.classes, word))
}

/// What two tests share beside their source.
struct Relation {
    same_name: bool,
    like_name: f64,
    same_classes: bool,
    like_classes: f64,
    same_file: bool,
}

impl Relation {
    fn of(former: &Candidate<'_>, current: &Candidate<'_>, moved: &HashMap<&str, &str>) -> Self {
        let same_classes = former.classes == current.classes;
        // `test_it` of another class says nothing.
        let says_nothing = former.name == current.name && former.common_name && !same_classes;
        Self {
            same_name: former.name == current.name && !says_nothing,
            like_name: if says_nothing { 0.0 } else { overlap(&former.letters, &current.letters) },
            same_classes,
            like_classes: overlap(&former.class_letters, &current.class_letters),
            same_file: former.path == current.path || moved.get(former.path) == Some(&current.path),
        }
    }

    /// How alike the tests must be; none if no similarity is enough.
    fn bound(&self, former: &Candidate<'_>, current: &Candidate<'_>) -> Option<f64> {
        if self.same_name {
            return Some(match (self.same_file, self.same_classes) {
                (true, true) => bounds::SAME_PLACE,
                (true, false) => bounds::SAME_NAME_AND_FILE,
                (false, _) => bounds::SAME_NAME,
            });
        }
        if former.words.len().min(current.words.len()) < FEWEST_WORDS {
            return None;
        }
        Some(match self.same_file {
            true if self.like_name >= LIKE_NAME => bounds::LIKE_NAME,
            true => bounds::SAME_FILE,
            false => bounds::SOURCE,
        })
    }

    fn bonus(&self) -> f64 {
        let name = if self.same_name { NAME_BONUS } else { NAME_BONUS / 2.0 * self.like_name };
        let classes = if self.same_classes { 1.0 } else { self.like_classes };
        name + classes * CLASS_BONUS + if self.same_file { FILE_BONUS } else { 0.0 }
    }
}

/// The pairs that are the same test: each is better by a margin than every other
/// pair of its two tests that is still open.
fn choose(mut pairs: Vec<Pair>) -> Vec<Pair> {
    pairs.sort_by(|left, right| {
        right.score.total_cmp(&left.score).then_with(|| (left.gone, left.new).cmp(&(right.gone, right.new)))
    });
    let mut of_gone: HashMap<usize, Vec<usize>> = HashMap::new();
    let mut of_new: HashMap<usize, Vec<usize>> = HashMap::new();
    for (number, pair) in pairs.iter().enumerate() {
        of_gone.entry(pair.gone).or_default().push(number);
        of_new.entry(pair.new).or_default().push(number);
    }
    let (mut gone, mut new) = (HashSet::new(), HashSet::new());
    let mut chosen = Vec::new();
    for (number, pair) in pairs.iter().enumerate() {
        let is_open = |other: &&usize| {
            let other = &pairs[**other];
            !gone.contains(&other.gone) && !new.contains(&other.new)
        };
        if !pair.enough || !is_open(&&number) {
            continue;
        }
        let rivals = of_gone[&pair.gone].iter().chain(&of_new[&pair.new]).filter(|rival| **rival != number);
        let is_clear = rivals.filter(is_open).all(|rival| pairs[*rival].score < pair.score - MARGIN);
        if is_clear {
            gone.insert(pair.gone);
            new.insert(pair.new);
            chosen.push(*pair);
        }
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Language, read_source};

    fn file(path: &str, text: &str) -> SourceFile {
        read_source(path, Language::Python, text.as_bytes())
    }

    /// Former and present ids, from the file on.
    fn found(before: &[SourceFile], after: &[SourceFile], moved: &[(&str, &str)]) -> Vec<(String, String)> {
        let moved: Vec<_> = moved.iter().map(|(from, to)| ((*from).to_owned(), (*to).to_owned())).collect();
        let short = |id: &TestId| id.as_str().trim_start_matches("pytest:").to_owned();
        let renames = find_renames(before, after, &moved);
        renames.iter().map(|rename| (short(&rename.former), short(&rename.current))).collect()
    }

    fn pair(from: &str, to: &str) -> (String, String) {
        (from.to_owned(), to.to_owned())
    }

    const CART: &str = r#"
def test_total(cart):
    cart.add("apple", price=3, amount=2)
    cart.add("pear", price=5, amount=1)
    assert cart.total() == 11

def test_empty(cart):
    assert cart.total() == 0
"#;

    #[test]
    fn a_test_follows_its_file() {
        let moved = [("test_cart.py", "unit/test_cart.py")];
        let (before, after) = ([file("test_cart.py", CART)], [file("unit/test_cart.py", CART)]);
        let expected = [
            pair("test_cart.py::test_empty", "unit/test_cart.py::test_empty"),
            pair("test_cart.py::test_total", "unit/test_cart.py::test_total"),
        ];
        assert_eq!(found(&before, &after, &moved), expected);
        assert_eq!(found(&before, &after, &[]), expected, "its name and its source are enough");
    }

    #[test]
    fn a_test_follows_its_name() {
        let renamed = CART.replace("test_total", "test_sums_up_prices");
        let (before, after) = ([file("test_cart.py", CART)], [file("test_cart.py", &renamed)]);
        assert_eq!(
            found(&before, &after, &[]),
            [pair("test_cart.py::test_total", "test_cart.py::test_sums_up_prices")]
        );
    }

    #[test]
    fn a_test_follows_into_a_class() {
        let class = "class TestCart:\n".to_owned()
            + &CART
                .replace("(cart)", "(self, cart)")
                .lines()
                .map(|line| format!("    {line}\n"))
                .collect::<String>();
        let (before, after) = ([file("test_cart.py", CART)], [file("test_cart.py", &class)]);
        assert_eq!(
            found(&before, &after, &[]),
            [
                pair("test_cart.py::test_empty", "test_cart.py::TestCart::test_empty"),
                pair("test_cart.py::test_total", "test_cart.py::TestCart::test_total"),
            ]
        );
    }

    /// Removing one of several copies and adding another is no rename.
    #[test]
    fn a_copy_that_differs_in_what_it_tests_is_another_test() {
        let test = |name: &str, unit: &str, result: u32| {
            format!(
                "def test_{name}(client):\n    answer = client.get('/convert', unit='{unit}')\n    assert answer.value == {result}\n\n"
            )
        };
        let stays = test("metres", "m", 1) + &test("feet", "ft", 3) + &test("yards", "yd", 2);
        let before = [file("test_units.py", &(stays.clone() + &test("inches", "in", 39)))];
        let after = [file("test_units.py", &(stays + &test("miles", "mi", 7)))];
        assert_eq!(found(&before, &after, &[]), []);
    }

    /// Where every class has a `test_it`, the name is no evidence.
    #[test]
    fn a_name_that_many_tests_have_says_little() {
        let class =
            |name: &str, body: &str| format!("class {name}:\n    def test_it(self):\n        {body}\n\n");
        let stays = class("TestSplit", "assert split('a b') == ['a', 'b']");
        let gone = class("TestParse", "assert parse('request', strict=True).ok == 4");
        let new = class("TestWrite", "assert write('request', strict=True).ok == 5");
        let before = [file("test_text.py", &(stays.clone() + &gone))];
        let after = [file("test_text.py", &(stays + &new))];
        assert_eq!(found(&before, &after, &[]), []);
    }

    /// The option of the test that is gone still exists: the new test is about another one.
    #[test]
    fn a_test_of_another_option_is_another_test() {
        let test = |name: &str, option: &str| {
            format!(
                "def test_{name}(config):\n    with raises(ValueError):\n        config.add_page_view('page', '/start', {option}='yes')\n\n"
            )
        };
        let stays =
            "def test_cache(config):\n    assert config.get(http_cache=3).http_cache == 3\n\n".to_owned();
        let before =
            [file("test_views.py", &(stays.clone() + &test("page_view_refuses_http_cache", "http_cache")))];
        let after = [file("test_views.py", &(stays + &test("page_view_refuses_check_csrf", "check_csrf")))];
        assert_eq!(found(&before, &after, &[]), []);
        let before = [file("test_views.py", &test("page_view_refuses_http_cache", "http_cache"))];
        let after = [file("test_views.py", &test("page_view_refuses_max_age", "max_age"))];
        assert_eq!(found(&before, &after, &[]).len(), 1, "the option itself was renamed");
    }

    #[test]
    fn between_two_that_are_alike_nobody_guesses() {
        let test = |name: &str| {
            format!(
                "def test_{name}():\n    store = connect('db', retries=3)\n    assert store.ping().status == 'ok'\n\n"
            )
        };
        let before = [file("test_db.py", &test("ping"))];
        let after = [file("test_db.py", &(test("one") + &test("two")))];
        assert_eq!(found(&before, &after, &[]), []);
    }

    #[test]
    fn a_test_that_is_still_there_was_not_renamed() {
        let copied = CART.to_owned() + &CART.replace("test_", "test_more_");
        let (before, after) = ([file("test_cart.py", CART)], [file("test_cart.py", &copied)]);
        assert_eq!(found(&before, &after, &[]), []);
    }

    #[test]
    fn a_short_test_is_not_recognised_under_another_name() {
        let before = [file("test_a.py", "def test_old():\n    assert f(1)\n")];
        let after = [file("test_a.py", "def test_new():\n    assert f(1)\n")];
        assert_eq!(found(&before, &after, &[]), []);
    }
}
