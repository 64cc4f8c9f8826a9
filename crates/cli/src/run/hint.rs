//! Commands in messages, which a user pastes into a shell.

use std::path::Path;

use crate::flags::output::DEFAULT_DATABASE;

/// A word of a command line, in quotes where a shell would change it.
pub fn shell_word(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./:@=,+%".contains(&byte);
    if !text.is_empty() && text.bytes().all(is_plain) {
        return text.to_owned();
    }
    quoted(text)
}

/// A text in quotes, of which a shell changes nothing.
pub fn quoted(text: &str) -> String {
    // A quote ends the quoted text, is written with a backslash, and begins the next one.
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// ` --db FILE`; nothing for the default database.
pub fn database_option(path: &Path) -> String {
    if path == Path::new(DEFAULT_DATABASE) {
        return String::new();
    }
    format!(" --db {}", shell_word(&path.to_string_lossy()))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{database_option, shell_word};

    #[test]
    fn words_survive_a_shell() {
        assert_eq!(shell_word("smb://alice@nas:445/share"), "smb://alice@nas:445/share");
        assert_eq!(shell_word("/a dir"), "'/a dir'");
        assert_eq!(shell_word("it's"), r"'it'\''s'");
        assert_eq!(shell_word("a?b&c"), "'a?b&c'");
        assert_eq!(shell_word(""), "''");
    }

    #[test]
    fn hint_names_the_database_unless_it_is_the_default() {
        assert_eq!(database_option(Path::new("sharebench.db")), "");
        assert_eq!(database_option(Path::new("my runs/a.db")), " --db 'my runs/a.db'");
    }
}
