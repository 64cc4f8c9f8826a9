//! Names of targets: those that the user gave, and those that state in what the targets of a run differ.

use std::collections::{BTreeMap, BTreeSet};

use crate::plan::{Plan, PlannedTarget};
use crate::values::{SEPARATORS, TypedTarget};

/// Values of options that say that something is off or left to the client; a name states them only if nothing else differs.
const WEAK_VALUES: [&str; 4] = ["off", "auto", "none", "0"];

impl Plan {
    /// Names the targets of a run. A target without a name is named after its protocol, or after the last part of its path.
    /// Targets that would share a name are distinguished by the options of their URLs in which they differ, such as
    /// `smb (sign=required)`, and by their hosts, paths and users where these differ.
    ///
    /// ```
    /// use sharebench_plan::{Plan, TypedTarget};
    /// let typed = ["nfs://nas/x?nconnect=1", "nfs://nas/x?nconnect=4", "smb://nas/x", "old=smb://nas/y"];
    /// let typed: Vec<TypedTarget> = typed.iter().map(|text| text.parse().unwrap()).collect();
    /// let names: Vec<String> = Plan::name_targets(&typed).into_iter().map(|target| target.name).collect();
    /// assert_eq!(names, ["nfs (nconnect=1)", "nfs (nconnect=4)", "smb", "old"]);
    /// ```
    pub fn name_targets(typed: &[TypedTarget]) -> Vec<PlannedTarget> {
        // Targets of one group would share a name; a name that the user gave is a group of its own.
        let mut groups: BTreeMap<(bool, String), Vec<usize>> = BTreeMap::new();
        for (index, target) in typed.iter().enumerate() {
            let base = target.name.clone().unwrap_or_else(|| base(&target.url));
            groups.entry((target.name.is_none(), base)).or_default().push(index);
        }
        let mut names = vec![String::new(); typed.len()];
        let mut taken = BTreeSet::new();
        for ((_, base), members) in groups {
            let urls: Vec<Parts<'_>> =
                members.iter().map(|member| Parts::from_url(&typed[*member].url)).collect();
            for (member, difference) in members.into_iter().zip(differences(&urls)) {
                let name =
                    if difference.is_empty() { base.clone() } else { format!("{base} ({difference})") };
                let numbered = (2..).map(|n| format!("{name}-{n}"));
                let free = std::iter::once(name.clone()).chain(numbered).find(|name| !taken.contains(name));
                names[member] = free.unwrap_or(name);
                taken.insert(names[member].clone());
            }
        }
        let named = |(name, target): (String, &TypedTarget)| PlannedTarget { name, url: target.url.clone() };
        names.into_iter().zip(typed).map(named).collect()
    }
}

/// What distinguishes each of several targets from the others.
fn differences(urls: &[Parts<'_>]) -> Vec<String> {
    let words = |leave_out: &[&str]| -> Vec<String> {
        (0..urls.len()).map(|of| difference(urls, of, leave_out).join(", ")).collect()
    };
    let short = words(&WEAK_VALUES);
    let unique: BTreeSet<&String> = short.iter().collect();
    if unique.len() == short.len() { short } else { words(&[]) }
}

/// The protocol, or the last part of a path.
fn base(url: &str) -> String {
    let parts = Parts::from_url(url);
    if let Some(scheme) = parts.scheme {
        return scheme.to_owned();
    }
    let mut names = parts.path.trim_end_matches(SEPARATORS).rsplit(SEPARATORS);
    names.find(|part| !part.is_empty() && *part != ".").unwrap_or("local").to_owned()
}

/// The parts of a URL, as typed.
struct Parts<'a> {
    /// None for a path.
    scheme: Option<&'a str>,
    user: &'a str,
    host: &'a str,
    path: &'a str,
    options: Vec<(&'a str, &'a str)>,
}

impl<'a> Parts<'a> {
    fn from_url(url: &'a str) -> Self {
        let Some((scheme, rest)) = url.split_once("://") else {
            return Self { scheme: None, user: "", host: "", path: url, options: Vec::new() };
        };
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, path) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
        let (user, host) = authority.rsplit_once('@').unwrap_or(("", authority));
        let options = query.split('&').filter_map(|option| option.split_once('=')).collect();
        let scheme = Some(scheme).filter(|scheme| *scheme != "file");
        Self { scheme, user, host, path, options }
    }

    fn option(&self, key: &str) -> Option<&'a str> {
        self.options.iter().find(|(name, _)| *name == key).map(|(_, value)| *value)
    }
}

