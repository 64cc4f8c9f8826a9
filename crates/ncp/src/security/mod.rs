//! Password hashes, login responses and packet signatures, without I/O.

mod compression;
pub mod level;
pub mod password;
pub mod signature;
