//! What a node of either grammar means for the flow of data.

/// How a syntax node is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Holds no values: types, annotations, imports, jumps.
    Skip,
    /// The name of a variable, class, function or module.
    Name,
    /// `this`, `super`.
    Own,
    Literal,
    /// A text that may hold expressions.
    Text,
    Call,
    Creation,
    FunctionReference,
    /// `object.member`
    Member,
    /// `object[index]`
    Index,
    /// Compares: the operator labels what passes it.
    Comparison,
    /// Computes: the operator labels what has no label yet.
    Operator,
    Assignment,
    /// `x += 1`
    Augmented,
    /// `x++`
    Update,
    /// `name = value` of a Java declaration or of a resource.
    Declaration,
    /// `name := value`
    NamedExpression,
    /// `value instanceof Type name`
    InstanceOf,
    /// A value in brackets, awaited or cast: the same value.
    Wrapper,
    /// `name=value` in a call.
    KeywordArgument,
    /// A list, tuple, map or array.
    Collection,
    Comprehension,
    Lambda,
    /// The body of an anonymous class.
    Closure,
    NestedFunction,
    /// An expression as a statement.
    Statement,
    If,
    ForEach,
    Loop,
    Match,
    Case,
    Try,
    With,
    Assert,
    Return,
    Raise,
    /// Anything else: its value is that of all below it.
    Group,
}

/// How a node of Java's grammar is read.
pub(crate) fn java(kind: &str) -> Shape {
    match kind {
        "identifier" => Shape::Name,
        "this" | "super" => Shape::Own,
        "string_literal" | "character_literal" | "true" | "false" | "null_literal" | "class_literal" => {
            Shape::Literal
        }
        "method_invocation" => Shape::Call,
        "object_creation_expression" => Shape::Creation,
        "method_reference" => Shape::FunctionReference,
        "field_access" | "scoped_identifier" => Shape::Member,
        "array_access" => Shape::Index,
        "binary_expression" | "unary_expression" => Shape::Operator,
        "instanceof_expression" => Shape::InstanceOf,
        "assignment_expression" => Shape::Assignment,
        "update_expression" => Shape::Update,
        "variable_declarator" | "resource" => Shape::Declaration,
        "parenthesized_expression" | "cast_expression" => Shape::Wrapper,
        "array_creation_expression" | "array_initializer" => Shape::Collection,
        "lambda_expression" => Shape::Lambda,
        "class_body" => Shape::Closure,
        "method_declaration" | "constructor_declaration" | "compact_constructor_declaration" => {
            Shape::NestedFunction
        }
        "expression_statement" => Shape::Statement,
        "if_statement" => Shape::If,
        "enhanced_for_statement" => Shape::ForEach,
        "for_statement" | "while_statement" => Shape::Loop,
        "switch_expression" => Shape::Match,
        "switch_block_statement_group" | "switch_rule" => Shape::Case,
        "try_statement" | "try_with_resources_statement" => Shape::Try,
        "assert_statement" => Shape::Assert,
        "return_statement" | "yield_statement" => Shape::Return,
        "throw_statement" => Shape::Raise,
        "modifiers"
        | "type_identifier"
        | "generic_type"
        | "scoped_type_identifier"
        | "integral_type"
        | "floating_point_type"
        | "boolean_type"
        | "void_type"
        | "array_type"
        | "annotated_type"
        | "type_arguments"
        | "type_parameters"
        | "marker_annotation"
        | "annotation"
        | "import_declaration"
        | "package_declaration"
        | "dimensions"
        | "formal_parameters"
        | "throws"
        | "superclass"
        | "super_interfaces"
        | "break_statement"
        | "continue_statement"
        | "switch_label" => Shape::Skip,
        _ if kind.ends_with("_literal") => Shape::Literal,
        _ => Shape::Group,
    }
}

/// How a node of Python's grammar is read.
pub(crate) fn python(kind: &str) -> Shape {
    match kind {
        "identifier" => Shape::Name,
        "integer" | "float" | "true" | "false" | "none" | "ellipsis" => Shape::Literal,
        "string" => Shape::Text,
        "call" => Shape::Call,
        "attribute" => Shape::Member,
        "subscript" => Shape::Index,
        "comparison_operator" => Shape::Comparison,
        "binary_operator" | "boolean_operator" | "unary_operator" | "not_operator" => Shape::Operator,
        "assignment" => Shape::Assignment,
        "augmented_assignment" => Shape::Augmented,
        "named_expression" => Shape::NamedExpression,
        "parenthesized_expression" | "await" => Shape::Wrapper,
        "keyword_argument" => Shape::KeywordArgument,
        "list" | "tuple" | "dictionary" | "set" => Shape::Collection,
        "list_comprehension" | "set_comprehension" | "dictionary_comprehension" | "generator_expression" => {
            Shape::Comprehension
        }
        "lambda" => Shape::Lambda,
        "function_definition" => Shape::NestedFunction,
        "expression_statement" => Shape::Statement,
        "if_statement" => Shape::If,
        "for_statement" => Shape::ForEach,
        "while_statement" => Shape::Loop,
        "match_statement" => Shape::Match,
        "case_clause" => Shape::Case,
        "try_statement" => Shape::Try,
        "with_statement" => Shape::With,
        "assert_statement" => Shape::Assert,
        "return_statement" => Shape::Return,
        "raise_statement" => Shape::Raise,
        "import_statement"
        | "import_from_statement"
        | "future_import_statement"
        | "type"
        | "decorator"
        | "parameters"
        | "lambda_parameters"
        | "pass_statement"
        | "break_statement"
        | "continue_statement"
        | "global_statement"
        | "nonlocal_statement"
        | "type_alias_statement"
        | "case_pattern" => Shape::Skip,
        _ => Shape::Group,
    }
}

/// Whether an operator compares.
pub(crate) fn is_comparison(operator: &str) -> bool {
    matches!(operator, "==" | "!=" | "<" | ">" | "<=" | ">=" | "is" | "in" | "not in" | "is not" | "<>")
}
