//! Names and calls of one file.

use std::collections::HashMap;

use flakewise_source::Language;

use super::{ClassRef, FunctionRef, Index, Target, module_of};
use crate::graph::Callee;
use crate::limits::{NAME_PARTS, REEXPORTS};
use crate::outline::{Import, simple_type};
use crate::resolve::{CallSite, Resolution, Resolve};

/// Resolves the calls of one file by its imports, its package, declared types
/// and superclasses.
#[derive(Debug)]
pub struct FileResolver<'i> {
    index: &'i Index,
    file: u32,
    imports: HashMap<&'i str, &'i Import>,
}

/// What a name stands for.
enum Named {
    Class(ClassRef),
    Function(FunctionRef),
    /// A Python module.
    Module(u32),
}

impl<'i> FileResolver<'i> {
    pub(crate) fn new(index: &'i Index, file: u32) -> Self {
        let outline = &index.files[file as usize].outline;
        let imports = outline.imports.iter().filter(|import| !import.alias.is_empty());
        let imports = imports.map(|import| (import.alias.as_str(), import)).collect();
        Self { index, file, imports }
    }

    /// A class of the file itself.
    pub(super) fn own_class(&self, name: &str) -> Option<ClassRef> {
        let class = self.index.files[self.file as usize].outline.class(name)?;
        Some(ClassRef { file: self.file, class })
    }

    /// The class that a name stands for in the file.
    pub(crate) fn class(&self, name: &str) -> Option<ClassRef> {
        match self.named(name)? {
            Named::Class(class) => Some(class),
            _ => None,
        }
    }

    fn language(&self) -> Language {
        self.index.files[self.file as usize].language
    }

    fn named(&self, name: &str) -> Option<Named> {
        match self.language() {
            Language::Python => self.python_name(name),
            _ => self.java_class(name).map(Named::Class),
        }
    }

    /// `Cart`, `Cart.Item` or `acme.shop.Cart`.
    fn java_class(&self, name: &str) -> Option<ClassRef> {
        let mut parts = name.split('.').take(NAME_PARTS);
        let first = parts.next()?;
        if !first.starts_with(char::is_uppercase) {
            // With its package.
            let (package, class) = name.rsplit_once('.')?;
            return self.index.java_class_in(package, class);
        }
        let mut found = self.java_simple_class(first)?;
        for part in parts {
            found = self.index.member_class(found, part)?;
        }
        Some(found)
    }

    fn java_simple_class(&self, name: &str) -> Option<ClassRef> {
        if let Some(own) = self.own_class(name) {
            return Some(own);
        }
        let outline = &self.index.files[self.file as usize].outline;
        if let Some(import) = self.imports.get(name).filter(|import| !import.is_static) {
            let (package, class) = import.name.rsplit_once('.')?;
            // What is imported from elsewhere is not in the repository.
            return self.index.java_class_in(package, class);
        }
        let packages = outline.imports.iter().filter(|import| import.alias.is_empty() && !import.is_static);
        let packages =
            std::iter::once(outline.package.as_str()).chain(packages.map(|import| import.name.as_str()));
        for package in packages.take(super::OVERLOADS) {
            if let Some(found) = self.index.java_class_in(package, name) {
                return Some(found);
            }
        }
        // A class that is nested in a superclass, or whose type another file
        // names: only if there is no doubt which it is.
        match self.index.classes.get(name)?.as_slice() {
            [only] if !is_of_java(name) => Some(*only),
            _ => None,
        }
    }

    /// `Cart`, `cart.total` or `shop.cart.Cart`.
    fn python_name(&self, name: &str) -> Option<Named> {
        let mut parts = name.split('.').take(NAME_PARTS);
        let mut found = self.python_simple_name(parts.next()?, 0)?;
        for part in parts {
            found = match found {
                Named::Module(file) => {
                    let module = FileResolver::new(self.index, file);
                    let nested = || {
                        let name = module_of(&self.index.files[file as usize].path);
                        self.index.module(&format!("{name}.{part}")).map(Named::Module)
                    };
                    module.python_simple_name(part, 0).or_else(nested)?
                }
                Named::Class(class) => self.index.member_class(class, part).map(Named::Class)?,
                Named::Function(_) => return None,
            };
        }
        Some(found)
    }

    fn python_simple_name(&self, name: &str, depth: usize) -> Option<Named> {
        let file = &self.index.files[self.file as usize];
        if let Some(class) = self.own_class(name) {
            return Some(Named::Class(class));
        }
        let of_module = file.functions.last()?;
        let own = of_module.iter().rev().find(|at| file.outline.functions[**at as usize].name == name);
        if let Some(function) = own {
            return Some(Named::Function(FunctionRef { file: self.file, function: *function }));
        }
        let import = self.imports.get(name)?;
        let full = absolute(&module_of(&file.path), file.path.ends_with("__init__.py"), &import.name)?;
        // `import a.b` brings `a`.
        let full = if import.alias != *full.rsplit('.').next()? && full.starts_with(&format!("{name}.")) {
            name.to_owned()
        } else {
            full
        };
        if let Some(module) = self.index.module(&full) {
            return Some(Named::Module(module));
        }
        let (module, name) = full.rsplit_once('.')?;
        let module = self.index.module(module).filter(|module| *module != self.file)?;
        if depth >= REEXPORTS {
            return None;
        }
        FileResolver::new(self.index, module).python_simple_name(name, depth + 1)
    }

