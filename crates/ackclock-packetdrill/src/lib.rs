//! A shared library that packetdrill loads with `--so_filename`: it then judges ackclock's engine, in virtual
//! time, in place of the kernel. The README says how.
//!
//! `boundary` has the functions that packetdrill calls and `preload` the one that it calls without knowing:
//! both turn pointers into values, and nothing else has `unsafe`. `lab` has the tested host and its time.

#![cfg(target_os = "linux")]

mod addresses;
mod boundary;
mod errors;
mod interface;
mod lab;
mod options;
mod preload;
mod settings;
