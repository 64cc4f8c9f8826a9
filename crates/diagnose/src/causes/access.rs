//! Causes in rights and clocks: nothing may be written, or the clocks of both sides differ.

use super::{Case, Cause, Finding, Gain, settings};

/// Difference of the clocks from which programs notice it, seconds.
const CLOCKS_APART_S: f64 = 5.0;
/// Difference beyond which Kerberos refuses log-ins (RFC 4120, 3.1.3), seconds.
const KERBEROS_S: f64 = 300.0;

pub(super) fn judge(case: &mut Case<'_>) {
    refused_writes(case);
    clock_offset(case);
}

fn refused_writes(case: &mut Case<'_>) {
    let Some(refusal) = case.evidence.refusal.clone().filter(|refusal| !refusal.is_read_only) else { return };
    let Some(uid) = refusal.uid else { return };
    let gain = Gain::no_time("writes, which are now refused");
    let evidence = format!("as uid {uid} the server refuses to make a directory: {}.", refusal.error);
    let finding = if uid == 0 {
        Finding {
            cause: Cause::RootSquash,
            title: "Root may not write: the server maps uid 0 to an unprivileged user (root squash)."
                .to_owned(),
            evidence,
            gain,
            settings: settings(
                case.evidence,
                &[
                    (
                        "nfs",
                        "Work as the owner of the files: URL with uid=N&gid=N; or exports: no_root_squash for this client only.",
                    ),
                    ("nfs", "ganesha.conf: EXPORT { Squash = No_Root_Squash; } for this client only."),
                ],
            ),
            weight: 0.99,
        }
    } else {
        Finding {
            cause: Cause::WrongUid,
            title: "This user may not write: the directory belongs to another uid.".to_owned(),
            evidence,
            gain,
            settings: settings(
                case.evidence,
                &[
                    (
                        "nfs",
                        "Use the uid of the owner (URL: uid=N&gid=N), give the user the same uid on both sides, or on the server: chown or setfacl.",
                    ),
                    (
                        "nfs",
                        "NFSv4 with names: the Domain of /etc/idmapd.conf must be the same on both sides.",
                    ),
                ],
            ),
            weight: 0.99,
        }
    };
    case.find(finding);
}

fn clock_offset(case: &mut Case<'_>) {
    let Some(clock) = case.evidence.clock else { return };
    let certain = clock.ahead_s.abs() - clock.error_s;
    if certain < CLOCKS_APART_S {
        return;
    }
    let side = if clock.ahead_s > 0.0 { "ahead" } else { "late" };
    let kerberos = if certain > KERBEROS_S { " Kerberos refuses log-ins beyond 5 minutes." } else { "" };
    case.find(Finding {
        cause: Cause::ClockOffset,
        title: "The clocks of client and server differ.".to_owned(),
        evidence: format!(
            "a file that was just created has a time that is {:.0} s {side} (+-{:.0} s): caches of attributes and make misjudge \
             what is new.{kerberos}",
            clock.ahead_s.abs(),
            clock.error_s
        ),
        gain: Gain::no_time("attributes that are cached too long or too short"),
        settings: settings(case.evidence, &[
            ("*", "chronyc tracking on both sides: use the same time servers."),
            ("ncp", "SET TIMESYNC TIME SOURCE = ..., or the time of a primary server."),
        ]),
        weight: 0.05,
    });
}
