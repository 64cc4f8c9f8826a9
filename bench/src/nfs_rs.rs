//! Crate `nfs-rs` over NFSv4.1 as a contender: one mount, with as many reads in flight as the depth.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Instant;

use nfs_rs::{Mount, OPEN_READ, parse_url_and_mount};
use tokio::task::LocalSet;

use crate::Failure;
use crate::sample::{Meter, Sample};
use crate::shape::{Offsets, Shape};

/// Measures reads of the file `data` of the URL, which is that of the crate.
pub fn measure(url: &str, shape: &Shape) -> Result<Sample, Failure> {
    // The crate spawns its tasks on the runtime; one thread costs it the least CPU.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    LocalSet::new().block_on(&runtime, async {
        let mount: Rc<dyn Mount> = Rc::from(parse_url_and_mount(url).await?);
        let file = mount.open_path("data", OPEN_READ).await?.fh;
        let offsets = Rc::new(RefCell::new(Offsets::new(shape)));
        let meter = Rc::new(RefCell::new(Meter::start(shape)));
        let mut tasks = Vec::new();
        for _ in 0..shape.depth {
            let mount = Rc::clone(&mount);
            let file = file.clone();
            let record = shape.record;
            let offsets = Rc::clone(&offsets);
            let meter = Rc::clone(&meter);
            tasks.push(tokio::task::spawn_local(async move {
                while !meter.borrow().is_over() {
                    let offset = offsets.borrow_mut().next();
                    let data = mount.read(file.clone(), offset, record).await?;
                    if data.len() != record as usize {
                        return Err(Failure::from(format!("READ: {} bytes of {record}", data.len())));
                    }
                    meter.borrow_mut().completed(Instant::now());
                }
                Ok(())
            }));
        }
        for task in tasks {
            task.await??;
        }
        meter.borrow().sample()
    })
}
