//! What surrounds a test and lies under it.
//!
//! A test's own text says little about a server that its superclass starts, or
//! about a hash map three calls away. [`Surroundings`] has counts of that code.
//! [`Reach`] finds it: the set-up, superclasses and helpers of a test, then the
//! production code that these call.

mod bodies;
mod calls;
mod names;
mod reach;

pub use reach::Reach;

/// The code around a test and under it, as counts and names.
///
/// *Test tree* means the sources of tests: superclasses, set-up, helpers.
/// *Code under test* means production code. Depth 1 is what the test or its
/// test tree calls, depth 2 what depth 1 calls, and so on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Surroundings {
    /// Where the calls in the test method go.
    pub calls: Calls,
    /// Interfaces used in the test method.
    pub own: ApiCounts,
    /// The test tree around the test method, without the method itself.
    pub tree: TestTree,
    /// The production code that the test reaches.
    pub under: CodeUnderTest,
}

impl Surroundings {
    /// The same, as if nothing outside of the test used a family.
    #[must_use]
    pub fn without(&self, family: ApiFamily) -> Self {
        let mut without = self.clone();
        let Self { tree, under, .. } = &mut without;
        for counts in under.apis.iter_mut().chain([&mut tree.apis, &mut under.nearest]) {
            counts.set(family, 0);
        }
        without
    }
}

/// Where the calls in a test method go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Calls {
    /// All calls.
    pub all: u32,
    /// Calls of production code.
    pub production: u32,
    /// Calls of other methods of the test tree.
    pub test_tree: u32,
    /// Calls of libraries, or on what a library returned.
    pub library: u32,
    /// Calls on mocks.
    pub mocks: u32,
    /// Calls whose target is unknown.
    pub unresolved: u32,
    /// Calls resolved only because a single method has that name and arity.
    pub by_unique_name: u32,
}

impl Calls {
    /// The counts in the order of the fields, which data sets and models share.
    pub fn numbers(&self) -> [u32; 7] {
        let Self { all, production, test_tree, library, mocks, unresolved, by_unique_name } = *self;
        [all, production, test_tree, library, mocks, unresolved, by_unique_name]
    }
}

/// The superclasses, set-up and helpers of a test.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TestTree {
    /// Superclasses in the repository.
    pub superclasses: u32,
    /// Superclasses that are in the test tree themselves.
    pub test_superclasses: u32,
    /// Set-up methods, constructors and initialisers.
    pub set_up: u32,
    /// Methods reached in the test tree, with the test.
    pub methods: u32,
    /// Lines of these methods.
    pub lines: u32,
    /// Calls on mocks in these methods.
    pub mock_calls: u32,
    /// Simple names of the nearest superclasses, nearest first.
    pub bases: Vec<String>,
    /// Interfaces used in the test tree outside the test method.
    pub apis: ApiCounts,
    /// Frequent sub-tokens of that code, in lower case, with counts.
    pub words: Vec<(String, u32)>,
}

impl TestTree {
    /// The counts in the order of the fields, which data sets and models share.
    pub fn numbers(&self) -> [u32; 6] {
        let Self { superclasses, test_superclasses, set_up, methods, lines, mock_calls, .. } = *self;
        [superclasses, test_superclasses, set_up, methods, lines, mock_calls]
    }
}

/// The production code that a test reaches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CodeUnderTest {
    /// Methods first reached at depth 1, 2, 3 and 4.
    pub methods: [u32; 4],
    /// Lines of the methods at depth 1 and 2.
    pub lines: [u32; 2],
    /// Distinct classes of the methods at depth 1 and 2.
    pub classes: [u32; 2],
    /// Interfaces used in the methods at depth 1 and 2.
    pub apis: [ApiCounts; 2],
    /// For each family the smallest depth at which it is used, from 1 to 4, or
    /// 0 if it is not.
    pub nearest: ApiCounts,
    /// Classes of the methods at depth 1, by simple name, each once.
    pub class_names: Vec<String>,
    /// Frequent sub-tokens of the methods at depth 1, in lower case, with counts.
    pub words: Vec<(String, u32)>,
}

/// A family of interfaces or constructs that flaky tests are suspected to use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "`name` says what each is")]
pub enum ApiFamily {
    Thread,
    Lock,
    Time,
    Random,
    Network,
    File,
    Hash,
    Ordered,
    Environment,
    Sleep,
    ReflectionOrder,
    Reflection,
    Database,
    Json,
    Log,
    Process,
    GarbageCollection,
    Container,
    Cache,
    Listener,
    Synchronized,
    StaticWrite,
    StaticRead,
    StaticCollection,
    HashIteration,
    Volatile,
    Catch,
    Loop,
    Lambda,
    AnonymousClass,
    Localhost,
    StringLiteral,
}

