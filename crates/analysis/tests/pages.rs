//! No sentence of a page contradicts a cell of that page: the oracle of pages, and the pages of the documents.

use std::fs;
use std::path::Path;

/// A page with one table of eight cells: `b` is faster for large records, and slower for small ones.
const TABLE: &str = "
read
--------
 file  record        a        b                b/a
 1MiB    4KiB  50 MB/s  40 MB/s  0.80 [0.79, 0.81] <
 1MiB   64KiB  50 MB/s  60 MB/s  1.20 [1.19, 1.21] >
16MiB    4KiB  50 MB/s  41 MB/s  0.82 [0.80, 0.84] <
16MiB   64KiB  50 MB/s  61 MB/s  1.22 [1.20, 1.24] >

write
--------
 file  record        a        b                  b/a
 1MiB    4KiB  50 MB/s  50 MB/s  1.000 [0.990, 1.010] =
 1MiB   64KiB  50 MB/s  50 MB/s  1.001 [0.990, 1.012] =
16MiB    4KiB  50 MB/s  50 MB/s  0.999 [0.985, 1.013] =
16MiB   64KiB  50 MB/s  50 MB/s    1.12 [0.95, 1.30] ?
";

/// Sentences of the terminal, Markdown and HTML about that table, with the words of the oracle; none for a true one.
const SENTENCES: [(&str, &str); 27] = [
    ("> read, records of 64KiB: b is 21 % faster than a [19, 23] (2 cells, 8 interleaved repetitions).", ""),
    (
        "> read, records up to 64KiB: b is 21 % faster than a [19, 23] (4 cells, 8 interleaved repetitions).",
        "contradicts",
    ),
    (
        "> read, records of 4KiB: b is 21 % faster than a [19, 23] (2 cells, 8 interleaved repetitions).",
        "contradicts",
    ),
    (
        "> read, records of 4KiB: a is 23 % faster than b [19, 27] (3 cells, 8 interleaved repetitions).",
        "states 3 cells",
    ),
    (
        "> read, records of 64KiB: b is 30 % faster than a [28, 32] (2 cells, 8 interleaved repetitions).",
        "the mean",
    ),
    (
        "> read, records of 64KiB: b is 19 to 24 % faster than a, on average 21 % faster [19, 23] (2 cells).",
        "",
    ),
    (
        "> read, records of 64KiB: b is 5.0 to 9.0 % faster than a, on average 21 % faster [19, 23] (2 cells).",
        "contradicts",
    ),
    (
        "> read, depth 4: b is 21 % faster than a [19, 23] (2 cells, 8 interleaved repetitions).",
        "about no cell",
    ),
    (
        "> reread: b is 21 % faster than a [19, 23] over 2 cells (8 interleaved repetitions).",
        "cannot be read",
    ),
    (
        "> read: a and b are about the same: ratio 0.996 [0.990, 1.002] over 4 cells (8 repetitions).",
        "contradicts",
    ),
    (
        "> read: b and a are about the same: ratio 0.990 [0.980, 1.002] on average over 4 cells (8 repetitions).",
        "",
    ),
    ("> 2 tests, records of 4KiB: b is 10 % faster than a [5, 15] (4 cells, 8 repetitions).", "1 tests only"),
    ("> Over 8 cells in 2 tests, b is 1.2 % faster than a [0.5, 2.9] on average (geometric mean).", ""),
    (
        "> Over 8 cells in 2 tests, b is 1.2 % faster than a [0.5, 2.9] (geometric mean, 8 repetitions).",
        "contradicts",
    ),
    (
        "- Over 8 cells in 2 tests, a is 9.0 % faster than b \\[8.0, 10.0\\] on average (geometric mean).",
        "the mean",
    ),
    ("? write: b against a is not resolved: ratio 1.028 [0.980, 1.090] over 4 cells (8 repetitions).", ""),
    (
        "? write: b against a is not resolved: ratio 0.90 [0.85, 0.94] over 4 cells (8 repetitions).",
        "the mean",
    ),
    (
        "- b/a: no part of the map is known to differ by more than 2 %; a single cell may still differ by 44 %.",
        "contradicts",
    ),
    (
        "VERDICT  b and a are about the same: ratio 1.012 [0.99, 1.03] on average; no cell differs by more\n         than 9.0 % (8 cells, confidence: high)",
        "contradicts",
    ),
    (
        "VERDICT  b is 1.2 % faster than a [0.5, 2.9] on average; nothing opposite beyond 40 % (8 cells, confidence: high)",
        "",
    ),
    (
        "VERDICT  b is 21 % faster than a in read for records of 64KiB, [19, 23]; elsewhere nothing opposite\n         beyond 6.0 % (8 cells, confidence: high)",
        "contradicts",
    ),
    (
        "VERDICT  depends on the test and the record size: b is 21 % faster [19, 23] in read for records of 64KiB, a is 23 % faster [19, 27] in read for records of 4KiB (8 cells, confidence: high)",
        "",
    ),
    (
        "VERDICT  depends on the file size: b is 21 % faster [19, 23] for files of 1MiB with records of 64KiB, a is 23 % faster [19, 27] in read for files of 16MiB (8 cells, confidence: high)",
        "contradicts",
    ),
    (
        "**Verdict:** b is faster than a in all 8 cells: 1.10 to 1.30 times as fast (8 cells, confidence: high)",
        "contradicts",
    ),
    (
        "VERDICT  inconclusive: b shows 1.35 times the rate of a, but one run each does not rule out chance (8 cells)",
        "the mean",
    ),
    (
        "<!DOCTYPE html><p>read, records of <b>4KiB</b>: b is 21 % faster than a [19, 23] (2 cells)</p>",
        "contradicts",
    ),
    ("<!DOCTYPE html><script>read: b is 21 % faster than a [19, 23]</script><p>nothing</p>", ""),
];

#[test]
fn false_sentences_are_found_and_true_ones_are_not() {
    let cells = crate::oracle::of_tables(TABLE);
    assert_eq!(cells.len(), 8);
    for (sentence, words) in SENTENCES {
        let found = crate::oracle::contradictions_of_page(&cells, sentence);
        if words.is_empty() {
            assert_eq!(found, [] as [String; 0], "{sentence}");
        } else {
            assert!(found.iter().any(|wrong| wrong.contains(words)), "{sentence}\n{found:#?}");
        }
    }
}

/// The blocks of code of a document.
fn blocks(text: &str) -> Vec<&str> {
    text.split("```")
        .skip(1)
        .step_by(2)
        .map(|block| block.split_once('\n').map_or("", |(_, rest)| rest))
        .collect()
}

#[test]
fn no_sentence_of_the_documents_contradicts_the_table_next_to_it() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folders = fs::read_dir(root.join("docs")).unwrap().map(|entry| entry.unwrap().path());
    let documents = folders
        .filter(|folder| folder.is_dir())
        .flat_map(|folder| fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()));
    let mut judged = 0;
    for path in
        documents.chain([root.join("README.md")]).filter(|path| path.extension().is_some_and(|e| e == "md"))
    {
        for block in blocks(&fs::read_to_string(&path).unwrap()) {
            let cells = crate::oracle::of_tables(block);
            if cells.is_empty() {
                continue;
            }
            judged += crate::oracle::statements(&cells, block);
            let found = crate::oracle::contradictions_of_page(&cells, block);
            assert_eq!(found, [] as [String; 0], "{}", path.display());
        }
    }
    assert!(judged > 0, "no document has a verdict next to its table");
}
