//! Which of a few files are opened, by any process: reported by the kernel.
//!
//! What the agent sees ends at its own process and at Python. This does not:
//! libraries in C and other programs are seen too. So a file that was watched
//! and not opened was *shown* not to be opened.

use std::collections::BTreeSet;
use std::path::PathBuf;

/// A watch on files.
#[cfg(target_os = "linux")]
#[derive(Debug)]
pub(crate) struct Watch {
    queue: std::os::fd::OwnedFd,
    paths: std::collections::HashMap<i32, String>,
}

#[cfg(target_os = "linux")]
impl Watch {
    /// Watches these files; none if the kernel would not watch them all. Files
    /// that do not exist cannot be opened and are left out.
    pub(crate) fn new(files: &[PathBuf]) -> Option<Self> {
        use rustix::fs::inotify;
        let queue = inotify::init(inotify::CreateFlags::NONBLOCK | inotify::CreateFlags::CLOEXEC).ok()?;
        let mut paths = std::collections::HashMap::new();
        for file in files {
            match inotify::add_watch(&queue, file, inotify::WatchFlags::OPEN) {
                Ok(watch) => {
                    paths.insert(watch, file.to_string_lossy().into_owned());
                }
                Err(rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR) => {}
                Err(_) => return None,
            }
        }
        Some(Self { queue, paths })
    }

    /// The files that were opened; none if the kernel lost count.
    pub(crate) fn finish(self) -> Option<BTreeSet<String>> {
        use rustix::fs::inotify;
        let mut opened = BTreeSet::new();
        let mut buffer = [std::mem::MaybeUninit::uninit(); 4096];
        let mut reader = inotify::Reader::new(&self.queue, &mut buffer);
        loop {
            match reader.next() {
                Ok(event) if event.events().contains(inotify::ReadFlags::QUEUE_OVERFLOW) => return None,
                Ok(event) => opened.extend(self.paths.get(&event.wd()).cloned()),
                Err(rustix::io::Errno::AGAIN) => return Some(opened),
                Err(rustix::io::Errno::INTR) => {}
                Err(_) => return None,
            }
        }
    }
}

/// Elsewhere the kernel is not queried.
#[cfg(not(target_os = "linux"))]
#[derive(Debug)]
pub(crate) struct Watch;

#[cfg(not(target_os = "linux"))]
impl Watch {
    pub(crate) fn new(_: &[PathBuf]) -> Option<Self> {
        None
    }

    pub(crate) fn finish(self) -> Option<BTreeSet<String>> {
        None
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_opened_is_told() {
        let folder = tempfile::tempdir().expect("a folder");
        let [read, unread, missing] = ["read", "unread", "missing"].map(|name| folder.path().join(name));
        std::fs::write(&read, "x").expect("written");
        std::fs::write(&unread, "x").expect("written");
        let watch = Watch::new(&[read.clone(), unread, missing]).expect("watched");
        // By another process: the kernel sees everybody.
        let status =
            std::process::Command::new("cat").arg(&read).stdout(std::process::Stdio::null()).status();
        assert!(status.expect("started").success());
        let opened = watch.finish().expect("told");
        assert_eq!(opened, BTreeSet::from([read.to_string_lossy().into_owned()]));
    }
}
