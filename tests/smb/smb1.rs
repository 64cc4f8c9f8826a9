//! The client of SMB1 against smbd with `server min protocol = NT1`.

use sharebench_doubles::conformance::Suite;
use sharebench_model::{ErrorClass, Fact};
use sharebench_smb::SmbTarget;
use sharebench_target::{Secret, SessionSpec, Target, UrlPart};
use sharebench_tests::{Signing, Smbd, SmbdOptions, needs};

use crate::adapters::{block_on, conform, url};

fn target(text: &str) -> SmbTarget {
    SmbTarget::from_url(url(text), Secret::new(Smbd::PASSWORD)).unwrap()
}

fn smbd(signing: Signing) -> Smbd {
    let dialects = Some(("NT1", "SMB3_11"));
    Smbd::start(&SmbdOptions { dialects, signing, ..SmbdOptions::default() }).unwrap()
}

#[test]
fn smb1_conforms_at_smbd_signed_and_unsigned() {
    needs!(Smbd::NEEDS);
    // A standalone smbd signs SMB1 only if that is mandatory.
    for (offer, options, signing) in
        [(Signing::Offered, "sign=off", "off"), (Signing::Mandatory, "sign=required", "MD5")]
    {
        let smbd = smbd(offer);
        let target = target(&smbd.url("", &format!("dialect=nt1&{options}")));
        let facts = block_on(async {
            let session = target.connect(&SessionSpec::default()).await.unwrap();
            let facts = session.facts();
            session.close().await;
            facts
        });
        assert_eq!((facts[Fact::Dialect].as_str(), facts[Fact::Signing].as_str()), ("NT LM 0.12", signing));
        assert!(facts[Fact::Unsafe].contains("SMB1 has no encryption"), "{facts:?}");
        let secret = Some(Smbd::PASSWORD.to_owned());
        conform(&target, &Suite { max_record: 64 << 10, secret, ..Suite::default() });
        assert_eq!(std::fs::read_dir(smbd.share()).unwrap().count(), 0, "the suite left something");
    }
}

#[test]
fn smb1_meets_the_requirements_of_smbd_and_is_never_negotiated_by_itself() {
    needs!(Smbd::NEEDS);
    let signs = smbd(Signing::Mandatory);
    let session = |target: &SmbTarget| {
        block_on(async { target.connect(&SessionSpec::default()).await.map(|s| s.facts()) })
    };
    assert_eq!(session(&target(&signs.url("", "dialect=nt1"))).unwrap()[Fact::Signing], "MD5");
    // smbd answers the session request of NetBIOS on each of its ports.
    let over_netbios = session(&target(&signs.url("", "dialect=nt1&transport=netbios"))).unwrap();
    assert_eq!(over_netbios[Fact::Transport], "NetBIOS session service");
    let error = session(&target(&signs.url("", "dialect=nt1&sign=off"))).unwrap_err();
    assert_eq!((error.part, error.class), (UrlPart::Option("sign"), ErrorClass::Refused), "{error}");
    assert_eq!(session(&target(&signs.url("", ""))).unwrap()[Fact::Dialect], "3.1.1");
    let error = session(&target(&signs.url("missing", "dialect=nt1"))).unwrap_err();
    assert_eq!((error.part, error.class), (UrlPart::Path, ErrorClass::NotFound), "{error}");

    let modern = Smbd::start(&SmbdOptions::default()).unwrap();
    let error = session(&target(&modern.url("", "dialect=nt1"))).unwrap_err();
    assert_eq!(error.part, UrlPart::Option("dialect"), "{error}");
}
