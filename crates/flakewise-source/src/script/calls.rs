//! What a call means to a test runner.

use crate::kind::Kind;
use crate::tree::{At, Tree};

/// A name, and the members of it that are called.
pub(super) struct Called<'a> {
    base: &'a str,
    /// The last first.
    members: Vec<&'a str>,
}

/// When what is handed to a call runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Group,
    Test,
    SetUp,
    TearDown,
    Other,
}

/// Longer chains are of no runner.
const CHAIN: usize = 16;

/// `base.member.member(…)`, with calls in between: `it.each(…)(…)`.
pub(super) fn called<'a>(tree: &Tree<'a>, call: At) -> Option<Called<'a>> {
    let mut members = Vec::new();
    let mut at = call;
    for _ in 0..CHAIN {
        match tree.kind(at) {
            Kind::Identifier => return Some(Called { base: tree.text(at), members }),
            Kind::Attribute => {
                let member =
                    tree.children(at).filter(|child| tree.kind(*child) == Kind::Identifier).last()?;
                members.push(tree.text(member));
            }
            Kind::Call => {}
            _ => return None,
        }
        at = tree.children(at).next()?;
    }
    None
}

impl<'a> Called<'a> {
    /// What is called.
    pub(super) fn name(&self) -> &'a str {
        self.members.first().copied().unwrap_or(self.base)
    }

    /// `jest.mock`, `vi.useFakeTimers` and their like.
    pub(super) fn is_mock(&self) -> bool {
        matches!(self.base, "jest" | "vi" | "vitest" | "mock" | "sinon") && !self.members.is_empty()
    }

    pub(super) fn role(&self) -> Role {
        let members = self.members.as_slice();
        let modified = members.iter().all(|member| is_modifier(member));
        match self.base {
            "describe" | "context" | "suite" | "fdescribe" | "xdescribe" | "xcontext" if modified => {
                Role::Group
            }
            "it" | "test" | "specify" | "fit" | "xit" | "xtest" | "xspecify" => match members {
                _ if modified => Role::Test,
                // `test.describe.only(…)`
                [rest @ .., "describe"] if rest.iter().all(|member| is_modifier(member)) => Role::Group,
                [hook] => hook_role(hook),
                _ => Role::Other,
            },
            base if members.is_empty() => hook_role(base),
            _ => Role::Other,
        }
    }
}

fn is_modifier(member: &str) -> bool {
    matches!(
        member,
        "only"
            | "skip"
            | "each"
            | "for"
            | "concurrent"
            | "sequential"
            | "serial"
            | "parallel"
            | "shuffle"
            | "failing"
            | "fails"
            | "fail"
            | "fixme"
            | "todo"
            | "skipIf"
            | "runIf"
    )
}

fn hook_role(name: &str) -> Role {
    match name {
        "before" | "beforeEach" | "beforeAll" | "setup" | "suiteSetup" => Role::SetUp,
        "after" | "afterEach" | "afterAll" | "teardown" | "suiteTeardown" => Role::TearDown,
        _ => Role::Other,
    }
}
