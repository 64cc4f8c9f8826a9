//! What a user does next about a target that cannot be used.

use sharebench_model::ErrorClass;
use sharebench_target::{ConnectError, UrlPart};

/// Words of errors that have a next step themselves: the URLs or names that may be meant.
const HAVE_NEXT_STEP: [&str; 3] = ["a server is written ", "; write smb://", "; the server has the "];

/// The message about a failed connection, with the next step.
pub fn with_next_step(error: &ConnectError) -> String {
    if HAVE_NEXT_STEP.iter().any(|words| error.detail.contains(words)) {
        return error.to_string();
    }
    format!("{error}\nhint: {}", next_step(error))
}

fn next_step(error: &ConnectError) -> String {
    // The characters of options need quotes in every shell.
    let url = if error.url.contains(['?', '&', ';', ' ']) {
        format!("\"{}\"", error.url)
    } else {
        error.url.clone()
    };
    let probe = || format!("`sharebench probe {url}` lists what the server offers");
    match (error.part, error.class) {
        (_, ErrorClass::NotFound) if !error.url.contains("://") => {
            format!("name a directory that exists, or make it: mkdir -p {url}")
        }
        _ if !error.url.contains("://") => {
            format!("name a directory in which you may write; `ls -ld {url}` has its owner and rights")
        }
        (UrlPart::Host, ErrorClass::NotFound) => {
            "correct the name of the host, or write its address".to_owned()
        }
        (UrlPart::Host, _) => {
            "check that the server is on, and firewalls on the way: ping the host".to_owned()
        }
        (UrlPart::Port, ErrorClass::Disconnected) if error.detail.contains("no server listens") => {
            "start the server, or write its port after the host: HOST:PORT".to_owned()
        }
        (UrlPart::Port, ErrorClass::Timeout) => "check firewalls on the way, or raise --timeout".to_owned(),
        (UrlPart::Credentials, ErrorClass::Refused) => {
            "correct user, password or domain=; `sharebench help probe` explains logins".to_owned()
        }
        (UrlPart::Path, ErrorClass::NotFound) => "make the directory, or name one that exists".to_owned(),
        (UrlPart::Path, _) => "name a directory in which this account may write".to_owned(),
        _ => probe(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_step_follows_from_part_and_class() {
        let step = |url: &str, part, class| {
            let detail = "Connection refused; no server listens there".to_owned();
            next_step(&ConnectError { url: url.to_owned(), part, class, detail })
        };
        let url = "smb://a@nas/s?sign=off";
        assert!(step(url, UrlPart::Port, ErrorClass::Disconnected).contains("start the server"));
        assert!(step(url, UrlPart::Host, ErrorClass::NotFound).contains("correct the name of the host"));
        assert!(step(url, UrlPart::Port, ErrorClass::Protocol).contains("probe \"smb://a@nas/s?sign=off\""));
        assert!(step(url, UrlPart::Share, ErrorClass::NotFound).contains("sharebench probe"));
        let named = ConnectError {
            url: url.to_owned(),
            part: UrlPart::Share,
            class: ErrorClass::NotFound,
            detail: "TREE_CONNECT; the server has the shares a".to_owned(),
        };
        assert_eq!(with_next_step(&named), named.to_string());
        assert!(step("./nowhere", UrlPart::Path, ErrorClass::NotFound).contains("mkdir -p ./nowhere"));
    }
}
