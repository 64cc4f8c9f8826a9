//! The cells of the preset io500: one per phase, made of the same tests as any sweep (docs/design/metadata.md).

use std::time::Duration;

use sharebench_model::units::ByteSize;
use sharebench_model::{Io500Phase, Value, axis};

use super::Resolver;
use super::metadata::MAX_ENTRIES;
use crate::plan::Io500;
use crate::resolved::{Cell, FileParts, MetadataWork, RecordWork};
use crate::values::{DirectoryLayout, MAX_FILE, MetadataTest, Test};

/// Bytes per operation of ior-hard.
const HARD_RECORD: u32 = 47_008;
/// Bytes per operation of ior-easy, which the rules of IO500 leave to the user: one request of most servers.
const EASY_RECORD: u32 = 1 << 20;
/// The same where a target speaks NCP, whose requests carry less than 64 KiB.
const SMALL_EASY_RECORD: u32 = 32 << 10;

impl Io500 {
    /// Jobs at work at once.
    const JOBS: u32 = 4;
    /// Bytes of the file of each job in ior-easy.
    const FILE_SIZE: ByteSize = ByteSize(64 << 20);
    /// Files of each job in mdtest.
    const ENTRIES: u32 = 1000;
}

impl Resolver<'_> {
    /// Lays out the phases in their order.
    pub(crate) fn io500_cells(&mut self, io500: &Io500, min_sample_time: Duration) -> Vec<Cell> {
        let jobs = io500.jobs.unwrap_or(Io500::JOBS);
        let file_size = io500.file_size.unwrap_or(Io500::FILE_SIZE);
        let entries = io500.entries.unwrap_or(Io500::ENTRIES);
        self.typed.io500 =
            Some(Io500 { jobs: Some(jobs), file_size: Some(file_size), entries: Some(entries) });
        let small = self.plan.targets.iter().any(|target| target.url.starts_with("ncp://"));
        let record = if small { SMALL_EASY_RECORD } else { EASY_RECORD };
        self.within("io500.jobs", jobs.into(), 1, 1024);
        // All jobs share the file of ior-hard.
        self.within("io500.file_size", file_size.0, record.into(), MAX_FILE / 2 / u64::from(jobs.max(1)));
        self.check_divides("io500.file_size", file_size, ByteSize(record.into()));
        // All jobs share the directory of mdtest-hard.
        self.within("io500.entries", entries.into(), 1, MAX_ENTRIES / u64::from(jobs.max(1)));
        let phases = Phases { jobs, file_size: file_size.0, record, entries, min_sample_time };
        Io500Phase::ALL.into_iter().map(|phase| phases.cell(phase)).collect()
    }
}

/// What the phases have in common.
struct Phases {
    jobs: u32,
    file_size: u64,
    /// Bytes per operation of ior-easy.
    record: u32,
    entries: u32,
    min_sample_time: Duration,
}

impl Phases {
    fn cell(&self, phase: Io500Phase) -> Cell {
        let (coordinates, work) = match phase {
            Io500Phase::IorEasyWrite => self.easy_file(Test::Write),
            Io500Phase::IorEasyRead => self.easy_file(Test::Read),
            Io500Phase::IorHardWrite => self.hard_file(Test::Write),
            Io500Phase::IorHardRead => self.hard_file(Test::Read),
            Io500Phase::MdtestEasyWrite => self.easy_entries(MetadataTest::Create),
            Io500Phase::MdtestEasyStat => self.easy_entries(MetadataTest::Stat),
            Io500Phase::MdtestEasyDelete => self.easy_entries(MetadataTest::Unlink),
            Io500Phase::Find => self.easy_entries(MetadataTest::TreeWalk),
            Io500Phase::MdtestHardWrite => self.hard_entries(MetadataTest::CreateWrite),
            Io500Phase::MdtestHardStat => self.hard_entries(MetadataTest::Stat),
            Io500Phase::MdtestHardRead => self.hard_entries(MetadataTest::OpenReadClose),
            Io500Phase::MdtestHardDelete => self.hard_entries(MetadataTest::Unlink),
        };
        (coordinates.with(axis::PHASE, Value::text(phase.name())), work)
    }

    /// A phase of ior, whose writes end with a flush as with its option `-e`.
    fn file(&self, test: Test, size: u64, record: u32) -> RecordWork {
        let work = RecordWork::new(test, size, record, self.min_sample_time);
        RecordWork { jobs: Some(self.jobs), include_flush: test.writes(), ..work }
    }

    /// A file for each job.
    fn easy_file(&self, test: Test) -> Cell {
        self.file(test, self.file_size, self.record).into_cell()
    }

