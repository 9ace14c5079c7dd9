//! Parts of a hunt that several machines share without a word between them.

use flakewise_model::Shard;

use crate::name::class_of;

/// Whether a test, by the name its runner gives it, is in a part. Tests of one
/// class are in the same: what is learned of one speaks for the others.
pub(crate) fn is_in_shard(name: &str, shard: Option<Shard>) -> bool {
    let Some(shard) = shard else { return true };
    let hash = blake3::hash(class_of(name).as_bytes());
    let number = u64::from_le_bytes(hash.as_bytes()[..8].try_into().expect("a hash has 32 bytes"));
    number % u64::from(shard.of.max(1)) == u64::from(shard.number.saturating_sub(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_test_is_in_one_part_with_its_class() {
        let names: Vec<String> = (0..400)
            .map(|number| format!("tests/test_{}.py::TestIt::test_{number}[{number}-a::b]", number / 4))
            .collect();
        let parts = |name: &str| -> Vec<u32> {
            (1..=3).filter(|&number| is_in_shard(name, Some(Shard { number, of: 3 }))).collect()
        };
        for class in names.chunks(4) {
            assert_eq!(parts(&class[0]).len(), 1);
            assert!(class.iter().all(|name| parts(name) == parts(&class[0])));
        }
        let sizes: Vec<usize> =
            (1..=3).map(|part| names.iter().filter(|name| parts(name) == [part]).count()).collect();
        assert!(sizes.iter().all(|size| (80..200).contains(size)), "{sizes:?}");
    }

    #[test]
    fn without_parts_every_test_is_in() {
        assert!(is_in_shard("a.py::test_a", None));
    }
}
