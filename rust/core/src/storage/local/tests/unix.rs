use std::os::unix::fs::PermissionsExt;

use super::*;

#[test]
fn the_error_of_a_file_without_read_permission_has_its_path() {
    let (directory, storage) = table();
    write(&directory, "secret", b"x");
    let path = directory.path().join("secret");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
    let error = if File::open(&path).is_ok() {
        // the superuser may read everything: test the mapping itself
        failed("read", "secret", IoKind::PermissionDenied.into())
    } else {
        storage.read("secret").unwrap_err()
    };
    assert_eq!(
        (error.code(), error.path()),
        ("storage.permission", Some("secret"))
    );
}

#[test]
fn system_errors_have_codes() {
    for (errno, code) in [
        // a retry cannot fix these
        (libc::EROFS, "storage.read_only"),
        (libc::EACCES, "storage.permission"),
        (libc::EPERM, "storage.permission"),
        (libc::ENOSPC, "storage.full"),
        (libc::EDQUOT, "storage.full"),
        (libc::EFBIG, "storage.full"),
        (libc::ENAMETOOLONG, "storage.name"),
        (libc::ELOOP, "storage.name"),
        (libc::ENOTDIR, "storage.name"),
        (libc::EISDIR, "storage.not_a_file"),
        (libc::ENOENT, "storage.not_found"),
        (libc::EXDEV, "storage.unsupported"),
        (libc::EMLINK, "storage.unsupported"),
        (libc::EOPNOTSUPP, "storage.unsupported"),
        (libc::ENOSYS, "storage.unsupported"),
        // a retry may fix these
        (libc::EIO, "storage.io"),
        (libc::EMFILE, "storage.io"),
        (libc::ESTALE, "storage.io"),
    ] {
        let error = failed("write", "file", std::io::Error::from_raw_os_error(errno));
        assert_eq!(
            (error.code(), error.path()),
            (code, Some("file")),
            "{errno}"
        );
    }
}
