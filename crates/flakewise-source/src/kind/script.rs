//! The grammars of JavaScript and TypeScript, which share their names.

use super::Kind;

pub(super) fn script(name: &str) -> Kind {
    match name {
        "comment" | "html_comment" | "hash_bang_line" => Kind::Comment,
        "identifier"
        | "property_identifier"
        | "private_property_identifier"
        | "shorthand_property_identifier"
        | "shorthand_property_identifier_pattern"
        | "statement_identifier" => Kind::Identifier,
        "type_identifier" => Kind::TypeIdentifier,
        "this" | "super" | "true" | "false" | "null" | "undefined" => Kind::Keyword,
        "optional_chain" => Kind::Operator,
        "string" | "template_string" | "regex" | "jsx_text" => Kind::Text,
        "number" => Kind::Number,
        "import_statement" => Kind::Import,
        "class_declaration" | "abstract_class_declaration" => Kind::Class,
        "class_body" => Kind::Body,
        "method_definition" => Kind::Method,
        "function_declaration" | "generator_function_declaration" => Kind::Function,
        "lexical_declaration" | "variable_declaration" => Kind::Field,
        "variable_declarator" => Kind::Assignment,
        "formal_parameters" => Kind::Parameters,
        "generic_type" => Kind::GenericType,
        "type_arguments" => Kind::TypeArguments,
        "call_expression" => Kind::Call,
        "member_expression" => Kind::Attribute,
        "new_expression" => Kind::Creation,
        "arguments" => Kind::Arguments,
        "statement_block" => Kind::Block,
        "if_statement" => Kind::If,
        "else_clause" => Kind::Else,
        "for_statement" | "for_in_statement" => Kind::For,
        "while_statement" => Kind::While,
        "do_statement" => Kind::Do,
        "try_statement" => Kind::Try,
        "catch_clause" => Kind::Catch,
        "switch_statement" => Kind::Switch,
        "switch_case" => Kind::Case,
        "expression_statement" => Kind::Expression,
        "return_statement" | "throw_statement" | "break_statement" | "continue_statement"
        | "debugger_statement" | "labeled_statement" | "with_statement" => Kind::OtherStatement,
        "ternary_expression" => Kind::Ternary,
        "arrow_function" | "function_expression" | "generator_function" => Kind::Lambda,
        _ => Kind::Other,
    }
}
