//! The name of a service, as tickets are issued for it.

/// A service on a host (RFC 4120 6.2): the server's principal without its realm, which the library finds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Service {
    name: String,
    explicit: bool,
}

impl Service {
    /// A host-based service, such as `cifs` on `files.example.org`.
    pub fn on_host(service: &str, host: &str) -> Self {
        Self { name: format!("{service}@{host}"), explicit: false }
    }

    /// A principal as the user wrote it: `cifs/files.example.org`, with or without `@REALM`.
    pub fn principal(name: &str) -> Self {
        Self { name: name.to_owned(), explicit: true }
    }

    /// The name in the form that the library imports.
    pub(crate) fn import_form(&self) -> &str {
        &self.name
    }

    /// True if the name is a principal instead of `service@host`.
    pub(crate) const fn is_principal(&self) -> bool {
        self.explicit
    }
}

impl std::fmt::Display for Service {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.explicit { f.write_str(&self.name) } else { f.write_str(&self.name.replacen('@', "/", 1)) }
    }
}

#[cfg(test)]
mod tests {
    use super::Service;

    #[test]
    fn messages_show_the_name_as_a_principal() {
        assert_eq!(Service::on_host("nfs", "nas.example.org").to_string(), "nfs/nas.example.org");
        assert_eq!(Service::principal("nfs/nas@LAB").to_string(), "nfs/nas@LAB");
    }
}
