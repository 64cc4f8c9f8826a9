//! Parameters whose type is a tuple, or a reference to one: a struct would name what they hold.

/// Number of tuple parameters of the functions of `code`.
pub fn count(code: &str) -> usize {
    code.match_indices("fn ").filter_map(|(at, _)| parameters(&code[at..])).map(tuples).sum()
}

/// The text between the parentheses of a signature.
fn parameters(signature: &str) -> Option<&str> {
    let start = signature.find(['(', ';', '{']).filter(|at| signature[*at..].starts_with('('))?;
    let mut depth = 0_usize;
    for (at, c) in signature[start..].char_indices() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' if depth == 1 => return Some(&signature[start + 1..start + at]),
            ')' | ']' | '}' => depth -= 1,
            _ => {}
        }
    }
    None
}

/// Number of parameters whose type is a tuple of two or more, or a reference to one.
fn tuples(list: &str) -> usize {
    let mut depth = 0_usize;
    let mut count = 0;
    for (at, c) in list.char_indices() {
        match c {
            '(' | '[' | '{' | '<' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            '>' if !list[..at].ends_with(['-', '=']) => depth = depth.saturating_sub(1),
            ':' if depth == 0 && !list[..at].ends_with(':') && !list[at + 1..].starts_with(':') => {
                let kind = list[at + 1..].trim_start().trim_start_matches('&').trim_start_matches("mut ");
                let kind = kind.trim_start();
                // The type of a reference to a bound is in parentheses as well.
                let is_tuple =
                    kind.starts_with('(') && !["()", "(impl ", "(dyn "].iter().any(|it| kind.starts_with(it));
                count += usize::from(is_tuple);
            }
            _ => {}
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::count;

    #[test]
    fn only_types_of_parameters_count() {
        let code = "fn a((x, y): (u8, u8), z: &(u8, u8)) -> (u8, u8) { let f: (u8, u8) = g(|p: (u8, u8)| p); }
            fn b(f: impl Fn((u8, u8)) -> u8, v: Vec<(u8, u8)>, nothing: (), i: &(impl I + Clone)) {} fn c<'a>(x: &'a mut u8) where T: X;";
        assert_eq!(count(code), 2);
    }
}
