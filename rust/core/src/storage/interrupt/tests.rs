use super::*;
use crate::error::ErrorKind;

#[test]
fn the_hook_is_called_once_per_interval() {
    testing::stop_this_thread(false);
    assert!(check().is_ok());
    testing::stop_this_thread(true);
    assert!(check().is_err_and(|error| error.kind() == ErrorKind::Interrupted));
    assert!(check().is_ok(), "the hook was called again too soon");
    std::thread::sleep(INTERVAL);
    assert!(check().is_err());
    testing::stop_this_thread(false);
}
