//! Scripted tests of TCP in virtual time, in the language of packetdrill: packets that are injected and packets
//! that are expected, system calls with their results, and assertions about the state of a connection.

pub mod code;
