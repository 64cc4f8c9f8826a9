//! Causes in operations on names.

use sharebench_model::units::show_nanos;
use sharebench_stats::Estimate;

use super::gain::exactly;
use super::{Case, Cause, Finding, Gain, Saving, settings};
use crate::budget::Part;
use crate::operations::Operation;

/// Time of an open beyond its round trips from which it is expensive, nanoseconds.
const SLOW_OPEN_NS: f64 = 500_000.0;
/// An open is expensive if it takes this many times what a read of the cache takes beyond its round trip.
const TIMES_A_READ: f64 = 3.0;
/// Time per entry beyond the round trips from which a listing is slow, nanoseconds.
const SLOW_ENTRY_NS: f64 = 100_000.0;
/// Time by which an unknown name takes longer in a large directory, from which it is searched entry by entry, nanoseconds.
const SLOW_SEARCH_NS: f64 = 1_000_000.0;
/// Entries below which a listing is not judged.
const MIN_ENTRIES: usize = 100;

pub(super) fn judge(case: &mut Case<'_>) {
    opens(case);
    linear_directory(case);
    listings(case);
}

fn opens(case: &mut Case<'_>) {
    let requests = case.evidence.series.requests(Operation::Open);
    let Some(time) = case.difference(Operation::Open, requests, Operation::Empty) else { return };
    let read = case
        .difference(Operation::SmallReadAgain, 1.0, Operation::Empty)
        .map_or(0.0, |time| time.value.max(0.0));
    let Some(total) = case.evidence.series.typical_ns(Operation::OpenReadClose) else { return };
    if time.value < read * TIMES_A_READ || !case.exceeds(time, SLOW_OPEN_NS, "expensive opens") {
        return;
    }
    case.find(Finding {
        cause: Cause::ExpensiveOpens,
        title: "Opening a file is expensive, while reading it is cheap.".to_owned(),
        evidence: format!(
            "an open takes {} beyond its round trips, a read {}; open, read and close take {}.",
            show_nanos(time.value),
            show_nanos(read),
            show_nanos(total)
        ),
        gain: Gain::computed("work on many small files", Saving::new(Operation::OpenReadClose, total, time)),
        settings: settings(case.evidence, &[
            ("*", "Look for a virus scanner on the server, and exclude the share from scanning on access."),
            ("smb", "smb.conf: vfs objects without full_audit, virusfilter, acl_xattr where not needed; case sensitive = yes for large directories; kernel oplocks = no."),
            ("nfs", "Mount option: actimeo=60; ganesha.conf: MDCACHE { Entries_HWMark = 500000; }."),
            ("ncp", "SET MAXIMUM DIRECTORY CACHE BUFFERS = 4000."),
        ]),
        weight: time.value / total,
    });
}

/// A name that is not there is searched: in an indexed directory the number of entries does not matter.
fn linear_directory(case: &mut Case<'_>) {
    let entries = case.evidence.entries;
    let Some(time) = case.difference(Operation::MissingInLarge, 1.0, Operation::MissingName) else { return };
    let series = &case.evidence.series;
    let Some((few, many)) =
        series.typical_ns(Operation::MissingName).zip(series.typical_ns(Operation::MissingInLarge))
    else {
        return;
    };
    if entries < MIN_ENTRIES
        || !case.exceeds(time, SLOW_SEARCH_NS, "directories that are searched entry by entry")
    {
        return;
    }
    case.find(Finding {
        cause: Cause::LinearDirectory,
        title: "Finding a name takes longer, the more entries a directory has.".to_owned(),
        evidence: format!(
            "a name that does not exist takes {} among {entries} entries and {} among few.",
            show_nanos(many),
            show_nanos(few)
        ),
        gain: Gain::computed("creating and finding files in large directories", Saving::new(Operation::MissingInLarge, many, time)),
        settings: settings(case.evidence, &[
            ("smb", "smb.conf: case sensitive = yes, or names of one case: default case = lower, preserve case = no, short preserve case = no; directory name cache size = 1000."),
            ("*", "Server: a file system with indexed directories (ext4: tune2fs -O dir_index, then e2fsck -D; XFS), fewer files per directory."),
            ("ncp", "SET MAXIMUM DIRECTORY CACHE BUFFERS = 4000."),
        ]),
        weight: time.value / many * 0.8,
    });
}

/// Time in which the server looks up a name, nanoseconds, at most that of a slow entry.
fn look_up_ns(case: &Case<'_>) -> f64 {
    let look_up = case.difference(Operation::MissingName, 1.0, Operation::Empty);
    look_up.map_or(0.0, |time| time.value.clamp(0.0, SLOW_ENTRY_NS))
}

fn listings(case: &mut Case<'_>) {
    let entries = case.evidence.entries;
    let has_sizes = case.evidence.has_sizes;
    let Some(budget) = case.budget(Operation::Listing).filter(|_| entries >= MIN_ENTRIES) else { return };
    let total = budget.total_ns.value;
    let requests = budget.requests;
    let storage = budget.time(Part::Storage);
    // Where names are searched entry by entry, that search is the cause of slow listings as well.
    let rank = if case.found(Cause::LinearDirectory).is_some() { 0.4 } else { 0.9 };
    let weight = budget.share(Part::Storage) * rank;
    let time = budget.parts.iter().find(|share| share.part == Part::Storage).map(|share| share.time_ns);
    if !has_sizes {
        let empty = case.evidence.series.typical_ns(Operation::Empty).unwrap_or(0.0);
        let each = empty * entries as f64;
        // The server looks at each entry in both cases.
        let slow = total + each + entries as f64 * look_up_ns(case);
        case.find(Finding {
            cause: Cause::PerEntryListing,
            title: "The listing has no sizes and times, so clients request them for each entry.".to_owned(),
            evidence: format!(
                "{entries} names took {} in {requests} requests; ls -l needs {entries} more requests, at least {}.",
                show_nanos(total),
                show_nanos(each)
            ),
            gain: Gain::computed("listings with attributes", Saving::per("listing with attributes", slow, exactly(each))),
            settings: settings(case.evidence, &[
                ("nfs", "Let the server answer READDIRPLUS: nfsd does; ganesha: a FSAL that has it; mount option: no nordirplus."),
            ]),
            weight: each / (total + each) * 0.9,
        });
        return;
    }
    let per_entry = |time: Estimate| Estimate {
        value: time.value / entries as f64,
        interval: time.interval.map(|interval| interval.map(|ns| ns / entries as f64)),
        n: time.n,
    };
    let Some(each) = time.map(per_entry) else { return };
    if !case.exceeds(each, SLOW_ENTRY_NS, "slow listings") {
        return;
    }
    // A fast directory still has entries, at which the server looks as at a single name.
    let look_ups = look_up_ns(case) * entries as f64;
    let saved = each.map(|ns| (ns * entries as f64 - look_ups).max(0.0));
    case.find(Finding {
        cause: Cause::SlowListing,
        title: "Listing a directory is slow on the server.".to_owned(),
        evidence: format!(
            "{entries} entries took {}, of which the server needed {} ({} each) beyond the round trips of {requests} requests.",
            show_nanos(total),
            show_nanos(storage),
            show_nanos(each.value)
        ),
        gain: Gain::computed("listings", Saving::new(Operation::Listing, total, saved)),
        settings: settings(case.evidence, &[
            ("*", "Server: a file system with indexed directories (ext4 dir_index, XFS), fewer files per directory, atime off."),
            ("smb", "smb.conf: ea support = no, store dos attributes = no, map archive = no where not needed."),
        ]),
        weight,
    });
}
