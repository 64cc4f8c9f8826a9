//! Imported tables: origins, clocks, contradictions, settings, Little's law and scalability.

use sharebench_analysis::{Options, RunData, analyse};

use crate::sentences::{check, check_text, quick};
use crate::synthetic::{Synthetic, grid, printed_table};
use crate::tables::imported;

const MAP_1993: [&str; 6] = [
    "run=section",
    "fact.client=os_client_config",
    "file_size=file_size_mb:MiB",
    "record_size=record_bytes:B",
    "rate.write=write_Bps:B/s",
    "rate.read=read_Bps:B/s",
];

/// Configurations of the table of 1993.
fn of_1993(names: &[&str]) -> Vec<RunData> {
    let all = imported(
        "doupnik1993.csv",
        include_bytes!("../../../exchange/tests/data/doupnik1993.csv"),
        &MAP_1993,
    );
    names.iter().map(|name| all.iter().find(|run| run.label == *name).unwrap().clone()).collect()
}

#[test]
fn the_table_of_1993() {
    check("packet_burst", &of_1993(&["bnetx_nw311", "netx_nw311"]), &quick());
    let names = ["vlm_cachebuf_default", "vlm_sig2", "vlm_truecommit_sig2", "vlm_checksum"];
    check("checksum", &of_1993(&names), &quick());
    check("titles", &of_1993(&["vlm_conn_high", "vlm_ipxncp_high"]), &quick());
    let link = Options { link: Some("10Mbit".parse().unwrap()), ..quick() };
    check("cells_above_the_link", &of_1993(&["bnetx_nw311", "unix_nfs_nw311"]), &link);
    let mut signed = of_1993(&["vlm_cachebuf_default", "vlm_sig2"]);
    *signed[0].facts[0].get_mut("client").unwrap() += ", signature level=0";
    check("effect_of_signatures", &signed, &quick());
    // The same difference in six pairs has an interval.
    let mut pairs = Vec::new();
    for index in 0..7 {
        for run in &mut signed.clone() {
            run.label = format!("{} {index}", run.label);
            run.header.targets[0].name.clone_from(&run.label);
            let stated = run.facts[0].get_mut("client").unwrap();
            *stated = format!("{stated}, frame size={index}");
            pairs.push(run.clone());
        }
    }
    let effects = analyse(&pairs, &quick()).findings.into_iter().map(|finding| finding.text);
    let effects: Vec<String> = effects.filter(|text| text.contains(" instead of ")).collect();
    check_text("effect_in_seven_pairs", &effects.join("\n"));
}

/// A table of another program: printed rates of times that are whole ticks.
fn table(title: &str, tick_s: f64, seed: u64, clock_ns: Option<&str>) -> RunData {
    let mut run = printed_table(title, tick_s, seed);
    if let Some(clock) = clock_ns {
        run.header.environment.insert("clock_resolution_ns".to_owned(), clock.to_owned());
    }
    run
}

#[test]
fn clocks_of_tables() {
    check(
        "clock_inferred",
        &[table("one", 0.015_625, 6, None), table("other", 0.015_625, 7, None)],
        &quick(),
    );
    let stated = [table("one", 0.01, 6, Some("10000000")), table("other", 0.01, 7, Some("1000"))];
    check("clock_contradicted", &stated, &quick());
    let plain = |name: &str| {
        let mut run = Synthetic::new(name, &[name], 5);
        run.sweep(&grid(&["read"], 2, 2), 1, |_, _| 1e8);
        run.run.header.environment.insert("origin".to_owned(), "imported".to_owned());
        run.run.header.environment.remove("clock_resolution_ns");
        run.run
    };
    check("clock_unknown", &[plain("a"), plain("b")], &quick());
    let mut fresh = Synthetic::new("fresh", &["fresh"], 7);
    fresh.noise = 0.2;
    fresh.sweep(&grid(&["read"], 2, 2), 10, |_, _| 1.1e8);
    check("repeated_against_single", &[plain("old"), fresh.run], &quick());
    let repeated = |name: &str, rate: f64| {
        let mut run = Synthetic::new(name, &[name], 7);
        (run.noise, run.drift) = (0.002, 0.002);
        run.sweep(&grid(&["read"], 2, 2), 10, |_, _| rate);
        run.run.header.environment.insert("origin".to_owned(), "imported".to_owned());
        run.run
    };
    check("repeated_imports", &[repeated("old", 1e8), repeated("new", 1.5e8)], &quick());
}

#[test]
fn settings_without_effect() {
    let table = |name: &str, signing: &str| {
        let mut run = Synthetic::new(name, &[name], 5);
        (run.noise, run.drift) = (0.0, 0.0);
        run.run.facts[0] = [("signing".to_owned(), signing.to_owned())].into();
        run.run.header.targets[0].url = format!("imported from {name}.txt");
        run.sweep(&grid(&["read"], 3, 4), 1, |_, _| 1e8);
        run.run
    };
    check("setting_without_effect", &[table("plain", "off"), table("signed", "required")], &quick());
}

