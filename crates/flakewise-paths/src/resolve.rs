//! Calls from a test into the code under test.

use crate::graph::Callee;

/// A call as a resolver sees it.
#[derive(Clone, Debug, Default)]
pub struct CallSite<'a> {
    /// The name of the class or module it is called on, or an empty text.
    pub receiver: &'a str,
    /// The declared or evident type of the receiver, or an empty text.
    pub receiver_type: &'a str,
    /// The function, method or class that is called.
    pub name: &'a str,
    /// The types of the arguments; an empty text for one that is not known.
    pub arguments: &'a [String],
    /// Whether an object is created.
    pub is_creation: bool,
}

/// What a call resolves to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resolution {
    /// The function, if it is part of the code under test.
    pub callee: Option<Callee>,
    /// The simple name of the type it returns, or an empty text.
    pub returns: String,
}

/// Finds the function that a call runs.
pub trait Resolve {
    /// The function, or nothing if it is not known.
    fn resolve(&self, call: &CallSite<'_>) -> Option<Resolution>;
}

/// Resolves nothing: for tests that come without their repository.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unresolved;

impl Resolve for Unresolved {
    fn resolve(&self, _: &CallSite<'_>) -> Option<Resolution> {
        None
    }
}
