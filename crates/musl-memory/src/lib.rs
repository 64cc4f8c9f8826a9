//! `memcpy`, `memmove`, `memset`, `memcmp` and `bcmp` of static programs on `x86_64` (C11 7.24, POSIX `bcmp`).
//!
//! The compiler calls these functions for every copy, fill and comparison whose length it does not know. On `x86_64`, musl
//! starts one string instruction for each of them, which costs tens of cycles for the few bytes of a header and a fifth more
//! time for file data that begins at another position within a word than its destination; it compares byte by byte. On
//! other processors and with glibc nothing is replaced. The figures are in docs/design/memory.md.
//!
//! A program names this crate (`use sharebench_musl_memory as _;`); the linker then takes these functions instead of those of
//! the C library, because it finds them first.
//!
//! `no_builtins` keeps the compiler from turning a loop of `memcpy` into a call of `memcpy`.

#![cfg_attr(not(test), no_std)]
#![no_builtins]
// A call within `memcpy` would cost as much as the copy.
#![allow(clippy::inline_always)]

#[cfg(any(test, all(target_arch = "x86_64", target_env = "musl")))]
mod compare;
#[cfg(any(test, all(target_arch = "x86_64", target_env = "musl")))]
mod copy;
#[cfg(any(test, all(target_arch = "x86_64", target_env = "musl")))]
mod fill;
#[cfg(all(target_arch = "x86_64", target_env = "musl", not(test)))]
mod symbols;
#[cfg(test)]
mod tests;
#[cfg(any(test, all(target_arch = "x86_64", target_env = "musl")))]
mod unaligned;
