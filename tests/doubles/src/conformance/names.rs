//! Name steps: creating, opening, renaming and describing files.

use sharebench_model::{Entry, ErrorClass, MetaOp, OpenHow, Stat};

use super::ground::Ground;
use super::pattern::{compare, pattern};

pub(super) async fn open_and_create(ground: &Ground<'_>) -> Result<(), String> {
    let mut probe = ground.enter().await?;
    let path = ground.path("once");
    let unit = ground.align(100) as u32;
    probe.put(&path, &pattern(1, 0, unit)).await?;
    let again = MetaOp::open(path.clone(), OpenHow::CreateNew);
    probe.fails(again, &[ErrorClass::Exists]).await?;
    compare(&pattern(1, 0, unit), &probe.get(&path, unit).await?, "after a refused creation")?;
    for how in [OpenHow::Read, OpenHow::ReadWrite] {
        let missing = MetaOp::open(ground.path("never"), how);
        probe.fails(missing, &[ErrorClass::NotFound]).await?;
        let below = MetaOp::open(ground.path("nowhere/never"), how);
        probe.fails(below, &[ErrorClass::NotFound]).await?;
        let (file, size) = probe.open(&path, how).await?;
        if size != u64::from(unit) {
            ground.find(format!("opened {how:?} with {size} bytes instead of {unit}"));
        }
        probe.done(MetaOp::Close { file }).await?;
    }
    let orphan = MetaOp::open(ground.path("nowhere/new"), OpenHow::CreateNew);
    probe.fails(orphan, &[ErrorClass::NotFound]).await?;
    // Two open files of one session are distinct.
    let (first, _) = probe.open(&path, OpenHow::ReadWrite).await?;
    let second = probe.create(&ground.path("other")).await?;
    probe.write(second, 0, &pattern(2, 0, unit)).await?;
    compare(&pattern(1, 0, unit), &probe.read(first, 0, unit).await?, "the first of two open files")?;
    compare(&pattern(2, 0, unit), &probe.read(second, 0, unit).await?, "the second of two open files")?;
    probe.done(MetaOp::Close { file: first }).await?;
    compare(&pattern(2, 0, unit), &probe.read(second, 0, unit).await?, "the one still open")?;
    probe.done(MetaOp::Close { file: second }).await?;
    ground.finish(probe).await
}

pub(super) async fn rename(ground: &Ground<'_>) -> Result<(), String> {
    let mut probe = ground.enter().await?;
    let unit = ground.align(64) as u32;
    let path = |name: &str| ground.path(name);
    probe.put(&path("a"), &pattern(1, 0, unit)).await?;
    probe.put(&path("b"), &pattern(2, 0, unit)).await?;
    probe.done(MetaOp::Rename { from: path("a"), to: path("c") }).await?;
    probe.fails(MetaOp::Stat { path: path("a") }, &[ErrorClass::NotFound]).await?;
    compare(&pattern(1, 0, unit), &probe.get(&path("c"), unit).await?, "renamed to a free name")?;
    probe.done(MetaOp::Rename { from: path("c"), to: path("b") }).await?;
    compare(&pattern(1, 0, unit), &probe.get(&path("b"), unit).await?, "renamed over an existing file")?;
    probe.done(MetaOp::MakeDir { path: path("dir") }).await?;
    probe.done(MetaOp::Rename { from: path("b"), to: path("dir/b") }).await?;
    compare(&pattern(1, 0, unit), &probe.get(&path("dir/b"), unit).await?, "moved into a directory")?;
    let missing = MetaOp::Rename { from: path("a"), to: path("d") };
    probe.fails(missing, &[ErrorClass::NotFound]).await?;
    let left: Vec<_> = probe.list(&path("")).await?.into_iter().map(|entry| entry.name).collect();
    if left != ["dir"] {
        ground.find(format!("left after the renames: {left:?}"));
    }
    ground.finish(probe).await
}

pub(super) async fn stat(ground: &Ground<'_>) -> Result<(), String> {
    let mut probe = ground.enter().await?;
    let unit = ground.align(777) as u32;
    probe.put(&ground.path("file"), &pattern(1, 0, unit)).await?;
    let file = probe.stat(&ground.path("file")).await?;
    if file != (Stat { size: u64::from(unit), directory: false }) {
        ground.find(format!("a file of {unit} bytes: {file:?}"));
    }
    let directory = probe.stat(&ground.path("")).await?;
    if directory != (Stat { size: 0, directory: true }) {
        ground.find(format!("a directory: {directory:?}"));
    }
    if !probe.stat("").await?.directory {
        ground.find("the target's own directory is none");
    }
    let missing = MetaOp::Stat { path: ground.path("none") };
    probe.fails(missing, &[ErrorClass::NotFound]).await?;
    ground.finish(probe).await
}

/// Names with spaces, dots, letters of many scripts and great length keep their spelling.
pub(super) async fn unusual(ground: &Ground<'_>) -> Result<(), String> {
    let mut probe = ground.enter().await?;
    let long = "l".repeat(200);
    let unicode_long = "\u{e4}".repeat(100);
    let names = [
        "with space",
        "d.o.t.s",
        ".hidden",
        "UPPER",
        "\u{e4}\u{f6}\u{fc}",
        "日本語",
        "\u{1f980}",
        "100%+a=b,[x]",
        &long,
        &unicode_long,
    ];
    let mut wanted = Vec::new();
    for (stamp, name) in names.into_iter().enumerate() {
        let content = pattern(stamp as u64, 0, ground.align(32) as u32);
        probe.put(&ground.path(name), &content).await.map_err(|finding| format!("{name:?}: {finding}"))?;
        wanted.push(Entry { name: name.to_owned(), directory: false, size: None });
    }
    for (stamp, name) in names.into_iter().enumerate() {
        let wanted = pattern(stamp as u64, 0, ground.align(32) as u32);
        let got = probe.get(&ground.path(name), wanted.len() as u32).await?;
        compare(&wanted, &got, &format!("{name:?}"))?;
    }
    wanted.sort_by(|a, b| a.name.cmp(&b.name));
    let listed = probe.list(&ground.path("")).await?;
    if listed != wanted {
        ground.find(format!("the list shows {listed:?}"));
    }
    let from = ground.path("UPPER");
    let to = ground.path("日本 UPPER");
    probe.done(MetaOp::Rename { from, to: to.clone() }).await?;
    probe.done(MetaOp::Remove { path: to }).await?;
    ground.finish(probe).await
}
