//! Steps as rows of the table `step`, exactly.

pub(crate) mod column;
mod load;
mod rank;
pub(crate) mod step;
mod total;
