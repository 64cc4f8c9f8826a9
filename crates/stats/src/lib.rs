//! Numbers in, numbers out: paired ratios, intervals, self-check arithmetic.
