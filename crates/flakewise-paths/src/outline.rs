//! What a file declares: its package, imports, classes, fields and functions.

use flakewise_source::{Language, NodeIndex, SyntaxTree};

use crate::limits::CLASS_DEPTH;

/// The declarations of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outline {
    /// Java's package, or an empty text.
    pub package: String,
    /// What the file imports.
    pub imports: Vec<Import>,
    /// A class stands after the one around it.
    pub classes: Vec<Class>,
    /// Methods and functions, in the order of the file.
    pub functions: Vec<Function>,
    /// Names of the variables of a Python module.
    pub variables: Vec<String>,
}

/// A name that a file imports.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Import {
    /// The full name, such as `java.util.List` or `shop.cart.Cart`. Relative
    /// modules keep their dots.
    pub name: String,
    /// The name in this file; empty for all names of a package, class or module.
    pub alias: String,
    /// Of a member of a class, in Java.
    pub is_static: bool,
}

/// A class or interface.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Class {
    /// The simple name.
    pub name: String,
    /// The class around it.
    pub outer: Option<u32>,
    /// Superclasses and interfaces, as written without type arguments.
    pub bases: Vec<String>,
    /// Names and types of the fields; the type may be empty.
    pub fields: Vec<Variable>,
    /// The line it begins on.
    pub line: u32,
}

/// A field or a parameter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Variable {
    /// The name.
    pub name: String,
    /// The simple name of the declared type, or an empty text.
    pub type_name: String,
}

/// A function, method or constructor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Function {
    /// The name; of a constructor that of its class, in Python `__init__`.
    pub name: String,
    /// The class it belongs to, if any.
    pub class: Option<u32>,
    /// Without `self` and `cls`.
    pub parameters: Vec<Variable>,
    /// Whether it takes further arguments.
    pub variadic: bool,
    /// How many parameters have defaults.
    pub defaults: u32,
    /// The simple name of the declared return type, or an empty text.
    pub returns: String,
    /// The first line, annotations and decorators included.
    pub line: u32,
    /// The last line.
    pub end_line: u32,
    /// The declaration in the tree it was read from.
    pub node: NodeIndex,
}

impl Function {
    /// Whether it can be called with a number of arguments.
    pub fn accepts(&self, arguments: usize) -> bool {
        let most = self.parameters.len();
        let least = most.saturating_sub(self.defaults as usize + usize::from(self.variadic));
        arguments >= least && (self.variadic || arguments <= most)
    }
}

impl Outline {
    /// Reads the declarations of a file in Java or Python; of other languages
    /// there are none.
    pub fn read(tree: &SyntaxTree) -> Self {
        let mut reader = Reader { tree, outline: Self::default(), open: Vec::new(), in_function: 0 };
        match tree.language() {
            Language::Java => reader.java(),
            Language::Python => reader.python(),
            _ => {}
        }
        reader.outline
    }

    /// Whether another outline has the same classes and functions on the same lines.
    pub(crate) fn declares_same(&self, other: &Self) -> bool {
        let classes = |outline: &Self| outline.classes.iter().map(|class| class.line).collect::<Vec<_>>();
        let functions = |outline: &Self| {
            let places =
                outline.functions.iter().map(|function| (function.class, function.line, function.end_line));
            places.collect::<Vec<_>>()
        };
        classes(self) == classes(other) && functions(self) == functions(other)
    }

    /// A class by its simple name; the first of several.
    pub fn class(&self, name: &str) -> Option<u32> {
        (0..).zip(&self.classes).find(|(_, class)| class.name == name).map(|(at, _)| at)
    }

    /// A class and those around it, innermost first.
    pub fn around(&self, class: u32) -> impl Iterator<Item = u32> + '_ {
        std::iter::successors(Some(class), |class| self.classes[*class as usize].outer)
    }

    /// The name of a function with its classes: `Cart.Item.total`.
    pub fn qualified(&self, function: &Function) -> String {
        let classes = function.class.into_iter().flat_map(|class| self.around(class));
        let mut parts: Vec<&str> = classes.map(|class| self.classes[class as usize].name.as_str()).collect();
        parts.reverse();
        parts.push(&function.name);
        parts.join(".")
    }
}

