//! Checks of the house: dependency direction and file sizes.
fn main() {}
