//! From text to markup, forgiving and in bounded memory.
//!
//! `quick-xml` finds tags and texts in the part of the document at hand. It
//! borrows from that part and so needs it whole: a tag or comment that does not
//! end in it is either shown again with more text behind it or, when it is too
//! large for the window, taken in pieces by an [`Oversized`].

use quick_xml::Reader;
use quick_xml::events::Event;

use crate::Limits;
use crate::attributes::{entity, is_entity_name};
use crate::collector::Collector;
use crate::issue::{Here, IssueKind, Place, quote};

/// `quick-xml` keeps the names of all open elements, so it is started afresh
/// after this many bytes.
const FRESH_AFTER: usize = 1024 * 1024;
/// How often reading continues after a tag that is never closed. Each time costs
/// a search through the rest of the document.
const RECOVERIES: usize = 16;
/// An `&` this close to the end of the window may begin an entity.
const ENTITY_LENGTH: usize = 32;

/// What is kept of a name that is over the limit for a whole tag.
const NAME_LENGTH: usize = 64;

/// What a `<` begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Construct {
    Tag,
    Comment,
    Data,
    Instruction,
    DocumentType,
    /// It cannot be said before more is seen.
    Unclear,
    /// Nothing: it should have been escaped.
    Text,
}

impl Construct {
    /// Looks at text that begins with `<`.
    #[inline]
    fn of(text: &[u8]) -> Self {
        match text.get(1) {
            Some(b'a'..=b'z' | b'A'..=b'Z' | b'/' | b'_' | b':' | 0x80..) => Self::Tag,
            Some(b'?') => Self::Instruction,
            Some(b'!') => {
                let text = &text[2..];
                let begins = |whole: &[u8]| {
                    let length = whole.len().min(text.len());
                    text[..length].eq_ignore_ascii_case(&whole[..length]).then_some(length == whole.len())
                };
                [(&b"--"[..], Self::Comment), (b"[CDATA[", Self::Data), (b"DOCTYPE", Self::DocumentType)]
                    .into_iter()
                    .find_map(|(whole, construct)| {
                        begins(whole).map(|sure| if sure { construct } else { Self::Unclear })
                    })
                    .unwrap_or(Self::Text)
            }
            Some(_) => Self::Text,
            None => Self::Unclear,
        }
    }
}

/// Reads the markup in `window` up to its end or, unless it is the `last`, up
/// to what does not end in it. Says how much was read.
pub(crate) fn lex(window: &str, base: Place, last: bool, collector: &mut Collector<'_>) -> usize {
    let bytes = window.as_bytes();
    let mut here = Here::new(window, base);
    let mut origin = 0;
    loop {
        // `quick-xml` drops a byte order mark without counting it.
        while window[origin..].starts_with('\u{feff}') {
            origin += '\u{feff}'.len_utf8();
        }
        match lex_from(window, origin, last, &mut here, collector) {
            Stop::At(end) => return end,
            Stop::Text(at) => {
                here.move_to(at);
                collector.text(&here, "<");
                collector.issue_once(&here, IssueKind::Unescaped { character: '<' });
                origin = at + 1;
            }
            Stop::Again(at) => origin = at,
            Stop::Unclosed(at) => {
                here.move_to(at);
                collector.issue(&here, IssueKind::UnclosedTag);
                let next = memchr::memchr_iter(b'<', &bytes[at + 1..])
                    .map(|offset| at + 1 + offset)
                    .find(|next| Construct::of(&bytes[*next..]) == Construct::Tag);
                match next.filter(|_| collector.recover(RECOVERIES)) {
                    Some(next) => origin = next,
                    None => return bytes.len(),
                }
            }
        }
    }
}

/// Why a reader of `quick-xml` is given up.
enum Stop {
    /// All is read that can be.
    At(usize),
    /// A `<` that begins nothing.
    Text(usize),
    /// It has become too large.
    Again(usize),
    /// A tag that is not closed in the whole document.
    Unclosed(usize),
}