/// Hosts, paths, users and options of one target that differ from those of another one of `same`. Options with values
/// that are left out are stated only where no other option is.
fn difference(same: &[Parts<'_>], of: usize, leave_out: &[&str]) -> Vec<String> {
    let this = &same[of];
    let differs =
        |part: for<'p> fn(&'p Parts<'_>) -> &'p str| same.iter().any(|other| part(other) != part(this));
    let mut words = Vec::new();
    if differs(|parts| parts.host) {
        words.push(this.host.to_owned());
    }
    if differs(|parts| parts.path) {
        let path = if this.scheme.is_some() { this.path.trim_start_matches('/') } else { this.path };
        words.extend(Some(path.to_owned()).filter(|path| !path.is_empty()));
    }
    if differs(|parts| parts.user) {
        words.extend(Some(this.user.to_owned()).filter(|user| !user.is_empty()));
    }
    let differing =
        this.options.iter().filter(|(key, value)| same.iter().any(|other| other.option(key) != Some(*value)));
    let (weak, strong): (Vec<_>, Vec<_>) = differing.partition(|(_, value)| leave_out.contains(value));
    let stated = if strong.is_empty() { weak.into_iter().take(1).collect() } else { strong };
    words.extend(stated.into_iter().map(|(key, value)| format!("{key}={value}")));
    words
}

#[cfg(test)]
mod tests {
    use crate::{Plan, TypedTarget};

    fn names(typed: &[&str]) -> Vec<String> {
        let typed: Vec<TypedTarget> = typed.iter().map(|text| text.parse().unwrap()).collect();
        Plan::name_targets(&typed).into_iter().map(|target| target.name).collect()
    }

    #[test]
    fn a_target_alone_is_named_after_its_protocol_or_the_last_part_of_its_path() {
        let urls = ["smb://a@h/s?sign=required", "nfs://h/x", "/mnt/nas/", "file:///srv/data?direct=1", "."];
        assert_eq!(names(&urls), ["smb", "nfs", "nas", "data", "local"]);
    }

    #[test]
    fn names_state_the_options_in_which_targets_differ() {
        let levels = [
            "smb://h/s?sign=off&encrypt=off",
            "smb://h/s?sign=required&encrypt=off",
            "smb://h/s?sign=auto&encrypt=required",
            "smb://h/s?sign=auto&encrypt=required&cipher=aes-256-gcm",
        ];
        let expected = [
            "smb (sign=off)",
            "smb (sign=required)",
            "smb (encrypt=required)",
            "smb (encrypt=required, cipher=aes-256-gcm)",
        ];
        assert_eq!(names(&levels), expected);
        assert_eq!(names(&["smb://h/s", "smb://h/s?sign=required"]), ["smb", "smb (sign=required)"]);
        let distances = ["nfs://h/x?vers=3&far=0", "nfs://h/x?vers=3&far=20ms/100Mbit"];
        assert_eq!(names(&distances), ["nfs (far=0)", "nfs (far=20ms/100Mbit)"]);
        let both = [
            "nfs://h/x?compound=off",
            "nfs://h/x?compound=on",
            "smb://h/x?lease=none",
            "smb://h/x?lease=rwh",
        ];
        assert_eq!(
            names(&both),
            ["nfs (compound=off)", "nfs (compound=on)", "smb (lease=none)", "smb (lease=rwh)"]
        );
    }

    #[test]
    fn hosts_paths_and_users_are_stated_where_they_differ() {
        assert_eq!(names(&["smb://a@nas1/s", "smb://a@nas2:4450/s"]), ["smb (nas1)", "smb (nas2:4450)"]);
        assert_eq!(names(&["smb://a@h/s", "smb://a@h/t/u"]), ["smb (s)", "smb (t/u)"]);
        assert_eq!(names(&["smb://a@h/s", "smb://b@h/s"]), ["smb (a)", "smb (b)"]);
        assert_eq!(names(&["/a/data", "/b/data"]), ["data (/a/data)", "data (/b/data)"]);
        let crossed = ["smb://h/s?sign=off", "smb://i/s?sign=required"];
        assert_eq!(names(&crossed), ["smb (h, sign=off)", "smb (i, sign=required)"]);
    }

    #[test]
    fn names_are_unique_and_given_ones_are_kept() {
        assert_eq!(names(&["smb://h/s", "smb://h/s", "smb://h/s"]), ["smb", "smb-2", "smb-3"]);
        assert_eq!(names(&["smb=/mnt", "smb://h/s"]), ["smb", "smb-2"]);
        assert_eq!(names(&["a=smb://h/s", "b=smb://h/s"]), ["a", "b"]);
    }
}
