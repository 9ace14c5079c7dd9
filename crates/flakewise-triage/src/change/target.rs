//! Which revision to compare with.

use crate::ChangeError;
use crate::git::Git;

/// The revision to compare with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Base {
    pub(super) commit: String,
    pub(super) found: String,
    /// The branch it is on, if it is where the change parted from one.
    pub(super) target: Option<String>,
}

/// Variables in which CI systems name the commit a change starts from. They
/// come before names of branches, which may be stale or not fetched.
const TARGET_COMMITS: [&str; 6] = [
    // Set only if the merged result is tested: then the other one would
    // count what others changed in the meantime.
    "CI_MERGE_REQUEST_TARGET_BRANCH_SHA",
    "CI_MERGE_REQUEST_DIFF_BASE_SHA",
    "BITBUCKET_PR_DESTINATION_COMMIT",
    "CIRRUS_BASE_SHA",
    "PULL_BASE_SHA",
    "BUILDKITE_MERGE_QUEUE_BASE_COMMIT",
];

/// Variables in which CI systems name the branch a change is to go to.
const TARGET_BRANCHES: [&str; 13] = [
    "GITHUB_BASE_REF",
    "CI_MERGE_REQUEST_TARGET_BRANCH_NAME",
    "CHANGE_TARGET",
    "BUILDKITE_PULL_REQUEST_BASE_BRANCH",
    "SYSTEM_PULLREQUEST_TARGETBRANCH",
    "BITBUCKET_PR_DESTINATION_BRANCH",
    "CIRRUS_BASE_BRANCH",
    "CODEBUILD_WEBHOOK_BASE_REF",
    "PULL_BASE_REF",
    "CI_COMMIT_TARGET_BRANCH",
    "ghprbTargetBranch",
    "gitlabTargetBranch",
    // For a push it is the branch itself, but then this one is false.
    "TRAVIS_BRANCH",
];

/// Variables that are set on CI. Nobody works there, so that a modified file
/// is something the build wrote.
const CI: [&str; 3] = ["CI", "JENKINS_URL", "TF_BUILD"];

/// Where changes usually go.
const USUAL: [&str; 5] = ["origin/HEAD", "origin/main", "origin/master", "main", "master"];

/// Which uncommitted work there is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Work {
    pub(super) tracked: bool,
    pub(super) untracked: bool,
}

/// What the user named.
#[derive(Clone, Copy, Debug)]
pub(super) struct Named<'a> {
    /// The base of this change.
    pub(super) base: Option<&'a str>,
    /// The branch that changes go to where CI does not say.
    pub(super) main_branch: Option<&'a str>,
}

/// Finds the base of the change.
pub(super) fn find(
    git: &Git,
    head: &str,
    named: Named<'_>,
    ci: &dyn Fn(&str) -> Option<String>,
    work: Work,
) -> Result<Base, ChangeError> {
    if let Some(base) = named.base {
        return by_name(git, head, base);
    }
    let variable = |name: &&str| ci(name).filter(|value| !value.is_empty() && value != "false");
    if let Some(base) = by_ci(git, head, &|name| variable(&name))? {
        return Ok(base);
    }
    let usual = match named.main_branch {
        Some(branch) => Some(by_branch(git, head, branch)?),
        None => by_usual(git, head, variable(&"CI_DEFAULT_BRANCH"))?,
    };
    if let Some(base) = usual.filter(|base| base.commit != head) {
        return Ok(base);
    }
    // Untracked files alone may be what a build left: the last commit is the
    // better guess then, and they count too.
    let found = "HEAD, for uncommitted work only".to_owned();
    let uncommitted = Base { commit: head.to_owned(), found, target: None };
    if work.tracked && !CI.iter().any(|name| variable(name).is_some()) {
        return Ok(uncommitted);
    }
    match parent(git, head) {
        Err(ChangeError::NoParent { .. }) if work.tracked || work.untracked => Ok(uncommitted),
        other => other,
    }
}

/// The name of the branch that changes go to in the end; none if nothing tells it. `named`
/// is what the user says, `ci` reads an environment variable.
pub fn main_branch(
    root: &std::path::Path,
    named: Option<&str>,
    ci: impl Fn(&str) -> Option<String>,
) -> Result<Option<String>, ChangeError> {
    if let Some(branch) = named {
        return Ok(Some(branch.strip_prefix("origin/").unwrap_or(branch).to_owned()));
    }
    if let Some(branch) = ci("CI_DEFAULT_BRANCH").filter(|branch| !branch.is_empty()) {
        return Ok(Some(branch));
    }
    let git = Git::at(root);
    Ok(by_usual(&git, "HEAD", None)?.and_then(|base| base.target))
}

