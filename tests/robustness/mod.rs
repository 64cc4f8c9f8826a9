//! Bad input, lost servers, killed programs, and what a run leaves on its target.

pub mod bad_input;
pub mod cleanliness;
pub mod extreme_integers;
pub mod kill9;
pub mod lost_server;
pub mod metadata_faults;
pub mod metadata_interrupted;
pub mod mistakes;
pub mod scale_faults;
