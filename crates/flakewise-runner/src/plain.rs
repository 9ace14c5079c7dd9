//! From a session of pytest to a command that people can type.
//!
//! Pure: what was typed and what the session reported go in, words come out. The
//! command that was typed is kept as it is wherever tests can be named at its end;
//! its wrapper (`uv run`, `tox --`) then sets up folder and environment again.
//! Otherwise the interpreter is called with the arguments that the session
//! reported, in its folder and with the variables that the shell does not have.

use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

use flakewise_model::{PlainCommand, shell_word};

use crate::facts::{SessionFacts, Typed};

/// The agent reports no more names than this.
const MOST_NAMED: usize = 1000;
/// Variables with longer values are not printed.
const LONGEST_VALUE: usize = 1000;
/// More variables than this are not printed.
const MOST_VARIABLES: usize = 40;

/// Options whose value is the next word.
const WITH_VALUE: [&str; 36] = [
    "-k",
    "-m",
    "-p",
    "-c",
    "--config-file",
    "-o",
    "--override-ini",
    "-W",
    "--pythonwarnings",
    "-r",
    "--rootdir",
    "--confcutdir",
    "--ignore",
    "--ignore-glob",
    "--deselect",
    "--import-mode",
    "--basetemp",
    "--tb",
    "--color",
    "--log-level",
    "--log-file",
    "--log-cli-level",
    "--timeout",
    "--capture",
    "--show-capture",
    "--assert",
    "--doctest-glob",
    "--doctest-report",
    "--lfnf",
    "--asyncio-mode",
    "--randomly-seed",
    "--random-order-seed",
    "--random-order-bucket",
    "--cov",
    "--cov-config",
    "--cov-report",
];

/// Options that write reports, choose tests by earlier runs, run tests elsewhere
/// or again: a reproduction of one test neither needs nor wants them. With
/// whether their value is the next word.
const DROPPED: [(&str, bool); 45] = [
    ("--junitxml", true),
    ("--junit-xml", true),
    ("--junit-prefix", true),
    ("--junitprefix", true),
    ("--cov", true),
    ("--cov-report", true),
    ("--cov-config", true),
    ("--cov-fail-under", true),
    ("--cov-context", true),
    ("--cov-branch", false),
    ("--cov-append", false),
    ("--cov-reset", false),
    ("--no-cov-on-fail", false),
    ("--html", true),
    ("--css", true),
    ("--self-contained-html", false),
    ("--report-log", true),
    ("--json-report", false),
    ("--json-report-file", true),
    ("--alluredir", true),
    ("--clean-alluredir", false),
    ("--durations", true),
    ("--durations-min", true),
    ("--lf", false),
    ("--last-failed", false),
    ("--ff", false),
    ("--failed-first", false),
    ("--nf", false),
    ("--new-first", false),
    ("--sw", false),
    ("--stepwise", false),
    ("--sw-skip", false),
    ("--stepwise-skip", false),
    ("--stepwise-reset", false),
    ("--cache-clear", false),
    ("--maxfail", true),
    ("--reruns", true),
    ("--reruns-delay", true),
    ("--only-rerun", true),
    ("--rerun-except", true),
    ("--retries", true),
    ("--retry-delay", true),
    ("--force-flaky", false),
    ("--max-runs", true),
    ("--min-passes", true),
];

/// Options of pytest-xdist, which is set aside: tests ran in one process.
const DISTRIBUTED: [(&str, bool); 7] = [
    ("-n", true),
    ("--numprocesses", true),
    ("--maxprocesses", true),
    ("--dist", true),
    ("--tx", true),
    ("--max-worker-restart", true),
    ("-d", false),
];

/// Options of plug-ins that shuffle.
const SHUFFLING: [(&str, bool); 6] = [
    ("--randomly-seed", true),
    ("--randomly-dont-reorganize", false),
    ("--random-order", false),
    ("--random-order-bucket", true),
    ("--random-order-seed", true),
    ("--randomly-dont-reset-seed", false),
];

/// Plug-ins that shuffle: what the agent calls their seed, the option that sets
/// it, and what switches them off.
const SEEDS: [(&str, &str, &str); 2] = [
    ("randomly_seed", "--randomly-seed", "no:randomly"),
    ("random_order_seed", "--random-order-seed", "no:random_order"),
];

