//! Many writers, readers, checkpointers, cleaners and vacuums at once, in an order determined by a seed.
//!
//! Afterwards the history is checked: every version was created once, every acknowledged commit is in its
//! version, no commit occurs twice, no failed one occurs; and every read saw exactly the files of its
//! version, which was no older than any version acknowledged before it began.
//!
//! `DELTAREPLAY_SIMULATIONS` sets the number of seeds, `DELTAREPLAY_SEED` a single one.

mod judge;
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
use deltareplay_core::derived::compaction::compact_log;
use deltareplay_core::error::{ErrorKind, Result};
use deltareplay_core::maintenance::cleanup::cleanup_log;
use deltareplay_core::maintenance::vacuum::{self, VacuumOptions};
use deltareplay_core::replay::Source;
use deltareplay_core::snapshot::Snapshot;
use deltareplay_core::snapshot::load::load;
use deltareplay_core::spec::Metadata;
use deltareplay_core::transaction::{CommitDescription, Transaction, TransactionOptions};
use deltareplay_core::write::AddFile;

use self::judge::{Ended, Event};
use self::store::{Chance, Died, Faults, Handle, World};

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

/// A participant.
struct Actor<'a> {
    world: &'a Arc<World>,
    number: usize,
    source: Source,
    chance: Chance,
    events: &'a Mutex<Vec<Event>>,
}

