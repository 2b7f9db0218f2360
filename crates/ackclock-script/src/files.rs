//! Files that commands of scripts name.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

/// The largest file that is looked into, bytes.
const MAX_FILE: u64 = 1 << 16;

/// Reads files as scripts in a folder name them, to look for settings in them. Only regular files are read, and only text.
pub fn in_folder(folder: &Path) -> impl Fn(&str) -> Option<String> + '_ {
    move |name| {
        let path = folder.join(name);
        if !path.metadata().ok()?.is_file() {
            return None;
        }
        let mut text = String::new();
        File::open(path).ok()?.take(MAX_FILE).read_to_string(&mut text).ok()?;
        Some(text)
    }
}
