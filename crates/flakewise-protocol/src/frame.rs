//! Lines on a stream.

use std::io::{BufRead, BufReader, Read, Write};

use crate::{ToAgent, ToHost};

/// The longest line taken, in bytes. Agents cut texts long before.
pub const LINE_LIMIT: usize = 1 << 20;

/// Why there is no message. After all but the first, the stream can be read on.
#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    /// The stream itself failed.
    #[error("the connection failed")]
    Io(#[from] std::io::Error),
    /// A line is longer than any agent sends.
    #[error("a message is longer than {LINE_LIMIT} bytes")]
    TooLong,
    /// A line is no message.
    #[error("`{excerpt}` is not a message")]
    Malformed {
        /// The beginning of the line.
        excerpt: String,
        /// What is wrong with it.
        #[source]
        source: serde_json::Error,
    },
}

/// Reads an agent's messages.
#[derive(Debug)]
pub struct FrameReader<R> {
    stream: BufReader<R>,
    line: Vec<u8>,
    /// Whether the stream is in the midst of a line that is too long.
    skips: bool,
}

impl<R: Read> FrameReader<R> {
    /// Reads from this stream.
    pub fn new(stream: R) -> Self {
        Self { stream: BufReader::new(stream), line: Vec::new(), skips: false }
    }

    /// Whether a message can be had without asking the stream.
    pub fn has_buffered(&self) -> bool {
        self.stream.buffer().contains(&b'\n')
    }

    /// The next message; none at the end of the stream. A last line without an
    /// end was cut off by the death of its writer, and does not count.
    pub fn next_message(&mut self) -> Result<Option<ToHost>, FrameError> {
        if self.skips {
            self.stream.skip_until(b'\n')?;
            self.skips = false;
        }
        self.line.clear();
        let limit = LINE_LIMIT as u64 + 1;
        self.stream.by_ref().take(limit).read_until(b'\n', &mut self.line)?;
        if self.line.last() != Some(&b'\n') {
            self.skips = self.line.len() > LINE_LIMIT;
            return if self.skips { Err(FrameError::TooLong) } else { Ok(None) };
        }
        serde_json::from_slice(&self.line).map(Some).map_err(|source| {
            let excerpt = &self.line[..self.line.len().min(60)];
            FrameError::Malformed { excerpt: String::from_utf8_lossy(excerpt).trim_end().to_owned(), source }
        })
    }
}

/// Sends one message.
pub fn write_message(stream: &mut impl Write, message: &ToAgent) -> std::io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    stream.write_all(&line)?;
    stream.flush()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(bytes: &[u8]) -> Result<Vec<ToHost>, FrameError> {
        let mut reader = FrameReader::new(bytes);
        let mut messages = Vec::new();
        while let Some(message) = reader.next_message()? {
            messages.push(message);
        }
        Ok(messages)
    }

    #[test]
    fn a_line_that_was_cut_off_is_the_end() {
        let messages = read(b"{\"t\":\"ran\"}\n{\"t\":\"by").expect("readable");
        assert_eq!(messages, [ToHost::Ran]);
    }

    #[test]
    fn unknown_messages_and_fields_are_ignored() {
        let messages = read(b"{\"t\":\"weather\",\"x\":1}\n{\"t\":\"bye\",\"more\":[]}\n").expect("readable");
        assert_eq!(messages, [ToHost::Unknown, ToHost::Bye]);
    }

    #[test]
    fn endless_lines_are_refused() {
        let line = vec![b'x'; 3 * LINE_LIMIT];
        assert!(matches!(read(&line), Err(FrameError::TooLong)));
    }

    #[test]
    fn garbage_is_refused_with_its_beginning() {
        let error = read(b"GET / HTTP/1.1\r\n").expect_err("not a message");
        assert_eq!(error.to_string(), "`GET / HTTP/1.1` is not a message");
    }

    #[test]
    fn what_follows_a_line_that_is_none_is_read() {
        let mut bytes = vec![b'x'; 2 * LINE_LIMIT];
        bytes.extend_from_slice(b"\nnonsense\n{\"t\":\"ran\"}\n");
        let mut reader = FrameReader::new(&bytes[..]);
        assert!(matches!(reader.next_message(), Err(FrameError::TooLong)));
        assert!(matches!(reader.next_message(), Err(FrameError::Malformed { .. })));
        assert_eq!(reader.next_message().expect("readable"), Some(ToHost::Ran));
        assert_eq!(reader.next_message().expect("readable"), None);
    }

    #[test]
    fn the_longest_line_is_one_of_the_limit() {
        let text = "x".repeat(LINE_LIMIT - br#"{"t":"broken","text":""}"#.len() - 1);
        let line = format!("{{\"t\":\"broken\",\"text\":\"{text}\"}}\n");
        assert_eq!(line.len(), LINE_LIMIT);
        assert_eq!(read(line.as_bytes()).expect("readable"), [ToHost::Broken { text: text.clone() }]);
        let longer = line.replace(&text, &format!("{text}xx"));
        assert!(matches!(read(longer.as_bytes()), Err(FrameError::TooLong)));
    }

    proptest! {
        #[test]
        fn no_input_brings_the_reader_down(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = read(&bytes);
        }
    }
}
