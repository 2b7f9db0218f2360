//! A scenario's transfers, for real-time runs instead of the simulator.

use ackclock_units::{Bytes, Instant, Rng};

use super::build;
use super::error::{Result, ScenarioError};
use super::resolved::{Job, Resolved};
use super::workload::Body;
use crate::flow::Access;

/// Largest number of transfers drawn ahead.
const MOST_TRANSFERS: f64 = 2e6;

/// A connection on which a client requests a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Transfer {
    /// When the client opens the connection.
    pub start: Instant,
    /// Bytes of the request.
    pub request: Bytes,
    /// Bytes of the response.
    pub size: Bytes,
    /// Delays between its ends and their nodes.
    pub access: Access,
}

impl Resolved {
    /// The transfers of one job in the order of their starts, the same as in the simulator: they are drawn
    /// from the same random streams.
    ///
    /// # Errors
    /// When the scenario has anything but one workload of kind `web` or `log`, or a path of more than one
    /// link each way.
    pub fn transfers(&self, job: Job) -> Result<Vec<Transfer>> {
        let [workload] = self.workloads.as_slice() else {
            return Err(ScenarioError::new(format!(
                "the scenario has {} workloads; only one, of kind `web` or `log`, is supported here",
                self.workloads.len()
            )));
        };
        let params = match &workload.body {
            Body::Web(web) => &web.params,
            Body::Log(log) => &log.params,
            _ => {
                return Err(ScenarioError::new(format!(
                    "`workload.kind` is `{}`; only `web` and `log` are supported here",
                    workload.kind
                )));
            }
        };
        if self.path.edges.len() != 1 {
            return Err(ScenarioError::new(format!(
                "`path` has {} links; only one link and its way back are supported here",
                self.path.edges.len()
            )));
        }
        let expected = workload.expected_flows(self.duration());
        if expected > MOST_TRANSFERS {
            let message = format!(
                "workload `{}` would make about {expected:.0} transfers; at most {MOST_TRANSFERS:.0} are \
                 supported here",
                workload.name
            );
            return Err(ScenarioError::new(message));
        }
        let request = params.bytes("request");
        let mut sources = build::sources(self, job, &build::network(self, true)?)?;
        // Unused: arrivals and sizes have streams of their own.
        let (mut rng, mut transfers) = (Rng::stream(job.seed, "transfers", 0), Vec::new());
        for source in &mut sources.flows {
            while let Some(flow) = source.next(Instant::ZERO, &mut rng) {
                transfers.push(Transfer {
                    start: flow.start,
                    request,
                    size: flow.size.unwrap_or(0),
                    access: flow.access,
                });
            }
        }
        Ok(transfers)
    }
}
