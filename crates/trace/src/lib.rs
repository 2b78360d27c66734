//! Scheduler traces from any tool as one stream of events, and the state machine of tasks over it.
//!
//! A [`Reader`] detects the format of a file and yields [`Event`]s in the order of time, in batches and in bounded
//! memory. An [`Engine`](engine::Engine) follows every thread and every CPU through them and notifies an
//! [`Observer`](engine::Observer) of what each thread did: ran, slept, or waited for a CPU, and why. [`tally()`] counts
//! that per task, and most analyses start from it.
//!
//! Parsing has no I/O policy: bytes come by position through [`ByteSource`], and nothing here opens a file. A defect of
//! a trace is an error only if nothing can be read; otherwise it is a [`Problem`] reported in addition to the events.
//! Waits that a loss may have falsified are censored, never guessed.
#![forbid(unsafe_code)]

mod archive;
mod bytes;
mod cells;
mod clock;
mod convert;
mod cpus;
mod decoder_of_format;
#[cfg(test)]
mod drawing;
pub mod engine;
mod error;
mod event;
mod expression;
mod format;
#[cfg(test)]
mod golden;
mod info;
mod kind;
mod names;
mod native;
mod numbered;
mod order;
mod page;
mod perf_data;
mod perfetto;
mod pieces;
mod pipeline;
mod prev_state;
mod problem;
mod reader;
mod record_decoder;
pub mod recording;
mod rows;
mod seconds;
mod section;
mod syscall;
mod tables;
mod tally;
mod text;
mod trace_dat;
mod tracing_data;
mod unpack;
mod unseen;
mod window;
mod wrapped;

pub use bytes::{ByteSource, Forward};
pub use cells::Cells;
pub use convert::{ConvertError, Converted, Target, convert};
pub use error::TraceError;
pub use event::{Context, Cpu, Event, Missing, Prio, Tid, Wake, What, Wide};
pub use format::{Field, Format};
pub use info::TraceInfo;
pub use kind::{Kind, Kinds};
pub use names::{Name, Names};
pub use numbered::{PerCpu, PerTask};
pub use order::BATCH;
pub use page::{Item, Page, PageDecoder, PageError, RingRead};
pub use perf_data::{RecordCounts, SeenCgroups};
pub use pipeline::{for_each_batch, for_each_batch_twice, for_each_named_batch};
pub use prev_state::{PrevStates, StateBits, StateClass, StateId};
pub use problem::{Problem, ProblemKind, Problems};
pub use reader::Reader;
pub use seconds::Seconds;
pub use syscall::Syscall;
pub use tables::{convert_to_tables, trace_tables};
pub use tally::{CpuTally, Ended, Longest, Tally, TaskTally, WantedWaits, tally};
pub use window::{TimeWindow, TimeWindowError};
