//! The trial loop: order, blocks, warm-up, stopping, runners.
#![forbid(unsafe_code)]
