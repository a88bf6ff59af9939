//! The command line of Retake.

fn main() {}