    /// The class of a type, which need not be imported where another file names
    /// it.
    pub(crate) fn class_of_type(&self, type_name: &str) -> Option<ClassRef> {
        let unique = || match self.index.classes.get(type_name).map(Vec::as_slice) {
            Some([only]) if !is_of_java(type_name) => Some(*only),
            _ => None,
        };
        let imported = self.imports.contains_key(type_name);
        self.class(type_name).or_else(|| if imported { None } else { unique() })
    }

    /// The class of a receiver: by its type, or by the name of the class,
    /// which may be followed by static fields.
    fn receiver_class(&self, call: &CallSite<'_>) -> Option<ClassRef> {
        if !call.receiver_type.is_empty() {
            return self.class_of_type(call.receiver_type);
        }
        if let Some(class) = self.class(call.receiver) {
            return Some(class);
        }
        let (holder, field) = call.receiver.rsplit_once('.')?;
        let holder = self.class(holder)?;
        let type_name = self.index.field_type(holder, field)?;
        FileResolver::new(self.index, holder.file).class(type_name)
    }

    /// Whether the file imports a name.
    pub(crate) fn imports(&self, name: &str) -> bool {
        self.imports.contains_key(name)
    }

    /// Whether the file imports a function of a name, or all those of a class.
    pub(crate) fn imports_function(&self, name: &str) -> bool {
        let imports = &self.index.files[self.file as usize].outline.imports;
        imports.iter().any(|import| import.is_static && (import.alias.is_empty() || import.alias == name))
    }

    /// What a call runs.
    pub(crate) fn target(&self, call: &CallSite<'_>) -> Option<Target> {
        if call.is_creation {
            return self.class(call.name).map(|class| self.index.constructor(class, call.arguments));
        }
        if !call.receiver_type.is_empty() || !call.receiver.is_empty() {
            if let Some(class) = self.receiver_class(call) {
                return self.index.method(class, call.name, call.arguments).map(Target::Function);
            }
            if call.receiver.is_empty() || self.language() != Language::Python {
                return None;
            }
            // `module.function`
            return match self.python_name(&format!("{}.{}", call.receiver, call.name))? {
                Named::Function(function) => Some(Target::Function(function)),
                Named::Class(class) => Some(self.index.constructor(class, call.arguments)),
                Named::Module(_) => None,
            };
        }
        if self.language() == Language::Python {
            return match self.python_name(call.name)? {
                Named::Function(function) => Some(Target::Function(function)),
                Named::Class(class) => Some(self.index.constructor(class, call.arguments)),
                Named::Module(_) => None,
            };
        }
        // Static imports: `import static acme.Carts.total`.
        let outline = &self.index.files[self.file as usize].outline;
        let imports = outline.imports.iter().filter(|import| import.is_static);
        let imports = imports.filter(|import| import.alias.is_empty() || import.alias == call.name);
        imports.take(super::OVERLOADS).find_map(|import| {
            let class = if import.alias.is_empty() { &import.name } else { import.name.rsplit_once('.')?.0 };
            let (package, class) = class.rsplit_once('.')?;
            let class = self.index.java_class_in(package, class)?;
            self.index.method(class, call.name, call.arguments).map(Target::Function)
        })
    }
}

impl Resolve for FileResolver<'_> {
    fn resolve(&self, call: &CallSite<'_>) -> Option<Resolution> {
        Some(match self.target(call)? {
            Target::Function(at) => {
                let file = &self.index.files[at.file as usize];
                let function = &file.outline.functions[at.function as usize];
                let constructs = call.is_creation || matches!(function.name.as_str(), "__init__" | "__new__");
                let class = function.class.map(|class| &file.outline.classes[class as usize]);
                let returns = match class {
                    Some(class) if constructs => &class.name,
                    _ => &function.returns,
                };
                let callee = Callee {
                    path: file.path.clone(),
                    name: file.outline.qualified(function),
                    parameters: u32::try_from(function.parameters.len()).unwrap_or(u32::MAX),
                    line: function.line,
                };
                Resolution { callee: (!file.is_test).then_some(callee), returns: returns.clone() }
            }
            Target::Class(at) => {
                let file = &self.index.files[at.file as usize];
                let class = &file.outline.classes[at.class as usize];
                let callee = Callee {
                    path: file.path.clone(),
                    name: class.name.clone(),
                    parameters: 0,
                    line: class.line,
                };
                Resolution { callee: (!file.is_test).then_some(callee), returns: class.name.clone() }
            }
        })
    }
}

