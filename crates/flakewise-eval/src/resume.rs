//! Answers of folds that are kept, so that an evaluation that was stopped goes
//! on where it was.
//!
//! An evaluation of all models takes hours. Each fold of a model is a file, named
//! by what was held out. Nothing says whether the model has changed since: the
//! folder is to be deleted after a change of a model.

use std::path::{Path, PathBuf};

use crate::{FoldScores, Model, Protocol};

/// A folder of answers.
#[derive(Clone, Debug)]
pub(crate) struct Kept {
    folder: PathBuf,
}

impl Kept {
    pub(crate) fn new(folder: &Path) -> std::io::Result<Self> {
        std::fs::create_dir_all(folder)?;
        Ok(Self { folder: folder.to_owned() })
    }

    fn path(&self, protocol: Protocol, folds_hash: u64, fold: usize, model: &Model) -> PathBuf {
        let name: String =
            model.names[0].chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
        self.folder.join(format!("{}-{folds_hash:016x}-{fold}-{name}.txt", protocol.name()))
    }

    /// The answers of a fold, if they are kept whole.
    pub(crate) fn read(
        &self,
        protocol: Protocol,
        folds_hash: u64,
        fold: usize,
        model: &Model,
    ) -> Option<Vec<FoldScores>> {
        let text = std::fs::read_to_string(self.path(protocol, folds_hash, fold, model)).ok()?;
        let answers: Vec<FoldScores> = text.lines().map(parse).collect::<Option<_>>()?;
        (answers.len() == model.names.len()).then_some(answers)
    }

    /// Keeps the answers of a fold. Another file takes the name at the end, so
    /// that what has the name is whole.
    pub(crate) fn write(
        &self,
        protocol: Protocol,
        folds_hash: u64,
        fold: usize,
        model: &Model,
        answers: &[FoldScores],
    ) -> std::io::Result<()> {
        let path = self.path(protocol, folds_hash, fold, model);
        let unfinished = path.with_extension("part");
        std::fs::write(&unfinished, answers.iter().map(show).collect::<String>())?;
        std::fs::rename(unfinished, path)
    }
}

/// A line: the threshold, the two times, and the probabilities. Rust prints
/// numbers so that reading them gives the same bits.
fn show(answer: &FoldScores) -> String {
    let numbers = [answer.threshold, answer.train_seconds, answer.predict_seconds];
    let numbers = numbers.iter().chain(&answer.probabilities).map(f64::to_string);
    numbers.collect::<Vec<_>>().join(" ") + "\n"
}

fn parse(line: &str) -> Option<FoldScores> {
    let mut numbers = line.split(' ').map(|number| number.parse::<f64>().ok());
    Some(FoldScores {
        threshold: numbers.next()??,
        train_seconds: numbers.next()??,
        predict_seconds: numbers.next()??,
        probabilities: numbers.collect::<Option<_>>()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_read_to_the_bit() {
        let folder = tempfile::tempdir().unwrap();
        let kept = Kept::new(folder.path()).unwrap();
        let model = Model::new("some + model", |_, _, _| FoldScores::default());
        let answer = FoldScores {
            probabilities: vec![0.1 + 0.2, 1.0 / 3.0, 0.0],
            threshold: 0.5_f64.next_up(),
            train_seconds: 1.5,
            predict_seconds: 0.25,
        };
        assert_eq!(kept.read(Protocol::Class, 7, 0, &model), None);
        kept.write(Protocol::Class, 7, 0, &model, std::slice::from_ref(&answer)).unwrap();
        assert_eq!(kept.read(Protocol::Class, 7, 0, &model), Some(vec![answer]));
        // Other folds are other files.
        assert_eq!(kept.read(Protocol::Class, 8, 0, &model), None);
        assert_eq!(kept.read(Protocol::Class, 7, 1, &model), None);
        assert_eq!(kept.read(Protocol::Random, 7, 0, &model), None);
    }
}
