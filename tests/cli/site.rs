//! `docs/build-site`: the documents as a site with search.

use sharebench_tests::program::run;
use sharebench_tests::{Reader, needs};

const BUILD_SITE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/build-site");
const SITE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../target/site");
const LIST_DOCUMENTS: &str =
    concat!("cd ", env!("CARGO_MANIFEST_DIR"), "/.. && ls *.md && find docs -name '*.md'");

#[test]
fn every_document_is_a_page_of_the_site_once() {
    let summary = run(&[BUILD_SITE, "--summary"], &[]).unwrap();
    assert!(!summary.contains("[]"), "a document has no title:\n{summary}");
    let pages = summary.lines().map(|line| line.rsplit_once("](").unwrap().1.trim_end_matches(')'));
    // The page of a folder is no document.
    let mut pages: Vec<&str> =
        pages.filter(|page| !page.ends_with("/README.md") || *page == "docs/README.md").collect();
    pages.sort_unstable();
    let listed = run(&["sh", "-c", LIST_DOCUMENTS], &[]).unwrap();
    let mut documents: Vec<&str> = listed.lines().collect();
    documents.sort_unstable();
    assert_eq!(pages, documents);
}

#[test]
fn pages_of_the_site_have_no_errors_and_search_finds_a_term() {
    // mdBook takes three minutes to compile.
    if std::env::var_os("SHAREBENCH_LONG").is_none() {
        return;
    }
    needs!(Reader::NEEDS);
    let _ = run(&[BUILD_SITE], &[]).unwrap();
    let seen = Reader::visit(SITE, "think time").unwrap();
    for silent in ["problems", "console", "failed"] {
        assert_eq!(seen[silent], serde_json::json!([]), "{silent}: {seen}");
    }
    let pages = run(&[BUILD_SITE, "--summary"], &[]).unwrap().lines().count();
    assert_eq!(seen["pages"], pages, "{seen}");
    assert!(seen["hits"].to_string().contains("think time"), "{seen}");
}
