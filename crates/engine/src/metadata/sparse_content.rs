//! The content of files with a hole: stamped data around it, zeros within it.

use std::ops::Range;

use sharebench_model::{ErrorClass, OpError, OpStep};
use sharebench_plan::Verify;

use crate::data::mismatch::mismatch_error;
use crate::data::stamp::{self, Content};

/// The part of a range that is within another one; empty if there is none.
fn common(a: &Range<u64>, b: &Range<u64>) -> Range<u64> {
    let start = a.start.max(b.start);
    start..a.end.min(b.end).max(start)
}

/// Compares what was read at `offset` with the content of a file with a hole. The zeros are compared in every mode but
/// [`Verify::Off`], because they are what the tests of holes are about.
pub(crate) fn verify(
    buffer: &[u8],
    content: Content,
    offset: u64,
    hole: &Range<u64>,
    path: &str,
    how: Verify,
) -> Result<(), OpError> {
    if how == Verify::Off {
        return Ok(());
    }
    let read = offset..offset + buffer.len() as u64;
    let part = |range: &Range<u64>| {
        let from = (range.start - offset) as usize;
        buffer.get(from..from + (range.end - range.start) as usize).unwrap_or_default()
    };
    for data in [common(&read, &(0..hole.start)), common(&read, &(hole.end..u64::MAX))] {
        if !data.is_empty() {
            stamp::verify(part(&data), content, data.start, how)
                .map_err(|mismatch| mismatch_error(path, &mismatch))?;
        }
    }
    let zeros = common(&read, hole);
    let wrong = if zeros.is_empty() { None } else { part(&zeros).iter().position(|byte| *byte != 0) };
    wrong.map_or(Ok(()), |at| {
        let detail = format!("'{path}' at offset {}: data instead of zeros", zeros.start + at as u64);
        Err(OpError::new(ErrorClass::DataMismatch, OpStep::Verify, detail))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONTENT: Content = Content { file: 3, generation: 1, kind: None };
    const HOLE: Range<u64> = 4096..12_288;
    const SIZE: usize = 16_384;

    fn file() -> Vec<u8> {
        let mut file = vec![0; SIZE];
        stamp::fill(&mut file, CONTENT, 0);
        file[HOLE.start as usize..HOLE.end as usize].fill(0);
        file
    }

    #[test]
    fn any_part_of_a_sparse_file_is_verified() {
        let file = file();
        for part in [0..SIZE, 0..4096, 0..4097, 4096..12_288, 5000..6000, 12_000..13_000, 12_288..SIZE] {
            let read = &file[part.clone()];
            for how in [Verify::Stamps, Verify::Full] {
                assert_eq!(verify(read, CONTENT, part.start as u64, &HOLE, "f", how), Ok(()), "{part:?}");
            }
        }
    }

    #[test]
    fn bytes_in_the_hole_and_zeros_around_it_are_found() {
        let found = |at: usize, byte: u8| {
            let mut file = file();
            file[at] = byte;
            verify(&file, CONTENT, 0, &HOLE, "f", Verify::Full).unwrap_err().to_string()
        };
        assert!(found(5000, 1).contains("'f' at offset 5000: data instead of zeros"), "{}", found(5000, 1));
        assert!(found(12_287, 9).contains("offset 12287"), "{}", found(12_287, 9));
        for at in [4095, 12_288] {
            let wrong = file()[at] ^ 1;
            assert!(found(at, wrong).contains("data mismatch"), "{}", found(at, wrong));
        }
    }
}
