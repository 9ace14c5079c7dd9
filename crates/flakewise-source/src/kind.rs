//! What a node of a syntax tree is, in words common to all languages.

mod go;
mod rust;
mod script;

use std::sync::OnceLock;

use crate::Language;

/// What a node is, as far as anything here asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A node nobody asks about.
    Other,
    /// What the parser could not place.
    Error,
    Comment,
    // Leaves.
    Identifier,
    TypeIdentifier,
    Keyword,
    Operator,
    /// `&&`, `||`, `and`, `or`.
    Junction,
    /// `default` in a switch.
    Default,
    Number,
    /// A text with its quotes; what is inside is not looked at as words.
    Text,
    /// The `*` of an import.
    Asterisk,
    // Declarations.
    Package,
    Import,
    ImportFrom,
    FutureImport,
    AliasedImport,
    RelativeImport,
    QualifiedName,
    Class,
    Interface,
    Body,
    Superclass,
    Interfaces,
    Function,
    Method,
    Constructor,
    Initializer,
    Field,
    Decorated,
    Modifiers,
    Annotation,
    Parameters,
    Parameter,
    VoidType,
    ScopedType,
    GenericType,
    TypeArguments,
    TypePlace,
    // Calls.
    Call,
    Attribute,
    Invocation,
    Creation,
    GenericFunction,
    Macro,
    /// What is in the brackets of a macro.
    TokenTree,
    ConstructorCall,
    FunctionReference,
    Arguments,
    GeneratorExpression,
    KeywordArgument,
    // Statements.
    Block,
    If,
    Elif,
    Else,
    For,
    While,
    Do,
    Try,
    Catch,
    Switch,
    SwitchLabel,
    Case,
    Assert,
    Expression,
    Assignment,
    OtherStatement,
    // Expressions that branch.
    Ternary,
    Lambda,
    ForClause,
    IfClause,
}

impl Kind {
    /// Whether it is a statement, as the depth of nested statements counts
    /// them. A block is not: it is part of the statement it belongs to.
    pub(crate) fn is_statement(self) -> bool {
        matches!(
            self,
            Self::If
                | Self::For
                | Self::While
                | Self::Do
                | Self::Try
                | Self::Switch
                | Self::Assert
                | Self::Expression
                | Self::OtherStatement
                | Self::Function
                | Self::Class
                | Self::Decorated
                | Self::Import
                | Self::ImportFrom
        )
    }
}

/// The kinds of a grammar's symbols, by symbol.
pub(crate) struct Grammar {
    pub(crate) language: tree_sitter::Language,
    kinds: Vec<Kind>,
    /// The grammar's own names of its symbols and fields.
    names: Vec<String>,
    fields: Vec<String>,
}

impl Grammar {
    /// The grammar of a language.
    pub(crate) fn of(language: Language) -> &'static Self {
        static GRAMMARS: [OnceLock<Grammar>; 7] = [const { OnceLock::new() }; 7];
        GRAMMARS[language as usize].get_or_init(|| match language {
            Language::Java => Self::new(tree_sitter_java::LANGUAGE.into(), java),
            Language::Python => Self::new(tree_sitter_python::LANGUAGE.into(), python),
            Language::Rust => Self::new(tree_sitter_rust::LANGUAGE.into(), rust::rust),
            Language::Go => Self::new(tree_sitter_go::LANGUAGE.into(), go::go),
            Language::JavaScript => Self::new(tree_sitter_javascript::LANGUAGE.into(), script::script),
            Language::TypeScript => {
                Self::new(tree_sitter_typescript::LANGUAGE_TYPESCRIPT.into(), script::script)
            }
            Language::Tsx => Self::new(tree_sitter_typescript::LANGUAGE_TSX.into(), script::script),
        })
    }

    fn new(language: tree_sitter::Language, named: fn(&str) -> Kind) -> Self {
        let kinds = (0..language.node_kind_count())
            .map(|symbol| {
                let symbol = u16::try_from(symbol).expect("symbols of a grammar are 16 bits");
                let name = language.node_kind_for_id(symbol).unwrap_or_default();
                if language.node_kind_is_named(symbol) { named(name) } else { word(name) }
            })
            .collect();
        let numbers = |count: usize| (0..count).filter_map(|number| u16::try_from(number).ok());
        let names = numbers(language.node_kind_count())
            .map(|symbol| language.node_kind_for_id(symbol).unwrap_or_default().to_owned())
            .collect();
        // Fields are counted from one.
        let fields = numbers(language.field_count() + 1)
            .map(|field| language.field_name_for_id(field).unwrap_or_default().to_owned())
            .collect();
        Self { language, kinds, names, fields }
    }

    /// What the grammar calls a symbol.
    pub(crate) fn name(&self, symbol: u16) -> &str {
        self.names.get(usize::from(symbol)).map_or("ERROR", String::as_str)
    }

    /// What the grammar calls a field; 0 is none.
    pub(crate) fn field(&self, field: u16) -> &str {
        self.fields.get(usize::from(field)).map_or("", String::as_str)
    }

    pub(crate) fn kind(&self, symbol: u16) -> Kind {
        // The symbol of an error lies outside of the grammar.
        self.kinds.get(usize::from(symbol)).copied().unwrap_or(Kind::Error)
    }
}

/// The kind of a word that the grammar spells out.
fn word(name: &str) -> Kind {
    match name {
        "&&" | "||" | "and" | "or" => Kind::Junction,
        "default" => Kind::Default,
        _ if name.starts_with(|first: char| first.is_ascii_alphabetic()) => Kind::Keyword,
        "@interface" => Kind::Keyword,
        "_" => Kind::Identifier,
        _ => Kind::Operator,
    }
}

