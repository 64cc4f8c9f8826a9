//! Bytes of a file as lines of text: UTF-8, with any line end, and nothing else.

use crate::ImportError;

/// First bytes of files that hold results and are not read, and what would help.
const NO_TEXT: [(&[u8], &str); 4] = [
    (b"\x1f\x8b", "the file is compressed; unpack it with gunzip"),
    (b"PK\x03\x04", "the file is a workbook or an archive; save its sheet as comma-separated values"),
    (b"PAR1", "the file is Parquet, which is written and not read; export the run as csv"),
    (
        b"SQLite format 3\0",
        "the file is a results database; name its runs as FILE.db:NUMBER, they need no import",
    ),
];

/// The text of a file; a byte order mark is dropped, another encoding refused.
pub(crate) fn decode(bytes: &[u8]) -> Result<&str, ImportError> {
    if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        return Err(ImportError::at(1, "the file is UTF-16; save it as UTF-8 or plain ASCII"));
    }
    if let Some((_, problem)) = NO_TEXT.iter().find(|(start, _)| bytes.starts_with(start)) {
        return Err(ImportError::whole(*problem));
    }
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let line = |end: usize| bytes[..end].split(|byte| *byte == b'\n').count();
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let at = error.valid_up_to();
        let problem = format!("the byte {:#04x} is no UTF-8 text; save the file as UTF-8", bytes[at]);
        ImportError::at(line(at), problem)
    })?;
    if let Some(at) = text.find('\0') {
        return Err(ImportError::at(line(at), "a zero byte: this is no text file"));
    }
    if text.trim().is_empty() {
        return Err(ImportError::whole("the file is empty"));
    }
    Ok(text)
}

/// Lines with their numbers from 1, without their ends (`\n`, `\r\n` or a lone `\r`).
pub(crate) fn lines(text: &str) -> Vec<(usize, &str)> {
    let lines: Vec<&str> =
        if text.contains('\n') { text.lines().collect() } else { text.split('\r').collect() };
    (1..).zip(lines.into_iter().map(str::trim_end)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_name_other_encodings_with_their_line() {
        assert_eq!(decode(b"\xef\xbb\xbfa\r\n"), Ok("a\r\n"));
        for (bytes, line, word) in [
            (&b"\xff\xfea\0"[..], Some(1), "UTF-16"),
            (b"a\nb\xe4c", Some(2), "0xe4"),
            (b"a\n\nb\0c", Some(3), "zero byte"),
            (b" \r\n", None, "empty"),
        ] {
            let error = decode(bytes).unwrap_err();
            assert!(error.line == line && error.problem.contains(word), "{error}");
        }
    }

    #[test]
    fn lines_end_with_any_line_end() {
        for text in ["a\nb", "a\r\nb\r\n", "a\rb"] {
            assert_eq!(lines(text), [(1, "a"), (2, "b")]);
        }
    }
}