/// By the branch that changes usually go to; none if there is no such branch.
fn by_usual(git: &Git, head: &str, default: Option<String>) -> Result<Option<Base>, ChangeError> {
    const REMOTE: &str = "refs/remotes/origin/";
    let default = default.map(|branch| format!("origin/{branch}"));
    let names: Vec<&str> = default.iter().map(String::as_str).chain(USUAL).collect();
    let full = |name: &str| match name.strip_prefix("origin/") {
        Some(branch) => format!("{REMOTE}{branch}"),
        None => format!("refs/heads/{name}"),
    };
    // All of them at once: each process of git takes milliseconds of every run.
    let format = "--format=%(refname) %(objectname) %(symref)".to_owned();
    let question = ["for-each-ref".to_owned(), format].into_iter().chain(names.iter().copied().map(full));
    let answer = git.output(&question.collect::<Vec<_>>())?;
    let answer = String::from_utf8_lossy(&answer.stdout);
    let known = |name: &str| {
        let mut words = answer.lines().map(|line| line.split(' '));
        words.find_map(|mut words| (words.next() == Some(&full(name))).then_some(words))
    };
    let Some((name, mut words)) = names.iter().find_map(|name| Some((*name, known(name)?))) else {
        return Ok(None);
    };
    let (commit, points_to) = (words.next().unwrap_or_default(), words.next());
    let target = match name {
        "origin/HEAD" => points_to.and_then(|full| full.strip_prefix(REMOTE)),
        name => Some(name.strip_prefix("origin/").unwrap_or(name)),
    };
    merge_base(git, head, commit, name, target.map(str::to_owned)).map(Some)
}

/// A branch as the remote has it: the local one may be old.
fn by_branch(git: &Git, head: &str, branch: &str) -> Result<Base, ChangeError> {
    let is_remote = git.commit(&format!("refs/remotes/origin/{branch}"))?.is_some();
    by_name(git, head, &if is_remote { format!("origin/{branch}") } else { branch.to_owned() })
}

fn by_name(git: &Git, head: &str, named: &str) -> Result<Base, ChangeError> {
    let remote = format!("refs/remotes/origin/{named}");
    let commit = match git.commit(named)? {
        Some(commit) => Some((commit, named.to_owned())),
        None => git.commit(&remote)?.map(|commit| (commit, format!("origin/{named}"))),
    };
    let (commit, name) = commit.ok_or_else(|| ChangeError::UnknownBase { base: named.to_owned() })?;
    // A commit or a tag is no branch, whatever branches it is on.
    let full = git.line(&["rev-parse", "--symbolic-full-name", "--verify", "--quiet", &name])?;
    let branch = full.as_deref().and_then(|full| {
        full.strip_prefix("refs/heads/").or_else(|| full.strip_prefix("refs/remotes/origin/"))
    });
    let target = branch.filter(|_| named != "HEAD").map(str::to_owned);
    merge_base(git, head, &commit, &name, target)
}

fn by_ci(
    git: &Git,
    head: &str,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<Option<Base>, ChangeError> {
    let is_set = |name: &&&str| **name != "TRAVIS_BRANCH" || variable("TRAVIS_PULL_REQUEST").is_some();
    let target = TARGET_BRANCHES.iter().filter(is_set).find_map(|name| variable(name));
    let target = target.map(|target| target.strip_prefix("refs/heads/").unwrap_or(&target).to_owned());
    for name in TARGET_COMMITS {
        let Some(value) = variable(name) else {
            continue;
        };
        let is_commit = value.len() >= 7 && value.bytes().all(|byte| byte.is_ascii_hexdigit());
        if let Some(commit) = git.commit(&value)?.filter(|_| is_commit) {
            return merge_base(git, head, &commit, &value[..value.len().min(12)], target).map(Some);
        }
    }
    let Some(branch) = target else {
        return Ok(None);
    };
    let candidates = [(format!("refs/remotes/origin/{branch}"), format!("origin/{branch}"))]
        .into_iter()
        .chain([(format!("refs/heads/{branch}"), branch.clone())]);
    for (reference, name) in candidates {
        if let Some(commit) = git.commit(&reference)? {
            return merge_base(git, head, &commit, &name, Some(branch)).map(Some);
        }
    }
    // GitHub checks out a merge of the pull request into its target, and of
    // that often nothing more. Its first parent is the target.
    let is_merge = variable("GITHUB_SHA").as_deref() == Some(head)
        && variable("GITHUB_REF")
            .is_some_and(|name| name.starts_with("refs/pull/") && name.ends_with("/merge"));
    if is_merge && let Some(commit) = git.commit("HEAD^1")? {
        let found = format!("target of the pull request, {branch}");
        return Ok(Some(Base { commit, found, target: Some(branch) }));
    }
    if is_shallow(git)? {
        return Err(ChangeError::Shallow { wanted: format!("merge base with {branch}") });
    }
    Err(ChangeError::TargetNotFetched { branch })
}

fn merge_base(
    git: &Git,
    head: &str,
    with: &str,
    name: &str,
    target: Option<String>,
) -> Result<Base, ChangeError> {
    let found = format!("merge base with {name}");
    if let Some(commit) = git.line(&["merge-base", with, head])? {
        return Ok(Base { commit, found, target });
    }
    if is_shallow(git)? {
        return Err(ChangeError::Shallow { wanted: found });
    }
    let found = format!("{name}, which shares no history with HEAD");
    Ok(Base { commit: with.to_owned(), found, target: None })
}

fn parent(git: &Git, head: &str) -> Result<Base, ChangeError> {
    if let Some(commit) = git.commit("HEAD^1")? {
        return Ok(Base { commit, found: "parent of HEAD".to_owned(), target: None });
    }
    if is_shallow(git)? {
        return Err(ChangeError::Shallow { wanted: "parent of HEAD".to_owned() });
    }
    Err(ChangeError::NoParent { commit: head.to_owned() })
}

pub(super) fn is_shallow(git: &Git) -> Result<bool, ChangeError> {
    Ok(git.line(&["rev-parse", "--is-shallow-repository"])?.as_deref() == Some("true"))
}