/// Variables that shells and wrappers set for themselves.
const OWN_VARIABLES: [&str; 20] = [
    "_",
    "PWD",
    "OLDPWD",
    "SHLVL",
    "COLUMNS",
    "LINES",
    "MAKEFLAGS",
    "MFLAGS",
    "MAKELEVEL",
    "MAKEOVERRIDES",
    "MAKE_TERMOUT",
    "MAKE_TERMERR",
    "PYTEST_VERSION",
    "PYTEST_CURRENT_TEST",
    "PYTHONHASHSEED",
    "INIT_CWD",
    "PIP_DISABLE_PIP_VERSION_CHECK",
    "PYENV_DIR",
    "PYENV_HOOK_PATH",
    "UV_RUN_RECURSION_DEPTH",
];

/// Parts of names of variables whose values are not for logs.
const SECRET: [&str; 13] = [
    "TOKEN",
    "SECRET",
    "PASSW",
    "PASSPHRASE",
    "CREDENTIAL",
    "AUTH",
    "APIKEY",
    "_KEY",
    "PRIVATE",
    "COOKIE",
    "SESSION_ID",
    "DSN",
    "SIGNATURE",
];

/// What becomes of plug-ins that shuffle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrderPlugins {
    /// They get the seed that they drew.
    Seeded,
    /// They are switched off: tests run in the order they are named.
    Off,
}

/// A command line, taken apart.
struct Parts {
    /// Up to pytest itself.
    prefix: Vec<String>,
    /// What pytest is given.
    arguments: Vec<String>,
    /// Whether these are words that were typed.
    typed: bool,
}

