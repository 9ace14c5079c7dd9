//! Which calls fail a test.

use flakewise_source::Language;

use crate::graph::AssertionKind;

/// A call as far as it tells whether it asserts something.
pub(crate) struct CallName<'a> {
    pub(crate) language: Language,
    /// The receiver if it is a plain name, or an empty text.
    pub(crate) receiver: &'a str,
    /// The type of the receiver if it is known, or an empty text.
    pub(crate) receiver_type: &'a str,
    pub(crate) name: &'a str,
    pub(crate) has_receiver: bool,
}

/// What a call asserts, if anything.
pub(crate) fn assertion(call: &CallName<'_>) -> Option<AssertionKind> {
    let name = call.name;
    if let Some(rest) = name.strip_prefix("assert") {
        return Some(kind_of(rest));
    }
    match call.language {
        Language::Python => python(call),
        Language::Java => java(call),
        _ => None,
    }
}

fn python(call: &CallName<'_>) -> Option<AssertionKind> {
    let plain = !call.has_receiver;
    match call.name {
        "raises" | "warns" | "deprecated_call" if plain || call.receiver == "pytest" => {
            Some(AssertionKind::Exception)
        }
        "fail" if plain || matches!(call.receiver, "pytest" | "self") => Some(AssertionKind::Failure),
        name if name.starts_with("fail") && call.receiver == "self" => {
            Some(kind_of(name.trim_start_matches("fail")))
        }
        // Hamcrest, Expects and Sure.
        "expect" if plain => Some(AssertionKind::Matcher),
        _ => None,
    }
}

fn java(call: &CallName<'_>) -> Option<AssertionKind> {
    let name = call.name;
    if name.starts_with("verify") {
        let mocks = ["Mockito", "BDDMockito", "EasyMock", "PowerMock", "PowerMockito", "MockitoUtils"];
        let of_mocks = !call.has_receiver
            || mocks.contains(&call.receiver)
            || call.receiver.to_ascii_lowercase().ends_with("order")
            || call.receiver_type == "InOrder";
        // Reactor's and Spring's servers: `verifyComplete`, `server.verify`.
        let of_others = name != "verify" || call.receiver.ends_with("erver");
        return (of_mocks || of_others).then_some(AssertionKind::Interaction);
    }
    let of_assertions = !call.has_receiver
        || matches!(call.receiver, "Assert" | "Assertions" | "TestCase" | "Truth" | "Fail" | "Assume");
    match name {
        name if name.starts_with("fail") && of_assertions => Some(AssertionKind::Failure),
        "andExpect" | "expectBody" | "expectStatus" => Some(AssertionKind::Matcher),
        "then" if !call.has_receiver || call.receiver == "BDDMockito" => Some(AssertionKind::Interaction),
        "statusCode" | "body" if call.has_receiver && call.receiver == "then" => Some(AssertionKind::Matcher),
        name if name.starts_with("until") && call.has_receiver => Some(AssertionKind::Wait),
        _ => None,
    }
}

/// What the rest of a name after `assert` says.
fn kind_of(rest: &str) -> AssertionKind {
    let rest = rest.trim_start_matches('_');
    let has = |word: &str| rest.contains(word);
    if has("Throw") || has("Raises") || has("Warns") || has("raises") || has("Exception") || has("Logs") {
        AssertionKind::Exception
    } else if has("Timeout") {
        AssertionKind::Wait
    } else if rest.starts_with("That") || rest.starts_with("that") {
        AssertionKind::Matcher
    } else if has("called") || has("awaited") || has("Called") || has("any_call") || has("has_calls") {
        AssertionKind::Interaction
    } else if has("Null") || has("None") {
        AssertionKind::Null
    } else if has("Same") || rest == "Is" || rest == "IsNot" {
        AssertionKind::Identity
    } else if has("Equal") || has("equal") || has("allclose") || has("almost") {
        AssertionKind::Equality
    } else if rest.is_empty()
        || ["True", "False", "true", "false", "Greater", "Less", "In", "NotIn", "IsInstance"]
            .iter()
            .any(|word| rest.starts_with(word))
    {
        AssertionKind::Condition
    } else {
        AssertionKind::Other
    }
}

/// Whether an object that is configured with `expect` is a rule that checks
/// the exception of the whole test.
pub(crate) fn is_exception_rule(receiver: &str, receiver_type: &str, name: &str) -> bool {
    let expects =
        matches!(name, "expect" | "expectMessage" | "expectCause" | "reportMissingExceptionWithMessage");
    let lower = receiver.to_ascii_lowercase();
    expects
        && (receiver_type == "ExpectedException"
            || receiver_type.is_empty()
                && (lower.contains("thrown") || lower.contains("exception") || lower.contains("expected")))
}

/// Whether a name may stand for an assertion, by a look at its text alone.
pub(crate) fn may_assert(name: &str) -> bool {
    ["assert", "verify", "fail", "andExpect", "raises", "warns", "until"]
        .iter()
        .any(|prefix| name.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(language: Language, receiver: &str, name: &str) -> Option<AssertionKind> {
        assertion(&CallName {
            language,
            receiver,
            receiver_type: "",
            name,
            has_receiver: !receiver.is_empty(),
        })
    }

    #[test]
    fn assertions_have_kinds() {
        use AssertionKind::*;
        for (receiver, name, expected) in [
            ("", "assertEquals", Some(Equality)),
            ("Assert", "assertTrue", Some(Condition)),
            ("", "assertNotNull", Some(Null)),
            ("", "assertSame", Some(Identity)),
            ("", "assertThat", Some(Matcher)),
            ("", "assertThrows", Some(Exception)),
            ("", "assertThatThrownBy", Some(Exception)),
            ("", "assertTimeoutPreemptively", Some(Wait)),
            ("Mockito", "verify", Some(Interaction)),
            ("inOrder", "verify", Some(Interaction)),
            ("signature", "verify", None),
            ("", "fail", Some(Failure)),
            ("service", "fail", None),
            ("list", "size", None),
        ] {
            assert_eq!(kind(Language::Java, receiver, name), expected, "{receiver} {name}");
        }
        for (receiver, name, expected) in [
            ("self", "assertEqual", Some(Equality)),
            ("self", "assertIsNone", Some(Null)),
            ("self", "assertRaises", Some(Exception)),
            ("pytest", "raises", Some(Exception)),
            ("mock", "assert_called_once_with", Some(Interaction)),
            ("np.testing", "assert_allclose", Some(Equality)),
            ("job", "fail", None),
            ("self", "fail", Some(Failure)),
        ] {
            assert_eq!(kind(Language::Python, receiver, name), expected, "{receiver} {name}");
        }
    }
}
