//! Plain data to bytes and back, for model files.
//!
//! What is read may be damaged or made to do harm: every count is checked
//! against what is left of the file before anything is set aside for it.

/// Why bytes cannot be read.
pub(crate) type Damage = &'static str;

/// Writes plain data.
#[derive(Debug, Default)]
pub(crate) struct Writer {
    bytes: Vec<u8>,
}

impl Writer {
    pub(crate) fn finish(self) -> Vec<u8> {
        self.bytes
    }

    pub(crate) fn byte(&mut self, value: u8) {
        self.bytes.push(value);
    }

    /// Small numbers take few bytes.
    pub(crate) fn number(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push(value.to_le_bytes()[0] | 0x80);
            value >>= 7;
        }
        self.bytes.push(value.to_le_bytes()[0]);
    }

    /// A number that is rarely small.
    pub(crate) fn fixed(&mut self, value: u64) {
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    pub(crate) fn count(&mut self, value: usize) {
        self.number(value as u64);
    }

    pub(crate) fn single(&mut self, value: f32) {
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    pub(crate) fn double(&mut self, value: f64) {
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    pub(crate) fn text(&mut self, text: &str) {
        self.count(text.len());
        self.bytes.extend_from_slice(text.as_bytes());
    }

    /// Many numbers in two bytes each, as shares of the largest.
    pub(crate) fn coarse(&mut self, values: &[f32]) {
        let largest = values.iter().fold(f32::MIN_POSITIVE, |largest, value| largest.max(value.abs()));
        self.count(values.len());
        self.single(largest);
        for value in values {
            #[expect(clippy::cast_possible_truncation, reason = "a share of the largest")]
            let share = (value / largest * f32::from(i16::MAX)).round() as i16;
            self.bytes.extend_from_slice(&share.to_le_bytes());
        }
    }

    /// Numbers that rise, by their steps.
    pub(crate) fn rising(&mut self, values: impl ExactSizeIterator<Item = u64>) {
        self.count(values.len());
        let mut last = 0;
        for value in values {
            self.number(value.wrapping_sub(last));
            last = value;
        }
    }
}

/// Reads what [`Writer`] wrote.
#[derive(Debug)]
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    /// Nothing may be left.
    pub(crate) fn end(&self) -> Result<(), Damage> {
        if self.bytes.is_empty() { Ok(()) } else { Err("there is trailing data") }
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], Damage> {
        let (taken, rest) = self.bytes.split_at_checked(length).ok_or("it ends too early")?;
        self.bytes = rest;
        Ok(taken)
    }

    pub(crate) fn byte(&mut self) -> Result<u8, Damage> {
        Ok(self.take(1)?[0])
    }

    pub(crate) fn number(&mut self) -> Result<u64, Damage> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err("a number is too long")
    }

    pub(crate) fn fixed(&mut self) -> Result<u64, Damage> {
        Ok(u64::from_le_bytes(self.take(8)?.try_into().expect("eight bytes were taken")))
    }

    pub(crate) fn small(&mut self) -> Result<u32, Damage> {
        u32::try_from(self.number()?).map_err(|_| "a number is too large")
    }

    /// How many things follow, each of at least this many bytes.
    pub(crate) fn count(&mut self, least_bytes: usize) -> Result<usize, Damage> {
        let count = usize::try_from(self.number()?).map_err(|_| "a count is too large")?;
        if count.saturating_mul(least_bytes) > self.bytes.len() {
            return Err("a count exceeds the data");
        }
        Ok(count)
    }

    pub(crate) fn single(&mut self) -> Result<f32, Damage> {
        let bytes = self.take(4)?.try_into().expect("four bytes were taken");
        Ok(f32::from_le_bytes(bytes))
    }

    /// A number that is one.
    pub(crate) fn finite(&mut self) -> Result<f32, Damage> {
        let value = self.single()?;
        if value.is_finite() { Ok(value) } else { Err("a number is not finite") }
    }

    pub(crate) fn double(&mut self) -> Result<f64, Damage> {
        let bytes = self.take(8)?.try_into().expect("eight bytes were taken");
        let value = f64::from_le_bytes(bytes);
        if value.is_finite() { Ok(value) } else { Err("a number is not finite") }
    }

    pub(crate) fn text(&mut self) -> Result<String, Damage> {
        let length = self.count(1)?;
        let text = std::str::from_utf8(self.take(length)?).map_err(|_| "a text is not UTF-8")?;
        Ok(text.to_owned())
    }

    pub(crate) fn coarse(&mut self) -> Result<Vec<f32>, Damage> {
        let count = self.count(2)?;
        let largest = self.finite()?;
        let shares = self.take(count * 2)?.chunks_exact(2);
        let value = |share: &[u8]| {
            f32::from(i16::from_le_bytes([share[0], share[1]])) / f32::from(i16::MAX) * largest
        };
        Ok(shares.map(value).collect())
    }

    pub(crate) fn rising(&mut self) -> Result<Vec<u64>, Damage> {
        let count = self.count(1)?;
        let mut values = Vec::with_capacity(count);
        let mut last: u64 = 0;
        for place in 0..count {
            let step = self.number()?;
            if place > 0 && step == 0 {
                return Err("numbers are not ascending");
            }
            last = last.checked_add(step).ok_or("numbers are not ascending")?;
            values.push(last);
        }
        Ok(values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_was_written_is_read(mut rising in proptest::collection::vec(any::<u64>(), 0..50), text: String, single in -1e9f32..1e9) {
            rising.sort_unstable();
            rising.dedup();
            let mut writer = Writer::default();
            writer.rising(rising.iter().copied());
            writer.text(&text);
            writer.single(single);
            let bytes = writer.finish();
            let mut reader = Reader::new(&bytes);
            prop_assert_eq!(reader.rising(), Ok(rising));
            prop_assert_eq!(reader.text(), Ok(text));
            prop_assert_eq!(reader.finite(), Ok(single));
            prop_assert_eq!(reader.end(), Ok(()));
        }

        #[test]
        fn bytes_at_random_are_read_or_refused(bytes: Vec<u8>) {
            let mut reader = Reader::new(&bytes);
            while reader.rising().is_ok() && reader.text().is_ok() && reader.end().is_err() {}
        }
    }

    #[test]
    fn a_count_beyond_the_file_is_refused_before_memory_is_set_aside() {
        let mut writer = Writer::default();
        writer.number(u64::MAX);
        assert!(Reader::new(&writer.finish()).rising().is_err());
    }
}
