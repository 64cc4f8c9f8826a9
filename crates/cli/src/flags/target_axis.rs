//! What the options have in common that measure each target several times: every value is a target of its own, whose URL has an
//! option with it.

use std::fmt::Display;

use sharebench_plan::TypedTarget;
use sharebench_target::TargetUrl;

use crate::exit::Failure;

/// All targets with all values of `flag`, with the values of a target next to each other.
pub fn each<T: Copy + PartialEq + Display>(
    flag: &str,
    values: &[T],
    targets: &[TypedTarget],
    with: impl Fn(&str, T) -> Result<String, Failure>,
) -> Result<Vec<TypedTarget>, Failure> {
    for (index, value) in values.iter().enumerate() {
        if values[..index].contains(value) {
            return Err(Failure::usage(format!("{flag}: {value} is listed twice")));
        }
    }
    let pairs = targets.iter().flat_map(|target| values.iter().map(move |value| (target, *value)));
    pairs.map(|(target, value)| Ok(target.with_url(with(&target.url, value)?))).collect()
}

/// A URL with an option that it must not have yet. It is appended to the text of the URL, which keeps what was typed, such as
/// percent-encoded names. The default is written too, because the axis has to show it.
pub fn with_option(
    flag: &str,
    url: &str,
    parsed: &TargetUrl,
    option: &str,
    value: impl Display,
) -> Result<String, Failure> {
    if parsed.options.contains_key(option) {
        return Err(Failure::usage(format!("{flag} with '{url}': the URL has {option}= already")));
    }
    let separator = if url.contains('?') { '&' } else { '?' };
    Ok(format!("{url}{separator}{option}={value}"))
}

#[cfg(test)]
pub mod tests {
    use super::TypedTarget;

    /// Targets without names.
    pub fn typed<T: AsRef<str>>(urls: &[T]) -> Vec<TypedTarget> {
        urls.iter().map(|url| TypedTarget { name: None, url: url.as_ref().to_owned() }).collect()
    }

    pub fn urls_of(targets: Vec<TypedTarget>) -> Vec<String> {
        targets.into_iter().map(|target| target.url).collect()
    }
}
