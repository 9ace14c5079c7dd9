//! A stream of bytes, seen as text through a window of bounded size.
//!
//! The window is what bounds memory: no part of a document is held that does
//! not fit in it. Bytes are turned into UTF-8 on their way in, whatever the
//! encoding, and what cannot be turned becomes U+FFFD.

use std::io::{self, BufRead};

use encoding_rs::{CoderResult, Decoder, Encoding, UTF_8, UTF_16BE, UTF_16LE};

use crate::issue::{Place, count_lines};

/// How many bytes are looked at for the name of the encoding.
const PROLOGUE: usize = 1024;

/// What the first bytes say about the encoding.
#[derive(Debug, PartialEq)]
pub(crate) struct Detected {
    pub(crate) encoding: &'static Encoding,
    /// The length of the byte order mark.
    pub(crate) mark: usize,
    /// The declared encoding, where it is not known.
    pub(crate) unknown: Option<String>,
}

/// Tells the encoding from the first bytes: a byte order mark, the zeros that
/// UTF-16 puts around a `<`, or else the XML declaration.
pub(crate) fn detect(start: &[u8]) -> Detected {
    let known = |encoding, mark| Detected { encoding, mark, unknown: None };
    if let Some((encoding, mark)) = Encoding::for_bom(start) {
        return known(encoding, mark);
    }
    match start {
        [b'<', 0, ..] => return known(UTF_16LE, 0),
        [0, b'<', ..] => return known(UTF_16BE, 0),
        _ => {}
    }
    let Some(label) = declared_encoding(start) else {
        return known(UTF_8, 0);
    };
    match Encoding::for_label(label) {
        // The declaration could be read byte by byte, so it is not UTF-16,
        // although .NET likes to say so.
        Some(encoding) if encoding == UTF_16LE || encoding == UTF_16BE => known(UTF_8, 0),
        Some(encoding) => known(encoding, 0),
        None => Detected {
            encoding: UTF_8,
            mark: 0,
            unknown: Some(crate::issue::quote(&String::from_utf8_lossy(label))),
        },
    }
}

/// The value of `encoding` in `<?xml … encoding="…"?>`.
fn declared_encoding(start: &[u8]) -> Option<&[u8]> {
    let begin = start.iter().position(|byte| !byte.is_ascii_whitespace())?;
    let declaration = start[begin..start.len().min(PROLOGUE)].strip_prefix(b"<?xml")?;
    let end = memchr::memmem::find(declaration, b"?>")?;
    let at = memchr::memmem::find(&declaration[..end], b"encoding")?;
    let value = declaration[at + b"encoding".len()..end].trim_ascii_start().strip_prefix(b"=")?;
    let value = value.trim_ascii_start();
    let quote = *value.first().filter(|byte| matches!(byte, b'"' | b'\''))?;
    let length = memchr::memchr(quote, &value[1..])?;
    Some(&value[1..=length])
}

/// The window. [`Window::text`] is what can be seen; [`Window::consume`] and
/// [`Window::fill`] move it on.
pub(crate) struct Window<R> {
    source: R,
    decoder: Decoder,
    text: String,
    capacity: usize,
    /// The place of the first byte of `text`.
    place: Place,
    /// How much of `text` has been consumed already.
    consumed: usize,
    at_end: bool,
    not_text: bool,
    error: Option<io::Error>,
}

impl<R: BufRead> Window<R> {
    /// Opens a window of `capacity` bytes; also says what is odd about the
    /// encoding.
    pub(crate) fn open(mut source: R, capacity: usize) -> (Self, Option<String>) {
        let mut error = None;
        let mut start = [0; PROLOGUE];
        let mut length = 0;
        // A source may hand out its first bytes one by one.
        while length < PROLOGUE {
            match source.fill_buf() {
                Ok([]) => break,
                Ok(bytes) => {
                    let count = bytes.len().min(PROLOGUE - length);
                    start[length..length + count].copy_from_slice(&bytes[..count]);
                    length += count;
                    source.consume(count);
                }
                Err(failure) if failure.kind() == io::ErrorKind::Interrupted => {}
                Err(failure) => {
                    error = Some(failure);
                    break;
                }
            }
        }
        let detected = detect(&start[..length]);
        let mut window = Self {
            source,
            decoder: detected.encoding.new_decoder_without_bom_handling(),
            text: String::with_capacity(capacity.max(4 * PROLOGUE)),
            capacity: capacity.max(4 * PROLOGUE),
            place: Place { line: 1, offset: 0 },
            consumed: 0,
            at_end: false,
            not_text: false,
            error,
        };
        window.decode(&start[detected.mark..length], false);
        (window, detected.unknown)
    }

    /// What can be seen.
    pub(crate) fn text(&self) -> &str {
        &self.text[self.consumed..]
    }

    /// Where [`Window::text`] begins.
    pub(crate) fn place(&self) -> Place {
        let before = &self.text[..self.consumed];
        Place {
            line: self.place.line + count_lines(before.as_bytes()),
            offset: self.place.offset + before.len() as u64,
        }
    }

    /// Whether the window shows the end of the source.
    pub(crate) fn at_end(&self) -> bool {
        self.at_end
    }

