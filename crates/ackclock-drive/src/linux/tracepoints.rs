//! Tracepoints of the kernel by perf_event_open(2). All of it is file descriptors and a mount namespace of a
//! thread, so that nothing is left behind.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_change};
use rustix::thread::UnshareFlags;

/// Where a system has mounted tracefs, if it has.
const MOUNTED: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

/// A tracepoint as this kernel has it: its number, and where the fields of its records are.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Format {
    id: u64,
    fields: BTreeMap<String, (usize, usize)>,
}

impl Format {
    /// Reads a `format` file of tracefs; `None` for something else.
    fn parse(text: &str) -> Option<Self> {
        let id = text.lines().find_map(|line| line.strip_prefix("ID:"))?.trim().parse().ok()?;
        let mut fields = BTreeMap::new();
        for line in text.lines().filter_map(|line| line.trim().strip_prefix("field:")) {
            let mut parts = line.split(';').map(str::trim);
            let name = parts.next()?.rsplit([' ', '*']).next()?;
            let mut number = |key: &str| parts.next()?.strip_prefix(key)?.trim().parse::<usize>().ok();
            let place = (number("offset:")?, number("size:")?);
            fields.insert(name.split('[').next()?.to_owned(), place);
        }
        Some(Self { id, fields })
    }

    /// Where a field is; `Err` names one that this kernel does not have.
    pub(crate) fn field(&self, name: &str) -> Result<Field, String> {
        let (at, size) = *self.fields.get(name).ok_or_else(|| name.to_owned())?;
        Ok(Field { at, size })
    }
}

/// A field of a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Field {
    at: usize,
    size: usize,
}

impl Field {
    /// Its bytes; none where the record is shorter.
    pub(crate) fn bytes(self, record: &[u8]) -> &[u8] {
        record.get(self.at..self.at + self.size).unwrap_or_default()
    }

    /// Its value, of up to eight bytes in the order of this machine.
    pub(crate) fn number(self, record: &[u8]) -> u64 {
        let mut value = [0; 8];
        let bytes = self.bytes(record);
        let n = bytes.len().min(8);
        let from = if cfg!(target_endian = "big") { 8 - n } else { 0 };
        value[from..from + n].copy_from_slice(&bytes[..n]);
        u64::from_ne_bytes(value)
    }
}

/// The formats of tracepoints of the group `tcp`, in the order of their names.
///
/// # Errors
/// Why they cannot be read, to complete "the kernel's events are missing: ...".
pub(crate) fn formats(names: &[&str]) -> Result<Vec<Format>, String> {
    let read = |root: &Path| -> Result<Vec<Format>, String> {
        let one = |name: &&str| {
            let path = root.join("events/tcp").join(name).join("format");
            let text = fs::read_to_string(&path).map_err(|e| match e.kind() {
                io::ErrorKind::NotFound => format!("this kernel has no tracepoint tcp:{name}"),
                _ => format!("{} cannot be read: {e}", path.display()),
            })?;
            Format::parse(&text).ok_or_else(|| format!("{} has a form that is not known", path.display()))
        };
        names.iter().map(one).collect()
    };
    if let Some(root) = MOUNTED.map(PathBuf::from).into_iter().find(|root| root.join("events").is_dir()) {
        return read(&root);
    }
    let there = Path::new(MOUNTED[0]);
    if !there.is_dir() {
        return Err("this kernel has no tracefs (CONFIG_TRACING)".into());
    }
    // The mount is seen by a thread of its own alone, and ends with it.
    std::thread::scope(|scope| {
        let apart = scope.spawn(|| {
            mount_here(there).map_err(|e| match e.kind() {
                io::ErrorKind::PermissionDenied => {
                    "tracefs cannot be read, which needs root outside of a user namespace".to_owned()
                }
                _ => format!("tracefs cannot be mounted: {e}"),
            })?;
            read(there)
        });
        apart.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Mounts tracefs in a mount namespace of the present thread, which must end soon.
fn mount_here(there: &Path) -> io::Result<()> {
    // SAFETY: the thread ends after it; NEWNS changes nothing that other threads share.
    #[allow(unsafe_code)]
    unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNS) }?;
    mount_change("/", MountPropagationFlags::REC | MountPropagationFlags::PRIVATE)?;
    Ok(mount("tracefs", there, "tracefs", MountFlags::RDONLY, None)?)
}

/// Numbers of the processors that run, as `/sys/devices/system/cpu/online` lists them: `0-3,6`.
#[cfg_attr(
    not(any(target_arch = "aarch64", target_arch = "riscv64", target_arch = "x86_64")),
    allow(dead_code)
)]
fn processors(list: &str) -> Option<Vec<usize>> {
    let mut all = Vec::new();
    for part in list.trim().split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        all.extend(first.parse().ok()?..=last.parse::<usize>().ok()?);
    }
    Some(all)
}

