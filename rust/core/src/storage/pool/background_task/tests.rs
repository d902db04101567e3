use std::sync::mpsc::channel;

use super::spawn;
use crate::error::Error;

#[test]
fn both_go_on_at_once() {
    let (sender, receiver) = channel();
    let (back, there) = channel();
    let (receiver, back) = (std::sync::Mutex::new(receiver), std::sync::Mutex::new(back));
    let other = spawn(move || {
        let number: u32 = receiver.lock().unwrap().recv().unwrap();
        back.lock().unwrap().send(number + 1).unwrap();
        Ok("done")
    })
    .unwrap();
    sender.send(1).unwrap();
    assert_eq!(there.recv().unwrap(), 2);
    assert_eq!(other.wait().unwrap(), "done");
}

#[test]
fn errors_come_out_of_waiting() {
    let failing = spawn(|| Err::<(), _>(Error::storage("storage.denied", "no"))).unwrap();
    assert_eq!(failing.wait().unwrap_err().code(), "storage.denied");
}