impl Actor<'_> {
    fn tell(&self, event: Event) {
        self.events
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(event);
    }

    /// Appends a file of its own, or removes a live one.
    fn write(&mut self, commit: usize) -> Result<()> {
        let snapshot = load(&self.source, None, false)?;
        // some give up at once
        let timeout = Duration::from_secs(if self.chance.percent(20) { 0 } else { 30 });
        let options = TransactionOptions {
            timeout,
            ..TransactionOptions::default()
        };
        let live = files(&self.source, &snapshot)?;
        let removes = !live.is_empty() && self.chance.percent(40);
        let operation = if removes { "DELETE" } else { "WRITE" };
        let mut transaction =
            Transaction::begin(&self.source, &snapshot, describe(operation), options)?;
        if removes {
            let path = live[self.chance.below(live.len())].clone();
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
        self.tell(Event::Began);
        let ended = match transaction.commit() {
            Ok(done) => Ended::Acknowledged(done.version.unwrap()),
            Err(error) if error.code() == "commit.unknown" => Ended::Unknown,
            Err(error) => Ended::Failed(error.to_string()),
        };
        let call = self.world.calls();
        self.tell(Event::Ended { id, ended, call });
        Ok(())
    }

    fn read(&mut self) -> Result<()> {
        let began = self.world.calls();
        let snapshot = load(&self.source, None, false)?;
        let live = files(&self.source, &snapshot)?;
        for path in &live {
            match self.source.storage.head(path) {
                Err(error) if error.code() == "storage.not_found" => self.tell(Event::Missing {
                    path: path.clone(),
                    version: snapshot.version(),
                }),
                _ => {}
            }
        }
        self.tell(Event::Read {
            version: snapshot.version(),
            files: live,
            began,
        });
        Ok(())
    }

    fn serve(&mut self) -> Result<()> {
        let snapshot = load(&self.source, None, false)?;
        match self.chance.below(3) {
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

    fn tidy(&mut self, removals: bool) -> Result<()> {
        if !self.world.days_pass(self.number, 4) {
            return Ok(());
        }
        let snapshot = load(&self.source, None, false)?;
        write_checkpoint(&self.source, &snapshot, CheckpointLayout::Classic)?;
        if self.chance.percent(50) || !removals {
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

    /// Plays its role until it is done, or dies.
    fn run(&mut self, role: usize, timestamps: bool) {
        let (times, brief) = match role {
            0 => (COMMITS, true),
            1 => (READS, true),
            2 => (READS, true),
            _ => (ROUNDS, false), // waits for others, and is nobody to wait for
        };
        for turn in 0..times {
            if brief {
                self.world.busy(self.number, true);
            }
            let done = match role {
                0 => self.write(turn),
                1 => self.read(),
                2 => self.serve(),
                // in-commit timestamps follow the wall clock, which does not jump
                _ => self.tidy(!timestamps),
            };
            self.world.busy(self.number, false);
            if let Err(error) = done {
                let fine = matches!(
                    error.kind(),
                    ErrorKind::Storage | ErrorKind::InvalidArgument
                );
                if !fine && error.code() != "conflict.delete_read" {
                    self.tell(Event::Wrong(format!("role {role}: {error:?}")));
                }
            }
        }
    }
}

/// Returns the violations in the history of a seed, and the calls of all actors.
fn simulate(seed: u64, faults: Faults) -> (Vec<String>, Vec<(usize, &'static str)>, usize) {
    let began = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let world = World::new(seed, i64::try_from(began.unwrap().as_millis()).unwrap());
    let timestamps = seed % 2 == 1;
    create(&world, timestamps);
    let roles: Vec<usize> = [vec![0; WRITERS], vec![1; READERS], vec![2], vec![3]].concat();
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
                    chance: Chance(seed.wrapping_mul(31).wrapping_add(number as u64)),
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
                    actor.tell(Event::Wrong(format!("actor {number} panicked: {text}")));
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
    let wrong = judge::judge(&world.journal(), &events, last);
    (wrong, world.trace(), world.struck())
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
    wrong: Vec<String>,
    /// The number of failed calls.
    struck: usize,
    /// The number of calls by name.
    calls: BTreeMap<&'static str, usize>,
}

/// Simulates all seeds, some in parallel, since they mostly wait.
fn all(seeds: &[u64], faults: Faults) -> Total {
    let total = Mutex::new(Total::default());
    thread::scope(|scope| {
        for part in 0..8 {
            let total = &total;
            scope.spawn(move || {
                for seed in seeds.iter().skip(part).step_by(8) {
                    let (wrong, trace, struck) = simulate(*seed, faults);
                    let mut total = total.lock().unwrap_or_else(PoisonError::into_inner);
                    let wrong = wrong
                        .into_iter()
                        .map(|failure| format!("seed {seed}: {failure}"));
                    total.wrong.extend(wrong);
                    total.struck += struck;
                    for (_, name) in trace {
                        *total.calls.entry(name).or_default() += 1;
                    }
                }
            });
        }
    });
    total.into_inner().unwrap_or_else(PoisonError::into_inner)
}

#[test]
fn every_history_is_in_order() {
    let seeds = seeds();
    let total = all(&seeds, FAULTS);
    let wrong = total.wrong;
    assert!(
        wrong.is_empty(),
        "{} problems:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    if seeds.len() < 100 {
        return;
    }
    assert!(total.struck >= seeds.len(), "few faults: {}", total.struck);
    let often = |name: &str| total.calls.get(name).copied().unwrap_or_default();
    for name in ["put_if_absent", "put", "list_below", "delete"] {
        assert!(
            often(name) >= seeds.len() / 3,
            "few calls: {:?}",
            total.calls
        );
    }
}

#[test]
fn a_seed_tells_everything() {
    for seed in 0..4 {
        let (_, first, _) = simulate(
            seed,
            Faults {
                others: 0,
                ..FAULTS
            },
        );
        let (_, second, _) = simulate(
            seed,
            Faults {
                others: 0,
                ..FAULTS
            },
        );
        let alike = first
            .iter()
            .zip(&second)
            .take_while(|(one, other)| one == other)
            .count();
        assert!(
            first == second,
            "seed {seed}: apart from call {alike} of {} on",
            first.len()
        );
    }
}

#[test]
fn a_store_without_conditions_does_not_pass() {
    let seeds: Vec<u64> = (0..16).collect();
    let faults = Faults {
        no_condition: true,
        ..Faults::default()
    };
    assert!(!all(&seeds, faults).wrong.is_empty());
}