impl Index {
    fn java_class_in(&self, package: &str, class: &str) -> Option<ClassRef> {
        let files = self.packages.get(package);
        let named = self.classes.get(class)?;
        if let Some(files) = files {
            let found = named.iter().find(|found| files.binary_search(&found.file).is_ok());
            if found.is_some() {
                return found.copied();
            }
        }
        // `acme.Cart.Item`: the package ends in a class.
        let (package, outer) = package.rsplit_once('.')?;
        let files = self.packages.get(package)?;
        named.iter().copied().find(|found| {
            let outline = &self.files[found.file as usize].outline;
            let around = outline.classes[found.class as usize].outer;
            files.binary_search(&found.file).is_ok()
                && around.is_some_and(|around| outline.classes[around as usize].name == outer)
        })
    }

    /// A class within a class.
    fn member_class(&self, outer: ClassRef, name: &str) -> Option<ClassRef> {
        let classes = &self.files[outer.file as usize].outline.classes;
        let class =
            (0..).zip(classes).find(|(_, class)| class.name == name && class.outer == Some(outer.class));
        class.map(|(class, _)| ClassRef { file: outer.file, class })
    }

    fn field_type(&self, class: ClassRef, field: &str) -> Option<&str> {
        let fields = &self.files[class.file as usize].outline.classes[class.class as usize].fields;
        let field = fields.iter().find(|known| known.name == field)?;
        Some(field.type_name.as_str()).filter(|name| !name.is_empty())
    }

    /// The type of a field of a class or of one of its superclasses, with the
    /// file that declares it.
    pub(crate) fn inherited_field_type(&self, class: ClassRef, field: &str) -> Option<(u32, &str)> {
        let found = |class: &ClassRef| Some((class.file, self.field_type(*class, field)?));
        self.lineage(class).iter().find_map(found)
    }

    /// A method of a class or of one of its superclasses.
    pub(crate) fn method(&self, class: ClassRef, name: &str, arguments: &[String]) -> Option<FunctionRef> {
        self.lineage(class).iter().find_map(|class| self.own_method(*class, name, arguments))
    }

    /// The method of a class that fits the arguments best: their number first,
    /// then as many types as are known.
    pub(crate) fn own_method(
        &self,
        class: ClassRef,
        name: &str,
        arguments: &[String],
    ) -> Option<FunctionRef> {
        let file = &self.files[class.file as usize];
        let functions = file.by_name.get(class.class as usize)?;
        let name_of = |at: &u32| file.outline.functions[*at as usize].name.as_str();
        let first = functions.partition_point(|at| name_of(at) < name);
        let named = functions[first..].iter().take_while(|at| name_of(at) == name);
        let best = named.take(super::OVERLOADS).max_by_key(|at| {
            let function = &file.outline.functions[**at as usize];
            let types = function.parameters.iter().zip(arguments);
            let same = types.filter(|(parameter, argument)| {
                !argument.is_empty() && parameter.type_name == simple_type(argument)
            });
            // Of equals the first.
            (function.accepts(arguments.len()), same.count(), std::cmp::Reverse(**at))
        })?;
        Some(FunctionRef { file: class.file, function: *best })
    }

    fn constructor(&self, class: ClassRef, arguments: &[String]) -> Target {
        let file = &self.files[class.file as usize];
        let name = match file.language {
            Language::Python => "__init__",
            _ => &file.outline.classes[class.class as usize].name,
        };
        self.own_method(class, name, arguments).map_or(Target::Class(class), Target::Function)
    }

    /// A Python file by its module, which may be written from any folder above
    /// it.
    fn module(&self, name: &str) -> Option<u32> {
        let last = name.rsplit('.').next()?;
        let files = self.modules.get(last)?;
        let fits = |file: &u32| {
            let module = module_of(&self.files[*file as usize].path);
            module.strip_suffix(name).is_some_and(|before| before.is_empty() || before.ends_with('.'))
        };
        // The nearest to the root.
        files
            .iter()
            .copied()
            .take(super::OVERLOADS)
            .filter(fits)
            .min_by_key(|file| (self.files[*file as usize].path.matches('/').count(), *file))
    }
}

/// A name that is imported, from the root: dots at its begin lead up from the
/// module at hand.
fn absolute(module: &str, is_package: bool, name: &str) -> Option<String> {
    let dots = name.bytes().take_while(|byte| *byte == b'.').count();
    if dots == 0 {
        return Some(name.to_owned());
    }
    let mut folder = module;
    for _ in 0..dots - usize::from(is_package) {
        if folder.is_empty() {
            return None;
        }
        folder = folder.rsplit_once('.').map_or("", |(folder, _)| folder);
    }
    let rest = &name[dots..];
    Some(if folder.is_empty() { rest.to_owned() } else { format!("{folder}.{rest}") })
}

/// Names that are hardly ever a project's own, where no import tells.
fn is_of_java(name: &str) -> bool {
    matches!(
        name,
        "String"
            | "Object"
            | "Integer"
            | "Long"
            | "List"
            | "Map"
            | "Set"
            | "Thread"
            | "System"
            | "Math"
            | "Builder"
            | "Collections"
            | "Arrays"
            | "Assert"
            | "Test"
            | "Entry"
            | "Type"
            | "File"
            | "Path"
    )
}