impl SessionFacts<'_> {
    /// A command that runs tests of one's own choice as the session ran them; none
    /// if it takes no names.
    pub fn plain_command(&self, typed: &Typed, plugins: OrderPlugins) -> Option<PlainCommand> {
        let Parts { prefix, arguments, typed: as_typed } = self.parts(typed)?;
        let (mut arguments, mut place) = without_named(&arguments, self.named);
        let was_distributed = has_any(&arguments, &DISTRIBUTED);
        for options in [&DROPPED[..], &DISTRIBUTED[..]] {
            drop_options(&mut arguments, options, &mut place);
        }
        self.set_order(&mut arguments, plugins, &mut place);
        if self.is_distributed() && !was_distributed {
            insert(&mut arguments, &mut place, "-n0".to_owned());
        }
        // A last option may take a word, so names go before it.
        let before_last = arguments.last().is_some_and(|word| word.starts_with("--") && !word.contains('='));
        let cut = place.unwrap_or(arguments.len() - usize::from(before_last));
        let after = arguments.split_off(cut);
        let words = prefix.into_iter().chain(arguments).collect();
        Some(self.placed(PlainCommand { words, after, ..PlainCommand::default() }, typed, as_typed))
    }

    /// The command again, with everything it runs.
    pub fn whole_command(&self, typed: &Typed, plugins: OrderPlugins) -> PlainCommand {
        let Some(Parts { prefix, mut arguments, typed: as_typed }) = self.parts(typed) else {
            return self.through_environment(typed, plugins);
        };
        let was_distributed = has_any(&arguments, &DISTRIBUTED);
        if !as_typed && !was_distributed {
            return self.through_environment(typed, plugins);
        }
        drop_options(&mut arguments, &DISTRIBUTED, &mut None);
        self.set_order(&mut arguments, plugins, &mut None);
        if self.is_distributed() && !was_distributed {
            arguments.push("-n0".to_owned());
        }
        self.placed(PlainCommand::new(prefix.into_iter().chain(arguments).collect()), typed, as_typed)
    }

    /// The command as it was typed; what pytest must be told besides goes through
    /// its variable.
    fn through_environment(&self, typed: &Typed, plugins: OrderPlugins) -> PlainCommand {
        let mut options = Vec::new();
        self.set_order(&mut options, plugins, &mut None);
        if self.is_distributed() {
            options.push("-n0".to_owned());
        }
        let mut command = PlainCommand::new(typed.words.clone());
        if !options.is_empty() {
            let old = typed.variables.get("PYTEST_ADDOPTS").filter(|old| !old.is_empty());
            let old = if old.is_some() { "$PYTEST_ADDOPTS " } else { "" };
            command.variables.push(("PYTEST_ADDOPTS".to_owned(), format!("\"{old}{}\"", options.join(" "))));
        }
        self.placed(command, typed, true)
    }

    /// A test's name as pytest takes it in the session's folder.
    pub fn argument(&self, name: &str) -> String {
        let name = self.without_number(name);
        let (file, rest) = name.split_at(name.find("::").unwrap_or(name.len()));
        if self.root.is_empty() {
            return name.to_owned();
        }
        let path = shortest(&Path::new(self.root).join(file), Path::new(self.folder));
        format!("{}{rest}", path.display())
    }

    /// Options that keep pytest from measuring coverage, whatever its configuration
    /// says: trying a command must not replace what the suite measured.
    pub fn quiet_options(&self) -> &'static str {
        let is_off =
            |word: &String| matches!(word.as_str(), "no:cov" | "no:pytest_cov" | "--disable-plugin-autoload");
        let is_installed = self.modules.iter().any(|path| Path::new(path).join("pytest_cov").is_dir());
        let is_loaded = is_installed
            && !self.variables.contains_key("PYTEST_DISABLE_PLUGIN_AUTOLOAD")
            && !self.argv.iter().any(is_off);
        if is_loaded { "--no-cov" } else { "" }
    }

    /// Equal names are numbered by the agent; pytest knows no such numbers.
    fn without_number<'n>(&self, name: &'n str) -> &'n str {
        match name.rsplit_once('#') {
            Some((own, number))
                if number.bytes().all(|byte| byte.is_ascii_digit())
                    && self.names.iter().any(|other| other == own) =>
            {
                own
            }
            _ => name,
        }
    }

    /// The folder, the hash seed and the variables that the command needs.
    fn placed(&self, mut command: PlainCommand, typed: &Typed, as_typed: bool) -> PlainCommand {
        if !as_typed {
            let folder = Path::new(self.folder);
            command.folder = (folder != typed.folder)
                .then(|| shortest(folder, &typed.folder).to_string_lossy().into_owned());
            command.variables = self.missing_variables(typed);
        }
        let seed = self.variables.get("PYTHONHASHSEED");
        // A wrapper that sets one itself would not listen.
        match seed.filter(|seed| !as_typed || **seed == self.hash_seed.to_string()) {
            Some(seed) => command.with_variable("PYTHONHASHSEED", seed),
            None => command,
        }
    }

    /// What the session had in its environment and the shell has not.
    fn missing_variables(&self, typed: &Typed) -> Vec<(String, String)> {
        let is_own = |name: &str, value: &str| {
            // CPython sets this one itself if the shell has no locale.
            let is_coerced = name == "LC_CTYPE" && matches!(value, "C.UTF-8" | "C.utf8" | "UTF-8");
            let is_wrappers = name.starts_with("FLAKEWISE_") || name.starts_with("npm_");
            OWN_VARIABLES.contains(&name) || is_coerced || is_wrappers
        };
        let mut missing = Vec::new();
        for (name, value) in
            self.variables.iter().filter(|(name, value)| !is_own(name, value) && is_name(name))
        {
            let old = typed.variables.get(name);
            if old == Some(value) {
                continue;
            }
            let added =
                old.filter(|old| !old.is_empty()).and_then(|old| value.strip_suffix(&format!(":{old}")));
            let text = match added {
                Some(added) => format!("{}:\"${name}\"", shell_word(added)),
                None => shell_word(value),
            };
            if !is_secret(name, value) && text.len() <= LONGEST_VALUE && !text.contains(char::is_control) {
                missing.push((name.clone(), text));
            } else if old.is_none() {
                // Whoever runs it must know the value.
                missing.push((name.clone(), format!("\"${name}\"")));
            }
        }
        missing.truncate(MOST_VARIABLES);
        missing
    }

    /// The command line up to what pytest is given, and that; none if pytest is
    /// given something else than the command line says.
    fn parts(&self, typed: &Typed) -> Option<Parts> {
        if let Some(place) = arguments_of_pytest(self.argv) {
            let arguments = &self.argv[place..];
            if let Some(prefix) = typed.words.strip_suffix(arguments)
                && let Some(last) = prefix.last()
                && (is_pytest(last) || (last == "--" && !arguments.is_empty()))
            {
                return Some(Parts { prefix: prefix.to_vec(), arguments: arguments.to_vec(), typed: true });
            }
            let short = |word: &String| match Path::new(word).strip_prefix(self.folder) {
                // With a slash in it, so that it is not searched for.
                Ok(rest) if rest.components().count() > 1 => rest.to_string_lossy().into_owned(),
                _ => word.clone(),
            };
            let interpreter = short(&self.executable.to_owned());
            let prefix = std::iter::once(interpreter).chain(self.argv[1..place].iter().map(short)).collect();
            return Some(Parts { prefix, arguments: arguments.to_vec(), typed: false });
        }
        // A script of one's own, which passes on what it is given.
        let (program, arguments) = typed.words.split_first()?;
        let passes_on = !self.named.is_empty()
            && self.named.iter().all(|name| arguments.contains(name))
            && self.argv.ends_with(arguments);
        passes_on.then(|| Parts { prefix: vec![program.clone()], arguments: arguments.to_vec(), typed: true })
    }

    fn set_order(&self, arguments: &mut Vec<String>, plugins: OrderPlugins, place: &mut Option<usize>) {
        for (name, option, off) in SEEDS {
            let Some(seed) = self.seeds.get(name) else { continue };
            match plugins {
                OrderPlugins::Seeded => {
                    drop_options(arguments, &[(option, true)], place);
                    insert(arguments, place, format!("{option}={seed}"));
                }
                OrderPlugins::Off => {
                    drop_options(arguments, &SHUFFLING, place);
                    insert(arguments, place, "-p".to_owned());
                    insert(arguments, place, off.to_owned());
                }
            }
        }
    }

    fn is_distributed(&self) -> bool {
        self.seeds.contains_key("numprocesses")
    }
}

