//! Error codes with their names and classes.

use sharebench_model::ErrorClass;

use super::Code;

/// A code with its name and class.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KnownCode {
    pub code: Code,
    pub name: &'static str,
    pub class: ErrorClass,
}

/// The table of known codes, from constants of a module.
macro_rules! known_codes {
    ($from:ident: $($class:ident: $($name:ident)+;)+) => {
        &[$($(KnownCode { code: $from::$name, name: stringify!($name), class: ErrorClass::$class }),+),+]
    };
}
pub(super) use known_codes;
