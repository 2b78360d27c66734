//! Findings to text, JSON, Markdown, SVG and one HTML file.
#![forbid(unsafe_code)]
