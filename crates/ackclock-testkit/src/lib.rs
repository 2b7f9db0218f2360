//! For tests only: generators, and the laws that every implementation must keep.

pub mod generate;
