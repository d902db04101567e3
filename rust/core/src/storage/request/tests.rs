use super::*;

#[test]
fn every_wait_returns_the_error() {
    let failed = Error::storage("storage.io", "no").at_path("a").at_offset(3);
    let request = Request::ready(Err(failed));
    for _ in 0..2 {
        let error = request.wait().unwrap_err();
        assert_eq!((error.code(), error.path()), ("storage.io", Some("a")));
        assert_eq!(error.offset(), Some(3));
    }
}

#[test]
fn a_dropped_promise_ends_the_request_with_an_error() {
    let (sender, receiver) = std::sync::mpsc::channel();
    let ended = Box::new(move || sender.send(()).unwrap());
    let handle = crate::storage::runtime::spawn(async {}).unwrap();
    let request = Request::start(ended, |promise| {
        drop(promise);
        Ok(handle)
    });
    assert_eq!(
        request.unwrap().wait().unwrap_err().code(),
        "internal.panic"
    );
    receiver.recv().unwrap();
}
