//! What the emulator can carry: updates of items with an index, as fast as it goes, by itself and behind the proxy.

use std::io::{BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, ensure};
use serde_json::json;

use super::plan::Plan;
use super::round::Round;
use super::stage::Stage;
use super::system::EMULATOR;
use super::table::NAME;
use crate::load::outcome::{Latency, Outcome};
use crate::queue::broker::link::SILENCE_WITHIN;
use crate::row::{Figures, Series};

/// Connections at once.
const CONNECTIONS: usize = 8;

/// Which way a call goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// To the emulator.
    Direct,
    /// Through the proxy, without the time that it adds.
    Proxied,
}

/// The name of the workload.
pub fn workload(way: Way) -> String {
    let through = match way {
        Way::Direct => "",
        Way::Proxied => ", through the proxy",
    };
    format!("UpdateItem, {CONNECTIONS} connections{through}")
}

/// Either way once.
pub fn run(round: &mut Round<'_>) {
    for way in round.in_turn([Way::Direct, Way::Proxied]) {
        round.measure(Series::new(EMULATOR, workload(way)), |plan, stage| update(plan, stage, way));
    }
}

fn update(plan: &Plan, stage: &Stage, way: Way) -> Result<Figures> {
    let table = stage.table()?;
    let address = match way {
        Way::Direct => table.direct_address(),
        Way::Proxied => table.address(),
    };
    let outcome = table.without_latency(|| update_all(address, plan.capacity_lasting))?;
    Ok(Figures { cpu_us_per_op: None, ..outcome.figures(Duration::ZERO) })
}

fn update_all(address: SocketAddr, lasting: Duration) -> Result<Outcome> {
    let mut outcome = Outcome { requests: 0, elapsed: Duration::ZERO, latency: Latency::new()? };
    let start = Instant::now();
    let each: Vec<Result<Outcome>> = std::thread::scope(|scope| {
        let callers: Vec<_> = (0..CONNECTIONS)
            .map(|number| scope.spawn(move || update_one(address, number, lasting)))
            .collect();
        callers
            .into_iter()
            .map(|caller| caller.join().map_err(|_| anyhow!("a caller panicked")).flatten())
            .collect()
    });
    for of_one in each {
        let of_one = of_one?;
        outcome.requests += of_one.requests;
        outcome.latency.add(&of_one.latency)?;
    }
    outcome.elapsed = start.elapsed();
    Ok(outcome)
}

/// One item, again and again.
fn update_one(address: SocketAddr, number: usize, lasting: Duration) -> Result<Outcome> {
    let body = json!({
        "TableName": NAME,
        "Key": { "PK": { "S": format!("bench/{number}") }, "SK": { "S": "#STATE" } },
        "UpdateExpression": "SET GSI2PK = :pk, GSI2SK = :sk ADD n :one",
        "ExpressionAttributeValues": { ":pk": { "S": "bench" }, ":sk": { "S": "x" }, ":one": { "N": "1" } },
    })
    .to_string();
    let request = format!(
        "POST / HTTP/1.1\r\nHost: {address}\r\nX-Amz-Target: DynamoDB_20120810.UpdateItem\r\nX-Amz-Date: 20260101T000000Z\r\n\
         Authorization: AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, \
         Signature=0\r\nContent-Type: application/x-amz-json-1.0\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let stream = TcpStream::connect(address).context("cannot connect")?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(SILENCE_WITHIN))?;
    let mut stream = BufReader::new(stream);
    let mut outcome = Outcome { requests: 0, elapsed: Duration::ZERO, latency: Latency::new()? };
    let start = Instant::now();
    while start.elapsed() < lasting {
        let sent_at = Instant::now();
        stream.get_mut().write_all(request.as_bytes())?;
        read_answer(&mut stream)?;
        outcome.latency.record(sent_at.elapsed(), 1);
        outcome.requests += 1;
    }
    Ok(outcome)
}

/// Reads one answer, which has a length, and fails if it is a refusal.
fn read_answer(stream: &mut BufReader<TcpStream>) -> Result<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).context("no answer")?;
        head.push(byte[0]);
    }
    let head = String::from_utf8_lossy(&head).to_ascii_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length:"));
    let mut body = vec![0; length.context("an answer without a length")?.trim().parse()?];
    stream.read_exact(&mut body).context("half an answer")?;
    ensure!(head.contains(" 200 "), "refused: {}", String::from_utf8_lossy(&body));
    Ok(())
}
