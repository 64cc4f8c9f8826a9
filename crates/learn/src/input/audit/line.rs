//! Messages of `full_audit`: `PREFIX|OPERATION|RESULT|FILE` (`vfs_full_audit`(8)).

use std::net::IpAddr;

/// Fields of a prefix that are examined.
const MAX_PREFIX_FIELDS: usize = 16;

/// A message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Message<'a> {
    /// What `full_audit:prefix` prints: the identity of the user.
    pub(super) prefix: &'a [u8],
    /// Name of the operation of Samba's VFS.
    pub(super) operation: &'a [u8],
    /// Done, or the text of the error.
    pub(super) result: Result<(), &'a [u8]>,
    /// What follows the result: paths and arguments.
    pub(super) rest: &'a [u8],
}

impl<'a> Message<'a> {
    /// Finds a message by `|operation|ok|` or `|operation|fail (reason)|`.
    pub(super) fn read(text: &'a [u8]) -> Option<Self> {
        let mut start = 0;
        for _ in 0..MAX_PREFIX_FIELDS {
            let prefix_len = start + bar(text.get(start..)?)?;
            let after = text.get(prefix_len + 1..)?;
            let operation = after.get(..bar(after)?)?;
            let result_start = after.get(operation.len() + 1..)?;
            let result = result_start.get(..bar(result_start)?)?;
            let is_name = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || *byte == b'_';
            let reason = result.strip_prefix(b"fail (").and_then(|rest| rest.strip_suffix(b")"));
            if !operation.is_empty() && operation.iter().all(is_name) && (result == b"ok" || reason.is_some())
            {
                return Some(Self {
                    prefix: text.get(..prefix_len)?,
                    operation,
                    result: reason.map_or(Ok(()), Err),
                    rest: result_start.get(result.len() + 1..)?,
                });
            }
            start = prefix_len + 1;
        }
        None
    }

    /// The address of the client: the field of the prefix that is one (`%I`).
    pub(super) fn client(&self) -> Option<IpAddr> {
        let fields = self.prefix.split(|byte| *byte == b'|');
        fields.into_iter().find_map(|field| std::str::from_utf8(field).ok()?.parse().ok())
    }

    /// What follows the result, cut at the first bars into `N` parts; the last one may contain more of them, as names may.
    pub(super) fn parts<const N: usize>(&self) -> Option<[&'a [u8]; N]> {
        let mut parts = [&self.rest[..0]; N];
        let mut fields = self.rest.splitn(N, |byte| *byte == b'|');
        for part in &mut parts {
            *part = fields.next()?;
        }
        Some(parts)
    }

    /// `PATH:OFFSET-LENGTH:TYPE`, as `strict_lock_check` prints it. Type 0 is a read and 1 a write.
    pub(super) fn range(&self) -> Option<(&'a [u8], u64, u64, bool)> {
        let (before, kind) = last(self.rest, b':')?;
        let (path, range) = last(before, b':')?;
        let (offset, length) = std::str::from_utf8(range).ok()?.split_once('-')?;
        let is_write = match kind {
            b"0" => false,
            b"1" => true,
            _ => return None,
        };
        Some((path, offset.parse().ok()?, length.parse().ok()?, is_write))
    }

    /// The path of `PATH:OFFSET-LENGTH. type=TYPE.` or `PATH:OFFSET-LENGTH:TYPE`, as locks print it.
    pub(super) fn locked(&self) -> Option<&'a [u8]> {
        match last(self.rest, b'.') {
            Some((before, b"")) => Some(last(before, b':')?.0),
            _ => Some(self.range()?.0),
        }
    }
}

/// Where the first bar is.
fn bar(text: &[u8]) -> Option<usize> {
    text.iter().position(|byte| *byte == b'|')
}

/// What is before and after the last separator.
fn last(text: &[u8], separator: u8) -> Option<(&[u8], &[u8])> {
    let at = text.iter().rposition(|byte| *byte == separator)?;
    Some((text.get(..at)?, text.get(at + 1..)?))
}

/// The message of a line of syslog, from the name of the host on; none if another program than smbd wrote it.
pub(super) fn of_syslog(line: &[u8]) -> Option<&[u8]> {
    let host = line.iter().position(|byte| *byte == b' ')?;
    let tagged = line.get(host + 1..)?;
    // "smbd_audit: " of rsyslog, "smbd_audit[123]: " of the journal.
    tagged.starts_with(b"smbd").then_some(())?;
    let end = tagged.windows(2).position(|pair| pair == b": ")?;
    tagged.get(end + 2..)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_found_after_any_prefix() {
        let text = b"ann|10.0.0.7|share|openat|fail (No such file or directory)|r|/srv/a|b.txt";
        let message = Message::read(text).unwrap();
        assert_eq!(message.prefix, b"ann|10.0.0.7|share");
        assert_eq!(message.client(), Some("10.0.0.7".parse().unwrap()));
        assert_eq!(message.operation, b"openat");
        assert_eq!(message.result, Err(&b"No such file or directory"[..]));
        assert_eq!(message.parts(), Some([&b"r"[..], b"/srv/a|b.txt"]));
        assert_eq!(message.parts::<4>(), None);
        let other = Message::read(b"fe80::1|fsctl|ok|").unwrap();
        assert_eq!((other.client(), other.rest), (Some("fe80::1".parse().unwrap()), &b""[..]));
        for text in
            [&b"openat|ok|r"[..], b"a|b|c|d|e", b"a|Openat|ok|x", b"a||ok|x", b"a|openat|okay|x", b"|||"]
        {
            assert_eq!(Message::read(text), None);
        }
    }

    #[test]
    fn ranges_follow_the_last_colons() {
        let message = |rest: &'static [u8]| Message { prefix: b"", operation: b"", result: Ok(()), rest };
        let check = message(b"/srv/a:1-2:b:4096-512:1");
        assert_eq!(check.range(), Some((&b"/srv/a:1-2:b"[..], 4096, 512, true)));
        assert_eq!(check.locked(), Some(&b"/srv/a:1-2:b"[..]));
        assert_eq!(message(b"/srv/a.b:0-10. type=1.").locked(), Some(&b"/srv/a.b"[..]));
        for rest in [&b"/srv/a"[..], b"a:b:0", b"a:1-2:2", b"a:1-99999999999999999999:0", b":", b"."] {
            assert_eq!(message(rest).range(), None);
            assert_eq!(message(rest).locked(), None);
        }
    }

    #[test]
    fn lines_of_other_programs_are_no_messages() {
        assert_eq!(of_syslog(b"host smbd_audit[123]: a|b"), Some(&b"a|b"[..]));
        assert_eq!(of_syslog(b"host smbd_audit: a: b"), Some(&b"a: b"[..]));
        assert_eq!(of_syslog(b"host cron[1]: a|openat|ok|x"), None);
        assert_eq!(of_syslog(b"host"), None);
    }
}
