//! The parts of a link.

use ackclock_policy::QueueDiscipline;
use ackclock_units::{Duration, Rate};

use super::elements::Elements;
use crate::fault::Fault;

/// The parts of a link.
#[derive(Default)]
pub struct LinkSpec {
    /// Its rate; `None` for a pure delay, which never queues.
    pub rate: Option<Rate>,
    /// Propagation delay.
    pub delay: Duration,
    /// Its queue; `None` for an unbounded first-in first-out queue.
    pub queue: Option<Box<dyn QueueDiscipline>>,
    /// Faults on the wire, called in this order.
    pub faults: Vec<Box<dyn Fault>>,
    /// What few links have.
    pub elements: Elements,
}

impl LinkSpec {
    /// A pure delay.
    pub fn delay(delay: Duration) -> Self {
        Self { delay, ..Self::default() }
    }

    /// A link of some rate and delay behind a queue.
    pub fn new(rate: Rate, delay: Duration, queue: Box<dyn QueueDiscipline>) -> Self {
        Self { rate: Some(rate), delay, queue: Some(queue), ..Self::default() }
    }

    /// Adds a fault.
    pub fn with_fault(mut self, fault: impl Fault + 'static) -> Self {
        self.faults.push(Box::new(fault));
        self
    }
}
