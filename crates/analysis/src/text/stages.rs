//! What the earlier stages found, as sentences need it.

use crate::align::Aligned;
use crate::estimate::Estimated;
use crate::judge::Judged;
use crate::types::Options;

/// What the earlier stages found, as the sentences need it.
#[derive(Clone, Copy)]
pub(crate) struct Stages<'a> {
    pub aligned: &'a Aligned<'a>,
    pub estimated: &'a Estimated,
    pub judged: &'a Judged,
    pub options: &'a Options,
}
