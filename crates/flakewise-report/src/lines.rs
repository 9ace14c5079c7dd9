//! Line numbers as text.

/// `line 4`, `lines 4-7, 12`; at most this many ranges.
pub(crate) fn line_numbers(lines: &[u32], most: usize) -> String {
    let mut lines = lines.to_vec();
    lines.sort_unstable();
    lines.dedup();
    let ranges = lines.chunk_by(|left, right| left.checked_add(1) == Some(*right));
    let mut texts: Vec<String> = ranges
        .map(|range| match range {
            [line] => line.to_string(),
            range => format!("{}-{}", range[0], range[range.len() - 1]),
        })
        .collect();
    if texts.len() > most {
        texts.truncate(most);
        texts.push("…".to_owned());
    }
    format!("{} {}", if lines.len() == 1 { "line" } else { "lines" }, texts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adjacent_lines_are_a_range() {
        assert_eq!(line_numbers(&[4], 3), "line 4");
        assert_eq!(line_numbers(&[7, 4, 5, 6, 6, 12], 3), "lines 4-7, 12");
        assert_eq!(line_numbers(&[1, 3, 5, 7], 3), "lines 1, 3, 5, …");
        assert_eq!(line_numbers(&[u32::MAX, u32::MAX], 3), "line 4294967295");
    }
}
