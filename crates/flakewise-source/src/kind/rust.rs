//! Rust's grammar.

use super::Kind;

pub(super) fn rust(name: &str) -> Kind {
    match name {
        "line_comment" | "block_comment" | "shebang" => Kind::Comment,
        "identifier" | "field_identifier" | "shorthand_field_identifier" | "metavariable" => Kind::Identifier,
        "type_identifier" | "primitive_type" => Kind::TypeIdentifier,
        "self" | "super" | "crate" | "mutable_specifier" => Kind::Keyword,
        "string_literal" | "raw_string_literal" | "char_literal" => Kind::Text,
        "integer_literal" | "float_literal" => Kind::Number,
        "use_declaration" => Kind::Import,
        "use_wildcard" => Kind::Asterisk,
        "mod_item" => Kind::Package,
        "impl_item" | "trait_item" => Kind::Class,
        "declaration_list" => Kind::Body,
        "function_item" => Kind::Function,
        "static_item" | "const_item" => Kind::Field,
        "attribute_item" => Kind::Annotation,
        "parameters" => Kind::Parameters,
        "parameter" => Kind::Parameter,
        "generic_type" => Kind::GenericType,
        "type_arguments" => Kind::TypeArguments,
        "call_expression" => Kind::Call,
        "field_expression" | "scoped_identifier" => Kind::Attribute,
        "generic_function" => Kind::GenericFunction,
        "macro_invocation" => Kind::Macro,
        "token_tree" => Kind::TokenTree,
        "arguments" => Kind::Arguments,
        "block" => Kind::Block,
        "if_expression" => Kind::If,
        "else_clause" => Kind::Else,
        "for_expression" => Kind::For,
        "while_expression" => Kind::While,
        // A loop without a condition still continues or ends.
        "loop_expression" => Kind::Do,
        "match_expression" => Kind::Switch,
        "match_arm" => Kind::Case,
        "expression_statement" => Kind::Expression,
        "closure_expression" => Kind::Lambda,
        _ => Kind::Other,
    }
}
