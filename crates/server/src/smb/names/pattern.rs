//! Search patterns of QUERY DIRECTORY (MS-FSA 2.1.4.4).

use crate::volume::name::fold_case;

/// A search pattern. `*` and `?` have their usual meaning; `<` matches any sequence up to the last dot, `>` one
/// character or none before a dot or at the end, and `"` a dot or the end.
pub(crate) struct Pattern(Vec<char>);

impl Pattern {
    /// Compiles a pattern; case is ignored.
    pub(crate) fn new(pattern: &str) -> Self {
        Self(fold_case(pattern).chars().collect())
    }

    /// The name itself, if the pattern matches only the name and its case variants.
    pub(crate) fn plain(pattern: &str) -> Option<&str> {
        (!pattern.contains(['*', '?', '<', '>', '"'])).then_some(pattern)
    }

    /// True if the pattern matches all of `name`. The time is limited by the product of both lengths.
    pub(crate) fn matches(&self, name: &str) -> bool {
        let name: Vec<char> = fold_case(name).chars().collect();
        let last_dot = name.iter().rposition(|letter| *letter == '.');
        // states[i]: the first i characters of the pattern match the part of the name that was read.
        let mut states = vec![false; self.0.len() + 1];
        states[0] = true;
        self.skip(&mut states, name.first().copied());
        for (at, letter) in name.iter().enumerate() {
            let mut next = vec![false; self.0.len() + 1];
            for (state, wild) in self.0.iter().enumerate().filter(|(state, _)| states[*state]) {
                match wild {
                    '*' => next[state] = true,
                    '<' if Some(at) != last_dot => next[state] = true,
                    '?' => next[state + 1] = true,
                    '>' if *letter != '.' => next[state + 1] = true,
                    '"' if *letter == '.' => next[state + 1] = true,
                    plain if plain == letter => next[state + 1] = true,
                    _ => {}
                }
            }
            self.skip(&mut next, name.get(at + 1).copied());
            states = next;
        }
        states.last().copied().unwrap_or(false)
    }

    /// Skips pattern characters that may match the empty string before `next`.
    fn skip(&self, states: &mut [bool], next: Option<char>) {
        for (state, wild) in self.0.iter().enumerate() {
            let skips = match wild {
                '*' | '<' => true,
                '>' => matches!(next, None | Some('.')),
                '"' => next.is_none(),
                _ => false,
            };
            if skips && states[state] {
                states[state + 1] = true;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Pattern;

    #[test]
    fn wildcards_match_as_specified() {
        let yes = [
            ("*", ""),
            ("*.txt", "A.TXT"),
            ("a?c", "abc"),
            ("<.txt", "a.b.txt"),
            ("a>>>", "ab"),
            ("a>.c", "a.c"),
            ("abc\"", "abc"),
            ("a\"c", "a.c"),
            ("*.*", "a.b"),
            ("Read Me", "READ ME"),
        ];
        for (pattern, name) in yes {
            assert!(Pattern::new(pattern).matches(name), "{pattern} {name}");
        }
        let no = [("*.txt", "a.txt2"), ("a?c", "ac"), ("<", "a.b"), ("a", "ab"), ("", "a"), ("a\"c", "abc")];
        for (pattern, name) in no {
            assert!(!Pattern::new(pattern).matches(name), "{pattern} {name}");
        }
    }

    #[test]
    fn a_pattern_of_many_stars_takes_bounded_time() {
        assert!(!Pattern::new(&"*a".repeat(120)).matches(&"a".repeat(119)));
    }

    #[test]
    fn only_a_pattern_without_wildcards_is_plain() {
        assert_eq!(Pattern::plain("file.txt"), Some("file.txt"));
        assert_eq!(Pattern::plain("file.*"), None);
    }
}
