//! The messages that docs/start/troubleshooting.md lists for users, compared with those of the program.

const PAGE: &str = include_str!("../../docs/start/troubleshooting.md");

/// The messages that the page lists: the code in front of the first colon of each list item.
fn listed() -> Vec<&'static str> {
    let items = PAGE.split("\n- ").skip(1).filter(|item| item.starts_with('`'));
    let heads = items.map(|item| item.split("`:").next().unwrap_or(item));
    heads.flat_map(|head| head.split('`').skip(1).step_by(2)).collect()
}

/// What is fixed in a listed message: words of capital letters alone stand for any text.
fn fixed_parts(message: &str) -> Vec<String> {
    let in_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut parts = vec![String::new()];
    for piece in message.split_inclusive(|c: char| !in_word(c)) {
        let word = piece.trim_end_matches(|c: char| !in_word(c));
        if word.len() > 1 && word.bytes().all(|byte| byte.is_ascii_uppercase()) {
            parts.push(piece[word.len()..].to_owned());
        } else if let Some(part) = parts.last_mut() {
            part.push_str(piece);
        }
    }
    parts
}

/// True if the page lists a message.
fn is_listed(message: &str) -> bool {
    let text = message.split_whitespace().collect::<Vec<_>>().join(" ");
    listed().into_iter().any(|entry| {
        let mut rest = text.as_str();
        fixed_parts(&entry.replace('\n', " ")).iter().all(|part| {
            let after = rest.split_once(part.as_str()).map(|(_, after)| after);
            after.map(|after| rest = after).is_some()
        })
    })
}

/// The messages in the standard error of a run, each with its indented lines.
fn messages(stderr: &str) -> Vec<String> {
    let mut messages: Vec<String> = Vec::new();
    for line in stderr.lines() {
        match messages.last_mut() {
            _ if ["sharebench: ", "error: "].iter().any(|start| line.starts_with(start)) => {
                messages.push(line.to_owned());
            }
            Some(message) if line.starts_with("  ") => message.push_str(line),
            _ => {}
        }
    }
    messages
}

/// Every message in the standard error of a run is listed in docs/start/troubleshooting.md.
///
/// # Panics
/// One is missing.
pub fn expect_listed(stderr: &str) {
    for message in messages(stderr) {
        assert!(is_listed(&message), "docs/start/troubleshooting.md does not list: {message}");
    }
}

#[test]
fn capitals_of_the_page_stand_for_any_text() {
    assert!(is_listed("error: smb://a/b: host: not found: failed to lookup address information: x"));
    assert!(is_listed("sharebench: p.toml: the plan has 1 mistake\n    line 4: sweep.x: unknown field"));
    assert!(!is_listed("sharebench: the moon is in the way"));
    assert_eq!(messages("a\nerror: b\n  c\nd\nsharebench: e\n"), ["error: b  c", "sharebench: e"]);
    assert_eq!(fixed_parts("MNT PATH: MNT3ERR_ACCES"), ["", " ", ": MNT3ERR_ACCES"]);
    // With less, an entry would match messages of other kinds.
    for entry in listed() {
        assert!(fixed_parts(entry).concat().len() >= 9, "too little is fixed in: {entry}");
    }
    assert!(listed().len() > 200, "{}", listed().len());
}
