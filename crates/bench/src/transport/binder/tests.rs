//! Manager, servers and clients against the fake driver: threads stand for processes.

use super::fake::FakeKernel;
use super::*;
use schedlab_sys::binder::protocol::returned;
use std::thread::{JoinHandle, spawn};

fn opener(kernel: &Arc<FakeKernel>) -> Opener {
    let kernel = Arc::clone(kernel);
    Arc::new(move || Ok(Arc::new(kernel.open()) as Arc<dyn Driver>))
}

/// A server that replies with the request reversed, `requests` times.
fn serve(open: &Opener, pair: u32, requests: u64) -> JoinHandle<Result<(), TaskError>> {
    let mut link = BinderLink::new(open, pair);
    spawn(move || {
        let mut server = link.server()?;
        let mut request = [0; 16];
        for _ in 0..requests {
            server.receive(&mut request)?;
            request.reverse();
            server.reply(&request[..8])?;
        }
        Ok(())
    })
}

fn manage(open: &Opener, pairs: u32) -> JoinHandle<Result<u64, TaskError>> {
    let mut manager = context_manager_of(open, pairs);
    spawn(move || manager.prepare().and_then(|()| manager.run()))
}

fn context_manager_of(open: &Opener, pairs: u32) -> ContextManager {
    ContextManager::new(Arc::clone(open), pairs.into())
}

fn request(pair: u32, i: u64) -> [u8; 16] {
    std::array::from_fn(|at| (u64::from(pair) * 31 + i * 7 + at as u64) as u8)
}

fn ask(caller: &mut dyn Caller, pair: u32, i: u64) -> Result<(), TaskError> {
    let mut expected = request(pair, i);
    expected.reverse();
    let mut reply = [0; 8];
    caller.transact(&request(pair, i), &mut reply)?;
    assert_eq!(reply, expected[..8], "pair {pair} request {i}");
    Ok(())
}

/// Makes half of the requests from the client's own thread, and half from another thread of it.
fn transact(open: &Opener, pair: u32, requests: u64) -> JoinHandle<Result<(), TaskError>> {
    let mut link = BinderLink::new(open, pair);
    spawn(move || {
        let client = link.client()?;
        let mut own = client.caller()?;
        for i in 0..requests / 2 {
            ask(own.as_mut(), pair, i)?;
            let other = || client.caller().and_then(|mut caller| ask(caller.as_mut(), pair, i + 100));
            std::thread::scope(|scope| scope.spawn(other).join().unwrap())?;
        }
        Ok(())
    })
}

#[test]
fn several_pairs_find_each_other_through_one_manager_and_leave_no_payload() {
    let kernel = Arc::new(FakeKernel::default());
    let open = opener(&kernel);
    // Clients and servers are started first: they wait for the manager, and clients for their server.
    let clients: Vec<_> = (0..3).map(|pair| transact(&open, pair, 40)).collect();
    let servers: Vec<_> = (0..3).map(|pair| serve(&open, pair, 40)).collect();
    let manager = manage(&open, 3);
    for task in clients.into_iter().chain(servers) {
        task.join().unwrap().unwrap();
    }
    assert_eq!(manager.join().unwrap(), Ok(3));
    assert_eq!(kernel.leaked_payloads(), 0);
    assert_eq!(kernel.acquired(), 6, "the manager and the client of each pair hold its object");
}

#[test]
fn a_server_that_dies_is_a_dead_reply() {
    let kernel = Arc::new(FakeKernel::default());
    let open = opener(&kernel);
    let manager = manage(&open, 1);
    let server = serve(&open, 0, 3);
    let error = transact(&open, 0, 10).join().unwrap().unwrap_err();
    assert_eq!((error.step, error.detail), (Step::BinderAnswer, u64::from(returned::DEAD_REPLY)));
    assert!(error.describe().contains("BR_DEAD_REPLY"), "{}", error.describe());
    server.join().unwrap().unwrap();
    assert_eq!(manager.join().unwrap(), Ok(1), "the client told the manager all the same");
}

#[test]
fn a_device_with_another_manager_is_busy() {
    let kernel = Arc::new(FakeKernel::default());
    let open = opener(&kernel);
    let theirs = kernel.open();
    theirs.become_context_manager().unwrap();
    let error = context_manager_of(&open, 1).prepare().unwrap_err();
    assert_eq!(error.step, Step::ContextManager);
}

#[test]
fn a_reply_of_the_wrong_length_is_a_wrong_answer() {
    let kernel = Arc::new(FakeKernel::default());
    let open = opener(&kernel);
    let manager = manage(&open, 1);
    let server = serve(&open, 0, 1);
    let client = BinderLink::new(&open, 0).client().unwrap();
    let error = client.caller().unwrap().transact(&[0; 16], &mut [0; 4]).unwrap_err();
    assert_eq!((error.step, error.detail), (Step::Token, 8));
    drop(client);
    server.join().unwrap().unwrap();
    manager.join().unwrap().unwrap();
    assert_eq!(kernel.leaked_payloads(), 0, "also a wrong answer is freed");
}