/// Where in the command line of a process the arguments of pytest begin.
fn arguments_of_pytest(argv: &[String]) -> Option<usize> {
    let mut place = 1;
    // The interpreter's own options.
    loop {
        let word = argv.get(place)?.as_str();
        if matches!(word, "-X" | "-W" | "--check-hash-based-pycs") {
            place += 2;
        } else if word.starts_with("-m") || (is_cluster(word) && word.ends_with('m')) {
            break;
        } else if word.starts_with("-c") || (is_cluster(word) && word.ends_with('c')) {
            return None;
        } else if word.starts_with('-') {
            place += 1;
        } else {
            break;
        }
    }
    if argv[place] == "-mpytest" {
        return Some(place + 1);
    }
    (place..argv.len()).find_map(|at| {
        let before = argv[at - 1].as_str();
        let is_program = at == place
            || before == "-m"
            || (at == place + 1 && before.starts_with('-') && before.ends_with('m'))
            || argv[at].contains('/')
            || !before.starts_with('-');
        (is_program && is_pytest(&argv[at])).then_some(at + 1)
    })
}

/// Short options of Python in one word, such as `-Bm`.
fn is_cluster(word: &str) -> bool {
    word.len() > 2
        && word.starts_with('-')
        && word[1..].bytes().all(|byte| b"bBdEhiIOPqRsSuvVxmc".contains(&byte))
}

fn is_pytest(word: &str) -> bool {
    matches!(Path::new(word).file_name().and_then(OsStr::to_str), Some("pytest" | "py.test" | "pytest-3"))
}

/// Arguments without those that name what is run, and where the first of them was.
fn without_named(arguments: &[String], named: &[String]) -> (Vec<String>, Option<usize>) {
    let is_value = |place: usize| place > 0 && WITH_VALUE.contains(&arguments[place - 1].as_str());
    let mut is_named = vec![false; arguments.len()];
    for name in named {
        let found = (0..arguments.len())
            .find(|&place| !is_named[place] && arguments[place] == *name && !is_value(place));
        if let Some(place) = found {
            is_named[place] = true;
        }
    }
    if named.len() >= MOST_NAMED {
        for place in 0..arguments.len() {
            is_named[place] |= arguments[place].contains("::") && !is_value(place);
        }
    }
    let first = is_named.iter().position(|named| *named);
    let left = arguments.iter().zip(&is_named).filter(|(_, named)| !**named).map(|(word, _)| word.clone());
    (left.collect(), first)
}

