//! Directory steps: listing, nesting and removing.

use sharebench_model::{Entry, ErrorClass, MetaOp};

use super::ground::Ground;
use super::pattern::{compare, pattern};

/// Lists of nothing, one name and more names than fit one reply of most protocols.
pub(super) async fn list(ground: &Ground<'_>) -> Result<(), String> {
    let mut probe = ground.enter().await?;
    if !probe.list(&ground.path("")).await?.is_empty() {
        ground.find("a new directory is not empty");
    }
    probe.done(MetaOp::MakeDir { path: ground.path("sub") }).await?;
    let mut wanted = vec![Entry { name: "sub".into(), directory: true, size: None }];
    let one = probe.list(&ground.path("")).await?;
    if one != wanted {
        ground.find(format!("one name: {one:?}"));
    }
    for index in 0..299 {
        let name = format!("name-{index:03}-{}", "x".repeat(index % 60));
        probe.put(&ground.path(&name), b"").await?;
        wanted.push(Entry { name, directory: false, size: None });
    }
    wanted.sort_by(|a, b| a.name.cmp(&b.name));
    let many = probe.list(&ground.path("")).await?;
    if many != wanted {
        let missing = wanted.iter().find(|entry| !many.contains(entry));
        ground.find(format!("{} of 300 names listed, missing first: {missing:?}", many.len()));
    }
    probe.fails(MetaOp::List { path: ground.path("none") }, &[ErrorClass::NotFound]).await?;
    // A listing that was left in its middle hinders neither a new one nor the removal of the directory.
    probe.page(&ground.path(""), true).await?;
    probe.page(&ground.path("sub"), false).await?;
    probe.page(&ground.path(""), false).await?;
    probe.done(MetaOp::RemoveDir { path: ground.path("sub") }).await?;
    let missing = MetaOp::ListPage { path: ground.path("none"), restart: true };
    probe.fails(missing, &[ErrorClass::NotFound]).await?;
    ground.finish(probe).await
}

pub(super) async fn nested(ground: &Ground<'_>) -> Result<(), String> {
    let mut probe = ground.enter().await?;
    let unit = ground.align(256) as u32;
    let mut path = ground.path("");
    for level in 0..8u64 {
        path = format!("{path}/level-{level}");
        probe.done(MetaOp::MakeDir { path: path.clone() }).await?;
        probe.put(&format!("{path}/file"), &pattern(level, 0, unit)).await?;
    }
    let mut path = ground.path("");
    for level in 0..8u64 {
        path = format!("{path}/level-{level}");
        let got = probe.get(&format!("{path}/file"), unit).await?;
        compare(&pattern(level, 0, unit), &got, &format!("level {level}"))?;
    }
    probe.fails(MetaOp::MakeDir { path: path.clone() }, &[ErrorClass::Exists]).await?;
    let orphan = MetaOp::MakeDir { path: ground.path("none/below") };
    probe.fails(orphan, &[ErrorClass::NotFound]).await?;
    ground.finish(probe).await
}

pub(super) async fn remove(ground: &Ground<'_>) -> Result<(), String> {
    let mut probe = ground.enter().await?;
    let dir = ground.path("dir");
    let file = ground.path("dir/file");
    probe.done(MetaOp::MakeDir { path: dir.clone() }).await?;
    probe.put(&file, b"").await?;
    probe.fails(MetaOp::RemoveDir { path: dir.clone() }, &[ErrorClass::NotEmpty]).await?;
    if probe.list(&dir).await?.len() != 1 {
        ground.find("a refused removal removed something");
    }
    probe.done(MetaOp::Remove { path: file.clone() }).await?;
    probe.fails(MetaOp::Remove { path: file }, &[ErrorClass::NotFound]).await?;
    probe.done(MetaOp::RemoveDir { path: dir.clone() }).await?;
    probe.fails(MetaOp::RemoveDir { path: dir.clone() }, &[ErrorClass::NotFound]).await?;
    probe.fails(MetaOp::Stat { path: dir }, &[ErrorClass::NotFound]).await?;
    ground.finish(probe).await
}
