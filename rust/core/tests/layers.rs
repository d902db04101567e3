//! Enforces the direction of imports: a top-level module of `rust/core/src` imports only from its left, and
//! no files of one module import each other in a cycle.
//!
//! Tokenizes every source file, without comments and literals, and resolves every path that begins with
//! `crate`, `self` or `super`, wherever it occurs: in a `use`, in a group, in an expression, a type or a
//! macro.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a test reports by panicking"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Leftmost first: a module may import from itself and from modules before it.
const ORDER: [&str; 17] = [
    "error",
    "spec",
    "expr",
    "codec",
    "storage",
    "log",
    "replay",
    "snapshot",
    "scan",
    "changes",
    "write",
    "definition",
    "transaction",
    "derived",
    "table",
    "maintenance",
    "statements",
];

#[test]
fn imports_point_left() {
    let mut checked = 0;
    let mut violations = Vec::new();
    for source in sources().iter().filter(|source| !source.modules.is_empty()) {
        let paths = paths(source);
        checked += paths.len();
        violations.extend(paths.iter().filter_map(|path| violation(source, path)));
    }
    assert!(violations.is_empty(), "{}", violations.join("\n"));
    assert!(checked > 0, "no imports found");
}

#[test]
fn files_of_a_module_do_not_import_each_other_in_a_cycle() {
    let mut found = BTreeMap::new();
    let core = sources();
    for module in ORDER {
        let inside = |source: &&Source| source.modules.first().is_some_and(|first| first == module);
        let import_graph = import_graph(&core.iter().filter(inside).collect::<Vec<_>>());
        assert!(import_graph.len() > 1, "no sources of {module} found");
        found.insert(module, cycles(&import_graph));
    }
    let bindings = sources_below("../bindings/src");
    let import_graph = import_graph(&bindings.iter().collect::<Vec<_>>());
    assert!(import_graph.len() > 10, "no sources of the bindings found");
    found.insert("bindings", cycles(&import_graph));
    found.retain(|_, cycles| !cycles.is_empty());
    assert!(found.is_empty(), "{found:#?}");
}

/// Returns the imports between files. A folder's own file may use the files in the folder, since it
/// consists of them.
fn import_graph(sources: &[&Source]) -> BTreeMap<Vec<String>, BTreeSet<Vec<String>>> {
    let files: BTreeSet<&[String]> = sources.iter().map(|s| s.modules.as_slice()).collect();
    let of_file = |source: &&Source| {
        let here = &source.modules;
        let imports = paths(source).into_iter().filter(|import| !import.in_tests);
        let to = imports.filter_map(|import| {
            let names = (1..=import.names.len()).rev();
            let named = names.filter_map(|length| import.names.get(..length));
            named
                .into_iter()
                .find(|names| files.contains(names))
                .map(<[String]>::to_vec)
        });
        let to = to.filter(|to| !to.starts_with(here)).collect();
        (here.clone(), to)
    };
    let is_test = |source: &&&Source| source.modules.iter().any(|name| name == "tests");
    sources
        .iter()
        .filter(|source| !is_test(source))
        .map(of_file)
        .collect()
}

/// Returns every set of files that import each other in a cycle.
fn cycles(import_graph: &BTreeMap<Vec<String>, BTreeSet<Vec<String>>>) -> Vec<Vec<String>> {
    let reached = |from: &Vec<String>| {
        let mut reached = BTreeSet::new();
        let mut next = vec![from];
        while let Some(file) = next.pop() {
            for to in import_graph.get(file).into_iter().flatten() {
                if reached.insert(to) {
                    next.push(to);
                }
            }
        }
        reached
    };
    let reached: BTreeMap<_, _> = import_graph
        .keys()
        .map(|file| (file, reached(file)))
        .collect();
    let mut cycles = BTreeSet::new();
    for (file, others) in &reached {
        let cycle = others
            .iter()
            .filter(|other| reached[**other].contains(file));
        let cycle: Vec<String> = cycle.map(|file| file.join("::")).collect();
        if cycle.len() > 1 {
            cycles.insert(cycle);
        }
    }
    cycles.into_iter().collect()
}

