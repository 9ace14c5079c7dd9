//! The identity of a test.

use std::borrow::Borrow;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use hashbrown::HashSet;

use crate::escape::{escape_into, find, split, unescape};

/// The longest part of an id, in bytes. A longer part is cut and given a hash
/// of the whole, so that generated parameter texts cannot bloat the history.
const PART_LIMIT: usize = 512;
const SPECIAL: &[u8] = b":[]";

/// A stable, structured name of one test.
///
/// An id has five parts, of which only the scheme and the name are always
/// there:
///
/// | part | what it is | pytest | JUnit |
/// |---|---|---|---|
/// | scheme | the kind of runner | `pytest` | `junit` |
/// | module | file, package or binary | `tests/test_cart.py` | `org.acme.cart` |
/// | class path | classes or modules around the test | `TestCart` | `CartTest`, `Nested` |
/// | name | the test itself | `test_total` | `addsUp` |
/// | parameters | one case of a parameterised test | `3-4` | `1` |
///
/// The text form is `scheme:module::class::…::name[parameters]`:
///
/// ```
/// use flakewise_model::TestId;
///
/// let id: TestId = "pytest:tests/test_cart.py::TestCart::test_total[3-4]".parse()?;
/// assert_eq!(id.scheme(), "pytest");
/// assert_eq!(id.module(), "tests/test_cart.py");
/// assert_eq!(id.class_path(), ["TestCart"]);
/// assert_eq!(id.name(), "test_total");
/// assert_eq!(id.parameters().as_deref(), Some("3-4"));
///
/// let id: TestId = "junit:org.acme.cart::CartTest::addsUp".parse()?;
/// assert_eq!(id.module(), "org.acme.cart");
/// # Ok::<(), flakewise_model::TestIdError>(())
/// ```
///
/// One escaping rule holds for all parts: a backslash takes the next character
/// literally, and `\`, `:`, `[` and `]` inside a part are written with one in
/// front; control characters are written `\u{…}`.
///
/// ```
/// use flakewise_model::TestId;
///
/// let id = TestId::builder("pytest", "test_url.py").finish("test_parse", Some("http://[::1]"));
/// assert_eq!(id.as_str(), r"pytest:test_url.py::test_parse[http\://\[\:\:1\]]");
/// assert_eq!(id.parameters().as_deref(), Some("http://[::1]"));
/// ```
///
/// The text form is what is kept and compared; parts are taken out when asked
/// for. A history holds far more ids than anybody takes apart. A clone shares it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TestId {
    text: Arc<str>,
}

impl TestId {
    /// Starts an id of the given scheme and module.
    pub fn builder(scheme: &str, module: &str) -> TestIdBuilder {
        let mut text = String::with_capacity(scheme.len() + module.len() + 48);
        escape_into(&mut text, bounded(scheme).as_ref(), SPECIAL);
        text.push(':');
        escape_into(&mut text, bounded(module).as_ref(), SPECIAL);
        TestIdBuilder { text }
    }

    /// The text form.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The kind of runner, such as `pytest`.
    pub fn scheme(&self) -> &str {
        let end = find(&self.text, ":").expect("an id has a scheme");
        &self.text[..end]
    }

    /// The id without its scheme, which is close to the name that the runner prints.
    ///
    /// ```
    /// use flakewise_model::TestId;
    ///
    /// let id: TestId = "pytest:tests/test_cart.py::test_total".parse()?;
    /// assert_eq!(id.without_scheme(), "tests/test_cart.py::test_total");
    /// # Ok::<(), flakewise_model::TestIdError>(())
    /// ```
    pub fn without_scheme(&self) -> &str {
        &self.text[self.scheme().len() + 1..]
    }

    /// The file, package or binary the test lives in; empty when unknown.
    pub fn module(&self) -> String {
        unescape(self.parts().next().expect("an id has a module"))
    }

