//! Processors that do not go idle, at the expense of nobody who has anything to do.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

/// Keeps processors from going idle until it is dropped. Each runs a thread of the policy SCHED_IDLE, which every other
/// one displaces at once.
///
/// perf_event_open(2) counts in the task that is interrupted whether an event is being recorded. On Linux 6.18 that of a
/// processor's idle task was seen to be taken for good, so that nothing is recorded of what timers do there.
pub(crate) struct Awake {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Awake {
    /// Of these processors, those on which such a thread may run.
    pub(crate) fn keep(processors: &[usize]) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let one = |cpu: &usize| {
            let (stop, cpu) = (Arc::clone(&stop), *cpu);
            std::thread::Builder::new().name("awake".into()).spawn(move || {
                if give_way(cpu).is_ok() {
                    while !stop.load(Ordering::Relaxed) {
                        std::hint::spin_loop();
                    }
                }
            })
        };
        let threads = processors.iter().filter_map(|cpu| one(cpu).ok()).collect();
        Self { stop, threads }
    }
}

impl Drop for Awake {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// The present thread runs on this processor alone, and only where no other one wants to.
fn give_way(cpu: usize) -> std::io::Result<()> {
    let param = libc::sched_param { sched_priority: 0 };
    // SAFETY: the parameters live through the call, which reads them; 0 is the calling thread.
    #[allow(unsafe_code)]
    let done = unsafe { libc::sched_setscheduler(0, libc::SCHED_IDLE, &raw const param) };
    if done < 0 {
        return Err(std::io::Error::last_os_error());
    }
    let mut set = rustix::thread::CpuSet::new();
    set.set(cpu);
    Ok(rustix::thread::sched_setaffinity(None, &set)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_ends_when_it_is_dropped() {
        let awake = Awake::keep(&[0, 0]);
        assert_eq!(awake.threads.len(), 2);
        drop(awake);
    }
}
