//! The cases of a folder: captures, and what the kernels say of them.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::timeouts::Ends;

/// Linux's default minimum of the timeout, ms.
const DEFAULT_MIN_RTO: f64 = 200.0;

/// A case that was made.
pub struct Case {
    pub name: String,
    pub folder: PathBuf,
    pub truth: Value,
}

/// The cases in `folder` whose name has `only` in it, in the order of their names.
pub fn in_folder(folder: &Path, only: Option<&str>) -> Result<Vec<Case>, Box<dyn std::error::Error>> {
    let mut folders: Vec<_> = std::fs::read_dir(folder)?.filter_map(|e| Some(e.ok()?.path())).collect();
    folders.retain(|p| p.join("truth.json").exists());
    folders.sort();
    let mut cases = Vec::new();
    for folder in folders {
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if only.is_none_or(|o| name.contains(o)) {
            let truth = serde_json::from_str(&std::fs::read_to_string(folder.join("truth.json"))?)?;
            cases.push(Case { name, folder, truth });
        }
    }
    Ok(cases)
}

impl Case {
    /// The senders' congestion control.
    pub fn congestion_control(&self) -> &str {
        self.sysctl("tcp_congestion_control").unwrap_or_default()
    }

    /// The minimum of the senders' timeout, ms.
    pub fn min_rto(&self) -> f64 {
        let set = self.sysctl("tcp_rto_min_us").and_then(|us| us.parse::<f64>().ok());
        set.map_or(DEFAULT_MIN_RTO, |us| us / 1e3)
    }

    fn sysctl(&self, key: &str) -> Option<&str> {
        self.truth["sysctls"][format!("net.ipv4.{key}")].as_str()
    }

    /// Deliveries that the emulator made late.
    pub fn late(&self) -> u64 {
        self.truth["late"].as_u64().unwrap_or(0)
    }

    /// The kernels' events of each direction, with their times.
    pub fn events(&self) -> BTreeMap<Ends, Vec<(u64, &Value)>> {
        let mut events: BTreeMap<Ends, Vec<(u64, &Value)>> = BTreeMap::new();
        for e in self.truth["events"].as_array().into_iter().flatten() {
            let end = |i: usize| e[i].as_str().unwrap_or_default().parse::<SocketAddr>();
            if let (Ok(from), Ok(to)) = (end(2), end(3)) {
                events.entry((from, to)).or_default().push((e[0].as_u64().unwrap_or(0), e));
            }
        }
        events
    }
}
