//! The settings of a system, read from what it negotiated, and in which of them two systems differ.

use std::collections::{BTreeMap, BTreeSet};

use sharebench_model::{Fact, FactClass, IDENTITY_MOUNT_OPTIONS, SCHEMES, url_options};

use crate::types::{Access, SettingChange, System};

/// Words of prose between a setting and its value.
const FILLING: [&str; 10] =
    ["line", "lines", "level", "windows", "shown", "shows", "net.cfg", "says", "show", "is"];

/// Every stated setting of a system, by its words in reports.
pub(crate) fn settings(system: &System) -> BTreeMap<String, String> {
    let mut found = stated(system, FactClass::Setting);
    if let Some((scheme, _)) = system.url.split_once("://") {
        found.insert("protocol".to_owned(), scheme.to_owned());
    }
    found
}

/// The facts of a class, by their words in reports.
fn stated(system: &System, class: FactClass) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for (name, value) in &system.facts {
        // A table of another program describes its systems in words, under names that its user chose.
        let describes = system.is_imported() && FactClass::of_stored(name) == FactClass::Condition;
        let of_fact = if describes { FactClass::Setting } else { FactClass::of_stored(name) };
        if of_fact != class {
            continue;
        }
        if describes {
            found.extend(described(name, value));
        } else if name == Fact::MountOptions.name() {
            found.extend(mount_options(value));
        } else {
            found.insert(Fact::words_for(name), value.clone());
        }
    }
    found
}

/// The options of a mount that may explain a difference, each a setting.
fn mount_options(options: &str) -> impl Iterator<Item = (String, String)> {
    let pairs = options.split(',').map(|option| option.split_once('=').unwrap_or((option, STATED)));
    let settings = pairs.filter(|(name, _)| !name.is_empty() && !IDENTITY_MOUNT_OPTIONS.contains(name));
    settings.map(|(name, value)| (format!("mount option {name}"), value.to_owned()))
}

/// The settings that a description in words states: its clauses, or the whole under its name.
fn described(name: &str, description: &str) -> Vec<(String, String)> {
    let parts = clauses(description);
    if parts.len() > 1 {
        // A remark of the source about titles is no setting.
        let settings = parts.iter().filter(|clause| !clause.to_lowercase().contains("title"));
        settings.map(|clause| setting_of(clause)).collect()
    } else {
        vec![(name.replace('_', " "), description.to_owned())]
    }
}

/// Conditions that two systems state and in which they differ.
pub(crate) fn differing_conditions(a: &System, b: &System) -> Vec<SettingChange> {
    let [a, b] = [a, b].map(|system| stated(system, FactClass::Condition));
    differences(&a, &b).into_iter().filter(SettingChange::is_known).collect()
}

/// Settings in which two systems differ, and settings that only one of them states.
pub(crate) fn changes(a: &System, b: &System) -> Vec<SettingChange> {
    let access = [a.access, b.access];
    let mut a = settings(a);
    let mut b = settings(b);
    // A direct target without the option was measured without a simulated distance and with one connection, which is no
    // unknown.
    let declared = SCHEMES.into_iter().flat_map(url_options);
    for (fact, unstated) in declared.filter_map(|option| Some((option.fact?, option.unstated?))) {
        let name = fact.words();
        if a.contains_key(name) != b.contains_key(name) {
            for (settings, access) in [&mut a, &mut b].into_iter().zip(access) {
                if access == Access::Direct {
                    settings.entry(name.to_owned()).or_insert_with(|| unstated.to_owned());
                }
            }
        }
    }
    differences(&a, &b)
}

/// What differs, or is stated of one only.
fn differences(a: &BTreeMap<String, String>, b: &BTreeMap<String, String>) -> Vec<SettingChange> {
    let names: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
    let change = |name: &String| SettingChange {
        name: name.clone(),
        a: a.get(name).cloned(),
        b: b.get(name).cloned(),
    };
    names.into_iter().map(change).filter(|change| change.a != change.b).collect()
}