    /// Classes or modules around the test, outermost first.
    pub fn class_path(&self) -> Vec<String> {
        let parts: Vec<_> = self.parts().collect();
        parts[1..parts.len() - 1].iter().map(|part| unescape(part)).collect()
    }

    /// The test's own name, without parameters.
    pub fn name(&self) -> String {
        let (name, _) = split_parameters(self.last_part());
        unescape(name)
    }

    /// The parameters of one case of a parameterised test.
    pub fn parameters(&self) -> Option<String> {
        split_parameters(self.last_part()).1.map(unescape)
    }

    /// The test itself, for one case of a parameterised test.
    #[must_use]
    pub fn without_parameters(&self) -> Self {
        let builder = Self::builder(self.scheme(), &self.module());
        let builder = self.class_path().iter().fold(builder, |builder, class| builder.class(class));
        builder.finish(&self.name(), None)
    }

    /// The same test, relative to the folder that this one's `folder` is in: the
    /// module begins with the folder's path. Steps up in the module are taken,
    /// so that `svc-a` and `../shared/test_x.py` are `shared/test_x.py`.
    ///
    /// ```
    /// use flakewise_model::TestId;
    ///
    /// let id: TestId = "pytest:tests/test_cart.py::test_total".parse()?;
    /// let inside = id.inside("svc-a");
    /// assert_eq!(inside.as_str(), "pytest:svc-a/tests/test_cart.py::test_total");
    /// assert_eq!(inside.outside("svc-a"), Some(id));
    /// # Ok::<(), flakewise_model::TestIdError>(())
    /// ```
    #[must_use]
    pub fn inside(&self, folder: &str) -> Self {
        let mut folders: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
        let module = self.module();
        let mut rest = module.as_str();
        while let Some(above) = rest.strip_prefix("../") {
            if folders.pop().is_none() {
                return self.clone();
            }
            rest = above;
        }
        if folders.is_empty() && rest.len() == module.len() {
            return self.clone();
        }
        folders.push(rest);
        self.with_module(&folders.join("/"))
    }

    /// The same test, relative to `folder`; none if it is not in there. The
    /// empty folder is what ids are relative to anyway.
    pub fn outside(&self, folder: &str) -> Option<Self> {
        if folder.is_empty() {
            return Some(self.clone());
        }
        let module = self.module();
        let rest = module.strip_prefix(folder)?.strip_prefix('/')?;
        (!rest.is_empty()).then(|| self.with_module(rest))
    }

    fn with_module(&self, module: &str) -> Self {
        let builder = Self::builder(self.scheme(), module);
        let builder = self.class_path().iter().fold(builder, |builder, class| builder.class(class));
        builder.finish(&self.name(), self.parameters().as_deref())
    }

    fn last_part(&self) -> &str {
        self.parts().last().expect("an id has a name")
    }

    fn parts(&self) -> impl Iterator<Item = &str> {
        split(self.without_scheme(), "::")
    }
}

fn split_parameters(part: &str) -> (&str, Option<&str>) {
    match find(part, "[") {
        Some(open) => (&part[..open], part[open + 1..].strip_suffix(']')),
        None => (part, None),
    }
}

/// Cuts a part that is over the limit, keeping it distinct by a hash.
fn bounded(part: &str) -> std::borrow::Cow<'_, str> {
    if part.len() <= PART_LIMIT {
        return part.into();
    }
    let hash = blake3::hash(part.as_bytes()).to_hex();
    let end = part.floor_char_boundary(PART_LIMIT - 18);
    format!("{}~{}", &part[..end], &hash[..16]).into()
}

/// Builds a [`TestId`] part by part. See [`TestId::builder`].
#[derive(Clone, Debug)]
pub struct TestIdBuilder {
    text: String,
}

impl TestIdBuilder {
    /// Adds one class or module around the test; call outermost first.
    #[must_use]
    pub fn class(mut self, class: &str) -> Self {
        self.push(class);
        self
    }

