//! Single runs that once went wrong, each by its line.
