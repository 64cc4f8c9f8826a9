//! Causes in what the session has negotiated: signing, encryption, dialect, sizes and credits.

use sharebench_model::units::{percent, show_nanos, show_rate, show_size};

use sharebench_stats::Estimate;

use super::gain::{exactly, falling};
use super::{Case, Cause, Finding, Gain, Saving, settings};
use crate::evidence::{Comparison, Evidence, Experiment};
use crate::operations::{LARGE_BYTES, Operation, SMALL_BYTES};

/// Factor from which a setting of the session matters.
const MATTERS: f64 = 1.15;
/// Requests that carry less than this are small.
const SMALL_REQUEST: u32 = 256 << 10;
/// Over NCP, whose largest request carries 60 KiB, bytes.
const SMALL_NCP_REQUEST: u32 = 32 << 10;
/// Share of a large read that its further requests take, from which their size matters.
const MANY_REQUESTS: f64 = 0.3;
/// The same where a mount has the option and its kernel caches what is read.
const OF_MOUNT: f64 = 0.9;
/// Payload that one credit pays for (MS-SMB2 3.1.5.2), bytes.
const CREDIT_BYTES: f64 = 65_536.0;
/// Credits from which their number never limits.
const MANY_CREDITS: f64 = 64.0;
/// Share of the rate that the credits permit, from which they limit it.
const NEAR_LIMIT: f64 = 0.6;
/// Share from which the credits cannot have limited it.
const BEYOND_LIMIT: f64 = 1.3;
/// Credits to which a server may be set, and the largest factor that they are said to bring.
const ENOUGH_CREDITS: f64 = 512.0;
const MAX_CREDIT_FACTOR: f64 = 10.0;
/// A read of 4 KiB from the page cache of a client, nanoseconds.
const CACHED_READ_NS: f64 = 2_000.0;

pub(super) fn judge(case: &mut Case<'_>) {
    compared(case);
    few_credits(case);
    small_requests(case);
    refused_leases(case);
}

fn compared(case: &mut Case<'_>) {
    let rules = [
        (Experiment::Encryption, Cause::Encryption, "Encryption slows large transfers down."),
        (Experiment::Signing, Cause::Signing, "Signing slows large transfers down."),
        (Experiment::Dialect, Cause::OldDialect, "The dialect of the URL slows large transfers down."),
    ];
    for (experiment, cause, title) in rules {
        let Some(Comparison { ratio, base_bytes_per_s, client_share }) =
            case.evidence.comparisons.get(&experiment).copied()
        else {
            continue;
        };
        // The dialect is slow because of its signatures, and its comparison is already the gain of others.
        if cause == Cause::OldDialect && case.found(Cause::HmacSigning).is_some() {
            continue;
        }
        if !case.exceeds(ratio, MATTERS, title.trim_end_matches('.')) {
            continue;
        }
        let used = ["dialect", "signing", "encryption", "sign_level"]
            .iter()
            .filter_map(|name| case.evidence.facts.get(*name).map(|value| format!("{name} {value}")));
        let used: Vec<String> = used.collect();
        let payer = match cause {
            Cause::OldDialect => "",
            _ if client_share > PAYS => ": this client's CPU pays for most of it",
            _ => ": the server's CPU pays for most of it",
        };
        let is_hmac =
            cause == Cause::Signing && case.evidence.facts.get("signing").is_some_and(|name| name == HMAC);
        if is_hmac && aes_is_possible(case) {
            hmac(case, ratio, base_bytes_per_s, client_share);
            continue;
        }
        case.find(Finding {
            cause,
            title: title.to_owned(),
            evidence: format!(
                "{}; a stream reads {} and uses {} of one CPU of this client{payer}.",
                used.join(", "),
                show_rate(base_bytes_per_s),
                percent(client_share, 0)
            ),
            gain: Gain::measured_stream("reading a large file", base_bytes_per_s, ratio),
            settings: settings(case.evidence, match cause {
                Cause::Encryption => &[
                    ("smb", "smb.conf: server smb encrypt = if_required instead of required; server smb3 encryption algorithms = AES-128-GCM; mount without seal. Only in a trusted network."),
                ],
                Cause::Signing => &[
                    ("smb", "smb.conf: server signing = auto; server smb3 signing algorithms = AES-128-GMAC, AES-128-CMAC; mount without sign. Only in a trusted network."),
                    ("ncp", "SET NCP PACKET SIGNATURE OPTION = 1; client level 1 or 0."),
                ],
                _ => &[("smb", "smb.conf: server max protocol = SMB3_11; URL without dialect=; mount option: vers=3.1.1.")],
            }),
            weight: 1.0 - 1.0 / ratio.value,
        });
    }
}

/// HMAC-SHA256 is the algorithm of dialects before 3.0; AES-CMAC and AES-GMAC use instructions of the CPU.
const HMAC: &str = "HMAC-SHA256";
/// Share of one CPU of the client from which it pays for signing or encryption.
const PAYS: f64 = 0.6;