    /// Adds the name and, for one case of a parameterised test, the parameters.
    pub fn finish(mut self, name: &str, parameters: Option<&str>) -> TestId {
        push_last(&mut self.text, name, parameters);
        TestId { text: self.text.into() }
    }

    /// The same as [`TestIdBuilder::finish`] on a clone: for many tests of one module and class.
    pub fn test(&self, name: &str, parameters: Option<&str>) -> TestId {
        let length = name.len() + parameters.map_or(0, |parameters| parameters.len() + "[]".len());
        let mut text = String::with_capacity(self.text.len() + "::".len() + length);
        text.push_str(&self.text);
        Self { text }.finish(name, parameters)
    }

    fn push(&mut self, part: &str) {
        push_part(&mut self.text, part);
    }
}

fn push_part(text: &mut String, part: &str) {
    text.push_str("::");
    escape_into(text, bounded(part).as_ref(), SPECIAL);
}

fn push_last(text: &mut String, name: &str, parameters: Option<&str>) {
    push_part(text, name);
    if let Some(parameters) = parameters {
        text.push('[');
        escape_into(text, bounded(parameters).as_ref(), SPECIAL);
        text.push(']');
    }
}

/// Ids that are needed again and again, each kept once: reports of one suite have the same tests.
///
/// ```
/// use flakewise_model::{TestId, TestIds};
///
/// let mut ids = TestIds::default();
/// let class = TestId::builder("pytest", "test_url.py").class("TestUrl");
/// let id = ids.test(&class, "test_parse", Some("1"));
/// assert_eq!(id, class.test("test_parse", Some("1")));
/// ```
#[derive(Clone, Debug, Default)]
pub struct TestIds {
    known: HashSet<TestId>,
    /// The id that is looked for.
    text: String,
}

impl TestIds {
    /// The same as [`TestIdBuilder::test`], without an allocation if the id is known.
    pub fn test(&mut self, around: &TestIdBuilder, name: &str, parameters: Option<&str>) -> TestId {
        self.text.clear();
        self.text.push_str(&around.text);
        push_last(&mut self.text, name, parameters);
        let id = self.known.get_or_insert_with(self.text.as_str(), |text| TestId { text: text.into() });
        id.clone()
    }
}

/// So that a set of ids can be searched by text. Ids are hashed and compared as their texts are.
impl Borrow<str> for TestId {
    fn borrow(&self) -> &str {
        &self.text
    }
}

impl FromStr for TestId {
    type Err = TestIdError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = |reason| TestIdError { text: text.to_owned(), reason };
        let Some(scheme_end) = find(text, ":") else {
            return Err(error("it has no `scheme:` in front"));
        };
        if scheme_end == 0 {
            return Err(error("its scheme is empty"));
        }
        let parts: Vec<_> = split(&text[scheme_end + 1..], "::").collect();
        if parts.len() < 2 {
            return Err(error("it has no `::` between module and name"));
        }
        let (name, parameters) = split_parameters(parts[parts.len() - 1]);
        if name.is_empty() && parameters.is_none() {
            return Err(error("its name is empty"));
        }
        // Rebuilt rather than kept, so that two spellings of one id are equal.
        let mut builder = Self::builder(&unescape(&text[..scheme_end]), &unescape(parts[0]));
        for class in &parts[1..parts.len() - 1] {
            builder = builder.class(&unescape(class));
        }
        Ok(builder.finish(&unescape(name), parameters.map(unescape).as_deref()))
    }
}

impl fmt::Display for TestId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

impl fmt::Debug for TestId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "TestId({})", self.text)
    }
}

