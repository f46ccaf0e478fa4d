//! The bytes of a batch: the same command many times, each about another key.
//!
//! Every command has the same length, so the bytes are written once and only the digits of the keys change.

use super::Plan;
use crate::Request;
use crate::resp::command::{self, Verb};

/// The first key. The digits are replaced.
const KEY: &[u8] = b"key:000000000000";
const PREFIX: usize = 4;
const DIGITS: usize = KEY.len() - PREFIX;

/// A batch, ready to be sent again and again.
#[derive(Debug)]
pub(super) struct Batch {
    bytes: Vec<u8>,
    command_len: usize,
    digits_at: usize,
    keys: u64,
    random: Random,
}

impl Batch {
    /// `seed` makes the keys of one connection differ from those of another, and the same from run to run.
    pub(super) fn new(plan: &Plan, seed: u64) -> Batch {
        let command = command::ask(Verb::Throttle, &Request::new(KEY, plan.limit)).bytes;
        let key_at =
            command.windows(KEY.len()).position(|window| window == KEY).expect("the command holds its key");
        Batch {
            bytes: command.repeat(plan.pipeline),
            command_len: command.len(),
            digits_at: key_at + PREFIX,
            keys: plan.keys,
            random: Random { state: seed },
        }
    }

    /// The bytes of `count` commands, at most a whole batch, with new keys.
    pub(super) fn renew(&mut self, count: usize) -> &[u8] {
        let bytes = &mut self.bytes[..count * self.command_len];
        for command in bytes.chunks_exact_mut(self.command_len) {
            let key = self.random.next() % self.keys;
            write_digits(key, &mut command[self.digits_at..self.digits_at + DIGITS]);
        }
        bytes
    }
}

fn write_digits(mut number: u64, digits: &mut [u8]) {
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
    }
}

/// SplitMix64: good enough to spread keys, and three lines.
#[derive(Debug)]
struct Random {
    state: u64,
}

impl Random {
    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.state ^ (self.state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_is_whole_commands_with_keys_in_range() {
        let plan = Plan { keys: 5, pipeline: 3, ..Plan::default() };
        let mut batch = Batch::new(&plan, 1);
        let possible: Vec<Vec<u8>> = (0..5)
            .map(|key| format!("key:{key:012}"))
            .map(|key| command::ask(Verb::Throttle, &Request::new(key, plan.limit)).bytes.to_vec())
            .collect();
        let mut seen = std::collections::HashSet::new();
        for count in [1, 3, 2, 3, 3, 3, 3, 3, 3, 3] {
            let bytes = batch.renew(count).to_vec();
            assert_eq!(bytes.len(), count * possible[0].len());
            for command in bytes.chunks(possible[0].len()) {
                assert!(possible.iter().any(|p| p == command), "{}", command.escape_ascii());
                seen.insert(command.to_vec());
            }
        }
        assert_eq!(seen.len(), 5);
    }

    #[test]
    fn the_largest_key_fits_its_digits() {
        let mut digits = [0; DIGITS];
        write_digits(999_999_999_999, &mut digits);
        assert_eq!(&digits, b"999999999999");
    }
}
