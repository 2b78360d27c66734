//! Building the herd of `transact/1`: for each pair the link, a server process and a client process.

use super::Run;
use super::client::ClientTask;
use super::config::FifoThread;
use super::{INFO, server, timed};
use crate::error::BenchError;
use crate::herd::{Gate, Herd};
use crate::placement::{Cpus, confine};
use crate::transport::{Sizes, Wiring};
use schedlab_sys::fd;

const SIZES: Sizes = Sizes { request: super::message::REQUEST_BYTES, reply: super::message::REPLY_BYTES };

/// Starts all pairs; `places` holds the CPUs of each pair's client and server.
pub(super) fn start(run: &Run<'_>, places: &[(Cpus, Cpus)]) -> Result<Herd, BenchError> {
    let config = run.config;
    let device = config.binder_device.as_deref();
    let wiring = Wiring::new(INFO.name, config.transport, SIZES, config.pairs, device)?;
    let gate = Gate::new(fd::pipe_pair).map_err(BenchError::io("opening the gate's pipes"))?;
    let mut herd = Herd::new(run.cells.clone(), gate, config.transport.managers() + 2 * places.len(), run.order.dither);
    let timed = timed::choose(!run.recorders.is_empty(), run.plant.as_ref());
    wiring.start_manager(&mut herd)?;
    for (pair, (client_cpus, server_cpus)) in places.iter().enumerate() {
        let mut link = wiring.link(pair as u32)?;
        let prepare = || {
            confine(server_cpus)?;
            link.server()
        };
        herd.fork("server", pair as u32, prepare, |mut server| server::serve(server.as_mut()))?;
        let client = ClientTask {
            pair,
            task: herd.next_task(),
            kept_cell: run.kept_cell(pair),
            loops: run.config.loops(),
            fifo: fifo(run),
            deadline_ns: run.config.deadline_ns,
            stop_on_miss: run.config.stop_on_miss,
            trace: run.trace.as_ref(),
            probes_nice: run.config.transport.inherits(),
            timed: timed.as_ref(),
            recorder: run.recorders.get(pair),
            topology: &run.order.topology,
            cells: &run.cells,
            reports: &run.reports,
        };
        let prepare = || {
            confine(client_cpus)?;
            run.reports.fault_in(pair);
            if let Some(recorder) = client.recorder {
                recorder.fault_in(0);
            }
            link.client()
        };
        herd.fork("client", pair as u32, prepare, |end| client.run(end.as_ref()))?;
    }
    Ok(herd)
}

fn fifo(run: &Run<'_>) -> Option<FifoThread> {
    run.fifo_refused.is_none().then_some(run.config.fifo_thread)
}
