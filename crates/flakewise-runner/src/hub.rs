//! Where all that happens comes together, in one queue.
//!
//! Threads wait for connections, for their messages, for processes and for
//! signals; each puts what it sees into a bounded queue, so that somebody who
//! talks without end is made to wait and not our memory to grow.

use std::collections::HashMap;
use std::path::Path;
use std::process::ExitStatus;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use flakewise_protocol::{FrameError, FrameReader, Hello, Role, ToAgent, ToHost, VERSION, write_message};

use crate::agent::AgentFolder;
use crate::sys::{self, UnixListener, UnixStream, Waited};
use crate::{RunnerError, guard, signals};

/// Messages that may wait. Each is at most a mebibyte.
const QUEUE: usize = 64;
/// Connections at once. Each has a thread, and more are refused.
pub(crate) const MOST_CONNECTIONS: usize = 1000;
/// Whoever connects must say who it is within this time.
const HELLO_LIMIT: Duration = Duration::from_secs(10);

/// Whoever does not take what we send for this time is not waited for.
const WRITE_LIMIT: Duration = Duration::from_secs(30);

/// How long we let the suite's messages gather. To be woken for each would cost
/// a suite of quick tests several per cent; it waits for us only when a test has
/// failed.
const GATHERING: Duration = Duration::from_millis(10);
/// After a test has failed, this many reads do not wait: where one fails, many
/// may, and each would wait for us.
const HURRIED_READS: u32 = 16;

/// Something that happened.
#[derive(Debug)]
pub(crate) enum Event {
    /// A process of the runner spoke for the first time.
    Connected { connection: u32, hello: Box<Hello> },
    /// It said something.
    Message { connection: u32, message: ToHost },
    /// It said something that is no message.
    Unreadable { connection: u32, reason: String },
    /// Its connection ended.
    Closed { connection: u32 },
    /// A process we started ended.
    Ended { pid: u32, status: ExitStatus, cpu: Duration },
    /// Somebody wants us to stop; at once, if our guard is gone.
    Signal { signal: i32, at_once: bool },
    /// There are too many connections, and one was refused.
    Refused,
    /// An agent of another version spoke.
    Version { theirs: u32 },
}

#[derive(Debug)]
pub(crate) struct Hub {
    events: Receiver<Event>,
    sender: SyncSender<Event>,
    streams: Streams,
}

/// The connections that can be written to, by number.
type Streams = Arc<Mutex<HashMap<u32, UnixStream>>>;

impl Hub {
    /// Listens for agents and for signals.
    pub(crate) fn open(folder: &AgentFolder) -> Result<Self, RunnerError> {
        let path = folder.socket();
        let failed = |source| RunnerError::Listen { path: path.clone(), source };
        let hub = Self::listen(&path, folder.token()).map_err(failed)?;
        for signal in signals::STOPPING {
            hub.forward(signal).map_err(failed)?;
        }
        Ok(hub)
    }

    /// Listens for agents at a path.
    fn listen(path: &Path, token: &str) -> std::io::Result<Self> {
        let (sender, events) = sync_channel(QUEUE);
        let hub = Self { events, sender, streams: Streams::default() };
        hub.accept(UnixListener::bind(path)?, token.to_owned());
        Ok(hub)
    }

    /// The next event that has happened already, if any.
    pub(crate) fn waiting(&self) -> Option<Event> {
        self.events.try_recv().ok()
    }