/// True if a session of another dialect signs with AES, or this dialect has it.
fn aes_is_possible(case: &Case<'_>) -> bool {
    let is_new = |facts: &sharebench_model::Facts| {
        facts.get("dialect").is_some_and(|dialect| dialect.starts_with('3'))
    };
    let other = case.evidence.changed_facts.get(&Experiment::Dialect);
    is_new(&case.evidence.facts) || other.is_some_and(is_new)
}

fn hmac(case: &mut Case<'_>, ratio: Estimate, rate: f64, client_share: f64) {
    let dialect = case.evidence.comparisons.get(&Experiment::Dialect);
    let gain = match dialect {
        Some(compared) => {
            Gain::measured_stream("reading a large file with the highest dialect", rate, compared.ratio)
        }
        None => Gain::measured_stream("reading a large file without signing, an upper limit", rate, ratio),
    };
    let shown = case.evidence.facts.get("dialect").cloned().unwrap_or_default();
    let payer = if client_share > PAYS { "this client" } else { "the server" };
    case.find(Finding {
        cause: Cause::HmacSigning,
        title: "Messages are signed with HMAC-SHA256, although AES-CMAC or AES-GMAC is possible.".to_owned(),
        evidence: format!(
            "dialect {shown} signs with {HMAC}; without signing a stream is {:.1} times as fast as its {}, and {payer} pays for \
             most of it.",
            ratio.value,
            show_rate(rate)
        ),
        gain,
        settings: settings(case.evidence, &[
            ("smb", "smb.conf: server max protocol = SMB3_11; server smb3 signing algorithms = AES-128-GMAC, AES-128-CMAC. URL without dialect=; mount option: vers=3.1.1."),
        ]),
        weight: (1.0 - 1.0 / ratio.value) + 0.01,
    });
}

/// Without leases and oplocks each client sends each read to the server.
fn refused_leases(case: &mut Case<'_>) {
    if case.evidence.is_caching_granted != Some(false) {
        return;
    }
    let again = case.evidence.series.typical_ns(Operation::SmallReadAgain);
    let times = again.map_or(String::new(), |time| format!(", each in {}", show_nanos(time)));
    let again = again.unwrap_or(0.0);
    let saving = Saving::new(Operation::SmallReadAgain, again, exactly((again - CACHED_READ_NS).max(0.0)));
    case.find(Finding {
        cause: Cause::RefusedLeases,
        title: "The server grants no leases and no oplocks, so that clients cannot cache files.".to_owned(),
        evidence: format!(
            "an open that requested the right to cache was granted without it: mounts read everything from the server{times}."
        ),
        gain: Gain::computed("repeated reads of mounts, from the client's cache", saving),
        settings: settings(case.evidence, &[
            ("smb", "smb.conf: oplocks = yes, level2 oplocks = yes, smb2 leases = yes, kernel oplocks = no; no veto oplock files. Windows: Set-SmbServerConfiguration -EnableOplocks $true -EnableLeasing $true."),
        ]),
        weight: 0.12,
    });
}

/// What the further requests of a large read take, where a request carries few bytes.
struct FurtherRequests {
    /// Bytes of a request.
    limit: u32,
    /// Requests of a large read after the first.
    count: f64,
    /// Their share of its time.
    share: Estimate,
    /// Its time, nanoseconds.
    total_ns: f64,
}

impl FurtherRequests {
    /// None if a request carries enough, or its further ones take little time.
    fn from_evidence(evidence: &Evidence) -> Option<Self> {
        let rsize = evidence.mount.as_ref().and_then(|mount| mount.number("rsize"));
        let limit = rsize.map_or(evidence.max_read, |rsize| u32::try_from(rsize).unwrap_or(u32::MAX));
        let small = if evidence.protocol == "ncp" { SMALL_NCP_REQUEST } else { SMALL_REQUEST };
        if !(1..small).contains(&limit) {
            return None;
        }
        let total_ns = evidence.series.typical_ns(Operation::LargeRead)?;
        let count = f64::from(LARGE_BYTES.div_ceil(limit) - 1);
        let share = if rsize.is_some() {
            // Reads of a mount come from its cache here, but its option is known.
            exactly(OF_MOUNT)
        } else {
            let compared = compared_sizes(evidence, limit);
            compared.or_else(|| each_as_a_small_read(evidence, count, total_ns))?
        };
        (share.value >= MANY_REQUESTS).then_some(Self { limit, count, share, total_ns })
    }

    /// In words.
    fn text(&self) -> String {
        format!(
            "the {} further requests of a 1 MiB read take {} of its {}",
            self.count,
            percent(self.share.value, 0),
            show_nanos(self.total_ns)
        )
    }

    /// What larger requests gain.
    fn gain(&self) -> Gain {
        let saved = self.share.map(|share| share * self.total_ns);
        Gain::computed(
            "large reads, one request after another",
            Saving::new(Operation::LargeRead, self.total_ns, saved),
        )
    }
}