struct Reader<'t> {
    tree: &'t SyntaxTree,
    outline: Outline,
    /// Classes around, each with the node after it.
    open: Vec<(u32, NodeIndex)>,
    /// The node after the function around, where declarations are local.
    in_function: NodeIndex,
}

impl Reader<'_> {
    fn class_around(&mut self, at: NodeIndex) -> Option<u32> {
        while self.open.last().is_some_and(|(_, after)| *after <= at) {
            self.open.pop();
        }
        self.open.last().map(|(class, _)| *class)
    }

    fn add_class(&mut self, at: NodeIndex, class: Class) {
        if self.open.len() < CLASS_DEPTH {
            self.open.push((index(self.outline.classes.len()), self.tree.after(at)));
            self.outline.classes.push(class);
        }
    }

    fn text_of(&self, at: Option<NodeIndex>) -> String {
        at.map(|at| self.tree.text(at).to_owned()).unwrap_or_default()
    }

    fn java(&mut self) {
        let tree = self.tree;
        let end = tree.after(SyntaxTree::ROOT);
        let mut at = SyntaxTree::ROOT + 1;
        while at < end {
            let around = self.class_around(at);
            match tree.kind(at) {
                "package_declaration" => {
                    self.outline.package =
                        tree.children(at).last().map(|at| tree.text(at).to_owned()).unwrap_or_default();
                    at = tree.after(at);
                }
                "import_declaration" => {
                    self.java_import(at);
                    at = tree.after(at);
                }
                "class_declaration"
                | "interface_declaration"
                | "enum_declaration"
                | "record_declaration"
                | "annotation_type_declaration" => {
                    let class = Class {
                        name: self.text_of(tree.child(at, "name")),
                        outer: around,
                        bases: java_bases(tree, at),
                        fields: tree
                            .child(at, "parameters")
                            .map(|parameters| java_parameters(tree, parameters).0)
                            .unwrap_or_default(),
                        line: tree.line(at),
                    };
                    self.add_class(at, class);
                    at = tree.child(at, "body").unwrap_or(tree.after(at));
                }
                "field_declaration" | "constant_declaration" => {
                    if let Some(class) = around {
                        let type_name =
                            tree.child(at, "type").map(|at| simple_type(tree.text(at))).unwrap_or_default();
                        let names = tree.children(at).filter(|child| tree.field(*child) == "declarator");
                        let fields = names.map(|declarator| Variable {
                            name: self.text_of(tree.child(declarator, "name")),
                            type_name: type_name.to_owned(),
                        });
                        let fields: Vec<Variable> = fields.collect();
                        self.outline.classes[class as usize].fields.extend(fields);
                    }
                    at = tree.after(at);
                }
                "method_declaration" | "constructor_declaration" => {
                    let (parameters, variadic) = tree
                        .child(at, "parameters")
                        .map(|parameters| java_parameters(tree, parameters))
                        .unwrap_or_default();
                    self.outline.functions.push(Function {
                        name: self.text_of(tree.child(at, "name")),
                        class: around,
                        parameters,
                        variadic,
                        defaults: 0,
                        returns: tree
                            .child(at, "type")
                            .map(|at| simple_type(tree.text(at)).to_owned())
                            .unwrap_or_default(),
                        line: tree.line(at),
                        end_line: tree.end_line(at),
                        node: at,
                    });
                    at = tree.after(at);
                }
                "class_body" | "interface_body" | "enum_body" | "enum_body_declarations" | "ERROR" => at += 1,
                _ => at = tree.after(at),
            }
        }
    }

    fn java_import(&mut self, at: NodeIndex) {
        let tree = self.tree;
        let name = tree.children(at).find(|at| matches!(tree.kind(*at), "scoped_identifier" | "identifier"));
        let Some(name) = name.map(|at| tree.text(at)) else { return };
        let wildcard = tree.child_of_kind(at, "asterisk").is_some();
        let alias = if wildcard { "" } else { name.rsplit('.').next().unwrap_or(name).trim() };
        self.outline.imports.push(Import {
            name: name.to_owned(),
            alias: alias.to_owned(),
            is_static: tree.child_of_kind(at, "static").is_some(),
        });
    }

    fn python(&mut self) {
        let tree = self.tree;
        let end = tree.after(SyntaxTree::ROOT);
        let mut at = SyntaxTree::ROOT + 1;
        while at < end {
            let around = self.class_around(at);
            let local = at < self.in_function;
            match tree.kind(at) {
                "import_statement" | "import_from_statement" => {
                    self.python_import(at);
                    at = tree.after(at);
                }
                "class_definition" if !local => {
                    let bases =
                        tree.child(at, "superclasses").into_iter().flat_map(|list| tree.children(list));
                    let bases = bases
                        .filter(|base| matches!(tree.kind(*base), "identifier" | "attribute" | "subscript"));
                    let class = Class {
                        name: self.text_of(tree.child(at, "name")),
                        outer: around,
                        bases: bases.map(|base| without_brackets(tree.text(base)).to_owned()).collect(),
                        fields: Vec::new(),
                        line: tree.line(at),
                    };
                    self.add_class(at, class);
                    at = tree.child(at, "body").unwrap_or(tree.after(at));
                }
                "function_definition" if !local => {
                    self.python_function(at, around);
                    // Fields are assigned in methods.
                    if let Some(class) = around {
                        self.python_fields(at, class);
                    }
                    self.in_function = tree.after(at);
                    at += 1;
                }
                "assignment" if !local => {
                    let left = tree.child(at, "left").filter(|left| tree.kind(*left) == "identifier");
                    if let Some(left) = left {
                        let name = tree.text(left).to_owned();
                        match around {
                            Some(class) => {
                                let type_name = evident_type(tree, at);
                                self.outline.classes[class as usize]
                                    .fields
                                    .push(Variable { name, type_name });
                            }
                            None => self.outline.variables.push(name),
                        }
                    }
                    at = tree.after(at);
                }
                "string" | "call" => at = tree.after(at),
                _ => at += 1,
            }
        }
    }

    fn python_function(&mut self, at: NodeIndex, class: Option<u32>) {
        let tree = self.tree;
        let mut function = Function {
            name: self.text_of(tree.child(at, "name")),
            class,
            returns: tree
                .child(at, "return_type")
                .map(|at| simple_type(tree.text(at)).to_owned())
                .unwrap_or_default(),
            line: tree.line(at),
            end_line: tree.end_line(at),
            node: at,
            ..Function::default()
        };
        if tree.kind(tree.parent(at)) == "decorated_definition" {
            function.line = tree.line(tree.parent(at));
        }
        for parameter in tree.child(at, "parameters").into_iter().flat_map(|list| tree.children(list)) {
            let kind = tree.kind(parameter);
            if matches!(kind, "list_splat_pattern" | "dictionary_splat_pattern") {
                function.variadic = true;
                continue;
            }
            if matches!(kind, "keyword_separator" | "positional_separator") {
                continue;
            }
            let name = match kind {
                "identifier" => Some(parameter),
                _ => tree.child(parameter, "name").or_else(|| tree.children(parameter).next()),
            };
            if kind.contains("default") {
                function.defaults += 1;
            }
            let type_name =
                tree.child(parameter, "type").map(|at| simple_type(tree.text(at))).unwrap_or_default();
            function.parameters.push(Variable { name: self.text_of(name), type_name: type_name.to_owned() });
        }
        let bound =
            function.parameters.first().is_some_and(|first| matches!(first.name.as_str(), "self" | "cls"));
        if class.is_some() && bound {
            function.parameters.remove(0);
        }
        self.outline.functions.push(function);
    }

    /// `self.name = …` in a method.
    fn python_fields(&mut self, function: NodeIndex, class: u32) {
        let tree = self.tree;
        for at in function..tree.after(function) {
            if tree.kind(at) != "assignment" {
                continue;
            }
            let Some(left) = tree.child(at, "left").filter(|left| tree.kind(*left) == "attribute") else {
                continue;
            };
            let object = tree.child(left, "object").map(|object| tree.text(object));
            let (Some("self" | "cls"), Some(name)) = (object, tree.child(left, "attribute")) else {
                continue;
            };
            let field = Variable { name: tree.text(name).to_owned(), type_name: evident_type(tree, at) };
            let fields = &mut self.outline.classes[class as usize].fields;
            if fields.len() < crate::limits::OVERLOADS && fields.iter().all(|known| known.name != field.name)
            {
                fields.push(field);
            }
        }
    }

    fn python_import(&mut self, at: NodeIndex) {
        let tree = self.tree;
        let module = tree.child(at, "module_name").map(|at| tree.text(at)).unwrap_or_default();
        if tree.child_of_kind(at, "wildcard_import").is_some() {
            self.outline.imports.push(Import { name: module.to_owned(), ..Import::default() });
        }
        for name in tree.all_children(at).filter(|child| tree.field(*child) == "name") {
            let (name, alias) = match tree.kind(name) {
                "aliased_import" => {
                    let part = |field| tree.child(name, field).map(|at| tree.text(at)).unwrap_or_default();
                    (part("name"), part("alias"))
                }
                // `import a.b` brings `a`.
                _ if module.is_empty() => {
                    (tree.text(name), tree.text(name).split('.').next().unwrap_or_default())
                }
                _ => (tree.text(name), tree.text(name)),
            };
            let separator = if module.is_empty() || module.ends_with('.') { "" } else { "." };
            self.outline.imports.push(Import {
                name: format!("{module}{separator}{name}"),
                alias: alias.to_owned(),
                is_static: false,
            });
        }
    }
}