    /// The next event; none if nothing happens until `deadline`.
    pub(crate) fn next(&self, deadline: Instant) -> Option<Event> {
        match self.events.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(event) => Some(event),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => unreachable!("we hold a sender ourselves"),
        }
    }

    /// Sends a message. If nobody receives it, the end of the process will tell.
    pub(crate) fn tell(&self, connection: u32, message: &ToAgent) {
        let stream = self.streams.lock().ok().and_then(|streams| streams.get(&connection)?.try_clone().ok());
        if let Some(mut stream) = stream {
            let _ = write_message(&mut stream, message);
        }
    }

    /// Lets go of a connection.
    pub(crate) fn close(&self, connection: u32) {
        if let Ok(mut streams) = self.streams.lock() {
            streams.remove(&connection);
        }
    }

    /// Waits for a child of ours in the background.
    pub(crate) fn watch_child(&self, pid: u32) {
        let sender = self.sender.clone();
        std::thread::spawn(move || {
            if let Waited::Ended { pid, status, cpu } = sys::wait(pid) {
                let _ = sender.send(Event::Ended { pid, status, cpu });
            }
        });
    }

    fn accept(&self, listener: UnixListener, token: String) {
        let (sender, streams) = (self.sender.clone(), Arc::clone(&self.streams));
        let next = AtomicU32::new(0);
        let open = Arc::new(());
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                // Every thread has a share of it; one is ours.
                if Arc::strong_count(&open) > MOST_CONNECTIONS {
                    drop(stream);
                    if sender.send(Event::Refused).is_err() {
                        return;
                    }
                    continue;
                }
                let share = Arc::clone(&open);
                let connection = next.fetch_add(1, Ordering::Relaxed);
                let (sender, token, streams) = (sender.clone(), token.clone(), Arc::clone(&streams));
                std::thread::spawn(move || {
                    listen(connection, stream, &token, &sender, &streams);
                    drop(share);
                });
            }
        });
    }

    /// Turns a signal into an event.
    fn forward(&self, signal: i32) -> std::io::Result<()> {
        let (_, pipe) = sys::signal_pipe(signal)?;
        let sender = self.sender.clone();
        signals::follow(pipe, move || {
            let at_once = guard::is_abandoned();
            sender.send(Event::Signal { signal, at_once }).is_ok()
        });
        Ok(())
    }
}

/// Set in the number of a process that has none here. No process is numbered so,
/// and none is signalled.
const FOREIGN: u32 = 1 << 31;

/// The number of a process that says it has another, by what the kernel says. In
/// another pid namespace it would be that of a process we must not touch.
fn process(said: u32, known: Option<u32>) -> u32 {
    match known {
        Some(0) => said | FOREIGN,
        Some(pid) => pid,
        None => said,
    }
}

