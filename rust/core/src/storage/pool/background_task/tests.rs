use std::sync::Mutex;
use std::sync::mpsc::channel;

use super::spawn;
use crate::error::Error;

#[test]
fn the_task_and_its_caller_run_at_once() {
    let (requests, received) = channel();
    let (replies, replied) = channel();
    let received = Mutex::new(received);
    let task = spawn(move || {
        let number: u32 = received.lock().unwrap().recv().unwrap();
        replies.send(number + 1).unwrap();
        Ok("done")
    })
    .unwrap();
    requests.send(1).unwrap();
    assert_eq!(replied.recv().unwrap(), 2);
    assert_eq!(task.wait().unwrap(), "done");
}

#[test]
fn wait_returns_the_error_of_the_work() {
    let failing = spawn(|| Err::<(), _>(Error::storage("storage.denied", "no"))).unwrap();
    assert_eq!(failing.wait().unwrap_err().code(), "storage.denied");
}
