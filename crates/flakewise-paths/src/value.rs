//! What an expression evaluates to while a graph is built.

use crate::graph::{AssertionKind, Callee, Input};
use crate::variables::Flow;

/// The value of an expression: which nodes flow out of it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Value {
    /// What flows out, or into the call if it is one.
    pub(crate) flows: Vec<Flow>,
    /// A call that has no node yet. It needs none if its value is assigned.
    pub(crate) call: Option<PendingCall>,
    /// An assertion that may have more to it, such as `assertThat(a)`.
    pub(crate) assertion: Option<PendingAssertion>,
    /// The variable it belongs to: `list` of `list.get(0)`.
    pub(crate) root: Option<Root>,
    /// The simple name of its type, or an empty text.
    pub(crate) type_name: String,
    /// The name of a class, function or module, or an empty text.
    pub(crate) static_name: String,
    /// Whether it is `this`, `super`, `self` or `cls`.
    pub(crate) is_own: bool,
}

/// A variable by its function and name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Root {
    pub(crate) function: u32,
    pub(crate) name: String,
}

#[derive(Clone, Debug)]
pub(crate) struct PendingCall {
    pub(crate) text: String,
    /// As in the file.
    pub(crate) line: u32,
    pub(crate) frame: u32,
    pub(crate) label: String,
    pub(crate) callee: Option<Callee>,
    /// Variables among the arguments that the call may change.
    pub(crate) arguments: Vec<Root>,
    /// Whether it is called on a variable, which it may change.
    pub(crate) on_variable: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct PendingAssertion {
    pub(crate) kind: AssertionKind,
    pub(crate) first: String,
    /// The last call of a chain: `isEqualTo` of `assertThat(a).isEqualTo(b)`.
    pub(crate) last: Option<String>,
    pub(crate) line: u32,
    pub(crate) frame: u32,
    pub(crate) inputs: Vec<Input>,
}
