//! Go's grammar.

use super::Kind;

pub(super) fn go(name: &str) -> Kind {
    match name {
        "comment" => Kind::Comment,
        "identifier" | "field_identifier" | "package_identifier" | "blank_identifier" | "label_name" => {
            Kind::Identifier
        }
        "type_identifier" => Kind::TypeIdentifier,
        "nil" | "true" | "false" | "iota" => Kind::Keyword,
        "interpreted_string_literal" | "raw_string_literal" | "rune_literal" => Kind::Text,
        "int_literal" | "float_literal" | "imaginary_literal" => Kind::Number,
        "import_spec" => Kind::Import,
        "dot" => Kind::Asterisk,
        "function_declaration" => Kind::Function,
        "method_declaration" => Kind::Method,
        "var_declaration" | "const_declaration" => Kind::Field,
        "parameter_list" => Kind::Parameters,
        "parameter_declaration" => Kind::Parameter,
        "generic_type" => Kind::GenericType,
        "type_arguments" => Kind::TypeArguments,
        "call_expression" => Kind::Call,
        "selector_expression" => Kind::Attribute,
        "argument_list" => Kind::Arguments,
        // What is in braces, or after the colon of a case.
        "statement_list" => Kind::Block,
        "if_statement" => Kind::If,
        "for_statement" => Kind::For,
        "expression_switch_statement" | "type_switch_statement" | "select_statement" => Kind::Switch,
        "expression_case" | "type_case" | "communication_case" => Kind::Case,
        "expression_statement" => Kind::Expression,
        "func_literal" => Kind::Lambda,
        _ => Kind::Other,
    }
}
