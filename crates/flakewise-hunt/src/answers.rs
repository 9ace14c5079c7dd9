//! What a search has learned, so that one that was cut short can continue.
//!
//! A search is a function of its seed and of the answers it gets. All answers
//! are written down as they come; the next search on the same code begins with
//! them, asks itself the same questions, and soon is where the last one was.

use std::collections::{HashMap, VecDeque};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{BufRead as _, BufReader, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long somebody who has the file may take to let go of it.
const LETTING_GO: Duration = Duration::from_secs(2);
/// A file that is longer was not written by us.
const MOST_LINES: usize = 10_000_000;

/// Answers that were given before, and a place for new ones.
#[derive(Debug, Default)]
pub struct Answers {
    known: HashMap<String, VecDeque<bool>>,
    file: Option<(File, PathBuf)>,
    used: u64,
    is_unfinished: bool,
}

impl Answers {
    /// Remembers nothing.
    pub fn none() -> Self {
        Self::default()
    }

    /// Goes on with what a file has, or begins it. A seed that is given must be
    /// the one the file began with, else it starts over; none takes the file's.
    /// Returns the seed to search with.
    pub fn open(path: &Path, seed: Option<u64>) -> std::io::Result<(Self, u64)> {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let mut file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
        // Two searches at once would answer each other's questions twice.
        if !is_locked(&file)? {
            return Ok((Self::none(), seed.unwrap_or_else(rand::random)));
        }
        let mut lines = BufReader::new(&file).lines().take(MOST_LINES);
        let head = lines.next().and_then(Result::ok).and_then(|line| line.parse::<u64>().ok());
        let begun = head.filter(|head| seed.is_none_or(|seed| seed == *head));
        let mut known: HashMap<String, VecDeque<bool>> = HashMap::new();
        if begun.is_some() {
            for line in lines.map_while(Result::ok) {
                if let Some((question, failed)) = parsed(&line) {
                    known.entry(question.to_owned()).or_default().push_back(failed);
                }
            }
            file.seek(std::io::SeekFrom::End(0))?;
            // What was cut short in the midst of a line ends here.
            file.write_all(b"\n")?;
        } else {
            file.set_len(0)?;
            file.rewind()?;
        }
        let seed = begun.or(seed).unwrap_or_else(rand::random);
        if begun.is_none() {
            writeln!(file, "{seed}")?;
        }
        Ok((Self { known, file: Some((file, path.to_owned())), used: 0, is_unfinished: false }, seed))
    }

    /// How many answers were known before.
    pub fn used(&self) -> u64 {
        self.used
    }

    /// The next answer to a question, if it was given before.
    pub(crate) fn known(&mut self, question: &str) -> Option<bool> {
        let answer = self.known.get_mut(question)?.pop_front()?;
        self.used += 1;
        Some(answer)
    }

    /// Writes an answer down. One that cannot be written must be found
    /// again; that is all.
    pub(crate) fn learn(&mut self, question: &str, failed: bool) {
        if let Some((file, _)) = &mut self.file {
            let _ = file.write_all(format!("{question} {}\n", u8::from(failed)).as_bytes());
        }
    }

    /// The search ended before all was tried: it can be continued.
    pub(crate) fn keep(&mut self) {
        self.is_unfinished = true;
    }

    /// The search is over: what it remembered is removed, unless it was not
    /// finished.
    pub fn forget(self) -> std::io::Result<()> {
        match self.file {
            Some((_, path)) if !self.is_unfinished => std::fs::remove_file(path),
            _ => Ok(()),
        }
    }
}

/// Whether we have the file for ourselves. Somebody who was killed may take a
/// moment to let go of it.
fn is_locked(file: &File) -> std::io::Result<bool> {
    let deadline = Instant::now() + LETTING_GO;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(true),
            Err(TryLockError::Error(error)) => return Err(error),
            Err(TryLockError::WouldBlock) if Instant::now() > deadline => return Ok(false),
            Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(20)),
        }
    }
}

fn parsed(line: &str) -> Option<(&str, bool)> {
    match line.split_once(' ')? {
        (question, "0") => Some((question, false)),
        (question, "1") => Some((question, true)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_given_again_in_their_order() {
        let folder = tempfile::tempdir().expect("made");
        let path = folder.path().join("deep/answers");
        let (mut first, seed) = Answers::open(&path, Some(7)).expect("opened");
        assert_eq!((seed, first.known("a")), (7, None));
        for failed in [true, false, true] {
            first.learn("a", failed);
        }
        first.learn("b", false);
        drop(first);
        let (mut second, seed) = Answers::open(&path, None).expect("opened");
        assert_eq!(seed, 7, "it goes on with its seed");
        assert_eq!([second.known("a"), second.known("a")], [Some(true), Some(false)]);
        second.learn("c", true);
        drop(second);
        let (mut third, _) = Answers::open(&path, Some(7)).expect("opened");
        assert_eq!(
            [third.known("a"), third.known("a"), third.known("a")],
            [Some(true), Some(false), Some(true)]
        );
        assert_eq!([third.known("b"), third.known("c"), third.known("c")], [Some(false), Some(true), None]);
        assert_eq!(third.used(), 5);
        third.forget().expect("removed");
        assert!(!path.exists());
    }

    #[test]
    fn what_was_not_finished_is_kept() {
        let folder = tempfile::tempdir().expect("made");
        let path = folder.path().join("answers");
        let (mut first, _) = Answers::open(&path, Some(7)).expect("opened");
        first.learn("a", true);
        first.keep();
        first.forget().expect("kept");
        let (mut second, _) = Answers::open(&path, None).expect("opened");
        assert_eq!(second.known("a"), Some(true));
        second.forget().expect("removed");
        assert!(!path.exists());
    }

    #[test]
    fn another_seed_begins_anew() {
        let folder = tempfile::tempdir().expect("made");
        let path = folder.path().join("answers");
        let (mut first, _) = Answers::open(&path, Some(7)).expect("opened");
        first.learn("a", true);
        drop(first);
        let (mut second, seed) = Answers::open(&path, Some(8)).expect("opened");
        assert_eq!((seed, second.known("a")), (8, None));
    }

    #[test]
    fn a_line_cut_short_and_nonsense_are_passed_over() {
        let folder = tempfile::tempdir().expect("made");
        let path = folder.path().join("answers");
        std::fs::write(&path, b"7\na 1\nnonsense\n\nb 2\nb").expect("written");
        let (mut answers, _) = Answers::open(&path, None).expect("opened");
        answers.learn("c", true);
        drop(answers);
        let (mut answers, seed) = Answers::open(&path, None).expect("opened");
        assert_eq!((seed, answers.known("a"), answers.known("b")), (7, Some(true), None));
        assert_eq!(answers.known("c"), Some(true));
    }

    #[test]
    fn two_searches_at_once_do_not_share() {
        let folder = tempfile::tempdir().expect("made");
        let path = folder.path().join("answers");
        let (mut first, _) = Answers::open(&path, Some(7)).expect("opened");
        let (second, _) = Answers::open(&path, Some(7)).expect("opened");
        first.learn("a", true);
        second.forget().expect("nothing to remove");
        assert!(path.exists());
    }
}
