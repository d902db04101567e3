//! Many writers, readers, checkpointers, cleaners and vacuums at once, in an order determined by a seed.
//!
//! Afterwards the history is checked: every version was created once, every acknowledged commit is in its
//! version, no commit occurs twice, no failed one occurs; and every read saw exactly the files of its
//! version, which was no older than any version acknowledged before it began.
//!
//! `DELTAREPLAY_SIMULATIONS` sets the number of seeds, `DELTAREPLAY_SEED` a single one.

mod history;
mod store;

use std::collections::BTreeMap;
use std::env;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, SystemTime};

use arrow_array::cast::AsArray;
use deltareplay_core::codec::file_columns::FileColumns;
use deltareplay_core::derived::checkpoint::{CheckpointLayout, write_checkpoint};
use deltareplay_core::derived::checksum::write_checksum_from_previous;
use deltareplay_core::derived::cleanup::cleanup_log;
use deltareplay_core::derived::compaction::compact_log;
use deltareplay_core::error::{ErrorKind, Result};
use deltareplay_core::maintenance::vacuum::{self, VacuumOptions};
use deltareplay_core::replay::Source;
use deltareplay_core::snapshot::Snapshot;
use deltareplay_core::snapshot::load::load;
use deltareplay_core::spec::Metadata;
use deltareplay_core::transaction::{CommitDescription, Transaction, TransactionOptions};
use deltareplay_core::write::AddFile;

use self::history::{Event, Outcome, violations_of};
use self::store::{Died, Faults, Handle, World};
use crate::support::Random;

const WRITERS: usize = 3;
const READERS: usize = 2;
const COMMITS: usize = 5;
const READS: usize = 6;
const ROUNDS: usize = 3;
const FAULTS: Faults = Faults {
    puts: 25,
    others: 1,
    deaths: 2,
    no_condition: false,
};

fn source(world: &Arc<World>, actor: usize) -> Source {
    let mut source = Source::new("memory://simulation", &[], None, None).unwrap();
    source.storage = Handle::open(world, actor);
    source
}

fn describe(operation: &str) -> CommitDescription {
    CommitDescription {
        operation: operation.to_owned(),
        ..CommitDescription::default()
    }
}

fn create(world: &Arc<World>, timestamps: bool) {
    let mut metadata = Metadata {
        id: "simulated".into(),
        ..Metadata::default()
    };
    let properties = [
        ("delta.logRetentionDuration", "interval 2 days"),
        ("delta.deletedFileRetentionDuration", "interval 1 days"),
        (
            "delta.enableInCommitTimestamps",
            if timestamps { "true" } else { "false" },
        ),
    ];
    for (key, value) in properties {
        metadata.configuration.insert(key.into(), value.into());
    }
    let options = TransactionOptions::default();
    let source = source(world, 0);
    Transaction::create(&source, metadata, describe("CREATE TABLE"), options)
        .unwrap()
        .commit()
        .unwrap();
}

fn files(source: &Source, snapshot: &Snapshot) -> Result<Vec<String>> {
    let table = snapshot.files(source, &FileColumns::all(), None)?;
    let mut paths = Vec::new();
    for rows in &table.batches {
        let column = rows.column_by_name("path").unwrap().as_string::<i32>();
        paths.extend(column.iter().flatten().map(str::to_owned));
    }
    paths.sort_unstable();
    Ok(paths)
}

/// The work of an actor.
#[derive(Clone, Copy, Debug)]
enum Role {
    /// Commits.
    Writer,
    /// Reads the newest version.
    Reader,
    /// Writes checkpoints, checksums and compacted files.
    Maintainer,
    /// Cleans up the log, and deletes data files that are no longer live.
    Cleaner,
}

/// A thread with its own storage, which simulates a process.
struct Actor<'a> {
    world: &'a Arc<World>,
    number: usize,
    source: Source,
    random: Random,
    events: &'a Mutex<Vec<Event>>,
}

