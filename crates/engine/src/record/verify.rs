//! Verification of what was read, run by run.

use sharebench_model::OpError;
use sharebench_plan::Verify;

use crate::data::mismatch::mismatch_error;
use crate::data::stamp;
use crate::data::stamp::Content;

/// Bytes of a file that have one known content: offset in the file, length, content.
pub(crate) type ContentRun = (u64, usize, Content);

/// The outcome of a verification.
pub(crate) struct Verified {
    /// Bytes that hold what they should.
    pub bytes: u64,
    /// The first mismatch.
    pub result: Result<(), OpError>,
}

/// Compares `buffer`, which was read at `offset` of the file `path`, with the runs whose content is known. Bytes in no
/// run are not examined: a write that failed leaves either old or new ones. Runs after a mismatch are examined all the
/// same, so that the count of verified bytes does not depend on the position of the mismatch.
#[inline]
pub(crate) fn verify(
    how: Verify,
    path: &str,
    buffer: &[u8],
    offset: u64,
    runs: impl Iterator<Item = ContentRun>,
) -> Verified {
    let mut verified = Verified { bytes: 0, result: Ok(()) };
    if how == Verify::Off {
        return verified;
    }
    for (at, len, content) in runs {
        match stamp::verify(&buffer[(at - offset) as usize..][..len], content, at, how) {
            Ok(()) => verified.bytes += len as u64,
            Err(mismatch) if verified.result.is_ok() => {
                verified.result = Err(mismatch_error(path, &mismatch));
            }
            Err(_) => {}
        }
    }
    verified
}

#[cfg(test)]
mod tests {
    use sharebench_model::ErrorClass;

    use super::*;

    #[test]
    fn a_mismatch_is_reported_once_and_later_runs_still_count() {
        let known = Content { file: 1, generation: 1, kind: None };
        let other = Content { generation: 2, ..known };
        let mut buffer = vec![0; 1536];
        stamp::fill(&mut buffer, known, 4096);
        let runs = [(4096, 512, other), (4608, 512, other), (5120, 512, known)];
        let verified = verify(Verify::Stamps, "f", &buffer, 4096, runs.into_iter());
        assert_eq!(verified.bytes, 512);
        let error = verified.result.unwrap_err();
        assert_eq!(error.class, ErrorClass::DataMismatch);
        assert!(error.detail.contains("4096"), "{error}");
        assert_eq!(verify(Verify::Off, "f", &buffer, 4096, runs.into_iter()).bytes, 0);
    }
}