fn java_bases(tree: &SyntaxTree, class: NodeIndex) -> Vec<String> {
    let mut bases = Vec::new();
    for child in tree.children(class) {
        if matches!(tree.kind(child), "superclass" | "super_interfaces" | "extends_interfaces") {
            for base in tree.children(child) {
                if tree.kind(base) == "type_list" {
                    bases
                        .extend(tree.children(base).map(|base| without_brackets(tree.text(base)).to_owned()));
                } else {
                    bases.push(without_brackets(tree.text(base)).to_owned());
                }
            }
        }
    }
    bases
}

fn java_parameters(tree: &SyntaxTree, parameters: NodeIndex) -> (Vec<Variable>, bool) {
    let mut variadic = false;
    let mut read = Vec::new();
    for parameter in tree.children(parameters) {
        match tree.kind(parameter) {
            "formal_parameter" => {
                let text = |field| tree.child(parameter, field).map(|at| tree.text(at)).unwrap_or_default();
                read.push(Variable {
                    name: text("name").to_owned(),
                    type_name: simple_type(text("type")).to_owned(),
                });
            }
            "spread_parameter" => {
                variadic = true;
                let name = tree.children(parameter).find(|at| tree.kind(*at) == "variable_declarator");
                let type_name = tree.children(parameter).find(|at| tree.kind(*at) != "modifiers");
                let text = |at: Option<NodeIndex>| at.map(|at| tree.text(at)).unwrap_or_default();
                read.push(Variable {
                    name: text(name).to_owned(),
                    type_name: simple_type(text(type_name)).to_owned(),
                });
            }
            _ => {}
        }
    }
    (read, variadic)
}

/// The type of an assignment in Python: as annotated, or the class created.
pub(crate) fn evident_type(tree: &SyntaxTree, assignment: NodeIndex) -> String {
    if let Some(type_name) = tree.child(assignment, "type") {
        return simple_type(tree.text(type_name)).to_owned();
    }
    let right = tree.child(assignment, "right").filter(|right| tree.kind(*right) == "call");
    let function = right.and_then(|call| tree.child(call, "function")).map(|at| simple_type(tree.text(at)));
    function.filter(|name| name.starts_with(char::is_uppercase)).unwrap_or_default().to_owned()
}

/// A type without its package and its arguments: `List` of `java.util.List<String>`.
pub(crate) fn simple_type(text: &str) -> &str {
    let text = without_brackets(text);
    text.rsplit(['.', ' ', '\n']).find(|part| !part.is_empty()).unwrap_or_default()
}

/// A type without its arguments and dimensions.
pub(crate) fn without_brackets(text: &str) -> &str {
    text.split(['<', '[', '(']).next().unwrap_or(text).trim()
}

fn index(length: usize) -> u32 {
    u32::try_from(length).expect("a file has fewer declarations than bytes")
}
