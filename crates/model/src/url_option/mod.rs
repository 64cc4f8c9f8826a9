//! The options of target URLs: one declaration each, in a table per protocol.
//!
//! From it follow what the parser of URLs accepts, the options of commands that measure each target with several values
//! ([`Axis`]), the help of targets, and the fact of a run that states the effect; a test compares docs/url-options.md with it.

mod axes;
mod declaration;
mod table;

pub use axes::AXES;
pub use declaration::{Axis, OptionValues, UrlOption};

/// Schemes of URLs that have options.
pub const SCHEMES: [&str; 4] = ["file", "smb", "nfs", "ncp"];

/// The options of URLs with this scheme, in the order in which errors name them; none for an unknown scheme.
///
/// ```
/// use sharebench_model::url_options;
/// assert!(url_options("nfs").any(|option| option.name == "vers"));
/// ```
pub fn url_options(scheme: &str) -> impl Iterator<Item = &'static UrlOption> {
    let (own, shared): (&[UrlOption], &[UrlOption]) = match scheme {
        "file" => (table::LOCAL, &[]),
        "smb" => (table::SMB, table::TCP),
        "nfs" => (table::NFS, table::TCP),
        "ncp" => (table::NCP, table::TCP),
        _ => (&[], &[]),
    };
    own.iter().chain(shared)
}

impl Axis {
    /// The option that the axis sets in URLs with this scheme; none if they have none. Levels may set others as well.
    pub fn option(&self, scheme: &str) -> Option<&'static UrlOption> {
        url_options(scheme).find(|option| option.axis == Some(self))
    }

    /// The values of its options; for numbers the range in which all of them are.
    pub fn values(&self) -> Option<OptionValues> {
        let options = SCHEMES.into_iter().filter_map(|scheme| self.option(scheme));
        options.map(|option| option.values).reduce(OptionValues::widest)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_name_is_declared_once_per_scheme() {
        for scheme in SCHEMES {
            let names: BTreeSet<&str> = url_options(scheme).map(|option| option.name).collect();
            assert_eq!(names.len(), url_options(scheme).count(), "{scheme}");
        }
        assert_eq!(url_options("gopher").count(), 0);
    }

    #[test]
    fn every_axis_is_offered_and_a_fact_records_its_values() {
        for option in SCHEMES.into_iter().flat_map(url_options).filter(|option| option.axis.is_some()) {
            assert!(AXES.iter().any(|axis| option.axis == Some(*axis)), "{}", option.name);
            assert!(option.fact.is_some(), "{}", option.name);
        }
        assert!(AXES.iter().all(|axis| axis.values().is_some()));
        assert_eq!(axes::CONNECTIONS.values(), Some(OptionValues::Number { least: 1, most: 64 }));
    }

    #[cfg(not(windows))]
    #[test]
    fn docs_list_every_option_with_its_values() {
        let page = include_str!("../../../../docs/url-options.md");
        for (scheme, options) in [
            ("file", table::LOCAL),
            ("smb", table::SMB),
            ("nfs", table::NFS),
            ("ncp", table::NCP),
            ("tcp", table::TCP),
        ] {
            let (_, section) = page.split_once(&format!("\n## {scheme}\n")).unwrap();
            let section = section.split("\n## ").next().unwrap_or_default();
            let rows: Vec<&str> = section.lines().filter(|line| line.starts_with("| `")).collect();
            let declared = options.iter().map(|option| format!("| `{}=` | {} |", option.name, option.values));
            let declared: Vec<String> = declared.collect();
            assert_eq!(rows.len(), declared.len(), "{scheme}: {declared:#?}");
            for (row, begin) in rows.iter().zip(&declared) {
                assert!(
                    row.starts_with(begin.as_str()),
                    "{scheme}: the row '{row}' does not begin with '{begin}'"
                );
            }
        }
    }
}