/// Whether a word is this option; and whether its value is in the same word.
fn is_option(word: &str, option: &str) -> Option<bool> {
    if word == option {
        return Some(false);
    }
    let rest = word.strip_prefix(option)?;
    let is_short = option.len() == 2 && option == "-n";
    (rest.starts_with('=') || is_short).then_some(true)
}

fn has_any(arguments: &[String], options: &[(&str, bool)]) -> bool {
    arguments.iter().any(|word| options.iter().any(|(option, _)| is_option(word, option).is_some()))
}

/// Takes options with their values out of arguments, and keeps the place of names.
fn drop_options(arguments: &mut Vec<String>, options: &[(&str, bool)], place: &mut Option<usize>) {
    let mut at = 0;
    while at < arguments.len() {
        let is_value = at > 0 && WITH_VALUE.contains(&arguments[at - 1].as_str());
        let found = options.iter().find_map(|(option, has_value)| {
            let joined = is_option(&arguments[at], option)?;
            // `--cov` may come without a value, but never takes what was a name.
            let next =
                arguments.get(at + 1).is_some_and(|next| !next.starts_with('-')) && *place != Some(at + 1);
            Some(1 + usize::from(*has_value && !joined && next))
        });
        match found.filter(|_| !is_value) {
            Some(count) => {
                arguments.drain(at..at + count);
                if let Some(place) = place.as_mut().filter(|place| **place > at) {
                    *place -= count.min(*place - at);
                }
            }
            None => at += 1,
        }
    }
}

/// Adds a word before the names.
fn insert(arguments: &mut Vec<String>, place: &mut Option<usize>, word: String) {
    match place {
        Some(place) => {
            arguments.insert(*place, word);
            *place += 1;
        }
        None => arguments.push(word),
    }
}

