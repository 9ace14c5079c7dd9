//! Declarations as bytes. What is read may be anybody's: a length or an index
//! that does not fit ends it.

use crate::outline::{Class, Function, Import, Outline, Variable};

/// Writes declarations. The syntax nodes of functions are left out.
pub(super) fn encode(outline: &Outline, bytes: &mut Vec<u8>) {
    text(&outline.package, bytes);
    number(outline.imports.len() as u64, bytes);
    for Import { name, alias, is_static } in &outline.imports {
        text(name, bytes);
        text(alias, bytes);
        bytes.push(u8::from(*is_static));
    }
    number(outline.classes.len() as u64, bytes);
    for Class { name, outer, bases, fields, line } in &outline.classes {
        text(name, bytes);
        option(*outer, bytes);
        number(bases.len() as u64, bytes);
        for base in bases {
            text(base, bytes);
        }
        variables(fields, bytes);
        number(u64::from(*line), bytes);
    }
    number(outline.functions.len() as u64, bytes);
    for function in &outline.functions {
        text(&function.name, bytes);
        option(function.class, bytes);
        variables(&function.parameters, bytes);
        bytes.push(u8::from(function.variadic));
        number(u64::from(function.defaults), bytes);
        text(&function.returns, bytes);
        number(u64::from(function.line), bytes);
        number(u64::from(function.end_line), bytes);
    }
    number(outline.variables.len() as u64, bytes);
    for name in &outline.variables {
        text(name, bytes);
    }
}

fn number(mut value: u64, bytes: &mut Vec<u8>) {
    while value >= 0x80 {
        bytes.push(value.to_le_bytes()[0] | 0x80);
        value >>= 7;
    }
    bytes.push(value.to_le_bytes()[0]);
}

fn option(value: Option<u32>, bytes: &mut Vec<u8>) {
    number(value.map_or(0, |value| u64::from(value) + 1), bytes);
}

fn text(value: &str, bytes: &mut Vec<u8>) {
    number(value.len() as u64, bytes);
    bytes.extend_from_slice(value.as_bytes());
}

fn variables(list: &[Variable], bytes: &mut Vec<u8>) {
    number(list.len() as u64, bytes);
    for Variable { name, type_name } in list {
        text(name, bytes);
        text(type_name, bytes);
    }
}

/// Reads declarations. `None` if the bytes are not theirs.
pub(super) fn decode(bytes: &[u8]) -> Option<Outline> {
    let mut reader = Reader { bytes };
    let package = reader.text()?;
    let imports = reader.list(|reader| {
        Some(Import { name: reader.text()?, alias: reader.text()?, is_static: reader.flag()? })
    })?;
    let mut count = 0;
    let classes = reader.list(|reader| {
        let class = Class {
            name: reader.text()?,
            // A class stands after the one around it: there are no cycles.
            outer: reader.index(count)?,
            bases: reader.list(Reader::text)?,
            fields: reader.variables()?,
            line: reader.small()?,
        };
        count += 1;
        Some(class)
    })?;
    let functions = reader.list(|reader| {
        Some(Function {
            name: reader.text()?,
            class: reader.index(classes.len())?,
            parameters: reader.variables()?,
            variadic: reader.flag()?,
            defaults: reader.small()?,
            returns: reader.text()?,
            line: reader.small()?,
            end_line: reader.small()?,
            node: 0,
        })
    })?;
    let variables = reader.list(Reader::text)?;
    reader.bytes.is_empty().then_some(Outline { package, imports, classes, functions, variables })
}

struct Reader<'b> {
    bytes: &'b [u8],
}

impl Reader<'_> {
    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.bytes.split_first()?;
        self.bytes = rest;
        Some(*first)
    }

    fn number(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..63).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }

    fn small(&mut self) -> Option<u32> {
        u32::try_from(self.number()?).ok()
    }

    fn flag(&mut self) -> Option<bool> {
        match self.byte()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }

    fn text(&mut self) -> Option<String> {
        let length = usize::try_from(self.number()?).ok()?;
        let (text, rest) = self.bytes.split_at_checked(length)?;
        self.bytes = rest;
        String::from_utf8(text.to_vec()).ok()
    }

    /// An index below a limit, or none.
    #[expect(clippy::option_option, reason = "one is the absence of a class, one of sense")]
    fn index(&mut self, limit: usize) -> Option<Option<u32>> {
        match self.small()? {
            0 => Some(None),
            index => (index as usize <= limit).then_some(Some(index - 1)),
        }
    }

    /// Every element takes a byte at least, so no count can set aside more
    /// than the bytes hold.
    fn list<T>(&mut self, mut element: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let count = usize::try_from(self.number()?).ok()?;
        if count > self.bytes.len() {
            return None;
        }
        (0..count).map(|_| element(self)).collect()
    }

    fn variables(&mut self) -> Option<Vec<Variable>> {
        self.list(|reader| Some(Variable { name: reader.text()?, type_name: reader.text()? }))
    }
}

#[cfg(test)]
mod tests {
    use flakewise_source::{Language, SyntaxTree};
    use proptest::prelude::*;

    use super::*;

    fn outline() -> Outline {
        let source = "package a.b;\nimport java.util.List;\nimport static c.D.*;\nclass A<T> extends B implements C {\n  \
                      int x = 1, y;\n  class Inner { }\n  A(int a) {}\n  List<String> f(String s, int... n) { return null; }\n}\n";
        let tree = SyntaxTree::parse(Language::Java, source).expect("it is parsed");
        Outline::read(&tree)
    }

    #[test]
    fn what_is_written_is_read() {
        let mut outline = outline();
        let mut bytes = Vec::new();
        encode(&outline, &mut bytes);
        for function in &mut outline.functions {
            function.node = 0;
        }
        assert_eq!(outline.classes.len(), 2);
        assert_eq!(decode(&bytes), Some(outline));
        for cut in 0..bytes.len() {
            assert_eq!(decode(&bytes[..cut]), None, "cut at {cut}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(flips in prop::collection::vec((0_usize..10_000, any::<u8>()), 0..20), junk in prop::collection::vec(any::<u8>(), 0..300)) {
            decode(&junk);
            let mut bytes = Vec::new();
            encode(&outline(), &mut bytes);
            for (at, value) in flips {
                let at = at % bytes.len();
                bytes[at] = value;
            }
            if let Some(outline) = decode(&bytes) {
                for function in &outline.functions {
                    outline.qualified(function);
                }
            }
        }
    }
}
