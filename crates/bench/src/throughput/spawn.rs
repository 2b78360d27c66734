//! Creates the tasks of `throughput/1`: for each pair the link, a server process and a client process.

use super::loops::{Buffers, ClientTask, serve};
use super::{INFO, Run};
use crate::error::BenchError;
use crate::herd::Herd;
use crate::placement::{Cpus, confine};
use crate::transport::Wiring;
use schedlab_sys::fd;

/// Starts all pairs; `places` holds the CPUs of each pair's client and server.
pub(super) fn start(run: &Run<'_>, places: &[(Cpus, Cpus)]) -> Result<Herd, BenchError> {
    let config = run.config;
    let (sizes, device) = (config.sizes(), config.binder_device.as_deref());
    let wiring = Wiring::new(INFO.name, config.transport, sizes, config.pairs, device)?;
    let mut herd = run.shared.herd(config.transport.managers() + 2 * places.len(), fd::pipe_pair)?;
    wiring.start_manager(&mut herd)?;
    for (pair, (client_cpus, server_cpus)) in places.iter().enumerate() {
        let mut link = wiring.link(pair as u32)?;
        let prepare = || {
            confine(server_cpus)?;
            Ok((link.server()?, vec![0; sizes.request]))
        };
        let body = |(mut server, buffer): (Box<dyn crate::transport::Server>, Vec<u8>)| {
            serve(server.as_mut(), &run.pace, pair, buffer, config.payloads[0])
        };
        herd.fork("server", pair as u32, prepare, body)?;
        let client = ClientTask {
            pair,
            payloads: &config.payloads,
            loops: config.length.loops(),
            payload_ns: config.payload_ns().unwrap_or(0),
            // The client determines how many operations a batch has.
            order: run.shared.loops(pair, None),
            recorder: run.shared.recorder.as_ref(),
            pace: &run.pace,
            counter: run.shared.cells.counter(herd.next_task()),
        };
        let prepare = || {
            confine(client_cpus)?;
            if let Some(recorder) = client.recorder {
                recorder.fault_in(0);
            }
            Ok((link.client()?, Buffers::new(sizes.request)))
        };
        let body = |(end, mut buffers): (Box<dyn crate::transport::Client>, Buffers)| {
            let mut caller = end.caller()?;
            client.run(caller.as_mut(), &mut buffers)
        };
        herd.fork("client", pair as u32, prepare, body)?;
    }
    Ok(herd)
}