#[test]
fn tables_of_users() {
    let of_1997 = include_bytes!("../../../exchange/tests/data/dynameasure1997.csv");
    let map = [
        "target=server",
        "users=users",
        "rate=kB_per_s:kB/s",
        "response=art_s:s",
        "reported=mps",
        "test==write",
    ];
    let figures = |more: &[&str]| {
        imported("dynameasure1997.csv", of_1997, &map.iter().chain(more).copied().collect::<Vec<_>>())
    };
    check("transaction_sizes", &figures(&["think==0:s"]), &quick());
    check("littles_law_without_think_time", &figures(&["think==0:s", "transaction_size==2:MB"]), &quick());
    check("littles_law", &figures(&["think==15:s", "transaction_size==2:MB"]), &quick());
    let agreeing = b"server,users,rate,art\na,10,1000,1\na,20,1000,3\nb,10,500,1\nb,20,500,3\n";
    let map =
        ["target=server", "users=users", "rate=rate:kB/s", "response=art:s", "test==read", "think==1:s"];
    check("transaction_sizes_of_systems", &imported("t.csv", agreeing, &map), &quick());
    let busy = b"server,users,rate,art\na,10,30,1\na,20,40,1\n";
    let map = ["target=server", "users=users", "rate=rate:ops/s", "response=art:s", "test==read"];
    check("more_busy_users_than_there_were", &imported("t.csv", busy, &map), &quick());
    let raytracer = include_bytes!("../../../exchange/tests/data/raytracer.csv");
    let map = ["users=processors", "rate=throughput:ops/s", "test==render"];
    check("scalability_law", &imported("raytracer.csv", raytracer, &map), &quick());
    let peak = b"load,rate\n1,64.9\n18,995.9\n36,1652.4\n72,1853.2\n108,1828.9\n144,1775.0\n216,1702.2\n";
    for (name, rate) in
        [("scalability_law_with_a_peak", "rate=rate:ops/s"), ("scalability_law_of_bytes", "rate=rate:kB/s")]
    {
        check(name, &imported("specsdm91.csv", peak, &["users=load", rate, "test==sdm"]), &quick());
    }
    let peaking = b"load,rate\n1,100\n4,330\n8,500\n16,600\n24,590\n32,540\n48,450\n64,370\n";
    let map = ["users=load", "rate=rate:ops/s", "test==peaking"];
    check("scalability_law_that_peaks", &imported("peaking.csv", peaking, &map), &quick());
    let falling = b"load,rate\n1,100\n2,1\n3,0.5\n4,90\n";
    check("no_law", &imported("odd.csv", falling, &["users=load", "rate=rate:ops/s", "test==odd"]), &quick());
}

/// A table of two systems in the columns of `tests/data/verdict`.
fn surface(table: &str, more: &[&str]) -> Vec<RunData> {
    let map =
        ["target=server", "test=op", "file_size=file_mb:MiB", "record_size=rec_kb:KiB", "rate=kBps:KiB/s"];
    let map: Vec<&str> = map.iter().chain(more).copied().collect();
    imported("t.csv", table.as_bytes(), &map)
}

#[test]
fn errors_of_tables() {
    let one_step = b"server,users,kBps,s\na,50,841,132\nb,50,167,122\n";
    let map = ["target=server", "users=users", "rate=kBps:kB/s", "response=s:s", "test==write", "think==0:s"];
    check("one_step_of_two_systems", &imported("t.csv", one_step, &map), &quick());
    let factor = include_str!("../data/verdict/unit-one-cell.csv");
    check("cell_of_another_unit", &surface(factor, &[]), &quick());
    let slow = factor.replace("B,read,4,64,7.416\n", "B,read,4,64,1300.0\n");
    check("cell_that_does_not_fit", &surface(&slow, &[]), &quick());
    let copied = include_str!("../data/verdict/equal-columns.csv");
    check("columns_that_are_equal", &surface(copied, &[]), &quick());
    let of_a: String = copied.split_inclusive('\n').filter(|line| !line.starts_with('B')).collect();
    let rows = of_a
        .replace(
            "A,read,4,4,1686\nA,read,4,16,4485\nA,read,4,64,7593\n",
            "A,read,4,4,1674\nA,read,4,16,4508\nA,read,4,64,7573\n",
        )
        .replace("A,read,4,256,9380\nA,read,16,4,1651\n", "A,read,4,256,9300\nA,read,16,4,1674\n")
        .replace("A,read,16,16,4525\nA,read,16,64,7631\n", "A,read,16,16,4508\nA,read,16,64,7573\n")
        .replace("A,read,16,256,9265\n", "A,read,16,256,9300\n");
    check("rows_that_are_equal", &surface(&rows, &[]), &quick());
    check("reads_of_no_disk", &surface(&of_a.replace(",4,256,", ",4,256,9"), &["fact.year==1993"]), &quick());
}