    /// One file, in which the records of the jobs take turns. It has as many bytes as all files of ior-easy, up to a record.
    fn hard_file(&self, test: Test) -> Cell {
        let records = self.file_size.div_ceil(HARD_RECORD.into()) * u64::from(self.jobs);
        let work = self.file(test, records * u64::from(HARD_RECORD), HARD_RECORD);
        RecordWork { shared_file: true, parts: FileParts::Interleaved, ..work }.into_cell()
    }

    fn entries(&self, test: MetadataTest, layout: DirectoryLayout) -> MetadataWork {
        let directory = match layout {
            DirectoryLayout::Shared => self.entries.saturating_mul(self.jobs),
            DirectoryLayout::Own | DirectoryLayout::Tree => self.entries,
        };
        MetadataWork {
            entries: directory,
            layout,
            batch: self.entries,
            jobs: Some(self.jobs),
            ..MetadataWork::new(test, self.min_sample_time)
        }
    }

    /// Empty files, in a directory of each job.
    fn easy_entries(&self, test: MetadataTest) -> Cell {
        self.entries(test, DirectoryLayout::Own).into_cell()
    }

    /// Files of 3901 bytes, in one directory of all jobs.
    fn hard_entries(&self, test: MetadataTest) -> Cell {
        let work = self.entries(test, DirectoryLayout::Shared);
        MetadataWork { entry_size: MetadataWork::ENTRY_SIZE, ..work }.into_cell()
    }
}

#[cfg(test)]
mod tests {
    use sharebench_model::{Io500Phase, axis};

    use crate::{Plan, ResolvedPlan, Work};

    fn resolve(section: &str) -> Result<ResolvedPlan, String> {
        let text = format!("repetitions = 1\n[[target]]\nurl = 'nfs://a/b'\n{section}\n");
        Plan::parse(&text).map_err(|e| e.to_string())?.resolve().map_err(|e| e.to_string())
    }

    #[test]
    fn every_phase_is_a_cell_and_the_plan_is_stored() {
        let plan = resolve("[io500]\njobs = 3\nfile_size = '4MiB'\nentries = 50").unwrap();
        let phases: Vec<_> = plan.cells.iter().map(|(at, _)| at.text(axis::PHASE).unwrap()).collect();
        assert_eq!(phases, Io500Phase::ALL.map(Io500Phase::name));
        for ((_, work), phase) in plan.cells.iter().zip(Io500Phase::ALL) {
            match work {
                Work::Records(work) => {
                    assert!(phase.is_bandwidth());
                    let hard = phase.name().contains("hard");
                    assert_eq!((work.is_interleaved(), work.shared_file), (hard, hard));
                    let wanted = if hard { (47_008, 90 * 3 * 47_008) } else { (1 << 20, 4 << 20) };
                    assert_eq!((work.record_size, work.file_size), wanted, "{}", phase.name());
                    assert_eq!(work.include_flush, phase.name().ends_with("write"));
                }
                Work::Metadata(work) => {
                    assert!(!phase.is_bandwidth());
                    let wanted = if phase.name().contains("hard") { (150, 3901) } else { (50, 0) };
                    assert_eq!((work.entries, work.entry_size), wanted, "{}", phase.name());
                    assert_eq!((work.residents(), work.batch_per_directory(), work.jobs()), (0, 50, 3));
                }
                Work::Transactions(work) => panic!("{work:?}"),
            }
        }
        let again = Plan::parse(&plan.typed.to_toml()).unwrap().resolve().unwrap();
        assert_eq!((again.cells, again.typed.io500), (plan.cells.clone(), plan.typed.io500.clone()));
        let ranked = plan.clone().on_ranks(2);
        assert_eq!(ranked.cells, plan.cells, "the jobs are those of the plan");
    }

    #[test]
    fn ncp_has_small_records_and_other_values_are_mistakes() {
        let text = "repetitions = 1\n[[target]]\nurl = 'ncp://a@b/SYS'\n[io500]\n";
        let plan = Plan::parse(text).unwrap().resolve().unwrap();
        assert_eq!(plan.max_record(), 47_008);
        for (section, part) in [
            ("jobs = 0", "io500.jobs"),
            ("file_size = '100KiB'", "io500.file_size"),
            ("file_size = '1500KiB'", "io500.file_size"),
            ("entries = 0", "io500.entries"),
            ("jobs = 1024\nentries = 10_000", "io500.entries"),
            ("record_sizes = ['4KiB']", "record_sizes"),
        ] {
            let mistake = resolve(&format!("[io500]\n{section}")).unwrap_err();
            assert!(mistake.contains(part), "{section}: {mistake}");
        }
        let both = resolve("[io500]\n[sweep]\ntests = ['read']").unwrap_err();
        assert!(both.contains("io500"), "{both}");
    }
}
