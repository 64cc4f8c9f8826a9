//! Our NFS client with `RPCSEC_GSS` against NFS-Ganesha.

use sharebench_doubles::conformance::Suite;
use sharebench_gss::{Identity, SharedCredential};
use sharebench_model::{ErrorClass, Fact};
use sharebench_nfs::NfsTarget;
use sharebench_target::UrlPart;
use sharebench_tests::{Ganesha, GaneshaOptions, Realm, needs};

use crate::adapters::{conform, url};
use crate::connect;

fn ganesha(realm: &Realm, flavor: &'static str) -> Ganesha {
    let keytab = Some(realm.keytab());
    Ganesha::start(&GaneshaOptions { flavor: Some(flavor), keytab, ..GaneshaOptions::default() }).unwrap()
}

/// The URL of the export by the name that the realm knows.
fn named(ganesha: &Ganesha, options: &str) -> String {
    ganesha.url("", options).replace("127.0.0.1", "localhost")
}

fn target(realm: &Realm, text: &str) -> NfsTarget {
    let own = sharebench_tests::program::run(&["id", "-un"], &[]).unwrap();
    let identity = Identity::keytab(&realm.user_keytab(), own.trim());
    NfsTarget::from_url(url(text)).unwrap().with_tickets(SharedCredential::new(identity))
}

/// Versions of NFSv4 with a flavor each; further connections share the security contexts of the first.
pub const VERSION_4: [&str; 5] = [
    "vers=4.0&sec=krb5i",
    "vers=4.1&sec=krb5",
    "vers=4.1&sec=krb5i&nconnect=3",
    "vers=4.1&sec=krb5p",
    "vers=4.2&sec=krb5p&nconnect=2",
];

/// The URL of the export for version 4, by the name that the realm knows.
fn named_v4(ganesha: &Ganesha, options: &str) -> String {
    format!("nfs://localhost:{}/export/?{options}", ganesha.port())
}

#[test]
fn nfs4_conforms_at_ganesha_with_each_flavor() {
    needs!(Realm::NEEDS, Ganesha::NEEDS);
    let Some(realm) = Realm::enter("nfs::nfs4_conforms_at_ganesha_with_each_flavor") else { return };
    let server = ganesha(&realm, "krb5,krb5i,krb5p");
    for options in VERSION_4 {
        let target = target(&realm, &named_v4(&server, options));
        let facts = connect(&target).unwrap();
        for (name, key) in [("vers", Fact::Vers), ("sec", Fact::Sec), ("nconnect", Fact::Nconnect)] {
            let wanted = options.split('&').find_map(|option| option.strip_prefix(&format!("{name}=")));
            assert!(wanted.is_none_or(|wanted| facts[key] == wanted), "{options}: {facts:?}");
        }
        conform(&target, &Suite::default());
    }
    let automatic = connect(&target(&realm, &named_v4(&server, "vers=auto&sec=krb5"))).unwrap();
    assert_eq!(automatic[Fact::Vers], "4.2");
    assert_eq!(std::fs::read_dir(server.directory()).unwrap().count(), 0, "the suite left something");
}

#[test]
fn nfs_conforms_at_ganesha_with_each_flavor() {
    needs!(Realm::NEEDS, Ganesha::NEEDS);
    let Some(realm) = Realm::enter("nfs::nfs_conforms_at_ganesha_with_each_flavor") else { return };
    let server = ganesha(&realm, "krb5,krb5i,krb5p");
    for flavor in ["krb5", "krb5i", "krb5p"] {
        let target = target(&realm, &named(&server, &format!("sec={flavor}&nconnect=2")));
        assert_eq!(connect(&target).unwrap()[Fact::Sec], flavor);
        conform(&target, &Suite::default());
    }
    assert_eq!(std::fs::read_dir(server.directory()).unwrap().count(), 0, "the suite left something");
}

#[test]
fn a_flavor_that_the_export_does_not_accept_is_reported_with_those_that_it_accepts() {
    needs!(Realm::NEEDS, Ganesha::NEEDS);
    let test = "nfs::a_flavor_that_the_export_does_not_accept_is_reported_with_those_that_it_accepts";
    let Some(realm) = Realm::enter(test) else { return };
    let server = ganesha(&realm, "krb5i,krb5p");
    let version_3 = ["sys", "krb5"].map(|flavor| (flavor, named(&server, &format!("sec={flavor}"))));
    let version_4 = [("sys", "4.0"), ("krb5", "4.0"), ("sys", "4.1"), ("krb5", "4.2")];
    let version_4 = version_4
        .map(|(flavor, version)| (flavor, named_v4(&server, &format!("vers={version}&sec={flavor}"))));
    for (flavor, url) in version_3.into_iter().chain(version_4) {
        let error = connect(&target(&realm, &url)).unwrap_err();
        assert_eq!((error.part, error.class), (UrlPart::Share, ErrorClass::Unsupported), "{error}");
        for word in ["krb5i", "krb5p", &format!("selects sec={flavor}")] {
            assert!(error.to_string().contains(word), "no '{word}' in: {error}");
        }
    }
}