#[test]
fn detects_cycles_of_imports() {
    let source = |modules: &[&str], text: &str| Source {
        file: modules.join("/").into(),
        modules: modules.iter().map(|name| (*name).to_owned()).collect(),
        tokens: tokens(text),
    };
    let folder = source(&["log"], "mod one; use one::a; pub struct Log;");
    let first = source(&["log", "one"], "use super::two::b; use super::Log;");
    let three = source(&["log", "three"], "use super::one;");
    for (text, expected) in [
        ("", 0),
        ("use super::Log;", 0),
        ("fn f() { super::one::a(); }", 1),
        ("use crate::log::{three, Log};", 1),
        ("mod tests { use super::super::one::a; }", 0),
    ] {
        let two = source(&["log", "two"], text);
        let import_graph = import_graph(&[&folder, &first, &two, &three]);
        assert_eq!(cycles(&import_graph).len(), expected, "{text}");
    }
}

#[test]
fn every_file_belongs_to_a_module() {
    let sources = sources();
    assert!(sources.len() > 2, "no sources found");
    for source in sources.iter().filter(|source| !source.modules.is_empty()) {
        let file = source.file.display();
        assert!(
            rank(&source.modules[0]).is_some(),
            "{file} is in no module of ORDER"
        );
        for inclusion in [["#", "[", "path"], ["include", "!", "("]] {
            let includes = source.tokens.windows(3).any(|window| window == inclusion);
            assert!(!includes, "{file} includes a file that is not checked");
        }
    }
}

#[test]
fn the_crate_lists_its_modules_in_order() {
    let sources = sources();
    let root = sources
        .iter()
        .find(|source| source.modules.is_empty())
        .expect("src/lib.rs");
    let listed: Vec<&str> = root
        .tokens
        .windows(3)
        .filter(|window| window[0] == "mod" && window[2] == ";")
        .map(|window| window[1].as_str())
        .collect();
    let present = |module: &&str| {
        sources
            .iter()
            .any(|source| source.modules.first().is_some_and(|m| m == module))
    };
    let expected: Vec<&str> = ORDER.into_iter().filter(present).collect();
    assert_eq!(
        listed, expected,
        "src/lib.rs lists the modules that exist, leftmost first"
    );
}

#[test]
fn detects_imports_in_every_syntax() {
    let violations = |text: &str| {
        let modules = ["codec", "commit"].map(str::to_owned).to_vec();
        let source = Source {
            file: "codec/commit.rs".into(),
            modules,
            tokens: tokens(text),
        };
        paths(&source)
            .iter()
            .filter_map(|path| violation(&source, path))
            .count()
    };
    for right in [
        "use crate::error::{Error, Result};",
        "use super::checkpoint::Reader;",
        "use crate::{error::Error, spec::{self, Add}};",
        "mod tests { use super::*; use super::super::checkpoint::x; mod deeper { use super::super::y; } }",
        "fn f(&self) -> &'static str { self.x; \"crate::table::Table\" } // crate::table",
        "/* crate::table /* nested */ crate::scan */ use crate::codec::base85::decode;",
        "const A: char = '\"'; const B: &str = r#\"crate::table\"#;",
    ] {
        assert_eq!(violations(right), 0, "{right}");
    }
    for wrong in [
        "use crate::table::Table;",
        "pub(in crate::table) fn f() {}",
        "use crate::{error::Error, storage::{self, Storage}};",
        "use super::super::table::Table;",
        "use super::super::error::Error;", // leftward, but not by `crate::`
        "use super::{super::storage::Storage};",
        "use self::super::super::storage;",
        "fn f() { crate::log::list(); }",
        "use crate::*;",
        "use super::super::*;",
        "use crate as all;",
        "use crate::Error;", // an alias in lib.rs hides its module
        "mod tests { use super::super::super::table; }",
        "macro_rules! m { () => { $crate::scan::x() } }",
    ] {
        assert!(violations(wrong) > 0, "{wrong}");
    }
}

