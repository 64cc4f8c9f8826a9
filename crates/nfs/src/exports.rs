//! The exports of a server (RFC 1813, 5.2.5: EXPORT), and the names of security flavors.

use crate::protocol::{MAX_NAME_BYTES, MAX_PATH_BYTES};
use crate::xdr::{Reader, XdrError};

/// Flavor without identity (RFC 5531, 8.2).
pub const AUTH_NONE: u32 = 0;
/// Flavor with user and groups as numbers (RFC 5531, appendix A).
pub const AUTH_SYS: u32 = 1;

/// Maximum number of exports in a list, and of groups of one export.
const MAX_EXPORTS: usize = 1024;
const MAX_GROUPS: usize = 256;

/// The name of a security flavor as in the export options of servers (RFC 5531, 8.2; RFC 2623, 2.3.1).
pub fn flavor_name(flavor: u32) -> String {
    let name = match flavor {
        AUTH_NONE => "none",
        AUTH_SYS => "sys",
        6 => "RPCSEC_GSS",
        390_003 => "krb5",
        390_004 => "krb5i",
        390_005 => "krb5p",
        other => return format!("flavor {other}"),
    };
    name.to_owned()
}

/// True if a flavor is Kerberos.
pub const fn is_kerberos(flavor: u32) -> bool {
    matches!(flavor, 6 | 390_003..=390_005)
}

/// One export of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Export {
    /// Its path, as clients mount it.
    pub path: String,
    /// Hosts and networks that may mount it; empty for everybody.
    pub groups: Vec<String>,
}

/// Decodes the result of EXPORT (RFC 1813, 5.2.5: `exports`).
pub fn get_exports(reader: &mut Reader<'_>) -> Result<Vec<Export>, XdrError> {
    let mut exports = Vec::new();
    while reader.boolean("export follows")? {
        check_count("exports", exports.len(), MAX_EXPORTS)?;
        let path = text(reader.opaque("export path", MAX_PATH_BYTES)?);
        let mut groups = Vec::new();
        while reader.boolean("group follows")? {
            check_count("groups", groups.len(), MAX_GROUPS)?;
            groups.push(text(reader.opaque("group", MAX_NAME_BYTES)?));
        }
        exports.push(Export { path, groups });
    }
    Ok(exports)
}

fn check_count(field: &'static str, count: usize, max: usize) -> Result<(), XdrError> {
    if count < max { Ok(()) } else { Err(XdrError::TooLong { field, len: count as u32 + 1, max }) }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::xdr::Writer;

    #[test]
    fn exports_have_paths_and_groups() {
        let mut writer = Writer::default();
        for (path, groups) in [("/srv", &["10.0.0.0/8", "nas"][..]), ("/", &[])] {
            writer.boolean(true);
            writer.opaque(path.as_bytes());
            for group in groups {
                writer.boolean(true);
                writer.opaque(group.as_bytes());
            }
            writer.boolean(false);
        }
        writer.boolean(false);
        let exports = get_exports(&mut Reader::new(writer.as_slice())).unwrap();
        assert_eq!(
            exports[0],
            Export { path: "/srv".into(), groups: vec!["10.0.0.0/8".into(), "nas".into()] }
        );
        assert_eq!((exports.len(), exports[1].path.as_str(), exports[1].groups.len()), (2, "/", 0));
    }

    #[test]
    fn an_endless_list_is_an_error() {
        let mut writer = Writer::default();
        for _ in 0..5000 {
            // An export with an empty path and without groups.
            writer.words(&[1, 0, 0]);
        }
        assert!(get_exports(&mut Reader::new(writer.as_slice())).is_err());
    }

    #[test]
    fn flavors_have_the_names_of_export_options() {
        assert_eq!([1, 390_003, 390_005].map(flavor_name), ["sys", "krb5", "krb5p"]);
        assert_eq!(flavor_name(7), "flavor 7");
        assert!(is_kerberos(390_004) && !is_kerberos(AUTH_SYS));
    }

    proptest! {
        #[test]
        fn garbage_causes_no_panic(
            bytes in proptest::collection::vec(prop_oneof![4 => Just(0u8), 1 => Just(1u8), 1 => any::<u8>()], 0..400),
        ) {
            let _ = get_exports(&mut Reader::new(&bytes));
        }
    }
}