fn lex_from(
    window: &str,
    origin: usize,
    last: bool,
    here: &mut Here<'_>,
    collector: &mut Collector<'_>,
) -> Stop {
    let bytes = window.as_bytes();
    let mut reader = Reader::from_str(&window[origin..]);
    let config = reader.config_mut();
    config.check_end_names = false;
    config.allow_unmatched_ends = true;
    config.allow_dangling_amp = true;
    loop {
        let offset = usize::try_from(reader.buffer_position()).expect("the window is in memory");
        let start = origin + offset;
        if collector.stopped() {
            return Stop::At(bytes.len());
        }
        if offset > FRESH_AFTER {
            return Stop::Again(start);
        }
        here.move_to(start);
        if bytes.get(start) == Some(&b'<') {
            match Construct::of(&bytes[start..]) {
                Construct::Text => return Stop::Text(start),
                Construct::Unclear if last => return Stop::Text(start),
                Construct::Unclear => return Stop::At(start),
                _ => {}
            }
        }
        match reader.read_event() {
            Ok(Event::Empty(tag)) => {
                collector.start(here, tag.name().into_inner(), tag.attributes_raw(), true);
            }
            Ok(Event::Start(tag)) => {
                collector.start(here, tag.name().into_inner(), tag.attributes_raw(), false);
            }
            Ok(Event::End(tag)) => collector.end(here, tag.name().into_inner()),
            Ok(Event::Text(text)) => {
                if text.starts_with('&') {
                    let at_the_end = start + text.len() == bytes.len();
                    if at_the_end && !last && text.len() < ENTITY_LENGTH {
                        return Stop::At(start);
                    }
                    collector.issue_once(here, IssueKind::Unescaped { character: '&' });
                }
                collector.text(here, &text);
            }
            Ok(Event::GeneralRef(reference)) => reference_text(here, &reference, collector),
            Ok(Event::CData(data)) => collector.text(here, &data),
            Ok(Event::Decl(_) | Event::Comment(_) | Event::PI(_)) => {}
            Ok(Event::Eof) => return Stop::At(bytes.len()),
            // The error is a document type without a name, after which
            // `quick-xml` continues.
            Ok(Event::DocType(_)) | Err(quick_xml::Error::IllFormed(_)) => {
                collector.issue_once(here, IssueKind::DocumentType);
            }
            Err(_) if !last => return Stop::At(start),
            Err(_) => match Construct::of(&bytes[start..]) {
                Construct::Tag => return Stop::Unclosed(start),
                construct => {
                    if construct == Construct::Data {
                        collector.text(here, &window[start + "<![CDATA[".len()..]);
                    }
                    collector.issue(here, IssueKind::UnclosedTag);
                    return Stop::At(bytes.len());
                }
            },
        }
    }
}

/// Text that stands between `&` and `;`.
fn reference_text(here: &Here<'_>, name: &str, collector: &mut Collector<'_>) {
    if let Some(character) = entity(name) {
        collector.text(here, character.encode_utf8(&mut [0; 4]));
        return;
    }
    let kind = if is_entity_name(name) {
        IssueKind::UnknownEntity { name: quote(name) }
    } else {
        IssueKind::Unescaped { character: '&' }
    };
    collector.issue_once(here, kind);
    for text in ["&", name, ";"] {
        collector.text(here, text);
    }
}

/// Something that does not fit in the window, taken in pieces.
///
/// Texts are passed on, and the collector keeps what it has use for. Comments
/// and the like are skipped. Tags lose the ends of long values and, over the
/// limit, their last attributes: a message of megabytes is no reason to lose a
/// test.
pub(crate) enum Oversized {
    Data,
    Skip { end: &'static str },
    DocumentType { quote: Option<u8>, inside: bool },
    Tag(Shortener),
}

impl Oversized {
    /// Begins with what stands at the start of a full window. Says how much of
    /// it is read.
    pub(crate) fn begin(window: &str, place: Place, collector: &mut Collector<'_>) -> (Self, usize) {
        match Construct::of(window.as_bytes()) {
            Construct::Data => (Self::Data, "<![CDATA[".len()),
            Construct::Comment => (Self::Skip { end: "-->" }, "<!--".len()),
            Construct::Instruction => (Self::Skip { end: "?>" }, "<?".len()),
            Construct::DocumentType => {
                collector.issue_once(&Here::new(window, place), IssueKind::DocumentType);
                (Self::DocumentType { quote: None, inside: false }, "<!DOCTYPE".len())
            }
            Construct::Tag | Construct::Unclear | Construct::Text => (Self::Tag(Shortener::new(place)), 0),
        }
    }

