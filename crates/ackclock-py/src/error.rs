//! The exceptions, which mirror the Rust errors. All derive from [`AckclockError`].

use ackclock_policy::RegistryError;
use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;

create_exception!(ackclock, AckclockError, PyException, "The base class of all errors of ackclock.");
create_exception!(
    ackclock,
    InputError,
    AckclockError,
    "Invalid input: the place, the value given, the values that are valid."
);
create_exception!(
    ackclock,
    ScenarioError,
    InputError,
    "A scenario is invalid. `reason` is the message without its place, `place` where the fault is (`file:line`, \
     `--set key`), `key` the override at fault; each is None where it is not known."
);
create_exception!(
    ackclock,
    PolicyError,
    InputError,
    "A policy or one of its parameters is unknown, or a value is invalid."
);
create_exception!(
    ackclock,
    SimulationError,
    AckclockError,
    "A run violated one of its invariants, such as conservation: a fault of ackclock, not of its user."
);
create_exception!(
    ackclock,
    MissingRightError,
    AckclockError,
    "The system or the process's rights do not permit real packets; the message names what is missing."
);
create_exception!(ackclock, DriveError, AckclockError, "Something went wrong on the real network.");
create_exception!(
    ackclock,
    VoidRunError,
    DriveError,
    "The machine was too busy for the link emulator to keep time, so that the run says nothing; it may be run again."
);

/// The exception for an invalid scenario.
pub fn scenario(e: &ackclock_sim::scenario::ScenarioError) -> PyErr {
    Python::attach(|py| {
        let error = ScenarioError::new_err(e.to_string());
        let value = error.value(py);
        let set = value
            .setattr("reason", e.reason())
            .and_then(|()| value.setattr("place", e.place()))
            .and_then(|()| value.setattr("key", e.override_key()));
        set.err().unwrap_or(error)
    })
}

/// The exception for an error of the registry.
pub fn policy(e: RegistryError) -> PyErr {
    PolicyError::new_err(e.to_string())
}

/// The exception for an error of the real network.
#[cfg(target_os = "linux")]
pub fn drive(e: ackclock_drive::DriveError) -> PyErr {
    match e {
        ackclock_drive::DriveError::Missing(sentence) => MissingRightError::new_err(sentence),
        ackclock_drive::DriveError::Input(sentence) => InputError::new_err(sentence),
        ackclock_drive::DriveError::Void(sentence) => VoidRunError::new_err(sentence),
        e => DriveError::new_err(e.to_string()),
    }
}

/// Adds the exceptions to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("AckclockError", py.get_type::<AckclockError>())?;
    module.add("InputError", py.get_type::<InputError>())?;
    let scenario = py.get_type::<ScenarioError>();
    for name in ["reason", "place", "key"] {
        scenario.setattr(name, py.None())?;
    }
    module.add("ScenarioError", scenario)?;
    module.add("PolicyError", py.get_type::<PolicyError>())?;
    module.add("SimulationError", py.get_type::<SimulationError>())?;
    module.add("MissingRightError", py.get_type::<MissingRightError>())?;
    module.add("DriveError", py.get_type::<DriveError>())?;
    module.add("VoidRunError", py.get_type::<VoidRunError>())
}
