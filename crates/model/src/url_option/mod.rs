//! The options of target URLs: one declaration each, in a table per protocol.
//!
//! From it follow what the parser of URLs accepts, the options of commands that measure each target with several values
//! ([`Axis`]), the help of targets, and the fact of a run that states the effect; a test compares docs/protocols/url-options.md with it.

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
    use super::*;

    #[test]
    fn names_differ_within_a_scheme_and_a_fact_records_what_an_offered_axis_sets() {
        for scheme in SCHEMES {
            for (index, option) in url_options(scheme).enumerate() {
                assert!(url_options(scheme).take(index).all(|other| other.name != option.name));
                assert!(
                    option.axis.is_none_or(|axis| AXES.contains(&axis) && option.fact.is_some()),
                    "{option:?}"
                );
            }
        }
        assert!(AXES.iter().all(|axis| axis.values().is_some()));
        assert_eq!(axes::CONNECTIONS.values(), Some(OptionValues::Number { least: 1, most: 64 }));
    }

    #[cfg(not(windows))]
    #[test]
    fn docs_list_every_option_with_its_values() {
        let page = include_str!("../../../../docs/protocols/url-options.md");
        let tables = [table::TCP, table::SMB, table::NFS, table::NCP, table::LOCAL];
        for (scheme, options) in ["tcp", "smb", "nfs", "ncp", "file"].into_iter().zip(tables) {
            let (_, section) = page.split_once(&format!("\n## {scheme}\n")).unwrap();
            let section = section.split("\n## ").next().unwrap();
            let columns = |row: &str| row.rsplitn(3, " | ").nth(2).map(str::to_owned);
            let rows: Vec<_> =
                section.lines().filter(|row| row.starts_with("| `")).filter_map(columns).collect();
            let declared = options.iter().map(|option| format!("| `{}=` | {}", option.name, option.values));
            assert_eq!(rows, declared.collect::<Vec<_>>());
        }
    }
}
