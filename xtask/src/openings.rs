//! Every source file opens with a `//!` sentence, contains no marker of unfinished work and declares no empty name.

use crate::source::Source;

/// Macros that mark unfinished code.
const UNFINISHED: [&str; 3] = ["todo!(", "dbg!(", "unimplemented!("];
const MARKS: [&str; 2] = ["FIXME", "XXX"];
/// Suffixes of type and module names that do not describe the thing.
const EMPTY_NAMES: [&str; 5] = ["Manager", "Helper", "Util", "Utils", "Common"];

/// Returns one finding per missing opening, marker and empty name.
pub fn check(sources: &[Source]) -> Vec<String> {
    sources.iter().flat_map(check_one).collect()
}

fn check_one(source: &Source) -> Vec<String> {
    let mut findings = Vec::new();
    if !source.text.starts_with("//!") {
        findings.push(format!("{}:1: does not open with a //! sentence", source.path));
    }
    for (number, (code, text)) in source.code.lines().zip(source.text.lines()).enumerate() {
        let at = format!("{}:{}", source.path, number + 1);
        findings.extend(UNFINISHED.iter().filter(|w| code.contains(**w)).map(|w| format!("{at}: {w}..)")));
        // Only comments can contain a marker: `code` is shorter where a comment was blanked.
        let comment = text.len() > code.trim_end().len();
        let marked = |mark: &&&str| comment && text.contains(&format!("// {mark}"));
        findings.extend(MARKS.iter().filter(marked).map(|mark| format!("{at}: {mark}")));
        findings.extend(
            empty_name(code).map(|name| format!("{at}: the name {name} does not describe the thing")),
        );
    }
    findings
}

/// Returns the name that the line declares, if it ends in an empty word.
fn empty_name(code: &str) -> Option<&str> {
    let mut words = code.split_whitespace();
    words.find(|word| ["struct", "enum", "trait", "type", "mod"].contains(word))?;
    let name = words.next()?.split(|c: char| !c.is_alphanumeric() && c != '_').next()?;
    let module = |word: &str| name == word.to_lowercase();
    EMPTY_NAMES.iter().any(|word| name.ends_with(word) || module(word)).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::{Source, check};

    #[test]
    fn finding_names_the_line() {
        let text = "fn a() {\n    todo!()\n}\nstruct ShareManager;\nmod util;\n// FIXME later\n";
        let findings = check(&[Source::new("a.rs", text)]);
        let places: Vec<_> = findings.iter().map(|f| f.split(": ").next().unwrap()).collect();
        assert_eq!(places, ["a.rs:1", "a.rs:2", "a.rs:4", "a.rs:5", "a.rs:6"]);
    }

    #[test]
    fn strings_and_comments_may_contain_macro_names() {
        let text = "//! On todo!() and dbg!().\nconst A: &str = \"todo!()\";\nmod common_prefix;\n";
        assert_eq!(check(&[Source::new("a.rs", text)]), Vec::<String>::new());
    }
}
