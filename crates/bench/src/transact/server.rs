//! The server process: replies with its CPU and scheduling attributes, until the end.

use super::message::{REQUEST_BYTES, Reply, Request};
use crate::task::{Step, TaskError, Work};
use crate::transport::Server;
use schedlab_sys::{cpu_number, sched_attr};

/// Serves until the client ends it; counts the transactions served.
pub(super) fn serve(server: &mut dyn Server) -> Result<Work, TaskError> {
    let mut work = Work::default();
    let mut bytes = [0; REQUEST_BYTES];
    loop {
        server.receive(&mut bytes)?;
        let request = Request::from_bytes(&bytes);
        let attributes = sched_attr::get(0).map_err(TaskError::at(Step::Policy))?.into();
        let reply = Reply { number: request.number, cpu: cpu_number::current_cpu(), server: attributes };
        server.reply(&reply.to_bytes())?;
        if request.is_end() {
            return Ok(work);
        }
        work.operations += 1;
    }
}