    /// Whether nothing more fits in before something is consumed.
    pub(crate) fn full(&self) -> bool {
        // Decoders ask for some room to spare.
        self.consumed == 0 && self.capacity - self.text.len() < PROLOGUE
    }

    /// Whether bytes were found that are not text in the encoding, and which
    /// encoding that is.
    pub(crate) fn not_text(&self) -> Option<&'static str> {
        self.not_text.then(|| self.decoder.encoding().name())
    }

    /// The failure that ended the source.
    pub(crate) fn take_error(&mut self) -> Option<io::Error> {
        self.error.take()
    }

    /// Moves the beginning of the window on.
    pub(crate) fn consume(&mut self, count: usize) {
        self.consumed += count;
        debug_assert!(self.text.is_char_boundary(self.consumed));
    }

    /// Moves the end of the window on, as far as it goes.
    pub(crate) fn fill(&mut self) {
        self.place = self.place();
        self.text.drain(..std::mem::take(&mut self.consumed));
        while !self.at_end && !self.full() {
            if self.error.is_some() {
                self.finish();
                return;
            }
            match self.source.fill_buf() {
                Ok([]) => self.finish(),
                Ok(bytes) => {
                    let (result, read, _, replaced) =
                        decode_some(&mut self.decoder, bytes, &mut self.text, self.capacity, false);
                    self.not_text |= replaced;
                    self.source.consume(read);
                    if result == CoderResult::OutputFull {
                        return;
                    }
                }
                Err(failure) if failure.kind() == io::ErrorKind::Interrupted => {}
                Err(failure) => self.error = Some(failure),
            }
        }
    }

    fn finish(&mut self) {
        self.decode(&[], true);
        self.at_end = true;
    }

    /// Decodes bytes for which there is room for certain.
    fn decode(&mut self, bytes: &[u8], last: bool) {
        let capacity = self.text.capacity();
        let (result, _, _, replaced) = decode_some(&mut self.decoder, bytes, &mut self.text, capacity, last);
        debug_assert_eq!(result, CoderResult::InputEmpty);
        self.not_text |= replaced;
    }
}

/// Decodes as much as fits into `text` without its growing over `capacity`.
fn decode_some(
    decoder: &mut Decoder,
    bytes: &[u8],
    text: &mut String,
    capacity: usize,
    last: bool,
) -> (CoderResult, usize, usize, bool) {
    let before = text.len();
    // A byte becomes three at most, so that this much cannot overflow.
    let bytes = &bytes[..bytes.len().min(capacity.saturating_sub(before).max(16))];
    let (result, read, replaced) = decoder.decode_to_string(bytes, text, last);
    (result, read, text.len() - before, replaced)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(bytes: &[u8]) -> (String, Option<&'static str>) {
        let (mut window, _) = Window::open(io::BufReader::with_capacity(7, bytes), 4 * PROLOGUE);
        let mut seen = String::new();
        loop {
            window.fill();
            seen.push_str(window.text());
            let count = window.text().len();
            window.consume(count);
            if window.at_end() {
                window.fill();
                return (seen, window.not_text());
            }
        }
    }

    #[test]
    fn encodings_are_told_from_the_first_bytes() {
        let utf16: Vec<u8> = "\u{feff}<a é='🦀'/>".encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert_eq!(all(&utf16), ("<a é='🦀'/>".into(), None));
        let utf16: Vec<u8> = "<a é='🦀'/>".encode_utf16().flat_map(u16::to_be_bytes).collect();
        assert_eq!(all(&utf16), ("<a é='🦀'/>".into(), None));
        assert_eq!(all("\u{feff}<é/>".as_bytes()), ("<é/>".into(), None));
        assert_eq!(
            all(b"<?xml version='1.0' encoding='ISO-8859-1'?><\xe9/>").0,
            "<?xml version='1.0' encoding='ISO-8859-1'?><é/>"
        );
        let dotnet = "<?xml version=\"1.0\" encoding=\"utf-16\"?><é/>";
        assert_eq!(all(dotnet.as_bytes()), (dotnet.into(), None));
        assert_eq!(detect(b"<?xml encoding='klingon'?>").unknown.as_deref(), Some("klingon"));
    }

    #[test]
    fn what_is_not_text_is_replaced() {
        assert_eq!(all(b"<a>\xff</a>"), ("<a>\u{fffd}</a>".into(), Some("UTF-8")));
        assert_eq!(all(b"<a>\xe2\x82"), ("<a>\u{fffd}".into(), Some("UTF-8")));
    }

    #[test]
    fn long_texts_pass_through_a_small_window() {
        let text = "naïve 🦀 ".repeat(5000);
        assert_eq!(all(text.as_bytes()), (text, None));
    }

    #[test]
    fn the_window_never_grows() {
        let text = vec![0xff; 100_000];
        let (mut window, _) = Window::open(&text[..], 8192);
        let room = window.text.capacity();
        while !window.at_end() {
            window.fill();
            let count = window.text().len();
            window.consume(count);
        }
        assert_eq!(window.text.capacity(), room);
    }
}
