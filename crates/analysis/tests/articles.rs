//! Published tables: what they support, what they cannot, and where they contradict themselves.

use crate::tables::imported;
use sharebench_analysis::{Analysis, Options, RatioVerdict, RunData, analyse, declared_equal_spread};

const MAP: [&str; 6] = [
    "run=section",
    "fact.client=os_client_config",
    "file_size=file_size_mb:MiB",
    "record_size=record_bytes:B",
    "rate.write=write_Bps:B/s",
    "rate.read=read_Bps:B/s",
];

/// The table of 1993, a run per configuration; its clock is not stated.
fn doupnik() -> Vec<RunData> {
    imported("doupnik1993.csv", include_bytes!("../../exchange/tests/data/doupnik1993.csv"), &MAP)
}

fn runs_of(names: &[&str]) -> Vec<RunData> {
    let all = doupnik();
    names.iter().map(|name| all.iter().find(|run| run.label == *name).unwrap().clone()).collect()
}

fn compared(names: &[&str], options: &Options) -> Analysis {
    analyse(&runs_of(names), options)
}

fn texts(sentences: &[sharebench_analysis::Sentence]) -> String {
    sentences.iter().map(|s| s.text.as_str()).collect::<Vec<_>>().join("\n")
}

fn trust(analysis: &Analysis) -> String {
    let lines = analysis.trust.iter().map(|line| format!("{}: {}", line.subject, line.text));
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn the_dos_timer_shows_itself_and_single_runs_claim_nothing() {
    let analysis = compared(&["bnetx_nw311", "netx_nw311"], &Options::default());
    let found_text = trust(&analysis);
    assert!(
        found_text.contains("100 % of 18 times are whole ticks of 54.925 ms, printed in steps of 10 ms"),
        "{found_text}"
    );
    let ratios = || {
        analysis.sections.iter().flat_map(|section| &section.rows).flat_map(|row| row.ratios.iter().flatten())
    };
    assert!(
        ratios().all(|ratio| ratio.verdict == RatioVerdict::NotResolved && ratio.typical.interval.is_none())
    );
    // Small records are alike; from 2 KiB on the packet burst of bnetx shows.
    let resolved: Vec<bool> = ratios().map(|ratio| ratio.single_run.unwrap().resolved).collect();
    assert_eq!(resolved.iter().filter(|resolved| **resolved).count(), 11, "{resolved:?}");
    let answer = texts(&analysis.answer);
    assert!(
        answer.contains("(single run; 11 of 18 cells differ by more than the uncertainty of clocks)"),
        "{answer}"
    );
    assert!(answer.ends_with("One run each: chance cannot be ruled out."), "{answer}");
    assert!(!answer.contains("faster than"), "{answer}");
}

#[test]
fn the_packet_burst_is_a_region_and_a_break_of_single_runs() {
    let found = texts(&compared(&["bnetx_nw311", "netx_nw311"], &Options::default()).findings);
    for expected in [
        "write, records of 2KiB and more: bnetx_nw311 shows 1.43 times the rate of netx_nw311 (one run each; 5 cells, 1.29 \
         to 1.69 times; every cell differs by more than clocks and neighbouring cells explain).",
        "write: the ratio netx_nw311/bnetx_nw311 changes with records of 2KiB: from 1.00 to 0.77 (one run each; at 2 of 2 \
         file sizes).",
        "read, records of 2KiB and more: bnetx_nw311 shows 1.36 times the rate of netx_nw311 (one run each; 5 cells, 1.21 \
         to 1.62 times; every cell differs by more than clocks and neighbouring cells explain).",
    ] {
        assert!(found.contains(expected), "{found}");
    }
}

#[test]
fn signatures_cost_a_fifth_up_to_4_kib_and_less_above() {
    let mut runs = runs_of(&["vlm_cachebuf_default", "vlm_sig2"]);
    // The table does not state the signature level of the first; as level 0 it isolates the setting.
    let stated = runs[0].facts[0].get_mut("client").unwrap();
    *stated += ", signature level=0";
    let analysis = analyse(&runs, &Options::default());
    let settings = &analysis.comparisons[0].settings;
    assert_eq!(settings.len(), 1, "{settings:?}");
    assert_eq!(settings[0].words(), "signature: 2 against 0");
    let found = texts(&analysis.findings);
    assert!(
        found.contains("write: signature 2 instead of 0: records of 512B to 4KiB 22 % slower"),
        "{found}"
    );
    assert!(found.contains("records of 8KiB 15 % slower"), "{found}");
    assert!(found.contains("a range, not an interval"), "{found}");
}

#[test]
fn a_setting_that_one_system_does_not_state_has_no_effect_attributed_to_it() {
    // Both state signature 2 and the default cache buffers; the checksum is stated of one of them.
    let analysis = compared(&["vlm_sig2", "vlm_checksum"], &Options::default());
    let found = texts(&analysis.findings);
    assert!(!found.contains("instead of"), "{found}");
    let stated = "vlm_checksum/vlm_sig2: stated of one system only, so that they may or may not differ: checksum default \
                  (vlm_checksum).";
    assert!(found.contains(stated), "{found}");
    assert_eq!(analysis.contradictions, []);
    // The same of a setting with an effect: the table does not state what it is compared with.
    let analysis = compared(&["vlm_cachebuf_default", "vlm_sig2"], &Options::default());
    assert!(!texts(&analysis.findings).contains("instead of"), "{}", texts(&analysis.findings));
}

#[test]
fn a_configuration_that_shows_no_effect_of_its_signature_is_doubted() {
    let names = ["vlm_cachebuf_default", "vlm_sig2", "vlm_truecommit_sig2", "vlm_checksum"];
    let analysis = compared(&names, &Options::default());
    let expected = "vlm_checksum equals vlm_cachebuf_default to one tick of the clock in 17 of 22 cells, although what is \
                    stated of them differs (checksum: not stated against default; signature: not stated against 2). \
                    vlm_checksum states signature 2 as vlm_sig2 does, which is 22 % slower than vlm_cachebuf_default \
                    (median of its cells) and states nothing else that differs, but vlm_checksum shows no such effect; it \
                    is excluded from the effects of settings.";
    assert_eq!(texts(&analysis.contradictions), expected);
    let found = texts(&analysis.findings);
    assert!(!found.contains("checksum default instead of"), "nothing is concluded from it: {found}");
}

#[test]
fn titles_that_the_transcriber_doubted_are_shown() {
    let found_text =
        texts(&compared(&["vlm_conn_high", "vlm_ipxncp_high"], &Options::default()).contradictions);
    assert!(
        found_text.contains("the source contradicts itself") && found_text.contains("TITLE says conn high"),
        "{found_text}"
    );
}

#[test]
fn the_unix_cache_ends_between_8_and_16_mib_and_exceeds_the_wire_before() {
    let options = Options { link: Some("10Mbit".parse().unwrap()), ..Options::default() };
    let analysis = compared(&["unix_local", "unix_nfs_nw311"], &options);
    let found = texts(&analysis.findings);
    assert!(
        found.contains("unix_nfs_nw311 falls from 4.05 MB/s at files of 8MiB to 356 kB/s at files of 16MiB"),
        "{found}"
    );
    assert!(
        found.contains("unix_local falls from 4.82 MB/s at files of 8MiB to 637 kB/s at files of 16MiB"),
        "{found}"
    );
    // Hundredths of a second are all there is of this clock.
    assert!(trust(&analysis).contains("whole ticks of 10 ms ("), "{}", trust(&analysis));
    let found_text = texts(&analysis.contradictions);
    assert!(found_text.contains("a client's cache served at least 83.3 % of it"), "{found_text}");
    assert!(
        found_text.contains("Fastest: unix_nfs_nw311, ") && !found_text.contains("unix_local"),
        "a local disk has no link: {found_text}"
    );
    let served = "read: unix_nfs_nw311: the client's cache serves at least half of files up to 8MiB, records of 2KiB and more";
    assert!(found.contains(served), "{found}");
}

#[test]
fn cells_above_the_link_take_no_part_in_the_answer() {
    let options = Options { link: Some("10Mbit".parse().unwrap()), ..Options::default() };
    let analysis = compared(&["bnetx_nw311", "unix_nfs_nw311"], &options);
    assert_eq!(
        texts(&analysis.answer),
        "Overall, bnetx_nw311 shows 1.41 times the rate of unix_nfs_nw311 over 9 cells in 1 test (single run; every cell \
         differs by more than the uncertainty of clocks). Excluded: 9 cells that the client's cache served on one side \
         only; including them, as users see it: unix_nfs_nw311 shows 2.38 times the rate of bnetx_nw311.\n\
         One run each: chance cannot be ruled out."
    );
    let found = texts(&analysis.findings);
    assert!(
        found.contains(
            "read: unix_nfs_nw311 shows 8.00 times the rate of bnetx_nw311 over 9 cells (single run; every cell differs by \
             more than the uncertainty of clocks). The client's cache served all of these cells on one side only: this is \
             the rate that users see, not that of the server."
        ),
        "{found}"
    );
    let served = "client cache: unix_nfs_nw311: the client's cache served 20 of 50 cells (at least 9 to 84 % of their \
                  bytes did not cross the wire): the rate that users see, not that of the server";
    assert!(trust(&analysis).contains(served), "{}", trust(&analysis));
    // Without the rate of the link nothing is known of the cache.
    let all = texts(&compared(&["bnetx_nw311", "unix_nfs_nw311"], &Options::default()).answer);
    assert!(
        all.starts_with("Overall, unix_nfs_nw311 shows 2.38 times the rate of bnetx_nw311 over 18 cells"),
        "{all}"
    );
}

#[test]
fn the_slow_server_of_1993_falls_where_its_memory_ends() {
    let found = texts(&compared(&["bnetx_nw311", "bnetx_nw400_386sx"], &Options::default()).findings);
    assert!(
        found.contains("bnetx_nw400_386sx falls from 502 kB/s at files of 2MiB to 170 kB/s at files of 4MiB")
            || found.contains("falls from 386 kB/s at files of 2MiB to 239 kB/s at files of 4MiB"),
        "{found}"
    );
}

#[test]
fn runs_declared_equal_widen_what_is_open() {
    let all = runs_of(&["vlm_pburst_noqual", "vlm_no_pburst", "vlm_base_cache0"]);
    let equal_spread = declared_equal_spread(&all[0], &all[1]);
    assert!(equal_spread.unwrap() < 0.02);
    let options = Options { equal_spread, ..Options::default() };
    let analysis = analyse(&all[1..], &options);
    let single = |row: &sharebench_analysis::Row| {
        row.ratios[0].as_ref().map(|ratio| ratio.single_run.unwrap().resolved)
    };
    let rows = analysis.sections.iter().flat_map(|section| &section.rows);
    assert!(
        rows.filter_map(single).all(|resolved| !resolved),
        "no packet burst made no difference that this table shows"
    );
    assert!(texts(&analysis.answer).contains("0 of 10 cells differ"), "{}", texts(&analysis.answer));
}
