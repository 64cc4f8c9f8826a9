//! The names by which sharebench recognises its own directories on a target.
//!
//! A directory has a long name, or, on volumes whose names are limited to eight characters and an extension of three, the
//! 8.3 name that [`short_directory`] derives from it. Another process, another protocol or another mount of the same
//! volume finds either of them (docs/design/ncp.md).

use sharebench_model::mix;

/// Start of the name of every directory that sharebench makes at the top of a target. Where a share hides names that begin
/// with a dot, a name of the user precedes it: `bench.sharebench-1f2e3d4c-0`.
pub const DIRECTORY_PREFIX: &str = ".sharebench-";

/// Name of the empty file in each of these directories. `sharebench clean` removes no directory without it, because
/// anybody can give a directory a name with [`DIRECTORY_PREFIX`].
pub const MARKER: &str = ".made-by-sharebench";

/// The 8.3 form of [`MARKER`], in directories with an 8.3 name, and in those whose name begins with one of the user.
pub const SHORT_MARKER: &str = "MADEBY.SBN";

/// Extension of the 8.3 name of a directory that is not that of a run, such as a kept data set.
const KEPT: &str = "SBK";
/// First letter of the extension of the 8.3 name of a run's directory; the number of the target follows.
const OF_RUN: u8 = b'S';
/// Digits in 8.3 names that are derived from a hash.
const DIGITS: &[u8; 32] = b"0123456789ABCDEFGHIJKLMNOPQRSTUV";

/// True for the name of a directory of sharebench, long or 8.3 in any case. Only the marker in it proves that
/// sharebench made the directory.
pub fn is_working_directory(name: &str) -> bool {
    name.contains(DIRECTORY_PREFIX) || is_short_directory(name)
}

/// What precedes [`DIRECTORY_PREFIX`] in the name of a directory of sharebench: nothing, or the name that the user chose.
pub fn chosen_name(directory: &str) -> &str {
    directory.find(DIRECTORY_PREFIX).map_or("", |at| &directory[..at])
}

/// Name of the marker in a directory of that name or path.
pub fn marker_of(directory: &str) -> &'static str {
    let directory = directory.rsplit_once('/').map_or(directory, |(_, name)| name);
    let is_long = chosen_name(directory).is_empty() && !is_short_directory(directory);
    if is_long { MARKER } else { SHORT_MARKER }
}

/// True for the name of a marker, long or 8.3 in any case.
pub fn is_marker(name: &str) -> bool {
    name == MARKER || name.eq_ignore_ascii_case(SHORT_MARKER)
}

/// True when both names are the same directory of sharebench: equal, or one is the 8.3 form of the other.
pub fn is_same_directory(one: &str, other: &str) -> bool {
    let is_form = |short: &str, long: &str| {
        is_short_directory(short)
            && (short.eq_ignore_ascii_case(long)
                || short_directory(long).is_some_and(|form| form.eq_ignore_ascii_case(short)))
    };
    one == other || is_form(one, other) || is_form(other, one)
}

/// The 8.3 form of the long name of a directory of sharebench; none for other names. `.sharebench-1f2e3d4c-0`, the
/// directory of a run on its first target, becomes `1F2E3D4C.S00`; any other, such as that of a kept data set, becomes
/// `~`, seven digits of the hash of its name, and the extension `SBK`.
pub fn short_directory(name: &str) -> Option<String> {
    let rest = name.strip_prefix(DIRECTORY_PREFIX)?;
    if let Some((run, target)) = rest.split_once('-')
        && run.len() == 8
        && run.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        && let Ok(number @ 0..100) = target.parse::<u32>()
        && number.to_string() == target
    {
        return Some(format!("{}.S{number:02}", run.to_ascii_uppercase()));
    }
    Some(format!("~{}.{KEPT}", short_hash(name, 7)))
}

/// The first `digits` digits, of five bits each, of the hash of a name without regard to case. The hash is part of the
/// names on servers, so it never changes.
pub fn short_hash(name: &str, digits: u32) -> String {
    // FNV-1a, then mixed so that every bit of the result depends on all of the name.
    let fold = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3);
    let hash = mix(name.to_lowercase().bytes().fold(0xCBF2_9CE4_8422_2325, fold));
    (0..digits).map(|digit| char::from(DIGITS[(hash >> (5 * digit) & 31) as usize])).collect()
}

