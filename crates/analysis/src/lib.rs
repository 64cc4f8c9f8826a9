//! Runs -> comparisons and findings.
