//! Names of the files that cells work on.

use sharebench_plan::{RecordWork, Start};

/// Name of the file that a cell works on; tests of new files make theirs.
pub(crate) fn data_name(work: &RecordWork) -> String {
    format!("data-{}", work.file_size)
}

/// Name of the file that one of several jobs works on.
pub(crate) fn job_file_name(work: &RecordWork, number: u32) -> String {
    match (work.shared_file, work.test.start() == Start::Fresh) {
        (true, true) => "new".into(),
        (true, false) => format!("data-{}", work.file_size),
        (false, true) => format!("new-{number}"),
        (false, false) => format!("job-{number}-{}", work.file_size),
    }
}
