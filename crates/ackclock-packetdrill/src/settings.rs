//! Settings that a script makes by `sysctl`: what is written into a file of the system's is passed on to the host,
//! even if it changes nothing there. What was set before stays the stack's own.

use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;

use ackclock_script::{EngineHost, Host, Setting, setting_names};
use rustix::fs::inotify;

const FOLDER: &str = "/proc/sys/net/ipv4";

/// The files that are watched.
#[derive(Debug)]
pub(crate) struct Settings {
    /// `None` where the system lets nothing be watched: then no setting reaches the host.
    queue: Option<OwnedFd>,
    /// The number of a watch with the name of its setting.
    watches: Vec<(i32, &'static str)>,
}

impl Settings {
    pub(crate) fn watch() -> Self {
        let flags = inotify::CreateFlags::NONBLOCK | inotify::CreateFlags::CLOEXEC;
        let queue = inotify::init(flags).ok();
        let watch = |name| {
            let file = format!("{FOLDER}/{name}");
            let number = inotify::add_watch(queue.as_ref()?, file, inotify::WatchFlags::MODIFY).ok()?;
            Some((number, name))
        };
        let watches = setting_names().filter_map(watch).collect();
        Self { queue, watches }
    }

    /// Passes on what was written since it was last looked at.
    pub(crate) fn pass_on(&self, host: &mut EngineHost) {
        let Some(queue) = &self.queue else { return };
        let mut room = [MaybeUninit::uninit(); 4096];
        let mut events = inotify::Reader::new(queue, &mut room);
        let mut written = Vec::new();
        while let Ok(event) = events.next() {
            let name = self.watches.iter().find(|(number, _)| *number == event.wd()).map(|(_, name)| *name);
            written.extend(name.filter(|name| !written.contains(name)));
        }
        for name in written {
            let Ok(value) = std::fs::read_to_string(format!("{FOLDER}/{name}")) else { continue };
            let value = value.trim();
            if host.set(name, value) == Setting::Refused {
                eprintln!("net.ipv4.{name} cannot be \"{value}\" for this stack");
            }
        }
    }
}
