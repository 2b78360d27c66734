//! Creates the tasks of `transact/1`: for each pair the link, a server process and a client process.

use super::Run;
use super::client::ClientTask;
use super::{INFO, server, timed};
use crate::error::BenchError;
use crate::herd::Herd;
use crate::placement::{Cpus, confine};
use crate::transport::{Sizes, Wiring};
use schedlab_sys::fd;

const SIZES: Sizes = Sizes { request: super::message::REQUEST_BYTES, reply: super::message::REPLY_BYTES };

/// Starts all pairs; `places` holds the CPUs of each pair's client and server.
pub(super) fn start(run: &Run<'_>, places: &[(Cpus, Cpus)]) -> Result<Herd, BenchError> {
    let config = run.config;
    let device = config.binder_device.as_deref();
    let wiring = Wiring::new(INFO.name, config.transport, SIZES, config.pairs, device)?;
    let mut herd = run.shared.herd(config.transport.managers() + 2 * places.len(), fd::pipe_pair)?;
    let timed = timed::choose(!run.recorders.is_empty(), run.shared.delay.as_ref());
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
            loops: config.length.loops(),
            fifo: run.fifo_refused.is_none().then_some(config.fifo_thread),
            deadline_ns: config.deadline_ns,
            stop_on_miss: config.stop_on_miss,
            trace: run.trace.as_ref(),
            probes_nice: config.transport.inherits(),
            timed: timed.as_ref(),
            recorder: run.recorders.get(pair),
            topology: &run.shared.order.topology,
            cells: &run.shared.cells,
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
