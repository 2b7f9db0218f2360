//! Scripted tests of TCP in virtual time, in the language of packetdrill: packets that are injected and packets
//! that are expected, system calls with their results, and assertions about the state of a connection.

pub mod ast;
pub mod code;
mod constants;
mod dialect;
pub mod differ;
mod engine_host;
mod files;
mod host;
mod icmp;
mod layout;
mod link;
mod parse;
mod render;
mod report;
mod world;

pub use constants::{Errno, constant};
pub use dialect::{DIALECTS, Dialect};
pub use engine_host::{EngineHost, setting_names};
pub use files::in_folder;
pub use host::{
    CLIENT_PORT, Call, Control, ControlData, Departure, ErrorReport, FastOpenCall, Host, IpFields, Listed,
    Message, OptionValue, Ports, Returned, SERVER_PORT, Setting,
};
pub use icmp::icmp_kind;
pub use layout::{read as read_options, write as write_options};
pub use link::{IP_VERSIONS, IpVersion, Link};
pub use parse::{MAX_SCRIPT, ParseError, parse};
pub use report::{Failure, Line, Outcome};
pub use world::{SettingsError, run};