#[cfg(any(target_arch = "aarch64", target_arch = "riscv64", target_arch = "x86_64"))]
pub(crate) use self::opened::Tracepoints;

#[cfg(any(target_arch = "aarch64", target_arch = "riscv64", target_arch = "x86_64"))]
mod opened {
    use std::ffi::CStr;
    use std::os::fd::AsRawFd;
    use std::{fs, io};

    use perf_event::events::Tracepoint;
    use perf_event::{Builder, Clock, SampleFlag, Sampler};

    use super::{Format, processors};
    use crate::linux::awake::Awake;

    /// Types of records (`perf_event.h`).
    const LOST: u32 = 2;
    const SAMPLE: u32 = 9;
    /// `PERF_EVENT_IOC_SET_FILTER`.
    const SET_FILTER: u32 = 0x4008_2406;

    /// Tracepoints that record on every processor.
    pub(crate) struct Tracepoints {
        /// The position of the tracepoint among those asked for, and its records on one processor.
        all: Vec<(usize, Sampler)>,
        online: Vec<usize>,
        awake: Option<Awake>,
        lost: u64,
    }

    impl Tracepoints {
        /// Opens tracepoints, each with so many bytes for its records on each processor. Those for which `filter`
        /// does not hold are not recorded. Nothing is recorded before [`Tracepoints::start`].
        ///
        /// # Errors
        /// Why that is not possible.
        pub(crate) fn open(wanted: &[(&Format, usize)], filter: &CStr) -> Result<Self, String> {
            let online = fs::read_to_string("/sys/devices/system/cpu/online").ok();
            let online =
                online.as_deref().and_then(processors).ok_or("the list of processors cannot be read")?;
            let mut all = Vec::new();
            for (place, (format, room)) in wanted.iter().enumerate() {
                for cpu in &online {
                    all.push((place, open_one(format, *room, *cpu, filter).map_err(refused)?));
                }
            }
            Ok(Self { all, online, awake: None, lost: 0 })
        }

        /// Records from now on.
        pub(crate) fn start(&mut self) -> Result<(), String> {
            self.awake = Some(Awake::keep(&self.online));
            self.all.iter_mut().try_for_each(|(_, sampler)| sampler.enable().map_err(refused))
        }

        /// Takes what was recorded: the position of the tracepoint, the time on the monotonic clock (ns), and the
        /// record. Only those of one tracepoint and processor are in order.
        pub(crate) fn take(&mut self, mut each: impl FnMut(usize, u64, &[u8])) {
            for (place, sampler) in &mut self.all {
                while let Some(record) = sampler.next_record() {
                    let (kind, bytes) = (record.ty(), record.to_contiguous());
                    let word = |at: usize| {
                        bytes.get(at..at + 8).and_then(|b| b.try_into().ok()).map(u64::from_ne_bytes)
                    };
                    match kind {
                        // The event's number, and how many are lost.
                        LOST => self.lost += word(8).unwrap_or(1),
                        // The time, the length of the record and the record.
                        SAMPLE if bytes.len() > 12 => each(*place, word(0).unwrap_or(0), &bytes[12..]),
                        _ => {}
                    }
                }
            }
        }