struct Source {
    /// Relative to `src`, e.g. `codec/commit/mod.rs`.
    file: PathBuf,
    /// From the crate's root down to this file, e.g. `["codec", "commit"]`; empty for `lib.rs`.
    modules: Vec<String>,
    tokens: Vec<String>,
}

/// A path in a `use` or expression, resolved from the crate's root.
#[derive(Debug)]
struct Import {
    relative: bool,
    /// True inside a module `tests`.
    in_tests: bool,
    names: Vec<String>,
}

fn rank(module: &str) -> Option<usize> {
    ORDER.iter().position(|name| *name == module)
}

/// Returns a message if an import is not allowed.
fn violation(source: &Source, import: &Import) -> Option<String> {
    let module = &source.modules[0];
    let written = import.names.join("::");
    let file = source.file.display();
    match import.names.first() {
        Some(used) if used == module => None,
        Some(_) if import.relative => {
            Some(format!("{file}: `{written}` leaves its module by `super`"))
        }
        Some(used) if rank(used).is_some() && rank(used) < rank(module) => None,
        Some(_) => Some(format!(
            "{file}: `{written}` is not to the left of `{module}`"
        )),
        None => Some(format!("{file}: names the whole crate")),
    }
}

fn sources() -> Vec<Source> {
    sources_below("src")
}

fn sources_below(root: &str) -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(root);
    let mut result = Vec::new();
    let mut directories = vec![root.clone()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                directories.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let file = path.strip_prefix(&root).unwrap().to_path_buf();
                let text = fs::read_to_string(&path).unwrap();
                result.push(Source {
                    modules: modules(&file),
                    file,
                    tokens: tokens(&text),
                });
            }
        }
    }
    result
}

fn modules(file: &Path) -> Vec<String> {
    let without_extension = file.with_extension("");
    let mut modules: Vec<String> = without_extension
        .iter()
        .map(|part| part.to_str().unwrap().to_owned())
        .collect();
    if modules == ["lib"] || modules.last().is_some_and(|last| last == "mod") {
        modules.pop();
    }
    modules
}

/// Splits a text into words, `::`, and single characters, without comments and literals.
fn tokens(text: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            comment_length(rest)
        } else if let Some(length) = raw_text_length(rest) {
            length
        } else if first == '"' {
            text_length(rest)
        } else if first == '\'' {
            character_length(rest).unwrap_or(1) // or a lifetime
        } else if first.is_whitespace() {
            first.len_utf8()
        } else {
            let is_word = |c: char| c.is_alphanumeric() || c == '_';
            let length = match rest.find(|c| !is_word(c)).unwrap_or(rest.len()) {
                0 if rest.starts_with("::") => 2,
                0 => first.len_utf8(),
                length => length,
            };
            tokens.push(rest[..length].to_owned());
            length
        };
        rest = &rest[length..];
    }
    tokens
}

fn comment_length(text: &str) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while at < text.len() {
        let step = text[at..].chars().next().unwrap().len_utf8();
        if text[at..].starts_with("/*") {
            depth += 1;
            at += 2;
        } else if text[at..].starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                break;
            }
        } else {
            at += step;
        }
    }
    at
}

fn raw_text_length(text: &str) -> Option<usize> {
    let marked = text.strip_prefix("br").or_else(|| text.strip_prefix('r'))?;
    let hashes = marked.len() - marked.trim_start_matches('#').len();
    let body = marked[hashes..].strip_prefix('"')?;
    let close = format!("\"{}", "#".repeat(hashes));
    Some(text.len() - body.len() + body.find(&close)? + close.len())
}

fn text_length(text: &str) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

