//! 8.3 names for everything that sharebench names, on volumes with DOS names only (docs/design/ncp.md).

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::sync::{Mutex, MutexGuard, PoisonError};

use sharebench_target::{DIRECTORY_PREFIX, MARKER, SHORT_MARKER, short_directory, short_hash};

use crate::wire::short_name;

/// The largest number of names that are remembered. Further ones are shown in their 8.3 form in listings.
const MAX_REMEMBERED: usize = 65_536;
/// The largest number of names in the fact.
const MAX_STATED: usize = 64;
/// Digits of the hash before and after the dot, of five bits each.
const DIGITS: (u32, u32) = (6, 3);

/// The names that the sessions of a target have used on a volume with DOS names only.
///
/// The engine knows nothing of 8.3 names. It names files as on every target, and each component of its paths is
/// converted here, the same way in every session, process and run:
/// - an 8.3 name in any case stays as it is, in upper case;
/// - the directories of sharebench at the top of a target, and the marker in them, have the forms of
///   [`short_directory`], by which `clean` recognises them;
/// - every other name becomes its first letter, `~`, and 45 bits of its hash.
///
/// The way back needs the memory of the names, which all sessions of a target share: names of a listing that the target
/// has used appear as the engine wrote them, others in lower case. Names at the limit of the memory do as well. Two
/// names with one 8.3 form are an error, because one file would replace the other.
#[derive(Debug, Default)]
pub(crate) struct ShortNames(Mutex<Memory>);

#[derive(Debug, Default)]
struct Memory {
    /// Names as the engine wrote them, by their 8.3 forms.
    written: BTreeMap<String, String>,
    /// Names of the volume that are not 8.3, which a server may have nevertheless; they are sent as they were listed.
    foreign: BTreeSet<String>,
}

impl Memory {
    fn remember(&mut self, short: &str, name: &str) -> Result<(), String> {
        match self.written.get(short) {
            Some(known) if known.to_lowercase() != name.to_lowercase() => {
                return Err(format!(
                    "'{name}' and '{known}' have the same 8.3 name, {short}: rename one of them"
                ));
            }
            None if self.written.len() < MAX_REMEMBERED => {
                self.written.insert(short.to_owned(), name.to_owned());
            }
            Some(_) | None => {}
        }
        Ok(())
    }
}

impl ShortNames {
    fn memory(&self) -> MutexGuard<'_, Memory> {
        // Every change is a single insertion, so the memory is consistent after a panic.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The 8.3 form of a name of the engine, or why there is none.
    pub(crate) fn short(&self, name: &str) -> Result<String, String> {
        if let Some(short) = valid(name) {
            // Only names that listings would not show in the same way need memory.
            if name.bytes().any(|byte| byte.is_ascii_uppercase()) {
                self.memory().remember(&short, name)?;
            }
            return Ok(short);
        }
        let mut memory = self.memory();
        if memory.foreign.contains(name) {
            return Ok(name.to_owned());
        }
        let short = derived(name);
        memory.remember(&short, name).map(|()| short)
    }

    /// The name that a listing shows for a name of the volume.
    pub(crate) fn shown(&self, listed: &str) -> String {
        let mut memory = self.memory();
        if let Some(name) = memory.written.get(&listed.to_ascii_uppercase()) {
            return name.clone();
        }
        if valid(listed).is_some() {
            return listed.to_ascii_lowercase();
        }
        if memory.foreign.len() < MAX_REMEMBERED {
            memory.foreign.insert(listed.to_owned());
        }
        listed.to_owned()
    }

    /// The names that differ from their 8.3 forms in more than case, for the results; none if there are none.
    pub(crate) fn stated(&self) -> Option<String> {
        let memory = self.memory();
        let changed = memory.written.iter().filter(|(short, name)| !short.eq_ignore_ascii_case(name));
        let mut text = String::new();
        let mut count = 0;
        for (short, name) in changed {
            count += 1;
            if count <= MAX_STATED {
                let comma = if text.is_empty() { "" } else { ", " };
                // Writing to a String cannot fail.
                let _ = write!(text, "{comma}{short} = {name}");
            }
        }
        if count > MAX_STATED {
            let _ = write!(text, ", and {} more", count - MAX_STATED);
        }
        (count > 0).then_some(text)
    }
}