fn is_short_directory(name: &str) -> bool {
    let Some((base, extension)) = name.split_once('.') else { return false };
    let base = base.as_bytes();
    let is_kept = extension.eq_ignore_ascii_case(KEPT)
        && base.first() == Some(&b'~')
        && base[1..].iter().all(|byte| DIGITS.contains(&byte.to_ascii_uppercase()));
    let is_of_run = match extension.as_bytes() {
        [first, target @ ..] => {
            first.eq_ignore_ascii_case(&OF_RUN)
                && target.len() == 2
                && target.iter().all(u8::is_ascii_digit)
                && base.iter().all(u8::is_ascii_hexdigit)
        }
        [] => false,
    };
    base.len() == 8 && (is_kept || is_of_run)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_of_runs_and_kept_sets_have_8_3_forms_that_never_change() {
        assert_eq!(short_directory(".sharebench-1f2e3d4c-0").unwrap(), "1F2E3D4C.S00");
        assert_eq!(short_directory(".sharebench-1f2e3d4c-37").unwrap(), "1F2E3D4C.S37");
        for other in [
            ".sharebench-set-0123456789abcdef",
            ".sharebench-set-0123456789abcdee",
            ".sharebench-1f2e3d4c-100",
            ".sharebench-1f2e3d4c-00",
            ".sharebench-1F2E3D4C-0",
            ".sharebench-1f2e3d4c",
            ".sharebench-",
        ] {
            let short = short_directory(other).unwrap();
            let (base, extension) = short.split_once('.').unwrap();
            assert!(base.starts_with('~') && base.len() == 8 && extension == "SBK", "{other}: {short}");
            assert!(is_same_directory(other, &short), "{other}: {short}");
        }
        assert_eq!(short_directory("sharebench-1f2e3d4c-0"), None);
    }

    #[test]
    fn a_name_of_the_user_may_precede_that_of_the_directory() {
        for (name, chosen, marker) in [
            (".sharebench-1f2e3d4c-0", "", MARKER),
            ("bench.sharebench-1f2e3d4c-0", "bench", SHORT_MARKER),
            ("bench.sharebench-set-0123456789abcdef", "bench", SHORT_MARKER),
            ("1F2E3D4C.S00", "", SHORT_MARKER),
        ] {
            assert!(is_working_directory(name), "{name}");
            assert_eq!((chosen_name(name), marker_of(name)), (chosen, marker), "{name}");
        }
        assert!(!is_working_directory("bench-sharebench-1f2e3d4c-0"));
    }

    #[test]
    fn directories_of_sharebench_are_recognised_in_both_forms() {
        for (name, marker) in [
            (".sharebench-1f2e3d4c-0", MARKER),
            (".sharebench-x", MARKER),
            ("1F2E3D4C.S00", SHORT_MARKER),
            ("1f2e3d4c.s07", SHORT_MARKER),
            ("~0123UVW.SBK", MARKER),
            ("~0123UVV.sbk", SHORT_MARKER),
            (".recycle/alice/.sharebench-x", MARKER),
        ] {
            assert_eq!(marker_of(name), marker, "{name}");
            assert_eq!(is_working_directory(name), name != "~0123UVW.SBK", "{name}");
        }
        for other in
            ["1F2E3D4C", "1F2E3D4C.S0", "1F2E3D4C.S0A", "1F2E3D4G.S00", "F2E3D4C.S00", "X123UVV.SBK", ""]
        {
            assert!(!is_working_directory(other), "{other}");
        }
        assert!(is_same_directory("1f2e3d4c.s00", ".sharebench-1f2e3d4c-0"));
        assert!(!is_same_directory("1f2e3d4c.s01", ".sharebench-1f2e3d4c-0"));
        assert!(!is_same_directory(".sharebench-A", ".sharebench-a"), "long names depend on case");
    }
}