impl Actor<'_> {
    fn record(&self, event: Event) {
        self.events
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(event);
    }

    /// Appends a file of its own, or removes a live one.
    fn write(&mut self, commit: usize) -> Result<()> {
        let snapshot = load(&self.source, None, false)?;
        // some do not retry
        let timeout = Duration::from_secs(if self.random.percent(20) { 0 } else { 30 });
        let options = TransactionOptions {
            timeout,
            ..TransactionOptions::default()
        };
        let live = files(&self.source, &snapshot)?;
        let removes = !live.is_empty() && self.random.percent(40);
        let operation = if removes { "DELETE" } else { "WRITE" };
        let mut transaction =
            Transaction::begin(&self.source, &snapshot, describe(operation), options)?;
        if removes {
            let path = live[self.random.below(live.len())].clone();
            transaction.read_files([&path]);
            transaction.remove_paths(&[path], true)?;
        } else {
            let path = format!("w{}-{commit}", self.number);
            self.source.storage.put_if_absent(&path, b"rows")?;
            transaction.add(vec![AddFile {
                path,
                size: 4,
                data_change: true,
                ..AddFile::default()
            }]);
        }
        let id = transaction.id().to_owned();
        self.record(Event::Began);
        let outcome = match transaction.commit() {
            Ok(done) => Outcome::Acknowledged(done.version.unwrap()),
            Err(error) if error.code() == "commit.unknown" => Outcome::Unknown,
            Err(error) => Outcome::Failed(error.to_string()),
        };
        let call = self.world.calls();
        self.record(Event::Ended { id, outcome, call });
        Ok(())
    }

    fn read(&mut self) -> Result<()> {
        let began = self.world.calls();
        let snapshot = load(&self.source, None, false)?;
        let live = files(&self.source, &snapshot)?;
        for path in &live {
            match self.source.storage.head(path) {
                Err(error) if error.code() == "storage.not_found" => self.record(Event::Missing {
                    path: path.clone(),
                    version: snapshot.version(),
                }),
                _ => {}
            }
        }
        self.record(Event::Read {
            version: snapshot.version(),
            files: live,
            began,
        });
        Ok(())
    }

    fn maintain(&mut self) -> Result<()> {
        let snapshot = load(&self.source, None, false)?;
        match self.random.below(3) {
            0 => write_checkpoint(&self.source, &snapshot, CheckpointLayout::Classic).map(drop),
            1 => {
                let version = snapshot.version();
                let path = format!("_delta_log/{version:020}.json");
                let commit = self.source.storage.read(&path)?;
                write_checksum_from_previous(&self.source, version, None, &commit).map(drop)
            }
            _ => compact_log(&self.source, None, None).map(drop),
        }
    }

    fn clean_up(&mut self, may_vacuum: bool) -> Result<()> {
        if !self.world.days_pass(self.number, 4) {
            return Ok(());
        }
        let snapshot = load(&self.source, None, false)?;
        write_checkpoint(&self.source, &snapshot, CheckpointLayout::Classic)?;
        if self.random.percent(50) || !may_vacuum {
            cleanup_log(&self.source, &snapshot, self.world.now(), false)?;
        } else {
            let options = VacuumOptions {
                retention: None,
                lite: false,
                dry_run: false,
                force: false,
            };
            let report = vacuum::plan(&self.source, &snapshot, self.world.now(), &options)?;
            vacuum::delete(&self.source, &report)?;
        }
        Ok(())
    }

    /// Performs its role several times, until its process dies.
    fn run(&mut self, role: Role, timestamps: bool) {
        let rounds = match role {
            Role::Writer => COMMITS,
            Role::Reader | Role::Maintainer => READS,
            Role::Cleaner => ROUNDS,
        };
        for round in 0..rounds {
            // a cleaner waits until no other actor is busy
            let is_busy = !matches!(role, Role::Cleaner);
            self.world.set_busy(self.number, is_busy);
            let done = match role {
                Role::Writer => self.write(round),
                Role::Reader => self.read(),
                Role::Maintainer => self.maintain(),
                // in-commit timestamps follow the wall clock, which does not jump
                Role::Cleaner => self.clean_up(!timestamps),
            };
            self.world.set_busy(self.number, false);
            if let Err(error) = done {
                let is_expected = matches!(
                    error.kind(),
                    ErrorKind::Storage | ErrorKind::InvalidArgument
                );
                if !is_expected && error.code() != "conflict.delete_read" {
                    self.record(Event::Violation(format!("{role:?}: {error:?}")));
                }
            }
        }
    }
}

