//! sharebench's sessions as a contender, without the rest of the engine.

use std::future::poll_fn;
use std::time::{Duration, Instant};

use sharebench_local::LocalTarget;
use sharebench_model::{DataOp, FileRef, MetaOp, MetaYield, OpenHow, Slot, Stability};
use sharebench_ncp::target::NcpTarget;
use sharebench_nfs::NfsTarget;
#[cfg(feature = "smb")]
use sharebench_smb::SmbTarget;
use sharebench_target::{Secret, Session, SessionSpec, Target, TargetUrl, call};

use crate::Failure;
use crate::sample::{Meter, Sample};
use crate::shape::{FILE_BYTES, Offsets, Shape};

/// Measures the target of a URL on its file `data`.
pub fn measure(url: &str, shape: &Shape) -> Result<Sample, Failure> {
    let target = target(url)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let spec = SessionSpec { slots: shape.depth, slot_bytes: shape.record, ..SessionSpec::default() };
        let mut session = target.connect(&spec).await?;
        let how = if shape.write { OpenHow::ReadWrite } else { OpenHow::Read };
        let open = MetaOp::open("data", how);
        let MetaYield::Opened { file, .. } = call(&mut *session, open).await? else {
            return Err("the reply to open has no file".into());
        };
        let sample = drive(&mut *session, file, shape).await?;
        session.close().await;
        Ok(sample)
    })
}

/// Measures logins: a session is opened and closed, one after another.
pub fn logins(url: &str, shape: &Shape) -> Result<Sample, Failure> {
    let target = target(url)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let spec = SessionSpec::default();
        let mut meter = Meter::start(shape);
        while !meter.is_over() {
            target.connect(&spec).await?.close().await;
            meter.completed(Instant::now());
        }
        meter.sample()
    })
}

/// Creates the file `data` of a target.
pub fn create_data(url: &str) -> Result<(), Failure> {
    // One request of every protocol carries it.
    const RECORD: u32 = 32 << 10;
    let target = target(url)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let spec = SessionSpec { slots: 1, slot_bytes: RECORD, ..SessionSpec::default() };
        let mut session = target.connect(&spec).await?;
        let open = MetaOp::open("data", OpenHow::CreateNew);
        let MetaYield::Opened { file, .. } = call(&mut *session, open).await? else {
            return Err("the reply to open has no file".into());
        };
        let time = Duration::from_secs(3600);
        let mut offsets = Offsets::new(&Shape::sequential(RECORD, 1, true, time));
        let mut replies = Vec::new();
        for _ in 0..FILE_BYTES / u64::from(RECORD) {
            session.buffer(Slot(0)).fill(7);
            let offset = offsets.next();
            session
                .submit(Slot(0), DataOp::Write { file, offset, len: RECORD, stability: Stability::Unstable });
            poll_fn(|context| session.poll_replies(context, &mut replies)).await;
            for reply in replies.drain(..) {
                reply.result?;
            }
        }
        session.close().await;
        Ok(())
    })
}

/// Creates the target of a URL.
pub fn target(url: &str) -> Result<Box<dyn Target>, Failure> {
    let parsed = TargetUrl::parse(url)?;
    match parsed.scheme.as_str() {
        "file" => Ok(Box::new(LocalTarget::from_url(parsed)?)),
        "nfs" => Ok(Box::new(NfsTarget::from_url(parsed)?)),
        // Without a user in the URL the login is that of GUEST, which has no password.
        "ncp" => {
            let password = parsed.user.as_ref().map_or("", |_| sharebench_tests::Smbd::PASSWORD);
            Ok(Box::new(NcpTarget::from_url(parsed, Secret::new(password))?))
        }
        #[cfg(feature = "smb")]
        "smb" => Ok(Box::new(SmbTarget::from_url(parsed, Secret::new(sharebench_tests::Smbd::PASSWORD))?)),
        other => Err(format!("no adapter for {other}://").into()),
    }
}

/// Keeps `depth` operations in flight, with two clock readings each and one batch per poll.
async fn drive(session: &mut dyn Session, file: FileRef, shape: &Shape) -> Result<Sample, Failure> {
    let mut offsets = Offsets::new(shape);
    let mut replies = Vec::with_capacity(shape.depth as usize);
    let mut started = vec![Instant::now(); shape.depth as usize];
    let mut service = Duration::ZERO;
    let mut start = |session: &mut dyn Session, slot: Slot, at: &mut Instant| {
        *at = Instant::now();
        let offset = offsets.next();
        let len = shape.record;
        session.submit(
            slot,
            if shape.write {
                DataOp::Write { file, offset, len, stability: Stability::Unstable }
            } else {
                DataOp::Read { file, offset, len }
            },
        );
    };
    let mut meter = Meter::start(shape);
    for (slot, at) in started.iter_mut().enumerate() {
        start(session, Slot(slot as u32), at);
    }
    let mut flying = shape.depth;
    while flying > 0 {
        poll_fn(|context| session.poll_replies(context, &mut replies)).await;
        for reply in replies.drain(..) {
            let now = Instant::now();
            let at = started.get_mut(reply.slot.0 as usize).ok_or("unknown slot")?;
            service += now - *at;
            if reply.result? != shape.record {
                return Err("short transfer".into());
            }
            meter.completed(now);
            if meter.is_over() {
                flying -= 1;
            } else {
                start(session, reply.slot, at);
            }
        }
    }
    std::hint::black_box(service);
    meter.sample()
}