        /// Records that found no room.
        pub(crate) fn lost(&self) -> u64 {
            self.lost
        }
    }

    fn open_one(format: &Format, room: usize, cpu: usize, filter: &CStr) -> io::Result<Sampler> {
        let mut builder = Builder::new(Tracepoint::with_id(format.id));
        builder.any_pid().one_cpu(cpu).include_kernel().sample_period(1).wakeup_watermark(room / 2);
        builder.sample(SampleFlag::TIME | SampleFlag::RAW).clockid(Clock::MONOTONIC);
        let counter = builder.build()?;
        // SAFETY: the string lives through the call, which reads it up to its end.
        #[allow(unsafe_code)]
        let done = unsafe { libc::ioctl(counter.as_raw_fd(), SET_FILTER as _, filter.as_ptr()) };
        if done < 0 {
            return Err(io::Error::last_os_error());
        }
        counter.sampled(room)
    }

    fn refused(e: io::Error) -> String {
        match e.kind() {
            io::ErrorKind::PermissionDenied => {
                "perf_event_open(2) is not permitted: it needs CAP_PERFMON or root outside of a user namespace, or \
                 kernel.perf_event_paranoid = -1"
                    .into()
            }
            _ => format!("perf_event_open(2) failed: {e}"),
        }
    }
}

/// On other processors nothing is recorded.
#[cfg(not(any(target_arch = "aarch64", target_arch = "riscv64", target_arch = "x86_64")))]
pub(crate) struct Tracepoints;

#[cfg(not(any(target_arch = "aarch64", target_arch = "riscv64", target_arch = "x86_64")))]
impl Tracepoints {
    pub(crate) fn open(_: &[(&Format, usize)], _: &std::ffi::CStr) -> Result<Self, String> {
        Err(format!("ackclock does not read them on a processor of type {}", std::env::consts::ARCH))
    }

    pub(crate) fn start(&mut self) -> Result<(), String> {
        Ok(())
    }

    pub(crate) fn take(&mut self, _: impl FnMut(usize, u64, &[u8])) {}

    pub(crate) fn lost(&self) -> u64 {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "name: tcp_cong_state_set\nID: 2271\nformat:\n\tfield:unsigned short common_type;\toffset:0;\t\
                        size:2;\tsigned:0;\n\n\tfield:const void * skaddr;\toffset:8;\tsize:8;\tsigned:0;\n\tfield:__u16 \
                        sport;\toffset:16;\tsize:2;\tsigned:0;\n\tfield:__u8 saddr[4];\toffset:22;\tsize:4;\t\
                        signed:0;\n\nprint fmt: \"sport=%hu\", REC->sport\n";

    #[test]
    fn fields_are_where_the_kernel_says() {
        let format = Format::parse(TEXT).unwrap();
        assert_eq!(format.id, 2271);
        let mut record = vec![0; 32];
        record[16..18].copy_from_slice(&5001_u16.to_ne_bytes());
        record[22..26].copy_from_slice(&[10, 64, 1, 0]);
        let field = |name: &str| format.field(name).unwrap();
        assert_eq!(
            (field("sport").number(&record), field("saddr").bytes(&record)),
            (5001, &[10, 64, 1, 0][..])
        );
        assert_eq!(format.field("cong_state"), Err("cong_state".into()));
        // A record that is shorter than its format says.
        assert_eq!((field("sport").number(&record[..17]), field("skaddr").bytes(&[])), (0, &[][..]));
        for wrong in ["", "ID: x\n", "ID: 1\nfield:int a;\toffset:z;\tsize:2;\n"] {
            assert!(Format::parse(wrong).is_none(), "{wrong}");
        }
    }

    #[test]
    fn processors_are_listed_by_ranges() {
        assert_eq!(processors("0-1\n"), Some(vec![0, 1]));
        assert_eq!(processors("0,2-4"), Some(vec![0, 2, 3, 4]));
        assert_eq!(processors("none"), None);
    }
}
