//! Owners of files, from a CODEOWNERS file.

use glob::{MatchOptions, Pattern};

/// The longest file that is read, in bytes: GitHub ignores a longer one.
pub(crate) const MAX_BYTES: usize = 3 << 20;
const OPTIONS: MatchOptions = MatchOptions {
    case_sensitive: true,
    require_literal_separator: true,
    require_literal_leading_dot: false,
};

/// The rules of a CODEOWNERS file. The last one that matches a file names its owners.
///
/// It follows [GitHub's syntax]; section headers of GitLab are skipped. A rule that is
/// not understood is skipped, as GitHub does.
///
/// ```
/// use flakewise_quarantine::CodeOwners;
///
/// let owners = CodeOwners::parse("* @acme/all\n/tests/ @acme/qa\n/tests/pay/ @acme/payments # both\n");
/// assert_eq!(owners.of("tests/pay/test_card.py"), ["@acme/payments"]);
/// assert_eq!(owners.of("tests/test_cart.py"), ["@acme/qa"]);
/// assert_eq!(owners.of("src/cart.py"), ["@acme/all"]);
/// ```
///
/// [GitHub's syntax]: https://docs.github.com/en/repositories/managing-your-repositorys-settings-and-features/customizing-your-repository/about-code-owners#codeowners-syntax
#[derive(Clone, Debug, Default)]
pub struct CodeOwners {
    rules: Vec<Rule>,
}

#[derive(Clone, Debug)]
struct Rule {
    /// Any of these.
    patterns: Vec<Pattern>,
    owners: Vec<String>,
}

impl CodeOwners {
    /// Where GitHub and GitLab look for the file, from the root of a repository: the first
    /// one that is there counts.
    pub const LOCATIONS: [&'static str; 4] =
        [".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS", ".gitlab/CODEOWNERS"];

    /// Reads the text of a CODEOWNERS file. A file that is too long has no rules.
    pub fn parse(text: &str) -> Self {
        if text.len() > MAX_BYTES {
            return Self::default();
        }
        Self { rules: text.lines().filter_map(Rule::parse).collect() }
    }

    /// The owners of a file, which is named from the root of the repository with forward
    /// slashes.
    pub fn of(&self, file: &str) -> &[String] {
        let rule = self.rules.iter().rev().find(|rule| rule.matches(file));
        rule.map_or(&[], |rule| &rule.owners)
    }
}

impl Rule {
    fn parse(line: &str) -> Option<Self> {
        let line = line.trim();
        if line.starts_with(['#', '[', '^', '!']) {
            return None;
        }
        // A backslash takes a space literally.
        let line = line.replace("\\ ", "\0");
        let mut words = line.split_whitespace();
        let pattern = words.next()?.replace('\0', " ");
        let owners = words.take_while(|word| !word.starts_with('#')).map(str::to_owned).collect();
        Some(Self { patterns: patterns(&pattern)?, owners })
    }

    fn matches(&self, file: &str) -> bool {
        self.patterns.iter().any(|pattern| pattern.matches_with(file, OPTIONS))
    }
}

/// A pattern of CODEOWNERS as patterns of whole paths.
fn patterns(text: &str) -> Option<Vec<Pattern>> {
    let body = text.strip_prefix('/').unwrap_or(text);
    let trimmed = body.trim_end_matches('/');
    // A slash anywhere but at the end ties a pattern to the root.
    let is_rooted = text.starts_with('/') || trimmed.contains('/');
    let base = if is_rooted || trimmed.is_empty() { trimmed.to_owned() } else { format!("**/{trimmed}") };
    let below = if base.is_empty() { "**".to_owned() } else { format!("{base}/**") };
    // `docs/*` is what lies directly in `docs`; other names may be those of folders.
    let forms = match body {
        _ if body.ends_with('/') || base.is_empty() => vec![below],
        _ if trimmed.ends_with("/*") || trimmed.ends_with("**") => vec![base],
        _ => vec![base, below],
    };
    forms.iter().map(|form| Pattern::new(form).ok()).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn rules_match_as_github_documents_them() {
        let matches =
            |pattern: &str, file: &str| !CodeOwners::parse(&format!("{pattern} @a")).of(file).is_empty();
        let table = [
            ("*", "a.py", true),
            ("*", "a/b/c.py", true),
            ("*.js", "a/b.js", true),
            ("*.js", "a/b.ts", false),
            ("/build/logs/", "build/logs/x/y.log", true),
            ("/build/logs/", "a/build/logs/x.log", false),
            ("docs/*", "docs/start.md", true),
            ("docs/*", "docs/build/trouble.md", false),
            ("apps/", "apps/a.py", true),
            ("apps/", "x/apps/a/b.py", true),
            ("/docs/", "docs/a/b.md", true),
            ("/docs/", "x/docs/a.md", false),
            ("/scripts", "scripts/a.sh", true),
            ("**/logs", "deeply/nested/logs/x.log", true),
            ("**/logs", "logs/x.log", true),
            ("tests/test_a.py", "tests/test_a.py", true),
            ("tests/test_a.py", "x/tests/test_a.py", false),
            ("tests/**", "tests/a/b.py", true),
            (r"my\ docs/", "my docs/a.md", true),
        ];
        for (pattern, file, expected) in table {
            assert_eq!(matches(pattern, file), expected, "`{pattern}` and `{file}`");
        }
    }

    #[test]
    fn the_last_rule_counts_and_may_name_nobody() {
        let text = "# all\n* @all a@example.org\n\n[Section] @x\n/apps/ @apps\n/apps/github\n!/apps @no\n";
        let owners = CodeOwners::parse(text);
        assert_eq!(owners.of("a.py"), ["@all", "a@example.org"]);
        assert_eq!(owners.of("apps/a.py"), ["@apps"]);
        assert!(owners.of("apps/github/a.py").is_empty());
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in "(.{0,20}\n){0,5}", file in ".{0,20}") {
            let _ = CodeOwners::parse(&text).of(&file);
        }
    }
}
