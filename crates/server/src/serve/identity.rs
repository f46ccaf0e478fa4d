//! Who this server is among those that share a table: a name that nobody else has, made once and kept in its data
//! directory, so that after a crash it gets the number back that its leases carry.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use super::Error;

/// Its file.
const FILE: &str = "identity";

/// Hexadecimal digits of an identity.
const DIGITS: usize = 32;

/// The identity of the server of this data directory, which is locked. It is made if there is none.
pub fn of(data_dir: &Path) -> Result<String, Error> {
    let path = data_dir.join(FILE);
    match fs::read_to_string(&path) {
        Ok(text) if is_identity(text.trim_end()) => Ok(text.trim_end().to_owned()),
        Err(reason) if reason.kind() != io::ErrorKind::NotFound => Err(failed("read", path)(reason)),
        // A crash in the middle leaves nothing that anybody has used.
        Ok(_) | Err(_) => {
            let made = new();
            write(data_dir, &made).map_err(failed("write", path))?;
            Ok(made)
        }
    }
}

fn failed(action: &'static str, path: PathBuf) -> impl FnOnce(io::Error) -> Error {
    move |reason| tidegate_store::Error::Io { action, path, reason }.into()
}

fn is_identity(text: &str) -> bool {
    text.len() == DIGITS && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn new() -> String {
    tidegate_limiter::keys::random_secret().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// It is whole before anybody can read it, and stays.
fn write(data_dir: &Path, identity: &str) -> io::Result<()> {
    let temp = data_dir.join("identity.tmp");
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&temp)?;
    writeln!(file, "{identity}")?;
    file.sync_all()?;
    fs::rename(&temp, data_dir.join(FILE))?;
    File::open(data_dir)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identity_is_made_once_and_no_two_are_the_same() {
        let dirs = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let first = of(dirs[0].path()).unwrap();
        assert!(is_identity(&first), "{first}");
        assert_eq!(of(dirs[0].path()).unwrap(), first);
        assert_ne!(of(dirs[1].path()).unwrap(), first);
        fs::write(dirs[0].path().join(FILE), "12").unwrap();
        assert_ne!(of(dirs[0].path()).unwrap(), first);
    }
}
