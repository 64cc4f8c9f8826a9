//! Local and mounted paths as targets.
