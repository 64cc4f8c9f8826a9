//! Windows of loads that are long enough on every machine.

use std::time::Duration;

/// Windows of twice the length before a test judges the last one: a window of two seconds becomes one of two minutes.
const DOUBLINGS: u32 = 6;

/// Measures with a window of this length, and again with one of twice the length until the result has enough.
///
/// `measure` gets the window as a plan or a flag takes it, such as `1500ms`. What "enough" is, is a count, for example that each
/// user has completed a transaction: a slow machine then takes longer, and the test asserts the same. The last result is returned
/// also where it does not have enough, so that the assertion of the test fails with its own message.
pub fn widen_window<T>(
    first: Duration,
    mut measure: impl FnMut(&str) -> T,
    has_enough: impl Fn(&T) -> bool,
) -> T {
    let text = |doublings: u32| format!("{}ms", first.as_millis() << doublings);
    let mut result = measure(&text(0));
    for doublings in 1..=DOUBLINGS {
        if has_enough(&result) {
            break;
        }
        let window = text(doublings);
        eprintln!("again, with a window of {window}: too little ended within {}", text(doublings - 1));
        result = measure(&window);
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    fn windows(enough_after: usize) -> Vec<String> {
        let mut seen = Vec::new();
        widen_window(
            Duration::from_millis(300),
            |window| {
                seen.push(window.to_owned());
                seen.len()
            },
            |count| *count >= enough_after,
        );
        seen
    }

    #[test]
    fn window_is_doubled_until_the_result_has_enough() {
        assert_eq!(windows(1), ["300ms"]);
        assert_eq!(windows(3), ["300ms", "600ms", "1200ms"]);
        assert_eq!(windows(100).len(), 7, "the last result is judged by the test");
    }
}