impl ApiFamily {
    /// All families, in the order of [`ApiCounts`].
    pub const ALL: [Self; 32] = [
        Self::Thread,
        Self::Lock,
        Self::Time,
        Self::Random,
        Self::Network,
        Self::File,
        Self::Hash,
        Self::Ordered,
        Self::Environment,
        Self::Sleep,
        Self::ReflectionOrder,
        Self::Reflection,
        Self::Database,
        Self::Json,
        Self::Log,
        Self::Process,
        Self::GarbageCollection,
        Self::Container,
        Self::Cache,
        Self::Listener,
        Self::Synchronized,
        Self::StaticWrite,
        Self::StaticRead,
        Self::StaticCollection,
        Self::HashIteration,
        Self::Volatile,
        Self::Catch,
        Self::Loop,
        Self::Lambda,
        Self::AnonymousClass,
        Self::Localhost,
        Self::StringLiteral,
    ];

    /// The stable name, as in the derived data set.
    pub fn name(self) -> &'static str {
        match self {
            Self::Thread => "thread",
            Self::Lock => "lock",
            Self::Time => "time",
            Self::Random => "random",
            Self::Network => "net",
            Self::File => "file",
            Self::Hash => "hash",
            Self::Ordered => "ordered",
            Self::Environment => "env",
            Self::Sleep => "sleep",
            Self::ReflectionOrder => "reflect_order",
            Self::Reflection => "reflect",
            Self::Database => "db",
            Self::Json => "json",
            Self::Log => "log",
            Self::Process => "process",
            Self::GarbageCollection => "gc",
            Self::Container => "container",
            Self::Cache => "cache",
            Self::Listener => "listener",
            Self::Synchronized => "sync",
            Self::StaticWrite => "static_w",
            Self::StaticRead => "static_r",
            Self::StaticCollection => "static_c",
            Self::HashIteration => "hash_iter",
            Self::Volatile => "volatile",
            Self::Catch => "catch",
            Self::Loop => "loop",
            Self::Lambda => "lambda",
            Self::AnonymousClass => "anon",
            Self::Localhost => "localhost",
            Self::StringLiteral => "str",
        }
    }

    /// What code that uses it does, for people; nothing where that explains
    /// no flakiness.
    pub fn text(self) -> Option<&'static str> {
        Some(match self {
            Self::Thread => "uses threads",
            Self::Lock => "uses locks, queues or atomic variables",
            Self::Time => "uses the clock or dates",
            Self::Random => "uses random values",
            Self::Network => "uses the network",
            Self::File => "uses files",
            Self::Hash => "uses collections without an order",
            Self::Environment => "uses the environment",
            Self::Sleep => "waits or has a timeout",
            Self::ReflectionOrder => "lists members in no fixed order",
            Self::Database => "uses a database or a transaction",
            Self::Process => "starts or ends processes",
            Self::GarbageCollection => "depends on garbage collection",
            Self::Container => "starts an application or a cluster",
            Self::Cache => "uses a cache",
            Self::Listener => "waits for events or callbacks",
            Self::Synchronized => "synchronizes threads",
            Self::StaticWrite => "changes static variables",
            Self::StaticCollection => "uses static collections",
            Self::HashIteration => "iterates over a collection without an order",
            Self::Volatile => "uses volatile variables",
            Self::Localhost => "names localhost",
            Self::Ordered
            | Self::Reflection
            | Self::Json
            | Self::Log
            | Self::StaticRead
            | Self::Catch
            | Self::Loop
            | Self::Lambda
            | Self::AnonymousClass
            | Self::StringLiteral => return None,
        })
    }

    /// The family of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|family| family.name() == name)
    }
}

/// A number for each [`ApiFamily`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ApiCounts(pub [u32; 32]);

impl ApiCounts {
    /// The number of a family.
    pub fn get(&self, family: ApiFamily) -> u32 {
        self.0[family as usize]
    }

    /// Sets the number of a family.
    pub fn set(&mut self, family: ApiFamily, count: u32) {
        self.0[family as usize] = count;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_have_their_place_and_a_name_of_their_own() {
        for (place, family) in ApiFamily::ALL.into_iter().enumerate() {
            assert_eq!(family as usize, place);
            assert_eq!(ApiFamily::from_name(family.name()), Some(family));
        }
        assert_eq!(ApiFamily::from_name("nothing"), None);
    }
}
