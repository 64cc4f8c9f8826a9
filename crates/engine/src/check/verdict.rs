//! How a check is put together: its name, its verdict and its arithmetic.

use sharebench_model::{Check, Verdict};

pub(crate) fn check(name: &str, verdict: Verdict, detail: String) -> Check {
    Check::new(name, verdict, detail)
}

/// A check that is against the step when `wrong`.
pub(crate) fn unless(name: &str, wrong: bool, detail: String, remedy: &str) -> Check {
    if wrong {
        check(name, Verdict::Warning, format!("{detail}: {remedy}"))
    } else {
        check(name, Verdict::Valid, detail)
    }
}