fn character_length(text: &str) -> Option<usize> {
    let body = &text[1..];
    if let Some(escape) = body.strip_prefix('\\') {
        let code = escape.chars().next()?.len_utf8(); // may itself be a quote
        return Some(2 + code + escape[code..].find('\'')? + 1);
    }
    let length = body.chars().next()?.len_utf8();
    body[length..].starts_with('\'').then_some(1 + length + 1)
}

/// Returns every path of a file that begins with `crate`, `self` or `super`.
fn paths(source: &Source) -> Vec<Import> {
    let tokens = &source.tokens;
    let word = |at: usize| tokens.get(at).map_or("", String::as_str);
    let mut here = source.modules.clone(); // grows inside an inline module
    let mut inline = Vec::new(); // the brace depth of each inline module that is open
    let mut depth = 0;
    let mut found = Vec::new();
    for at in 0..tokens.len() {
        match word(at) {
            "{" => {
                depth += 1;
                if at > 1 && word(at - 2) == "mod" {
                    here.push(tokens[at - 1].clone());
                    inline.push(depth);
                }
            }
            "}" => {
                if inline.last() == Some(&depth) {
                    inline.pop();
                    here.pop();
                }
                depth -= 1;
            }
            start @ ("crate" | "self" | "super") => {
                let begins = at == 0 || word(at - 1) != "::";
                let whole = start == "crate" && word(at + 1) == "as";
                // a word inside a group is resolved from the group's own path
                if begins && (word(at + 1) == "::" || whole) && !in_use_group(tokens, at) {
                    let relative = start != "crate";
                    let mut names = if relative { here.clone() } else { Vec::new() };
                    if start == "super" {
                        names.pop();
                    }
                    let before = found.len();
                    follow(tokens, at + 1, names, relative, &mut found);
                    let in_tests = here.iter().any(|name| name == "tests");
                    found[before..]
                        .iter_mut()
                        .for_each(|path| path.in_tests = in_tests);
                }
            }
            _ => {}
        }
    }
    found
}

/// Returns `true` if the word at `at` is in the braces of a `use` whose path has begun before.
fn in_use_group(tokens: &[String], at: usize) -> bool {
    let mut depth = 0;
    for (index, token) in tokens.iter().enumerate().take(at).rev() {
        match token.as_str() {
            "}" => depth += 1,
            "{" if depth == 0 => return index > 0 && tokens[index - 1] == "::",
            "{" => depth -= 1,
            ";" => return false,
            _ => {}
        }
    }
    false
}

/// Continues a path after the `::` that follows `names`; returns the position after the path.
fn follow(
    tokens: &[String],
    mut at: usize,
    mut names: Vec<String>,
    relative: bool,
    result: &mut Vec<Import>,
) -> usize {
    let word = |at: usize| tokens.get(at).map_or("", String::as_str);
    while word(at) == "::" {
        match word(at + 1) {
            "{" => {
                at += 2;
                while !matches!(word(at), "}" | "") {
                    let mut inner = names.clone();
                    if !step(word(at), &mut inner) {
                        break;
                    }
                    at = follow(tokens, at + 1, inner, relative, result);
                    while !matches!(word(at), "," | "}" | "") {
                        at += 1; // `as name`
                    }
                    at += usize::from(word(at) == ",");
                }
                return at + 1;
            }
            next => {
                if !step(next, &mut names) {
                    break; // a turbofish
                }
                at += 2;
            }
        }
    }
    result.push(Import {
        relative,
        in_tests: false,
        names,
    });
    at
}

/// Advances by one name; returns `false` if the word is not a name.
fn step(word: &str, names: &mut Vec<String>) -> bool {
    match word {
        "super" => {
            names.pop();
        }
        "self" | "*" => {}
        name if name.starts_with(|c: char| c.is_alphabetic() || c == '_') => {
            names.push(name.to_owned())
        }
        _ => return false,
    }
    true
}
