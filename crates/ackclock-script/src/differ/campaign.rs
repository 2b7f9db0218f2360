//! Many conversations on two hosts, and what they found.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError, RwLock};
use std::time::{Duration as RealDuration, Instant as RealInstant};

use ackclock_units::Duration;

use super::compare::{Cause, Difference, Measure, compare};
use super::conversation::Conversation;
use super::generate::generate;
use super::known::{Known, explained};
use super::observe::{follow, follow_late, lead};
use super::script::script;
use super::shrink::shrink;
use super::sound::generate_sound;
use super::timeline::Timeline;
use crate::host::Host;

/// What is to be run.
#[derive(Clone, Debug)]
pub struct Campaign {
    /// The seed of all conversations.
    pub seed: u64,
    /// The peer reports what has arrived, and never contradicts itself.
    pub sound: bool,
    /// How many there are at most.
    pub count: u64,
    /// No more begin after so long.
    pub time: Option<RealDuration>,
    /// How many run at once.
    pub jobs: usize,
    /// How often a difference must show, with no other conversation beside it, before it counts.
    pub confirm: u32,
    /// Conversations that are tried to make one smaller.
    pub budget: u32,
    /// By how much a stimulus may be late: what happens after one that was is not looked at.
    pub lateness: Duration,
    /// How exactly timelines are compared.
    pub measure: Measure,
    /// Causes that have an explanation.
    pub known: Vec<Known>,
}

/// Makes hosts for conversations, each for one.
pub struct Hosts<'a, E> {
    /// Those that run first, in virtual time.
    pub first: &'a (dyn Fn() -> Result<Box<dyn Host>, E> + Sync),
    /// Those that are compared with them.
    pub second: &'a (dyn Fn() -> Result<Box<dyn Host>, E> + Sync),
}

/// How far a campaign is.
#[derive(Clone, Debug, Default)]
pub struct Progress {
    /// Conversations that ran on both hosts.
    pub run: u64,
    /// Those in which nothing differed.
    pub same: u64,
    /// Those whose difference has an explanation, by its pattern.
    pub explained: BTreeMap<String, u64>,
    /// Those in which the first host does what the second did once its timers fire as late.
    pub timed: u64,
    /// Those whose difference did not show again.
    pub fleeting: u64,
    /// Those that were late each time.
    pub late: u64,
    /// What was found, by its cause.
    pub found: BTreeMap<Cause, Found>,
}

impl Progress {
    /// Counts a difference where its cause has an explanation.
    fn explains(&mut self, cause: &Cause, known: &[Known]) -> bool {
        let known = explained(cause, known);
        if let Some(known) = known {
            *self.explained.entry(known.cause.clone()).or_default() += 1;
        }
        known.is_some()
    }
}

/// A difference without an explanation.
#[derive(Clone, Debug)]
pub struct Found {
    /// Conversations that showed it.
    pub count: u64,
    /// The first of them.
    pub index: u64,
    /// The smallest script that shows it, once there is one.
    pub script: Option<String>,
}

/// How often a late conversation is repeated.
const MOST_REPEATS: u32 = 3;

/// How often whoever waits for a campaign is asked whether to go on.
const LOOK: RealDuration = RealDuration::from_millis(100);

struct Work<'a, E> {
    campaign: &'a Campaign,
    hosts: &'a Hosts<'a, E>,
    next: AtomicU64,
    stopped: AtomicBool,
    begun: RealInstant,
    /// Conversations beside each other share it; one that is to run alone has it for itself.
    machine: RwLock<()>,
    progress: Mutex<Progress>,
    error: Mutex<Option<E>>,
}

/// Runs a campaign; `look` sees now and then how far it is, and says whether to go on.
///
/// # Errors
///
/// The first host that could not be made.
pub fn run<E: Send>(
    campaign: &Campaign,
    hosts: &Hosts<'_, E>,
    look: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
) -> Result<Progress, E> {
    let work = Work {
        campaign,
        hosts,
        next: AtomicU64::new(0),
        stopped: AtomicBool::new(false),
        begun: RealInstant::now(),
        machine: RwLock::new(()),
        progress: Mutex::new(Progress::default()),
        error: Mutex::new(None),
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..campaign.jobs.max(1)).map(|_| scope.spawn(|| work.jobs())).collect();
        while !threads.iter().all(std::thread::ScopedJoinHandle::is_finished) {
            std::thread::sleep(LOOK);
            let so_far = work.progress().clone();
            if look(&so_far).is_break() {
                work.stopped.store(true, Ordering::Release);
            }
        }
    });
    let error = work.error.into_inner().unwrap_or_else(PoisonError::into_inner);
    match error {
        Some(error) => Err(error),
        None => Ok(work.progress.into_inner().unwrap_or_else(PoisonError::into_inner)),
    }
}

