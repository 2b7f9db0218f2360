//! Bodies of the fuzz targets, which take any bytes, so that ordinary tests can run them as well: each checks
//! what must hold for every input. `fuzz/` has a target for each.

mod capture;
mod connection;
mod data_file;
mod encapsulated;
mod exchange;
mod input;
mod packet;
mod records;
mod scenario;
mod script;
mod shadow;

pub use capture::{conversation, file as capture_file};
pub use connection::connection;
pub use data_file::{arrivals, delivery_trace, edges, jitter, schedule};
pub use encapsulated::encapsulated;
pub use exchange::{HEADER as EXCHANGE_HEADER, RECORD as EXCHANGE_RECORD, exchange};
pub use packet::{options, packet};
pub use records::mutate;
pub use scenario::{scenario, scenario_keys};
pub use script::{script, script_lines};
pub use shadow::shadow;
