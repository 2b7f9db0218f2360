//! Scenarios: a file describes path, queues, workloads and stacks; resolving it makes every default explicit;
//! running it returns tables.
//!
//! ```text
//! seed = 1
//! duration = "200s"
//! [path]
//! kind = "dumbbell"
//! bottleneck = { rate = "10Mbit/s", queue = { kind = "red", limit = "2bdp" } }
//! rtt = { uniform = ["10ms", "200ms"] }
//! [workload]
//! kind = "web"
//! trace = "I"
//! load = 1.2
//! [stacks]
//! tcp = "sack"
//! "no backoff" = "sack+no-backoff"
//! ```

mod build;
mod check;
mod conversations;
mod edges;
mod elements;
mod error;
mod expect;
mod files;
mod job;
mod kernel;
mod limits;
mod link;
mod log;
mod met;
mod pair_paths;
mod path;
mod reader;
mod real;
mod resolve;
mod resolved;
mod results;
mod rtt;
mod run;
mod schedule;
mod shared;
mod stack;
mod summary;
mod text;
mod trace;
mod transfers;
mod tree;
mod web;
mod workload;
mod write;

pub use conversations::Conversation;
pub use edges::Edge;
pub use elements::{ElementPlans, JitterPlan};
pub use error::ScenarioError;
pub use files::Files;
pub use kernel::KernelPlan;
pub use limits::{Limits, TracePart, TraceSink};
pub use link::{LINK, LinkPlan, check_value};
pub use path::PathPlan;
pub use real::{RealFlow, RealLink, RealRun, SeededApplication};
pub use resolve::Scenario;
pub use resolved::{Expected, Job, Resolved, RunPlan};
pub use results::{Results, RunInfo, StreamedTrace};
pub use rtt::RttPlan;
pub use run::{run, run_within};
pub use shared::ScenarioProgress;
pub use stack::StackPlan;
pub use summary::Summary;
pub use trace::Trace;
pub use transfers::Transfer;
pub use web::WebPlan;
pub use workload::{Body, WorkloadPlan};