fn small_requests(case: &mut Case<'_>) {
    let evidence = case.evidence;
    // Few credits are the cause of small requests.
    if evidence.max_read < evidence.negotiated_read && case.found(Cause::FewCredits).is_some() {
        return;
    }
    let Some(further) = FurtherRequests::from_evidence(evidence) else { return };
    case.find(Finding {
        cause: Cause::SmallRequests,
        title: "One request carries few bytes.".to_owned(),
        evidence: format!("a request carries at most {}; {}.", show_size(further.limit.into()), further.text()),
        gain: further.gain(),
        settings: settings(evidence, &[
            ("smb", "smb.conf: smb2 max read = 8388608, smb2 max write = 8388608; dialect 2.1 or later."),
            ("nfs", "ganesha.conf: EXPORT { MaxRead = 1048576; MaxWrite = 1048576; }; nfsd: echo 1048576 > /proc/fs/nfsd/max_block_size; mount options: rsize=1048576,wsize=1048576."),
            ("ncp", "URL: buffer=61440 over TCP; on IPX burst=on."),
        ]),
        weight: further.share.value,
    });
}

/// Share of a large read that its further requests take, from reads with requests of a quarter of the size.
///
/// A request takes a time for itself and one for its bytes. A quarter of the size has four times the first and the same of the
/// second, so that `t(quarter) / t(size) - 1` is three times the share of the first. All of it but that of one request is saved.
fn compared_sizes(evidence: &Evidence, limit: u32) -> Option<Estimate> {
    let compared = evidence.comparisons.get(&Experiment::QuarterRequests)?;
    let saved = 1.0 - f64::from(limit) / f64::from(LARGE_BYTES);
    Some(falling(compared.ratio, |ratio| ((1.0 / ratio - 1.0) / 3.0).clamp(0.0, 1.0) * saved))
}

/// The same where that comparison was not made: what a request takes for itself is nearly all of a small read.
fn each_as_a_small_read(evidence: &Evidence, further: f64, total: f64) -> Option<Estimate> {
    let small_read = evidence.series.typical_ns(Operation::SmallReadAgain);
    let each = small_read.or(evidence.series.typical_ns(Operation::SmallRead))?;
    Some(exactly((further * each / total).min(1.0 - each / total)))
}

/// How much faster a stream gets with more credits, until moving the bytes limits it.
fn credit_factor(evidence: &Evidence, credits: f64, rate: f64) -> f64 {
    let series = &evidence.series;
    let large = series.typical_ns(Operation::LargeReadAgain).unwrap_or(0.0);
    let small = series.typical_ns(Operation::SmallReadAgain).unwrap_or(0.0);
    let requests = series.requests(Operation::LargeReadAgain).max(1.0);
    let bytes = f64::from(LARGE_BYTES) - requests * f64::from(SMALL_BYTES);
    let byte_ns = (large - requests * small) / bytes.max(1.0);
    let by_bytes = if byte_ns > 0.0 { 1e9 / byte_ns / rate } else { f64::INFINITY };
    (ENOUGH_CREDITS / credits).min(MAX_CREDIT_FACTOR).min(by_bytes).max(1.0)
}

/// Credits limit how many requests are in flight, and how many bytes one of them carries.
fn few_credits(case: &mut Case<'_>) {
    let evidence = case.evidence;
    let Some(credits) = evidence.number("credits").filter(|credits| *credits < MANY_CREDITS) else { return };
    let further =
        FurtherRequests::from_evidence(evidence).filter(|_| evidence.max_read < evidence.negotiated_read);
    let (text, gain) = if let Some(further) = further {
        let text = format!(
            "{credits} credits permit requests of {} only, less than was negotiated; {}.",
            show_size(further.limit.into()),
            further.text()
        );
        (text, further.gain())
    } else {
        let Some(compared) = evidence.comparisons.get(&Experiment::Connections) else { return };
        let Some(empty) = evidence.series.typical_ns(Operation::Empty) else { return };
        let permitted = credits * CREDIT_BYTES / (empty / 1e9);
        let rate = compared.base_bytes_per_s;
        // A stream beyond the limit had more credits meanwhile.
        if !(NEAR_LIMIT * permitted..BEYOND_LIMIT * permitted).contains(&rate) {
            return;
        }
        let text = format!(
            "{credits} credits carry {} per round trip of {}: at most {}; a stream reads {}.",
            show_size((credits * CREDIT_BYTES) as u64),
            show_nanos(empty),
            show_rate(permitted),
            show_rate(rate)
        );
        let factor = credit_factor(evidence, credits, rate);
        (text, Gain::computed_stream("streams, with 512 credits", rate, factor))
    };
    case.find(Finding {
        cause: Cause::FewCredits,
        title: "The server grants few credits, so that few requests are in flight.".to_owned(),
        evidence: text,
        gain,
        settings: settings(evidence, &[
            ("smb", "smb.conf: smb2 max credits = 8192. Windows: Set-SmbServerConfiguration -Smb2CreditsMin 512 -Smb2CreditsMax 8192."),
        ]),
        weight: 0.9,
    });
}