/// The result of a simulation.
struct Run {
    violations: Vec<String>,
    /// Actor and name of each call.
    trace: Vec<(usize, &'static str)>,
    num_faults: usize,
}

/// Simulates the history of a seed.
fn simulate(seed: u64, faults: Faults) -> Run {
    let began = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let world = World::new(seed, i64::try_from(began.unwrap().as_millis()).unwrap());
    let timestamps = seed % 2 == 1;
    create(&world, timestamps);
    let mut roles = vec![Role::Writer; WRITERS];
    roles.extend([Role::Reader; READERS]);
    roles.extend([Role::Maintainer, Role::Cleaner]);
    let events = Mutex::default();
    world.begin(roles.len(), faults);
    thread::scope(|scope| {
        for (index, role) in roles.iter().enumerate() {
            let (world, events, number) = (&world, &events, index + 1);
            scope.spawn(move || {
                let mut actor = Actor {
                    world,
                    number,
                    source: source(world, number),
                    random: Random(seed.wrapping_mul(31).wrapping_add(number as u64)),
                    events,
                };
                // threads that actors share would wait for each other's turns
                let alone = rayon::ThreadPoolBuilder::new()
                    .num_threads(1)
                    .build()
                    .unwrap();
                let run = || alone.install(|| actor.run(*role, timestamps));
                let ran = catch_unwind(AssertUnwindSafe(run));
                if let Err(cause) = ran
                    && !cause.is::<Died>()
                {
                    let text = cause.downcast_ref::<String>().cloned().unwrap_or_default();
                    actor.record(Event::Violation(format!("actor {number} panicked: {text}")));
                }
                world.end(number);
            });
        }
    });
    world.begin(1, Faults::default());
    let plain = source(&world, 0);
    let last = load(&plain, None, false).and_then(|snapshot| {
        let live = files(&plain, &snapshot)?;
        Ok((snapshot.version(), live))
    });
    let events = events.into_inner().unwrap_or_else(PoisonError::into_inner);
    Run {
        violations: violations_of(&world.commits(), &events, last),
        trace: world.trace(),
        num_faults: world.num_faults(),
    }
}

fn seeds() -> Vec<u64> {
    let number = |name: &str| {
        env::var(name)
            .ok()
            .and_then(|text| text.parse::<u64>().ok())
    };
    match number("DELTAREPLAY_SEED") {
        Some(seed) => vec![seed],
        None => (0..number("DELTAREPLAY_SIMULATIONS").unwrap_or(200)).collect(),
    }
}

/// The results of many seeds.
#[derive(Default)]
struct Total {
    violations: Vec<String>,
    num_faults: usize,
    /// The number of calls by name.
    calls: BTreeMap<&'static str, usize>,
}

/// Simulates all seeds, some in parallel, since they mostly wait.
fn simulate_all(seeds: &[u64], faults: Faults) -> Total {
    let total = Mutex::new(Total::default());
    thread::scope(|scope| {
        for part in 0..8 {
            let total = &total;
            scope.spawn(move || {
                for seed in seeds.iter().skip(part).step_by(8) {
                    let run = simulate(*seed, faults);
                    let mut total = total.lock().unwrap_or_else(PoisonError::into_inner);
                    let violations = run.violations.into_iter();
                    let violations = violations.map(|text| format!("seed {seed}: {text}"));
                    total.violations.extend(violations);
                    total.num_faults += run.num_faults;
                    for (_, name) in run.trace {
                        *total.calls.entry(name).or_default() += 1;
                    }
                }
            });
        }
    });
    total.into_inner().unwrap_or_else(PoisonError::into_inner)
}

#[test]
fn every_history_is_consistent() {
    let seeds = seeds();
    let total = simulate_all(&seeds, FAULTS);
    let violations = total.violations;
    assert!(
        violations.is_empty(),
        "{} violations:\n{}",
        violations.len(),
        violations.join("\n")
    );
    if seeds.len() < 100 {
        return;
    }
    assert!(
        total.num_faults >= seeds.len(),
        "few faults: {}",
        total.num_faults
    );
    let count = |name: &str| total.calls.get(name).copied().unwrap_or_default();
    for name in ["put_if_absent", "put", "list_below", "delete"] {
        assert!(
            count(name) >= seeds.len() / 3,
            "few calls: {:?}",
            total.calls
        );
    }
}

#[test]
fn a_seed_determines_all_calls() {
    let faults = Faults {
        others: 0,
        ..FAULTS
    };
    for seed in 0..4 {
        let first = simulate(seed, faults).trace;
        let second = simulate(seed, faults).trace;
        let equal = first
            .iter()
            .zip(&second)
            .take_while(|(one, other)| one == other)
            .count();
        assert!(
            first == second,
            "seed {seed}: different from call {equal} of {} on",
            first.len()
        );
    }
}

#[test]
fn a_store_without_conditional_writes_is_detected() {
    let seeds: Vec<u64> = (0..16).collect();
    let faults = Faults {
        no_condition: true,
        ..Faults::default()
    };
    assert!(!simulate_all(&seeds, faults).violations.is_empty());
}
