//! What protects the calls of a context.

/// The service of a context (RFC 2203 5.2.2: `rpc_gss_service_t`), with its names in URLs and in MOUNT.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Service {
    /// The headers are signed.
    None,
    /// Arguments and results are signed as well.
    Integrity,
    /// Arguments and results are encrypted as well.
    Privacy,
}

impl Service {
    /// Every service, the weakest first.
    pub const ALL: [Self; 3] = [Self::None, Self::Integrity, Self::Privacy];

    /// The number in a credential.
    pub const fn number(self) -> u32 {
        match self {
            Self::None => 1,
            Self::Integrity => 2,
            Self::Privacy => 3,
        }
    }

    /// The service with this number in a credential.
    pub fn of_number(number: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|service| service.number() == number)
    }

    /// The pseudo flavor in the replies of MOUNT (RFC 2623 2.3.1).
    pub const fn flavor(self) -> u32 {
        match self {
            Self::None => 390_003,
            Self::Integrity => 390_004,
            Self::Privacy => 390_005,
        }
    }

    /// The name in the options of exports and in URLs.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "krb5",
            Self::Integrity => "krb5i",
            Self::Privacy => "krb5p",
        }
    }

    /// The service with this name.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|service| service.name() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::Service;
    use crate::exports::flavor_name;

    #[test]
    fn numbers_and_names_lead_back_to_the_service() {
        for service in Service::ALL {
            assert_eq!(Service::of_number(service.number()), Some(service));
            assert_eq!(Service::of_name(service.name()), Some(service));
            assert_eq!(flavor_name(service.flavor()), service.name());
        }
        assert_eq!((Service::of_number(0), Service::of_name("sys")), (None, None));
    }
}