fn is_name(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes.next().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

fn is_secret(name: &str, value: &str) -> bool {
    let name = name.to_ascii_uppercase();
    let in_url = value.split_once("://").is_some_and(|(_, rest)| rest.contains('@'));
    in_url || name == "KEY" || SECRET.iter().any(|part| name.contains(part))
}

/// A path as seen from a folder: relative where they have more in common than
/// the root.
fn shortest(path: &Path, from: &Path) -> PathBuf {
    let common = path.components().zip(from.components()).take_while(|(one, other)| one == other).count();
    if common <= 1 {
        return path.to_owned();
    }
    let up = from.components().skip(common).map(|_| Component::ParentDir);
    let relative: PathBuf = up.chain(path.components().skip(common)).collect();
    if relative.as_os_str().is_empty() { PathBuf::from(".") } else { relative }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// A session of pytest, and what somebody typed to get it.
    struct Case {
        typed: Typed,
        executable: &'static str,
        argv: Vec<String>,
        folder: &'static str,
        root: &'static str,
        named: Vec<String>,
        variables: BTreeMap<String, String>,
        seeds: BTreeMap<String, String>,
    }

    fn words(line: &str) -> Vec<String> {
        line.split(' ').filter(|word| !word.is_empty()).map(str::to_owned).collect()
    }

    fn pairs(list: &[(&str, &str)]) -> BTreeMap<String, String> {
        list.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    impl Case {
        fn new(typed: &str, argv: &str, named: &str) -> Self {
            Self {
                typed: Typed {
                    words: words(typed),
                    folder: "/shop".into(),
                    variables: pairs(&[("PATH", "/bin")]),
                },
                executable: "/venv/bin/python",
                argv: words(argv),
                folder: "/shop",
                root: "/shop",
                named: words(named),
                variables: pairs(&[
                    ("PATH", "/bin"),
                    ("PYTHONHASHSEED", "7"),
                    ("_", "/bin/x"),
                    ("LC_CTYPE", "C.UTF-8"),
                ]),
                seeds: BTreeMap::new(),
            }
        }

        fn facts(&self) -> SessionFacts<'_> {
            SessionFacts {
                executable: self.executable,
                argv: &self.argv,
                folder: self.folder,
                root: self.root,
                named: &self.named,
                names: &[],
                variables: &self.variables,
                seeds: &self.seeds,
                modules: &[],
                hash_seed: 7,
            }
        }

        /// The line for one test, without the hash seed where that is the usual one.
        fn alone(&self) -> String {
            let facts = self.facts();
            let plain = facts.plain_command(&self.typed, OrderPlugins::Seeded);
            let line = plain.map(|plain| plain.line([facts.argument("t/a.py::t").as_str()]));
            line.unwrap_or_else(|| "takes no names".to_owned()).replacen("PYTHONHASHSEED=7 ", "", 1)
        }

        fn whole(&self) -> String {
            self.facts().whole_command(&self.typed, OrderPlugins::Seeded).line([]).replacen(
                "PYTHONHASHSEED=7 ",
                "",
                1,
            )
        }
    }

    #[test]
    fn what_was_typed_is_kept_where_tests_can_be_named_at_its_end() {
        let check = |typed: &str, argv: &str, named: &str, line: &str| {
            assert_eq!(Case::new(typed, argv, named).alone(), line, "{typed}");
        };
        let script = "/venv/bin/python /venv/bin/pytest";
        check("pytest", script, "", "pytest t/a.py::t");
        check(
            "pytest -q -o a=b -c x.ini t",
            &format!("{script} -q -o a=b -c x.ini t"),
            "t",
            "pytest -q -o a=b -c x.ini t/a.py::t",
        );
        check("uv run pytest -q", &format!("{script} -q"), "", "uv run pytest -q t/a.py::t");
        check(
            "uv run --isolated pytest t",
            &format!("{script} t"),
            "t",
            "uv run --isolated pytest t/a.py::t",
        );
        check("poetry run pytest", script, "", "poetry run pytest t/a.py::t");
        check(
            "python -m pytest -W error t",
            "python -m pytest -W error t",
            "t",
            "python -m pytest -W error t/a.py::t",
        );
        check(
            "python -X dev -Bm pytest t",
            "python -X dev -Bm pytest t",
            "t",
            "python -X dev -Bm pytest t/a.py::t",
        );
        check(
            "coverage run --source pytest -m pytest t -q",
            "/venv/bin/python /venv/bin/coverage run --source pytest -m pytest t -q",
            "t",
            "coverage run --source pytest -m pytest t/a.py::t -q",
        );
        check("tox -e py -- -k x", &format!("{script} -k x"), "", "tox -e py -- -k x t/a.py::t");
        check("./own.py -v t", "/venv/bin/python ./own.py -v t", "t", "./own.py -v t/a.py::t");
    }

    #[test]
    fn names_are_found_among_options_and_their_values() {
        let check = |arguments: &str, named: &str, line: &str| {
            let case =
                Case::new(&format!("pytest {arguments}"), &format!("python /bin/pytest {arguments}"), named);
            assert_eq!(case.alone(), format!("pytest {line}"), "{arguments}");
        };
        check("-k t t", "t", "-k t t/a.py::t");
        check("t -k t", "t", "t/a.py::t -k t");
        check("t -q u -v", "t u", "t/a.py::t -q -v");
        // The last option may take a word.
        check("-q --doctest-modules", "", "-q t/a.py::t --doctest-modules");
        check("-q --tb=short", "", "-q --tb=short t/a.py::t");
    }

    #[test]
    fn reports_retries_and_other_processes_are_left_out() {
        let arguments = "--cov --cov-report xml -n 4 -q --junitxml=r.xml --lf --reruns 2 --maxfail=1 -p no:cov t --dist load";
        let case = Case::new(&format!("pytest {arguments}"), &format!("python /bin/pytest {arguments}"), "t");
        assert_eq!(case.alone(), "pytest -q -p no:cov t/a.py::t");
        let case = Case::new(
            "pytest -nauto -q --junitxml=r.xml",
            "python /bin/pytest -nauto -q --junitxml=r.xml",
            "",
        );
        assert_eq!(case.whole(), "pytest -q --junitxml=r.xml");
        // By the configuration.
        let mut case = Case::new("pytest -q", "python /bin/pytest -q", "");
        case.seeds = pairs(&[("numprocesses", "0")]);
        assert_eq!(case.alone(), "pytest -q -n0 t/a.py::t");
        assert_eq!(case.whole(), "pytest -q -n0");
    }

    #[test]
    fn otherwise_the_interpreter_is_called_where_the_session_was() {
        let mut case =
            Case::new("make test", "/shop/.tox/py/bin/python /shop/.tox/py/bin/pytest -q test", "test");
        assert_eq!(case.whole(), "make test");
        case.executable = "/shop/.tox/py/bin/python";
        assert_eq!(case.alone(), ".tox/py/bin/python .tox/py/bin/pytest -q t/a.py::t");
        case.typed.folder = "/shop/docs/x".into();
        case.variables = pairs(&[
            ("PATH", "/shop/.tox/py/bin:/bin"),
            ("PYTHONHASHSEED", "99"),
            ("DB_PASSWORD", "x"),
            ("STORE", "redis://me:secret@db"),
            ("MODE", "a b"),
        ]);
        assert_eq!(
            case.alone(),
            "cd ../.. && PYTHONHASHSEED=99 DB_PASSWORD=\"$DB_PASSWORD\" MODE='a b' \
             PATH=/shop/.tox/py/bin:\"$PATH\" STORE=\"$STORE\" .tox/py/bin/python .tox/py/bin/pytest -q t/a.py::t"
        );
        // Whoever runs it sets the seed itself.
        assert_eq!(case.whole(), "make test");
    }

    #[test]
    fn tests_are_named_as_seen_from_the_folder_of_the_session() {
        let mut case = Case::new("pytest", "python /bin/pytest", "");
        (case.folder, case.typed.folder) = ("/shop/t", "/shop/t".into());
        assert_eq!(case.alone(), "pytest a.py::t");
        (case.folder, case.typed.folder) = ("/shop/docs", "/shop/docs".into());
        assert_eq!(case.alone(), "pytest ../t/a.py::t");
        (case.folder, case.typed.folder, case.root) = ("/shop", "/shop".into(), "/shop/sub");
        assert_eq!(case.alone(), "pytest sub/t/a.py::t");
        assert_eq!(case.facts().argument("a.py::t[../x//y]"), "sub/a.py::t[../x//y]");
        // A wrapper that changes the folder does so again.
        let mut case = Case::new("uv run --directory sub pytest -q", "python /bin/pytest -q", "");
        (case.folder, case.root) = ("/shop/sub", "/shop/sub");
        assert_eq!(case.alone(), "uv run --directory sub pytest -q t/a.py::t");
        let mut case = Case::new("make", "/venv/bin/python -m pytest -q", "");
        (case.folder, case.root) = ("/shop/sub", "/shop/sub");
        assert_eq!(case.alone(), "cd sub && /venv/bin/python -m pytest -q t/a.py::t");
    }

    #[test]
    fn equal_names_are_named_without_their_number() {
        let case = Case::new("pytest", "python /bin/pytest", "");
        let names = ["a.py::t".to_owned(), "a.py::t#2".to_owned()];
        let facts = SessionFacts { names: &names, ..case.facts() };
        assert_eq!([facts.argument("a.py::t#2"), facts.argument("a.py::u#2")], ["a.py::t", "a.py::u#2"]);
    }

    #[test]
    fn plugins_that_shuffle_get_their_seed_or_are_switched_off() {
        let mut case =
            Case::new("pytest --randomly-seed=last t", "python /bin/pytest --randomly-seed=last t", "t");
        case.seeds = pairs(&[("randomly_seed", "5")]);
        assert_eq!(case.alone(), "pytest --randomly-seed=5 t/a.py::t");
        let off = case.facts().plain_command(&case.typed, OrderPlugins::Off).expect("takes names");
        assert_eq!(off.line(["x"]), "PYTHONHASHSEED=7 pytest -p no:randomly x");
        let mut case = Case::new("make test", "python /bin/pytest", "");
        case.seeds = pairs(&[("random_order_seed", "5")]);
        assert_eq!(case.whole(), "PYTEST_ADDOPTS=\"--random-order-seed=5\" make test");
    }

    #[test]
    fn a_program_that_tells_pytest_something_else_takes_no_names() {
        assert_eq!(Case::new("python own.py", "python own.py", "tests").alone(), "takes no names");
        assert_eq!(Case::new("python -c x", "python -c x", "").alone(), "takes no names");
        assert_eq!(Case::new("python own.py", "python own.py", "tests").whole(), "python own.py");
    }
}
