//! What can be done with a queue itself.

use serde::Deserialize;

use super::{FlowReport, Queue, QueueReport, QueueStats, SettingsPatch};
use crate::document::read;
use crate::resp::command::words;
use crate::resp::{Frame, Reply};
use crate::{Client, Error};

#[derive(Deserialize)]
struct Queues {
    queues: Vec<QueueReport>,
}

#[derive(Deserialize)]
struct Flows {
    flows: Vec<FlowReport>,
}

#[derive(Deserialize)]
struct Purged {
    purged: u64,
}

#[derive(Deserialize)]
struct Redriven {
    redriven: u64,
}

impl Queue {
    /// Makes it, and `NAME.dlq` for its dead letters unless told otherwise.
    ///
    /// ```no_run
    /// # async fn run(client: tidegate_client::Client) -> Result<(), tidegate_client::Error> {
    /// use tidegate_client::SettingsPatch;
    ///
    /// client.queue("orders").create(&SettingsPatch::new().max_attempts(5)).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn create(&self, settings: &SettingsPatch) -> Result<QueueReport, Error> {
        read(self.ask(b"CREATE", &[&settings.to_vec()]).await?)
    }

    /// Changes some of its settings, and loses no message.
    pub async fn update(&self, settings: &SettingsPatch) -> Result<QueueReport, Error> {
        read(self.ask(b"UPDATE", &[&settings.to_vec()]).await?)
    }

    /// Deletes it with all that is in it, and the dead-letter queue that was made with it.
    pub async fn delete(&self) -> Result<(), Error> {
        self.ask(b"DELETE", &[]).await.map(drop)
    }

    /// Its settings, and how it is doing.
    pub async fn inspect(&self) -> Result<QueueReport, Error> {
        read(self.ask(b"INSPECT", &[]).await?)
    }

    /// How it is doing.
    pub async fn stats(&self) -> Result<QueueStats, Error> {
        read(self.ask(b"STATS", &[]).await?)
    }

    /// How its flows are doing, at most `limit` of them.
    pub async fn flows(&self, limit: u32) -> Result<Vec<FlowReport>, Error> {
        let limit = limit.to_string();
        read(self.ask(b"FLOWS", &[b"COUNT", limit.as_bytes()]).await?).map(|Flows { flows }| flows)
    }

    /// Drops every message that is not in flight. Says how many.
    pub async fn purge(&self) -> Result<u64, Error> {
        read(self.ask(b"PURGE", &[]).await?).map(|Purged { purged }| purged)
    }

    /// Delivers nothing until it is resumed.
    pub async fn pause(&self) -> Result<QueueReport, Error> {
        read(self.ask(b"PAUSE", &[]).await?)
    }

    /// Delivers again.
    pub async fn resume(&self) -> Result<QueueReport, Error> {
        read(self.ask(b"RESUME", &[]).await?)
    }

    /// Moves dead letters back to the queues they came from: at most `count`, or all. Says how many. This queue is the
    /// one that holds the dead letters.
    pub async fn redrive(&self, count: Option<u64>) -> Result<u64, Error> {
        let reply = match count {
            Some(count) => self.ask(b"REDRIVE", &[b"COUNT", count.to_string().as_bytes()]).await?,
            None => self.ask(b"REDRIVE", &[]).await?,
        };
        read(reply).map(|Redriven { redriven }| redriven)
    }

    pub(crate) async fn list(client: &Client) -> Result<Vec<QueueReport>, Error> {
        read(client.call(words(&[b"QUEUE", b"LIST"])).await?).map(|Queues { queues }| queues)
    }

    /// `QUEUE verb name ...`
    async fn ask(&self, verb: &[u8], rest: &[&[u8]]) -> Result<Reply, Error> {
        let size = self.name().len() + rest.iter().map(|part| part.len()).sum::<usize>();
        let mut frame = Frame::with_room(size);
        frame.begin(3 + rest.len()).part(b"QUEUE").part(verb).part(self.name().as_bytes());
        for part in rest {
            frame.part(part);
        }
        self.client().call(frame).await
    }
}
