//! What subcommands read from files and stdin, and what may go wrong with files.

use std::fmt;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

/// Why something could not be read or written.
#[derive(Debug)]
pub enum Error {
    /// A file, or `-` for stdin.
    Unreadable {
        /// Which.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// A file of settings that is none.
    NotSettings {
        /// Which.
        path: PathBuf,
        /// Why.
        error: serde_json::Error,
    },
    /// A file of limits that is none.
    NotLimits {
        /// Which.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// A file that cannot be written.
    Unwritable {
        /// Which.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// Neither a payload nor anything to read it from.
    NoPayload,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Unreadable { path, error } => {
                let path = path.display();
                write!(f, "error: cannot read {path}: {error}\nhint: check its name and who may read it")
            }
            Error::NotSettings { path, error } => {
                let path = path.display();
                let example = r#"{"max_attempts": 5}"#;
                write!(
                    f,
                    "error: {path} holds no settings: {error}\nhint: it is a JSON object, such as {example}"
                )
            }
            Error::NotLimits { path, reason } => {
                let path = path.display();
                write!(
                    f,
                    "error: {path} holds no limits: {reason}\nhint: `tidegate limits export` shows how such a file looks"
                )
            }
            Error::Unwritable { path, error } => {
                let path = path.display();
                write!(f, "error: cannot write {path}: {error}\nhint: check its name and who may write there")
            }
            Error::NoPayload => f.write_str(
                "error: there is no payload\nhint: give it as an argument, by --file, or on stdin",
            ),
        }
    }
}

/// A file, or stdin if it is called `-`.
pub fn bytes(path: &Path) -> Result<Vec<u8>, Error> {
    let read = match path.as_os_str() == "-" {
        true => stdin(),
        false => std::fs::read(path),
    };
    read.map_err(|error| Error::Unreadable { path: path.to_owned(), error })
}

/// The same, as text.
pub fn text(path: &Path) -> Result<String, Error> {
    String::from_utf8(bytes(path)?).map_err(|_| Error::Unreadable {
        path: path.to_owned(),
        error: io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8"),
    })
}

/// The same, as a JSON object of settings.
pub fn settings(path: &Path) -> Result<Map<String, Value>, Error> {
    let json = bytes(path)?;
    serde_json::from_slice(&json).map_err(|error| Error::NotSettings { path: path.to_owned(), error })
}

fn stdin() -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    io::stdin().lock().read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_not_there_is_named() {
        let error = bytes(Path::new("no/such/file")).unwrap_err().to_string();
        assert!(error.starts_with("error: cannot read no/such/file: "), "{error}");
        assert!(error.contains("\nhint: "), "{error}");
    }
}
