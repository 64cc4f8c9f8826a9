//! The file-sharing performance lab.
fn main() {}