/// The 8.3 form of a name that is 8.3 already.
fn valid(name: &str) -> Option<String> {
    let short = short_name(name.as_bytes()).filter(|_| name.is_ascii())?;
    String::from_utf8(short).ok()
}

/// The 8.3 form of a name that is not 8.3.
fn derived(name: &str) -> String {
    if name == MARKER {
        return SHORT_MARKER.to_owned();
    }
    if name.starts_with(DIRECTORY_PREFIX)
        && let Some(short) = short_directory(name)
    {
        return short;
    }
    let first = name.chars().find(char::is_ascii_alphanumeric).unwrap_or('_').to_ascii_uppercase();
    let hash = short_hash(name, DIGITS.0 + DIGITS.1);
    let (base, extension) = hash.split_at(DIGITS.0 as usize);
    format!("{first}~{base}.{extension}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_valid_and_distinct_8_3_forms_that_never_change() {
        let names = ShortNames::default();
        let mut forms = BTreeSet::new();
        for number in 0..2000 {
            for name in [format!("data-{number}"), format!("job-{number}-65536"), format!("\u{e4} {number}")]
            {
                let short = names.short(&name).unwrap();
                assert_eq!(valid(&short), Some(short.clone()), "{name}");
                assert!(forms.insert(short.clone()), "{name}: {short}");
                assert_eq!(names.shown(&short), name);
            }
        }
        for (name, short) in [
            ("set", "SET"),
            ("Word.Doc", "WORD.DOC"),
            (".made-by-sharebench", "MADEBY.SBN"),
            (".sharebench-1f2e3d4c-0", "1F2E3D4C.S00"),
            (".sharebench-set-0123456789abcdef", "~3UG00TI.SBK"),
            ("data-65536", "D~CN1OSM.K34"),
            ("documents", "D~QFL8I0.O3G"),
        ] {
            assert_eq!(ShortNames::default().short(name).unwrap(), short, "{name}");
        }
    }

    #[test]
    fn listing_shows_names_as_the_target_wrote_them_and_others_in_lower_case() {
        let names = ShortNames::default();
        for name in ["UPPER", "Word.Doc", "with space", "a.b.c", "data-65536", ".hidden"] {
            let short = names.short(name).unwrap();
            assert_eq!(names.shown(&short), name);
            assert_eq!(names.shown(&short.to_lowercase()), name, "a server may show lower case");
        }
        assert_eq!(names.shown("OTHER.TXT"), "other.txt");
        assert_eq!(names.short("other.txt").unwrap(), "OTHER.TXT");
        // A name of the volume that is not 8.3 refers to the same file afterwards.
        assert_eq!(names.shown("NOT 8.3 AT ALL"), "NOT 8.3 AT ALL");
        assert_eq!(names.short("NOT 8.3 AT ALL").unwrap(), "NOT 8.3 AT ALL");
        let stated = names.stated().unwrap();
        assert!(stated.contains(" = data-65536") && !stated.contains("UPPER"), "{stated}");
        assert_eq!(ShortNames::default().stated(), None);
    }

    #[test]
    fn two_names_with_one_8_3_form_are_an_error() {
        let names = ShortNames::default();
        let short = names.short("long name").unwrap();
        assert_eq!(names.short("Long Name").unwrap(), short, "case does not distinguish DOS names");
        let error = names.memory().remember(&short, "another").unwrap_err();
        assert!(error.contains("'another' and 'long name'") && error.contains(&short), "{error}");
    }

    #[test]
    fn fact_states_a_limited_number_of_names() {
        let names = ShortNames::default();
        for number in 0..MAX_STATED + 3 {
            names.short(&format!("a long name {number}")).unwrap();
        }
        let stated = names.stated().unwrap();
        assert!(stated.ends_with(", and 3 more") && stated.matches(" = ").count() == MAX_STATED, "{stated}");
    }
}
