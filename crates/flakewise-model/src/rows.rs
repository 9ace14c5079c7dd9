//! The answer to a query, free of any engine's types.

/// What a query gave.
#[derive(Clone, Debug, PartialEq)]
pub struct Rows {
    /// The names of the columns.
    pub columns: Vec<String>,
    /// The rows.
    pub rows: Vec<Vec<Value>>,
    /// Whether there was more than the limit.
    pub truncated: bool,
}

/// One value of a query's answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Nothing.
    Null,
    /// True or false.
    Boolean(bool),
    /// A whole number.
    Integer(i64),
    /// A number.
    Float(f64),
    /// Text, and everything that is best shown as text.
    Text(String),
}
