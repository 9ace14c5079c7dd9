//! What CI systems say of themselves in the environment.

/// What a CI system says of the job we are in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ci {
    pub(crate) provider: &'static str,
    pub(crate) project: Option<String>,
    pub(crate) commit: Option<String>,
    pub(crate) branch: Option<String>,
    pub(crate) job: Option<String>,
    /// Unique for one execution of one job, retried jobs included.
    pub(crate) run: String,
    pub(crate) url: Option<String>,
}

impl Ci {
    /// Recognises the CI system by its environment.
    pub(crate) fn detect(variable: &dyn Fn(&str) -> Option<String>) -> Option<Self> {
        let is_set = |name: &str| variable(name).is_some_and(|value| value != "false");
        let join = |names: &[&str]| {
            let parts: Vec<_> = names.iter().filter_map(|name| variable(name)).collect();
            parts.join("/")
        };
        let first = |names: &[&str]| names.iter().find_map(|name| variable(name));
        if is_set("GITHUB_ACTIONS") {
            let repository = variable("GITHUB_REPOSITORY");
            let run = variable("GITHUB_RUN_ID").unwrap_or_default();
            let attempt = variable("GITHUB_RUN_ATTEMPT").unwrap_or_else(|| "1".to_owned());
            let job = variable("GITHUB_JOB");
            let url = variable("GITHUB_SERVER_URL")
                .zip(repository.as_ref())
                .map(|(server, repository)| format!("{server}/{repository}/actions/runs/{run}"));
            return Some(Self {
                provider: "github",
                // For a pull request this is the merge commit: the code that ran.
                commit: variable("GITHUB_SHA"),
                branch: first(&["GITHUB_HEAD_REF", "GITHUB_REF_NAME"]),
                run: format!("github/{run}.{attempt}/{}", job.as_deref().unwrap_or("job")),
                project: repository,
                job,
                url,
            });
        }
        if is_set("GITLAB_CI") {
            return Some(Self {
                provider: "gitlab",
                project: variable("CI_PROJECT_PATH"),
                commit: variable("CI_COMMIT_SHA"),
                branch: first(&["CI_MERGE_REQUEST_SOURCE_BRANCH_NAME", "CI_COMMIT_REF_NAME"]),
                job: variable("CI_JOB_NAME"),
                run: format!("gitlab/{}", variable("CI_JOB_ID").unwrap_or_default()),
                url: variable("CI_JOB_URL"),
            });
        }
        if is_set("CIRCLECI") {
            let node = variable("CIRCLE_NODE_INDEX").unwrap_or_else(|| "0".to_owned());
            return Some(Self {
                provider: "circleci",
                project: Some(join(&["CIRCLE_PROJECT_USERNAME", "CIRCLE_PROJECT_REPONAME"])),
                commit: variable("CIRCLE_SHA1"),
                branch: first(&["CIRCLE_BRANCH", "CIRCLE_TAG"]),
                job: variable("CIRCLE_JOB"),
                run: format!("circleci/{}/{node}", variable("CIRCLE_BUILD_NUM").unwrap_or_default()),
                url: variable("CIRCLE_BUILD_URL"),
            });
        }
        if is_set("BUILDKITE") {
            return Some(Self {
                provider: "buildkite",
                project: Some(join(&["BUILDKITE_ORGANIZATION_SLUG", "BUILDKITE_PIPELINE_SLUG"])),
                commit: variable("BUILDKITE_COMMIT").filter(|commit| commit != "HEAD"),
                branch: variable("BUILDKITE_BRANCH"),
                job: first(&["BUILDKITE_STEP_KEY", "BUILDKITE_LABEL"]),
                run: format!("buildkite/{}", variable("BUILDKITE_JOB_ID").unwrap_or_default()),
                url: variable("BUILDKITE_BUILD_URL"),
            });
        }
        if is_set("JENKINS_URL") {
            let branch = first(&["CHANGE_BRANCH", "BRANCH_NAME", "GIT_BRANCH"]);
            return Some(Self {
                provider: "jenkins",
                project: None,
                commit: variable("GIT_COMMIT"),
                branch: branch.map(|name| name.strip_prefix("origin/").unwrap_or(&name).to_owned()),
                job: first(&["STAGE_NAME", "JOB_BASE_NAME"]),
                run: format!("jenkins/{}", variable("BUILD_TAG").unwrap_or_default()),
                url: variable("BUILD_URL"),
            });
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn detect(variables: &[(&str, &str)]) -> Option<Ci> {
        Ci::detect(&|name| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn github_names_the_attempt_so_that_a_rerun_is_another_run() {
        let ci = |attempt| {
            detect(&[
                ("GITHUB_ACTIONS", "true"),
                ("GITHUB_REPOSITORY", "acme/shop"),
                ("GITHUB_RUN_ID", "77"),
                ("GITHUB_RUN_ATTEMPT", attempt),
                ("GITHUB_JOB", "unit"),
                ("GITHUB_SHA", "abc"),
                ("GITHUB_HEAD_REF", "fix"),
                ("GITHUB_REF_NAME", "12/merge"),
                ("GITHUB_SERVER_URL", "https://github.com"),
            ])
            .expect("recognised")
        };
        assert_eq!(ci("2").run, "github/77.2/unit");
        assert_ne!(ci("1").run, ci("2").run);
        assert_eq!(ci("1").branch.as_deref(), Some("fix"));
        assert_eq!(ci("1").url.as_deref(), Some("https://github.com/acme/shop/actions/runs/77"));
    }

    #[test]
    fn the_other_systems_are_recognised() {
        let gitlab = detect(&[("GITLAB_CI", "true"), ("CI_JOB_ID", "5"), ("CI_PROJECT_PATH", "acme/shop")]);
        assert_eq!(gitlab.expect("recognised").run, "gitlab/5");
        let circle = detect(&[
            ("CIRCLECI", "true"),
            ("CIRCLE_BUILD_NUM", "9"),
            ("CIRCLE_NODE_INDEX", "3"),
            ("CIRCLE_PROJECT_USERNAME", "acme"),
            ("CIRCLE_PROJECT_REPONAME", "shop"),
        ])
        .expect("recognised");
        assert_eq!((circle.run.as_str(), circle.project.as_deref()), ("circleci/9/3", Some("acme/shop")));
        let buildkite =
            detect(&[("BUILDKITE", "true"), ("BUILDKITE_JOB_ID", "j"), ("BUILDKITE_COMMIT", "HEAD")]);
        assert_eq!(buildkite.expect("recognised").commit, None);
        let jenkins =
            detect(&[("JENKINS_URL", "x"), ("BUILD_TAG", "jenkins-shop-4"), ("GIT_BRANCH", "origin/main")]);
        assert_eq!(jenkins.expect("recognised").branch.as_deref(), Some("main"));
    }

    #[test]
    fn an_ordinary_machine_is_no_ci() {
        assert_eq!(detect(&[("HOME", "/home/me")]), None);
        assert_eq!(detect(&[("GITHUB_ACTIONS", "false")]), None);
    }
}
