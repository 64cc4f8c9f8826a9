//! The arithmetic of logins and packet signatures, without I/O.

mod compression;
pub mod level;
pub mod password;
pub mod signature;