    /// Goes on. Says how much of the window is read and whether that was the
    /// end of it.
    pub(crate) fn resume(
        &mut self,
        window: &str,
        place: Place,
        last: bool,
        limits: &Limits,
        collector: &mut Collector<'_>,
    ) -> (usize, bool) {
        let here = Here::new(window, place);
        let (read, ended) = match self {
            Self::Data => {
                let found = find_end(window, "]]>");
                let (inside, read) = found.unwrap_or_else(|rest| (rest, rest));
                collector.text(&here, &window[..inside]);
                (read, found.is_ok())
            }
            Self::Skip { end } => match find_end(window, end) {
                Ok((_, read)) => (read, true),
                Err(read) => (read, false),
            },
            Self::DocumentType { quote, inside } => {
                match skip_document_type(window.as_bytes(), quote, inside) {
                    Some(read) => (read, true),
                    None => (window.len(), false),
                }
            }
            Self::Tag(shortener) => match shortener.feed(window, limits) {
                Some(read) => {
                    shortener.finish(limits, collector);
                    (read, true)
                }
                None => (window.len(), false),
            },
        };
        if last && !ended {
            collector.issue(&here, IssueKind::UnclosedTag);
            return (window.len(), true);
        }
        (read, ended)
    }
}

/// Finds the end of something: what is before it and what is up to and with
/// it; or, if it is not there, how much certainly is not part of it.
fn find_end(window: &str, end: &str) -> Result<(usize, usize), usize> {
    match memchr::memmem::find(window.as_bytes(), end.as_bytes()) {
        Some(at) => Ok((at, at + end.len())),
        None => Err(window.floor_char_boundary(window.len().saturating_sub(end.len() - 1))),
    }
}

/// Finds the `>` that ends a document type, outside of quotes and of the
/// brackets around its declarations.
fn skip_document_type(window: &[u8], quote: &mut Option<u8>, inside: &mut bool) -> Option<usize> {
    for (at, byte) in window.iter().enumerate() {
        match (*quote, *byte) {
            (Some(open), byte) if open == byte => *quote = None,
            (None, b'"' | b'\'') => *quote = Some(*byte),
            (None, b'[') => *inside = true,
            (None, b']') => *inside = false,
            (None, b'>') if !*inside => return Some(at + 1),
            _ => {}
        }
    }
    None
}

/// Makes a tag of any length one of bounded length.
#[derive(Debug)]
pub(crate) struct Shortener {
    place: Place,
    kept: String,
    quote: Option<u8>,
    /// How much of the current value was kept.
    value: usize,
    /// Whether the tag is over its limit.
    full: bool,
    /// Whether the last character outside of quotes was a slash.
    slash: bool,
    /// Whether a dropped part had markup in it.
    swallowed: bool,
}

impl Shortener {
    fn new(place: Place) -> Self {
        let kept = String::new();
        Self { place, kept, quote: None, value: 0, full: false, slash: false, swallowed: false }
    }

    /// Takes more of the tag; says where it ends if it does.
    fn feed(&mut self, window: &str, limits: &Limits) -> Option<usize> {
        let bytes = window.as_bytes();
        let mut at = 0;
        while at < bytes.len() {
            if let Some(quote) = self.quote {
                let end = memchr::memchr(quote, &bytes[at..]).map(|length| at + length);
                self.keep_value(&window[at..end.unwrap_or(bytes.len())], limits);
                at = end.map_or(bytes.len(), |end| end + 1);
                if end.is_some() {
                    self.quote = None;
                    if !self.full {
                        self.kept.push(char::from(quote));
                    }
                }
                continue;
            }
            let end = memchr::memchr3(b'"', b'\'', b'>', &bytes[at..]).map(|length| at + length);
            let outside = &window[at..end.unwrap_or(bytes.len())];
            if let Some(last) = outside.bytes().last() {
                self.slash = last == b'/';
            }
            self.full |= self.kept.len() + outside.len() > limits.tag;
            if !self.full {
                self.kept.push_str(outside);
            } else if self.kept.is_empty() {
                // So much of the name that it is a tag.
                self.kept.push_str(&outside[..outside.floor_char_boundary(NAME_LENGTH)]);
            }
            let end = end?;
            at = end + 1;
            if bytes[end] == b'>' {
                return Some(at);
            }
            self.quote = Some(bytes[end]);
            self.value = 0;
            if !self.full {
                self.kept.push(char::from(bytes[end]));
            }
        }
        None
    }

    fn keep_value(&mut self, value: &str, limits: &Limits) {
        let room = if self.full { 0 } else { (limits.attribute + 4).saturating_sub(self.value) };
        let end = value.floor_char_boundary(room);
        self.kept.push_str(&value[..end]);
        self.value += end;
        if end < value.len() {
            // Nothing more of this value, even if a shorter piece would fit.
            self.value = usize::MAX / 2;
            self.swallowed |= value[end..].contains('<');
        }
    }

    /// Hands the shortened tag on.
    fn finish(&mut self, limits: &Limits, collector: &mut Collector<'_>) {
        let here = Here::new("", self.place);
        if self.swallowed {
            collector.issue(&here, IssueKind::SwallowedMarkup { attribute: "…".into() });
        }
        if self.full {
            collector.issue_once(&here, IssueKind::LongTag { limit: limits.tag });
            // Of what stands outside the quotes, only white space can be here.
            self.kept.push_str(if self.slash { " /" } else { " " });
        }
        self.kept.push('>');
        lex(&self.kept, self.place, true, collector);
    }
}