/// Passes on what one connection says until it ends. Whoever does not know the
/// secret is not heard at all.
fn listen(
    connection: u32,
    stream: UnixStream,
    token: &str,
    sender: &SyncSender<Event>,
    streams: &Mutex<HashMap<u32, UnixStream>>,
) {
    let Ok(reading) = stream.try_clone() else { return };
    let _ = reading.set_read_timeout(Some(HELLO_LIMIT));
    let _ = stream.set_write_timeout(Some(WRITE_LIMIT));
    let mut frames = FrameReader::new(&reading);
    let Ok(Some(ToHost::Hello(mut hello))) = frames.next_message() else { return };
    if hello.token != token {
        return;
    }
    if hello.proto[0] != VERSION[0] {
        let _ = sender.send(Event::Version { theirs: hello.proto[0] });
        return;
    }
    hello.pid = process(hello.pid, sys::peer_process(&stream));
    let _ = reading.set_read_timeout(None);
    let waits = hello.role == Role::Main;
    if let Ok(mut streams) = streams.lock() {
        streams.insert(connection, stream);
    }
    if sender.send(Event::Connected { connection, hello }).is_err() {
        return;
    }
    let mut hurried = 0_u32;
    loop {
        if waits && !frames.has_buffered() {
            match hurried.checked_sub(1) {
                Some(left) => hurried = left,
                None => std::thread::sleep(GATHERING),
            }
        }
        let message = frames.next_message();
        if matches!(message, Ok(Some(ToHost::Ask { .. }))) {
            hurried = HURRIED_READS;
        }
        let event = match message {
            Ok(Some(message)) => Event::Message { connection, message },
            Ok(None) | Err(FrameError::Io(_)) => break,
            // It may wait for an answer to something else it said.
            Err(error) => Event::Unreadable { connection, reason: error.to_string() },
        };
        if sender.send(event).is_err() {
            return;
        }
    }
    let _ = sender.send(Event::Closed { connection });
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader, Read as _, Write as _};

    use super::*;

    fn next(hub: &Hub) -> Event {
        hub.next(Instant::now() + Duration::from_mins(1)).expect("something happens")
    }

    fn hello(token: &str, version: u32) -> String {
        format!(
            "{{\"t\":\"hello\",\"proto\":[{version},0],\"token\":\"{token}\",\"role\":\"main\",\"pid\":5}}\n"
        )
    }

    fn connected(hub: &Hub) -> u32 {
        match next(hub) {
            // Not the 5 that it says.
            Event::Connected { connection, hello } if hello.pid == std::process::id() => connection,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn an_agent_is_heard_and_answered_over_a_socket() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("socket");
        let hub = Hub::listen(&path, "secret").expect("it listens");
        let mut agent = UnixStream::connect(&path).expect("it connects");
        agent.write_all(hello("secret", VERSION[0]).as_bytes()).expect("it is taken");
        let connection = connected(&hub);

        // What cannot be read is reported, and what follows is heard.
        agent.write_all(b"{\"t\":\"ran\"}\nnonsense\n{\"t\":\"held\"}\n").expect("it is taken");
        assert!(
            matches!(next(&hub), Event::Message { message: ToHost::Ran, connection: c } if c == connection)
        );
        assert!(matches!(next(&hub), Event::Unreadable { connection: c, .. } if c == connection));
        assert!(matches!(next(&hub), Event::Message { message: ToHost::Held, .. }));
        assert!(hub.waiting().is_none());

        hub.tell(connection, &ToAgent::Finish { forgive: true });
        hub.tell(connection + 1, &ToAgent::Quit);
        let mut line = String::new();
        BufReader::new(&agent).read_line(&mut line).expect("an answer");
        assert_eq!(line, "{\"t\":\"finish\",\"forgive\":true}\n");

        agent.write_all(b"{\"t\":\"bye\"}\n{\"t\":\"cut o").expect("it is taken");
        drop(agent);
        assert!(matches!(next(&hub), Event::Message { message: ToHost::Bye, .. }));
        assert!(matches!(next(&hub), Event::Closed { connection: c } if c == connection));
    }

    #[test]
    fn a_process_of_another_namespace_is_never_signalled() {
        assert_eq!((process(5, None), process(5, Some(7))), (5, 7));
        let foreign = process(5, Some(0));
        assert_ne!(foreign, process(6, Some(0)), "two of them are two");
        assert!(libc::pid_t::try_from(foreign).is_err(), "it is no number of a process");
    }

    #[test]
    fn who_does_not_know_the_secret_is_not_heard() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("socket");
        let hub = Hub::listen(&path, "secret").expect("it listens");
        for first in
            [hello("guess", VERSION[0]), "GET / HTTP/1.1\r\n".to_owned(), "{\"t\":\"ran\"}\n".to_owned()]
        {
            let mut stranger = UnixStream::connect(&path).expect("it connects");
            stranger.write_all(first.as_bytes()).expect("it is taken");
            assert_eq!(stranger.read(&mut [0]).unwrap_or(0), 0, "the connection ends");
        }
        let mut other = UnixStream::connect(&path).expect("it connects");
        other.write_all(hello("secret", VERSION[0] + 1).as_bytes()).expect("it is taken");
        assert!(matches!(next(&hub), Event::Version { theirs } if theirs == VERSION[0] + 1));
        assert!(hub.waiting().is_none());
    }

    #[test]
    fn only_so_many_connections_are_open_at_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("socket");
        let hub = Hub::listen(&path, "secret").expect("it listens");
        let mut agents = Vec::new();
        for _ in 0..MOST_CONNECTIONS {
            let mut agent = UnixStream::connect(&path).expect("it connects");
            agent.write_all(hello("secret", VERSION[0]).as_bytes()).expect("it is taken");
            connected(&hub);
            agents.push(agent);
        }
        let mut another = UnixStream::connect(&path).expect("it connects");
        assert_eq!(another.read(&mut [0]).unwrap_or(0), 0, "the connection ends");
        assert!(matches!(next(&hub), Event::Refused));
        // Those that are there are heard.
        agents[0].write_all(b"{\"t\":\"ran\"}\n").expect("it is taken");
        assert!(matches!(next(&hub), Event::Message { message: ToHost::Ran, .. }));
    }

    #[test]
    fn a_connection_that_is_let_go_is_not_written_to() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("socket");
        let hub = Hub::listen(&path, "secret").expect("it listens");
        let mut agent = UnixStream::connect(&path).expect("it connects");
        agent.write_all(hello("secret", VERSION[0]).as_bytes()).expect("it is taken");
        let connection = connected(&hub);
        hub.close(connection);
        hub.tell(connection, &ToAgent::Go { skip: Vec::new() });
        agent.set_nonblocking(true).expect("it can");
        let read = agent.read(&mut [0]).map_err(|error| error.kind());
        assert_eq!(read, Err(std::io::ErrorKind::WouldBlock));
    }
}
