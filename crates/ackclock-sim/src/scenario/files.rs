use std::fs;
use std::path::{Path, PathBuf};

/// The largest file that a scenario may name.
const LARGEST: u64 = 64 << 20;

/// Where the files that a scenario names are looked for: beside it.
#[derive(Clone, Debug, Default)]
pub struct Files {
    folder: Option<PathBuf>,
}

impl Files {
    /// Files in this folder.
    pub fn in_folder(folder: &Path) -> Self {
        Self { folder: Some(folder.to_owned()) }
    }

    /// No files: a scenario that names one is refused.
    pub const fn none() -> Self {
        Self { folder: None }
    }

    /// The text of a file, or the end of a sentence that begins with its name and "which".
    pub(super) fn read(&self, name: &str) -> Result<String, String> {
        let folder = self.folder.as_ref().ok_or("cannot be read here: the scenario did not come from a file")?;
        let path = folder.join(name);
        let size = fs::metadata(&path).map_err(|e| format!("cannot be read ({e})"))?.len();
        if size > LARGEST {
            return Err(format!("is {size} bytes long; at most {LARGEST} are read"));
        }
        fs::read_to_string(&path).map_err(|e| format!("cannot be read as text ({e})"))
    }
}
