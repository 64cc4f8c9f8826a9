//! Commands in messages, which a user pastes into a shell.

use std::path::Path;

use crate::flags::output::DEFAULT_DATABASE;
use crate::system::PLAIN_CHARACTERS;
pub use crate::system::quoted;

/// A word of a command line, in quotes where a shell would change it.
pub fn shell_word(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || PLAIN_CHARACTERS.contains(&byte);
    if !text.is_empty() && text.bytes().all(is_plain) {
        return text.to_owned();
    }
    quoted(text)
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
