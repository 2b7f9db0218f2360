mod conservation;
mod queue;
mod truth;