fn java(name: &str) -> Kind {
    match name {
        "line_comment" | "block_comment" => Kind::Comment,
        "identifier" | "underscore_pattern" => Kind::Identifier,
        "type_identifier" => Kind::TypeIdentifier,
        "this" | "super" | "true" | "false" | "null_literal" | "boolean_type" => Kind::Keyword,
        "void_type" => Kind::VoidType,
        "string_literal" | "character_literal" => Kind::Text,
        "decimal_integer_literal"
        | "hex_integer_literal"
        | "octal_integer_literal"
        | "binary_integer_literal"
        | "decimal_floating_point_literal"
        | "hex_floating_point_literal" => Kind::Number,
        "asterisk" => Kind::Asterisk,
        "package_declaration" => Kind::Package,
        "import_declaration" => Kind::Import,
        "scoped_identifier" => Kind::QualifiedName,
        "class_declaration" | "record_declaration" | "enum_declaration" => Kind::Class,
        "interface_declaration" => Kind::Interface,
        "class_body" | "interface_body" | "enum_body" | "enum_body_declarations" => Kind::Body,
        "superclass" => Kind::Superclass,
        "super_interfaces" | "extends_interfaces" => Kind::Interfaces,
        "method_declaration" => Kind::Function,
        "constructor_declaration" | "compact_constructor_declaration" => Kind::Constructor,
        "static_initializer" => Kind::Initializer,
        "field_declaration" | "constant_declaration" => Kind::Field,
        "modifiers" => Kind::Modifiers,
        "annotation" | "marker_annotation" => Kind::Annotation,
        "formal_parameters" => Kind::Parameters,
        "formal_parameter" | "spread_parameter" => Kind::Parameter,
        "scoped_type_identifier" => Kind::ScopedType,
        "generic_type" => Kind::GenericType,
        "type_arguments" => Kind::TypeArguments,
        "method_invocation" => Kind::Invocation,
        "object_creation_expression" => Kind::Creation,
        "explicit_constructor_invocation" => Kind::ConstructorCall,
        "method_reference" => Kind::FunctionReference,
        "argument_list" => Kind::Arguments,
        "block" | "constructor_body" => Kind::Block,
        "if_statement" => Kind::If,
        "for_statement" | "enhanced_for_statement" => Kind::For,
        "while_statement" => Kind::While,
        "do_statement" => Kind::Do,
        "try_statement" | "try_with_resources_statement" => Kind::Try,
        "catch_clause" => Kind::Catch,
        "switch_expression" => Kind::Switch,
        "switch_label" => Kind::SwitchLabel,
        "assert_statement" => Kind::Assert,
        "expression_statement" => Kind::Expression,
        "local_variable_declaration"
        | "return_statement"
        | "throw_statement"
        | "break_statement"
        | "continue_statement"
        | "yield_statement"
        | "labeled_statement"
        | "synchronized_statement" => Kind::OtherStatement,
        "ternary_expression" => Kind::Ternary,
        "lambda_expression" => Kind::Lambda,
        _ => Kind::Other,
    }
}

fn python(name: &str) -> Kind {
    match name {
        // A joined line is as little a word as a comment is.
        "comment" | "line_continuation" => Kind::Comment,
        "identifier" => Kind::Identifier,
        "true" | "false" | "none" => Kind::Keyword,
        "ellipsis" => Kind::Operator,
        "string" => Kind::Text,
        "integer" | "float" => Kind::Number,
        "import_statement" => Kind::Import,
        "import_from_statement" => Kind::ImportFrom,
        "future_import_statement" => Kind::FutureImport,
        "aliased_import" => Kind::AliasedImport,
        "relative_import" => Kind::RelativeImport,
        "wildcard_import" => Kind::Asterisk,
        "dotted_name" => Kind::QualifiedName,
        "class_definition" => Kind::Class,
        "function_definition" => Kind::Function,
        "decorated_definition" => Kind::Decorated,
        "decorator" => Kind::Annotation,
        "parameters" => Kind::Parameters,
        "default_parameter" | "typed_parameter" | "typed_default_parameter" => Kind::Parameter,
        "type" => Kind::TypePlace,
        "generic_type" => Kind::GenericType,
        "call" => Kind::Call,
        "attribute" => Kind::Attribute,
        "argument_list" => Kind::Arguments,
        "generator_expression" => Kind::GeneratorExpression,
        "keyword_argument" => Kind::KeywordArgument,
        "block" => Kind::Block,
        "if_statement" => Kind::If,
        "elif_clause" => Kind::Elif,
        "else_clause" => Kind::Else,
        "for_statement" => Kind::For,
        "while_statement" => Kind::While,
        "try_statement" => Kind::Try,
        "except_clause" => Kind::Catch,
        "match_statement" => Kind::Switch,
        "case_clause" => Kind::Case,
        "assert_statement" => Kind::Assert,
        "expression_statement" => Kind::Expression,
        "assignment" => Kind::Assignment,
        "return_statement"
        | "raise_statement"
        | "pass_statement"
        | "break_statement"
        | "continue_statement"
        | "delete_statement"
        | "global_statement"
        | "nonlocal_statement"
        | "with_statement"
        | "exec_statement"
        | "print_statement"
        | "type_alias_statement" => Kind::OtherStatement,
        "conditional_expression" => Kind::Ternary,
        "lambda" => Kind::Lambda,
        "for_in_clause" => Kind::ForClause,
        "if_clause" => Kind::IfClause,
        _ => Kind::Other,
    }
}
