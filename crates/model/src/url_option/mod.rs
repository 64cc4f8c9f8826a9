//! The options of target URLs: one declaration each, in a table per protocol.
//!
//! From it follow what the parser of URLs accepts, what `--vary` measures each target with, the help of targets, and the fact of a
//! run that states the effect; a test compares docs/protocols/url-options.md with it.

mod declaration;
mod table;

pub use declaration::{OptionValues, UrlOption};

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_differ_within_a_scheme() {
        for scheme in SCHEMES {
            for (index, option) in url_options(scheme).enumerate() {
                assert!(url_options(scheme).take(index).all(|other| other.name != option.name));
            }
        }
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
