//! Causes in the options of a mount.

use sharebench_model::units::{percent, show_nanos};

use super::gain::exactly;
use super::{Case, Cause, Finding, Gain, Saving, settings};
use crate::operations::Operation;

/// Share of repeated reads below which the cache of the client does not work.
const CACHED: f64 = 0.5;

pub(super) fn judge(case: &mut Case<'_>) {
    attributes(case);
    data(case);
}

/// Without a cache of attributes each open and each `stat` is a request.
fn attributes(case: &mut Case<'_>) {
    let Some(mount) = &case.evidence.mount else { return };
    let off = ["actimeo", "acregmax", "acdirmax"].into_iter().find(|name| mount.number(name) == Some(0));
    let Some(option) = mount.has("noac").then_some("noac").or(off) else { return };
    let series = &case.evidence.series;
    let Some((open, total)) =
        series.typical_ns(Operation::Open).zip(series.typical_ns(Operation::OpenReadClose))
    else {
        return;
    };
    let shown = if option == "noac" { option.to_owned() } else { format!("{option}=0") };
    case.find(Finding {
        cause: Cause::NoAttributeCache,
        title: "The mount caches no attributes: each look at a file is a request.".to_owned(),
        evidence: format!(
            "the mount has the option {shown}; an open takes {} of the {} of open, read and close.",
            show_nanos(open),
            show_nanos(total)
        ),
        gain: Gain::computed("work on many small files", Saving::new(Operation::OpenReadClose, total, exactly(open))),
        settings: settings(case.evidence, &[
            ("nfs", "Mount option: remove noac, use actimeo=60 (also acregmax, acdirmax) unless others change the same files all the time."),
            ("smb", "Mount option: actimeo=60 instead of 0."),
        ]),
        weight: (open / total * 0.9).max(0.2),
    });
}

/// Without a cache of data each repeated read is a request.
fn data(case: &mut Case<'_>) {
    let Some(mount) = &case.evidence.mount else { return };
    let by_option = mount.options.get("cache").is_some_and(|cache| cache == "none");
    let Some(share) = case.evidence.mount_traffic.cached_share() else { return };
    if share > CACHED {
        return;
    }
    let series = &case.evidence.series;
    let Some(again) = series.typical_ns(Operation::SmallReadAgain) else { return };
    let (cpu, _) = series.client_shares(Operation::SmallReadAgain);
    let why = if by_option { " The mount has the option cache=none." } else { "" };
    case.find(Finding {
        cause: Cause::NoClientCache,
        title: "This client does not cache what it has read.".to_owned(),
        evidence: format!(
            "{} of the data that were read twice came from this client; a repeated 4 KiB read takes {}.{why}",
            percent(share, 0),
            show_nanos(again)
        ),
        gain: Gain::computed("repeated reads", Saving::new(Operation::SmallReadAgain, again, exactly(again * (1.0 - cpu)))),
        settings: settings(case.evidence, &[
            ("smb", "Mount option: cache=strict instead of none; smb.conf: oplocks = yes, smb2 leases = yes."),
            ("nfs", "Mount option: remove noac and sync; programs that use O_DIRECT read from the server each time."),
        ]),
        weight: (1.0 - cpu).clamp(0.2, 0.9) * 0.9,
    });
}
