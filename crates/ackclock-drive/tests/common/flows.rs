//! Runs a scenario's applications on real connections.

use std::ops::ControlFlow;

use ackclock_drive::{
    Capture, Clock, DriveError, EndKind, FlowReport, FlowTestbed, Flows, FlowsReport, KernelsOptions,
    TcpOption,
};
use ackclock_sim::scenario::{LinkPlan, Resolved, Scenario};
use ackclock_trace::Outcome;

/// Options of a run.
pub struct Run<'a> {
    pub text: &'a str,
    pub carriers: (EndKind, EndKind),
    pub parameters: &'a [(&'a str, &'a str)],
    pub options: &'a [(&'a str, i32)],
    pub quick_acks: bool,
    pub clock: Clock,
    pub capture: Option<Capture>,
}

impl<'a> Run<'a> {
    /// A run of a scenario's text without other settings.
    pub fn of(text: &'a str, near: EndKind, far: EndKind) -> Self {
        Self {
            text,
            carriers: (near, far),
            parameters: &[],
            options: &[],
            quick_acks: false,
            clock: Clock::start(),
            capture: None,
        }
    }

    pub fn run(self, go_on: &mut dyn FnMut() -> ControlFlow<()>) -> Result<FlowsReport, DriveError> {
        let scenario: Resolved = Scenario::parse(self.text).unwrap().resolve().unwrap();
        let job = scenario.jobs()[0];
        let flows = Flows {
            conversations: scenario.conversations(job).unwrap(),
            duration: scenario.duration(),
            parameters: self.parameters.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect(),
            options: self
                .options
                .iter()
                .map(|(name, value)| (TcpOption::named(name).unwrap(), *value))
                .collect(),
            quick_acks: self.quick_acks,
        };
        let edge = &scenario.path.edges[0];
        let (there, back) = (edge.link.spec(), edge.back.as_ref().map(LinkPlan::spec).unwrap());
        let options = KernelsOptions {
            mtu: 1500,
            there,
            back,
            access: flows.access(),
            seed: job.seed,
            clock: self.clock,
            capture: self.capture.clone(),
        };
        let ends = FlowTestbed::new(self.carriers, flows.hosts()?, options)?;
        let found = flows.run(ends, go_on)?;
        self.capture.map_or(Ok(()), |c| c.finish())?;
        Ok(found)
    }

    /// Runs to the end.
    pub fn whole(self) -> FlowsReport {
        self.run(&mut || ControlFlow::Continue(())).unwrap()
    }
}

/// The flows of a workload.
pub fn of<'a>(found: &'a FlowsReport, group: &str) -> Vec<&'a FlowReport> {
    found.flows.iter().filter(|f| &*f.group == group).collect()
}

/// Checks that all bytes written at either end were read at the other in order, and that both ends have
/// closed.
pub fn expect_whole(f: &FlowReport) {
    assert_eq!((f.client.outcome, f.server.outcome), (Outcome::Finished, Outcome::Finished), "{f:?}");
    assert_eq!((f.server.read, f.client.read), (f.client.written, f.server.written), "{f:?}");
    assert_eq!((f.client.wrong, f.server.wrong), (None, None), "{f:?}");
}
