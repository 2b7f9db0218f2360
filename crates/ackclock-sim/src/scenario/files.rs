use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};

/// The largest file that a scenario may name.
const LARGEST: u64 = 64 << 20;

/// Which files a scenario may name.
#[derive(Clone, Debug, Default)]
pub struct Files {
    folder: Option<PathBuf>,
    anywhere: bool,
    given: BTreeMap<String, Vec<u8>>,
}

impl Files {
    /// Files in this folder and below it, after following symbolic links. For untrusted scenarios.
    pub fn in_folder(folder: &Path) -> Self {
        Self { folder: Some(folder.to_owned()), anywhere: false, given: BTreeMap::new() }
    }

    /// Any file; relative names start from this folder.
    pub fn anywhere(folder: &Path) -> Self {
        Self { folder: Some(folder.to_owned()), anywhere: true, given: BTreeMap::new() }
    }

    /// No files: a scenario that names one is refused.
    pub const fn none() -> Self {
        Self { folder: None, anywhere: false, given: BTreeMap::new() }
    }

    /// With the bytes of a file of this name, which is not looked for on the disk.
    #[must_use]
    pub fn with(mut self, name: &str, bytes: &[u8]) -> Self {
        self.given.insert(name.to_owned(), bytes.to_owned());
        self
    }

    /// The text of a file. The error is the end of a sentence that begins with its name and "which".
    pub(super) fn read(&self, name: &str) -> Result<String, String> {
        if let Some(bytes) = self.given.get(name) {
            return text(bytes.clone());
        }
        let folder =
            self.folder.as_ref().ok_or("cannot be read here: the scenario did not come from a file")?;
        let path = if self.anywhere { folder.join(name) } else { within(folder, name)? };
        // A device or a pipe has no size, and may have no end.
        let about = fs::metadata(&path).map_err(|e| why(&e))?;
        if !about.is_file() {
            return Err(if about.is_dir() {
                "is a folder; expected a file"
            } else {
                "is not a regular file"
            }
            .to_owned());
        }
        let mut bytes = Vec::new();
        let read = File::open(&path).and_then(|f| f.take(LARGEST + 1).read_to_end(&mut bytes));
        read.map_err(|e| why(&e))?;
        text(bytes)
    }
}

/// Why a file cannot be read, without the words of the system where there are better ones.
fn why(e: &io::Error) -> String {
    match e.kind() {
        io::ErrorKind::NotFound => "does not exist; expected the path of a file".to_owned(),
        io::ErrorKind::PermissionDenied => {
            "this user may not read; expected a file that may be read".to_owned()
        }
        _ => {
            let said = e.to_string();
            format!("cannot be read ({})", said.split(" (os error").next().unwrap_or(&said))
        }
    }
}

fn text(bytes: Vec<u8>) -> Result<String, String> {
    if bytes.len() as u64 > LARGEST {
        return Err(format!("is more than {LARGEST} bytes long, which is the limit"));
    }
    String::from_utf8(bytes)
        .map_err(|e| format!("is not UTF-8 text at byte {}", e.utf8_error().valid_up_to()))
}

/// The path of a file in a folder or below it. Other files are refused, with the same error whether they
/// exist or not.
fn within(folder: &Path, name: &str) -> Result<PathBuf, String> {
    let outside =
        || "lies outside the scenario's folder; put it there, or allow it with `--allow-files`".to_owned();
    let leaves = Path::new(name).components().any(|c| !matches!(c, Component::Normal(_) | Component::CurDir));
    let failed = |e: io::Error| if leaves { outside() } else { why(&e) };
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let root = folder.canonicalize().map_err(|e| why(&e))?;
    let path = root.join(name).canonicalize().map_err(failed)?;
    if path.starts_with(&root) { Ok(path) } else { Err(outside()) }
}
