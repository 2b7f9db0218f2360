//! Captures, most of them of the kernel: a file for each subject, in one program, which links once.

mod both_ends;
mod certain;
mod compare;
mod encapsulated;
mod kernel;
mod limits_at_both_ends;
mod no_beginning;
mod options_cut;
mod order_and_probes;
mod packets;
mod readers;
mod tcptrace;