/// A text that is not a test id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a test id: {reason}")]
pub struct TestIdError {
    text: String,
    reason: &'static str,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn build(scheme: &str, module: &str, classes: &[String], name: &str, parameters: Option<&str>) -> TestId {
        let mut builder = TestId::builder(scheme, module);
        for class in classes {
            builder = builder.class(class);
        }
        builder.finish(name, parameters)
    }

    proptest! {
        #[test]
        fn parts_survive_the_text_form(
            scheme in "[a-z]{1,8}",
            module in ".{0,40}",
            classes in prop::collection::vec(".{0,20}", 0..4),
            name in ".{1,30}",
            parameters in prop::option::of(".{0,30}"),
        ) {
            let id = build(&scheme, &module, &classes, &name, parameters.as_deref());
            prop_assert_eq!(id.scheme(), scheme.as_str());
            prop_assert_eq!(format!("{scheme}:{}", id.without_scheme()), id.as_str());
            prop_assert_eq!(id.module(), module);
            prop_assert_eq!(id.class_path(), classes);
            prop_assert_eq!(id.name(), name);
            prop_assert_eq!(id.parameters(), parameters);
            let parsed: TestId = id.as_str().parse().expect("our own text form parses");
            prop_assert_eq!(parsed, id);
        }

        #[test]
        fn any_text_parses_or_is_refused(text in ".*") {
            if let Ok(id) = text.parse::<TestId>() {
                let again: TestId = id.as_str().parse().expect("a parsed id is canonical");
                prop_assert_eq!(again, id);
            }
        }

        #[test]
        fn different_parts_give_different_ids(
            left in prop::collection::vec("[a:\\[\\]\\\\]{1,6}", 3),
            right in prop::collection::vec("[a:\\[\\]\\\\]{1,6}", 3),
        ) {
            prop_assume!(left != right);
            let id = |parts: &[String]| build("x", &parts[0], &parts[1..2], &parts[2], None);
            prop_assert_ne!(id(&left), id(&right));
        }
    }

    #[test]
    fn ids_are_told_from_the_folder_around() {
        let id = |text: &str| text.parse::<TestId>().expect("an id");
        let inside = |text: &str, folder: &str| id(text).inside(folder).to_string();
        assert_eq!(inside("pytest:test_a.py::A::test[1]", "svc/a"), "pytest:svc/a/test_a.py::A::test[1]");
        assert_eq!(inside("pytest:test_a.py::test", ""), "pytest:test_a.py::test");
        assert_eq!(inside("pytest:../shared/test_a.py::test", "svc"), "pytest:shared/test_a.py::test");
        assert_eq!(inside("pytest:../../test_a.py::test", "svc"), "pytest:../../test_a.py::test");
        assert_eq!(inside("pytest:test_a.py::test", "odd[1]"), r"pytest:odd\[1\]/test_a.py::test");
        assert_eq!(id("pytest:svc-a/test_a.py::test").outside("svc"), None);
        assert_eq!(id("pytest:svc/test_a.py::test").outside(""), Some(id("pytest:svc/test_a.py::test")));
    }

    proptest! {
        #[test]
        fn outside_undoes_inside(folder in "[a-z:\\[]{1,5}(/[a-z]{1,5}){0,2}", module in "[a-z/:]{0,20}x", name in ".{1,9}") {
            let id = TestId::builder("pytest", &module).class("C").finish(&name, Some("1"));
            prop_assert_eq!(id.inside(&folder).outside(&folder), Some(id));
        }
    }

    #[test]
    fn overlong_parts_are_cut_but_stay_distinct() {
        let long = "x".repeat(10_000);
        let one = build("pytest", "m.py", &[], "test", Some(&format!("{long}1")));
        let two = build("pytest", "m.py", &[], "test", Some(&format!("{long}2")));
        assert_ne!(one, two);
        assert!(one.as_str().len() < 600);
    }

    #[test]
    fn refusals_say_why() {
        let reason = |text: &str| text.parse::<TestId>().expect_err("not an id").to_string();
        assert_eq!(reason("test_total"), "`test_total` is not a test id: it has no `scheme:` in front");
        assert_eq!(
            reason("pytest:a.py"),
            "`pytest:a.py` is not a test id: it has no `::` between module and name"
        );
        assert_eq!(reason("pytest:a.py::"), "`pytest:a.py::` is not a test id: its name is empty");
    }
}