/// The clauses of a description, cut at commas and semicolons outside brackets.
fn clauses(text: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut depth = 0usize;
    for c in text.chars() {
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' => depth = depth.saturating_sub(1),
            ',' | ';' if depth == 0 => {
                parts.push(String::new());
                continue;
            }
            _ => {}
        }
        if let Some(part) = parts.last_mut() {
            part.push(c);
        }
    }
    parts.iter().map(|part| part.trim().to_owned()).filter(|part| !part.is_empty()).collect()
}

/// `cache buffers=0`, `signature level=2`, `checksum off`, `true commit line commented out`: name and value.
fn setting_of(clause: &str) -> (String, String) {
    let lower = clause.to_lowercase();
    let (plain, bracket) = match lower.split_once('(') {
        Some((before, inside)) => (before.trim(), Some(inside.trim_end_matches(')').trim())),
        None => (lower.trim(), None),
    };
    let named = |name: &str| -> String {
        name.split_whitespace().filter(|word| !FILLING.contains(word)).collect::<Vec<_>>().join(" ")
    };
    if let Some(name) = plain.strip_suffix("commented out") {
        // What a file leaves out has its default, whatever the bracket adds to that.
        let default = bracket.is_some_and(|inside| inside.contains("default"));
        return (named(name), if default { "default" } else { "commented out" }.to_owned());
    }
    if let Some((name, value)) = plain.rsplit_once('=') {
        return (named(name), value.trim().to_owned());
    }
    match plain.rsplit_once(' ') {
        Some((name, value)) if is_value(value) => (named(name), value.to_owned()),
        _ => (named(plain), STATED.to_owned()),
    }
}

/// The value of what a description only mentions.
pub(crate) const STATED: &str = "stated";

fn is_value(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_digit())
        || ["on", "off", "yes", "no", "high", "low", "default", "required", "none"].contains(&word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn system(access: Access, far: Option<&str>) -> System {
        let facts = far.map(|far| ("simulated_distance".to_owned(), far.to_owned()));
        System {
            name: "x".into(),
            url: String::new(),
            run: 0,
            target: 0,
            access,
            min_sample_time: None,
            facts: facts.into_iter().collect(),
        }
    }

    #[test]
    fn distance_of_a_direct_target_without_one_is_none_and_that_of_a_path_is_unknown() {
        let far = system(Access::Direct, Some("5ms round trip without loss"));
        let values = |other: &System| {
            let changes = changes(&far, other);
            let change = changes.iter().find(|change| change.name == "simulated distance").unwrap();
            (change.a.clone().unwrap(), change.b.clone())
        };
        let distance = "5ms round trip without loss".to_owned();
        assert_eq!(values(&system(Access::Direct, None)), (distance.clone(), Some("none".to_owned())));
        assert_eq!(values(&system(Access::Mounted, None)), (distance, None));
        assert!(changes(&system(Access::Direct, None), &system(Access::Direct, None)).is_empty());
    }

    #[test]
    fn prose_of_1993_becomes_settings() {
        let of = |clause| setting_of(clause);
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(of("cache buffers=0"), pair("cache buffers", "0"));
        assert_eq!(of("signature level=2"), pair("signature", "2"));
        assert_eq!(of("net.cfg shows signature level=2"), pair("signature", "2"));
        assert_eq!(of("signature 0"), pair("signature", "0"));
        assert_eq!(of("checksum off"), pair("checksum", "off"));
        assert_eq!(of("cache buffers default"), pair("cache buffers", "default"));
        assert_eq!(of("cache buffers line commented out (=default, ON)"), pair("cache buffers", "default"));
        assert_eq!(of("true commit line commented out"), pair("true commit", "commented out"));
        assert_eq!(of("VLM"), pair("vlm", STATED));
        assert_eq!(clauses("a, b (=c, d); e"), ["a", "b (=c, d)", "e"]);
    }
}