impl<E: Send> Work<'_, E> {
    fn progress(&self) -> std::sync::MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// True when no more conversations are to be run.
    fn is_over(&self) -> bool {
        let over = self.campaign.time.is_some_and(|most| self.begun.elapsed() >= most);
        over || self.stopped.load(Ordering::Acquire)
    }

    /// One thread's share.
    fn jobs(&self) {
        loop {
            if self.is_over() {
                return;
            }
            let index = self.next.fetch_add(1, Ordering::Relaxed);
            if index >= self.campaign.count {
                return;
            }
            if let Err(error) = self.job(index) {
                self.error.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                self.stopped.store(true, Ordering::Release);
                return;
            }
        }
    }

    fn job(&self, index: u64) -> Result<(), E> {
        let generate = if self.campaign.sound { generate_sound } else { generate };
        let conversation = generate(self.campaign.seed, index);
        let first = lead(&conversation, &mut *(self.hosts.first)()?);
        let seen = self.look_at(&first)?;
        let mut progress = self.progress();
        progress.run += 1;
        let Some((second, difference)) = seen else {
            progress.late += 1;
            return Ok(());
        };
        let Some(difference) = difference else {
            progress.same += 1;
            return Ok(());
        };
        if progress.explains(&difference.cause, &self.campaign.known) {
            return Ok(());
        }
        drop(progress);
        let late = follow_late(&first, &second, self.campaign.measure, &mut *(self.hosts.first)()?);
        match self.compared(&late, &second) {
            None => {
                self.progress().timed += 1;
                return Ok(());
            }
            Some(d) if self.progress().explains(&d.cause, &self.campaign.known) => return Ok(()),
            Some(_) => {}
        }
        if self.confirmed(&first, &difference.cause)?.is_none() {
            self.progress().fleeting += 1;
            return Ok(());
        }
        let found = Found { count: 1, index, script: None };
        match self.progress().found.entry(difference.cause.clone()) {
            std::collections::btree_map::Entry::Occupied(mut other) => {
                let found = other.get_mut();
                found.count += 1;
                found.index = found.index.min(index);
                return Ok(());
            }
            std::collections::btree_map::Entry::Vacant(place) => place.insert(found),
        };
        let small = match self.smallest(conversation, &difference.cause)? {
            Some(small) => Some(small),
            // What is smaller did not show it alone; the whole conversation may.
            None => self.confirmed(&first, &difference.cause)?.map(|(second, d)| (first, second, d)),
        };
        let text = small.map(|(first, second, d)| self.text(index, &first, &second, &d));
        let mut progress = self.progress();
        if let Some(found) = progress.found.get_mut(&difference.cause) {
            found.script = text;
            if found.script.is_none() && found.count == 1 {
                progress.found.remove(&difference.cause);
                progress.fleeting += 1;
            }
        }
        Ok(())
    }

    /// Repeats on the second host what was done to the first; nothing where that was late each time.
    fn look_at(&self, first: &Timeline) -> Result<Option<(Timeline, Option<Difference>)>, E> {
        let _shared = self.machine.read().unwrap_or_else(PoisonError::into_inner);
        self.repeat(first)
    }

    /// Repeats it with no other conversation beside it, as often as a difference must show; nothing where it
    /// does not show each time, and is a matter of how busy the machine was.
    fn confirmed(&self, first: &Timeline, cause: &Cause) -> Result<Option<(Timeline, Difference)>, E> {
        let mut last = None;
        for _ in 0..self.campaign.confirm {
            let _alone = self.machine.write().unwrap_or_else(PoisonError::into_inner);
            last = match self.repeat(first)? {
                Some((second, Some(difference))) if difference.cause == *cause => Some((second, difference)),
                _ => return Ok(None),
            };
        }
        Ok(last)
    }

    fn repeat(&self, first: &Timeline) -> Result<Option<(Timeline, Option<Difference>)>, E> {
        for _ in 0..MOST_REPEATS {
            let second = follow(first, &mut *(self.hosts.second)()?);
            if second.late <= self.campaign.lateness {
                let difference = self.compared(first, &second);
                return Ok(Some((second, difference)));
            }
        }
        Ok(None)
    }

    fn compared(&self, first: &Timeline, second: &Timeline) -> Option<Difference> {
        let campaign = self.campaign;
        compare(first, second, campaign.measure, &|cause| explained(cause, &campaign.known).is_some())
    }

    fn shows(&self, first: &Timeline, cause: &Cause) -> Result<bool, E> {
        let seen = self.look_at(first)?;
        Ok(seen.and_then(|(_, difference)| difference).is_some_and(|d| d.cause == *cause))
    }

    /// The timelines of the smallest conversation that shows a difference of the same cause; nothing where it
    /// does not show it again alone.
    fn smallest(
        &self,
        conversation: Conversation,
        cause: &Cause,
    ) -> Result<Option<(Timeline, Timeline, Difference)>, E> {
        let mut failed = None;
        let mut shows = |c: &Conversation| {
            let does = (self.hosts.first)()
                .map(|mut host| lead(c, &mut *host))
                .and_then(|first| if self.is_over() { Ok(false) } else { self.shows(&first, cause) });
            does.unwrap_or_else(|error| {
                failed.get_or_insert(error);
                false
            })
        };
        let smallest = shrink(conversation, self.campaign.budget, &mut shows);
        if let Some(error) = failed {
            return Err(error);
        }
        let first = lead(&smallest, &mut *(self.hosts.first)()?);
        let found = self.confirmed(&first, cause)?;
        Ok(found.map(|(second, difference)| (first, second, difference)))
    }

    fn text(&self, index: u64, first: &Timeline, second: &Timeline, difference: &Difference) -> String {
        let mut text = String::new();
        let _ = writeln!(text, "// {}.", difference.cause);
        let (passes, fails) = match difference.place {
            super::compare::Place::Sent(Some(_), None) => ("first", "second"),
            _ => ("second", "first"),
        };
        let _ = writeln!(
            text,
            "// Seed {}, number {index}. It passes on the {passes} host and fails on the {fails}.",
            self.campaign.seed
        );
        text + &script(first, second, Some(difference))
    }
}
