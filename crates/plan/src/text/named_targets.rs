//! The file of named targets: TOML in which each section is a target, and its name is what commands take as `@NAME`.

use std::path::PathBuf;

use toml::de::DeValue;

use super::parse::{Item, Reader};
use crate::plan::Plan;
use crate::values::{Mistakes, TypedTarget, nearest};

/// A target of the user's file of targets. The file has no passwords, only the names of files that contain one.
///
/// ```
/// use sharebench_plan::NamedTarget;
/// let text = "[nas]\nurl = 'smb://alice@nas/share'\npassword_file = 'nas.password'\nfar = '20ms'\n";
/// let targets = NamedTarget::parse_all(text)?;
/// assert_eq!(NamedTarget::find(&targets, "nas")?.url, "smb://alice@nas/share?far=20ms");
/// let error = NamedTarget::find(&targets, "nass").unwrap_err();
/// assert_eq!(error, "'@nass' is not in it; did you mean '@nas'? It names @nas");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedTarget {
    /// The name, without `@`.
    pub name: String,
    /// URL or path, in its stored form, with the distance as an option.
    pub url: String,
    /// The file whose first line is the password, as written; none if the password is from elsewhere.
    pub password_file: Option<PathBuf>,
}

/// The keys of a target.
const KEYS: [&str; 3] = ["url", "password_file", "far"];

impl NamedTarget {
    /// Reads the targets of a file.
    ///
    /// # Errors
    /// All mistakes at once, each with its line and field.
    pub fn parse_all(text: &str) -> Result<Vec<Self>, Mistakes> {
        let table = Plan::parse_table(text)?;
        let mut reader = Reader::new(text);
        let targets: Vec<Self> =
            table.iter().filter_map(|(name, value)| target(&mut reader, name.get_ref(), value)).collect();
        reader.finish().map(|_| targets)
    }

    /// The target of a name.
    ///
    /// # Errors
    /// There is none; the message suggests a name, and lists all.
    pub fn find<'a>(targets: &'a [Self], name: &str) -> Result<&'a Self, String> {
        let known: Vec<&str> = targets.iter().map(|target| target.name.as_str()).collect();
        targets.iter().find(|target| target.name == name).ok_or_else(|| {
            let near = nearest(name, &known);
            let meant = near.map_or_else(String::new, |near| format!("did you mean '@{near}'? "));
            let all: Vec<String> = known.iter().map(|name| format!("@{name}")).collect();
            let all = if all.is_empty() { "no target".to_owned() } else { all.join(", ") };
            format!("'@{name}' is not in it; {meant}It names {all}")
        })
    }
}

/// One section; none if it has a mistake.
fn target(reader: &mut Reader<'_>, name: &str, value: &Item<'_>) -> Option<NamedTarget> {
    // The same names that the command line accepts.
    if let Err(problem) = format!("{name}=/").parse::<TypedTarget>() {
        reader.blame(name, value, &problem, "");
    }
    let DeValue::Table(table) = value.get_ref() else {
        let hint = format!("write [{name}] on a line of its own, and below it url = \"...\"");
        reader.blame(name, value, "is not a section", &hint);
        return None;
    };
    let mut url = None;
    let mut far = None;
    let mut password_file = None;
    for (key, value) in table {
        let field = format!("{name}.{}", key.get_ref());
        match key.get_ref().as_ref() {
            "url" => url = reader.target_url(&field, value),
            "password_file" => password_file = reader.string(&field, value).map(PathBuf::from),
            "far" => far = reader.string(&field, value).map(|far| (far, value)),
            "password" => reader.blame(
                &field,
                value,
                "a password does not belong in this file",
                "write it to a file of mode 600, and name that as password_file",
            ),
            other => {
                let hint = match nearest(other, &KEYS) {
                    Some(near) => format!("did you mean '{near}'?"),
                    None => format!("known are {}", KEYS.join(", ")),
                };
                reader.blame(&field, value, "unknown field", &hint);
            }
        }
    }
    let Some(mut url) = url else {
        if !table.iter().any(|(key, _)| key.get_ref() == "url") {
            let hint = "write url = \"smb://USER@HOST/SHARE\"";
            reader.blame(&format!("{name}.url"), value, "is missing", hint);
        }
        return None;
    };
    if let Some((far, value)) = far {
        let field = format!("{name}.far");
        if !url.contains("://") || url.starts_with("file:") {
            reader.blame(&field, value, "only targets over a protocol have a distance", "leave it out");
        } else if url.contains("?far=") || url.contains("&far=") {
            reader.blame(&field, value, "the URL has far= already", "leave one of the two out");
        } else {
            let separator = if url.contains('?') { '&' } else { '?' };
            url = format!("{url}{separator}far={far}");
        }
    }
    Some(NamedTarget { name: name.to_owned(), url, password_file })
}

#[cfg(test)]
mod tests {
    use super::NamedTarget;

    #[test]
    fn every_mistake_has_its_line_and_its_field() {
        let text = "[nas]\nurl = 'smb://a:hunter2@nas/s'\n[old]\npasword_file = 'x'\n[a]\nurl = '/x'\nfar = '1ms'\n\
                    [b]\nurl = 'nfs://h/x?far=1ms'\nfar = '2ms'\npassword = 'hunter2'\n";
        let shown = NamedTarget::parse_all(text).unwrap_err().to_string();
        for words in [
            "line 2: nas.url: ",
            "line 4: old.pasword_file: unknown field\n    hint: did you mean 'password_file'?",
            "line 3: old.url: is missing",
            "line 7: a.far: only targets over a protocol",
            "line 10: b.far: the URL has far= already",
            "line 11: b.password: a password does not belong in this file",
        ] {
            assert!(shown.contains(words), "no {words} in {shown}");
        }
        assert!(!shown.contains("hunter2"), "{shown}");
        assert!(NamedTarget::parse_all("nas = 'smb://nas/s'").unwrap_err().to_string().contains("[nas]"));
    }

    #[test]
    fn a_path_has_no_options() {
        let targets = NamedTarget::parse_all("[mount]\nurl = '/mnt/nas'\n").unwrap();
        assert_eq!((targets[0].url.as_str(), &targets[0].password_file), ("/mnt/nas", &None));
    }
}
