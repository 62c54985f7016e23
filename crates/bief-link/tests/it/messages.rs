//! Messages as bytes: what is written is read again; what is no message is refused, with the reason.

use bief_link::message::{Holding, Malformed, Outcome, Wires};
use bief_link::{Message, PROTOCOL, Worker};

/// One of each kind.
fn all(check: impl Fn(Message<'_>)) {
    let (mut wires, mut empty, mut held) = (Vec::new(), Vec::new(), Vec::new());
    let wires = Wires::of([(2, &[1, 0, 2, 0][..]), (0, &[])], &mut wires);
    let none = Wires::of([], &mut empty);
    let mut worker = Worker::new(4);
    [5, 7].into_iter().enumerate().for_each(|(sequence, number)| worker.take(sequence as u64, number, ()).unwrap());
    let holding = Holding::of(worker.asked(0), &mut held);
    let run = u64::MAX;
    let failed = Outcome::Failed { task: "décode", message: "" };
    check(Message::Ready { run, cores: 6, credit: 14 });
    check(Message::Frame { run, sequence: 1, number: 2, wires });
    for outcome in [Outcome::Next(wires), Outcome::Next(none), Outcome::Skip, Outcome::Stop, failed] {
        check(Message::Answer { run, number: 2, outcome, holding });
    }
    check(Message::Ask { run, sent: 3 });
    check(Message::Report { run, holding });
    check(Message::End { run });
    check(Message::Begin { run, tasks: "[[task]]" });
    check(Message::Refused { run, reason: "there is no kind `x` here" });
    check(Message::Leave { run });
}

#[test]
fn what_is_written_is_read_again() {
    all(|message| {
        let mut bytes = Vec::new();
        message.write(&mut bytes);
        assert_eq!(Message::read(&bytes), Ok(message));
        assert_eq!(message.run(), u64::MAX);
    });
    let mut buffer = Vec::new();
    let wires = Wires::of([(2, &[1, 0, 2, 0][..]), (0, &[])], &mut buffer);
    assert_eq!(wires.iter().collect::<Vec<_>>(), [(2, &[1, 0, 2, 0][..]), (0, &[])]);
    let mut held = Vec::new();
    let mut worker = Worker::new(4);
    worker.take(0, u64::MAX, ()).unwrap();
    let holding = Holding::of(worker.asked(0), &mut held);
    assert_eq!((holding.seen, holding.numbers().collect::<Vec<_>>()), (1, vec![u64::MAX]));
}

#[test]
fn the_head_of_a_frame_is_read_by_itself() {
    let mut head = Vec::new();
    Message::write_frame_head(7, 8, u64::MAX, &mut head);
    assert_eq!(Message::read_frame_head(&head), Ok((7, 8, u64::MAX)));
    for length in 0..head.len() {
        assert!(Message::read_frame_head(&head[..length]).is_err(), "up to {length}");
    }
    head.push(0);
    assert_eq!(Message::read_frame_head(&head), Err(Malformed::Long(1)));
    let mut end = Vec::new();
    Message::End { run: 7 }.write(&mut end);
    assert_eq!(Message::read_frame_head(&end), Err(Malformed::Kind(end[4])));
    end[2] ^= 1;
    assert!(matches!(Message::read_frame_head(&end), Err(Malformed::Protocol(_))));
}

#[test]
fn what_is_cut_or_too_long_is_refused() {
    all(|message| {
        let mut bytes = Vec::new();
        message.write(&mut bytes);
        for length in 0..bytes.len() {
            assert!(Message::read(&bytes[..length]).is_err(), "{message:?} up to {length}");
        }
        bytes.push(0);
        assert_eq!(Message::read(&bytes), Err(Malformed::Long(1)), "{message:?}");
    });
}

#[test]
fn what_is_no_message_is_refused_with_the_reason() {
    let mut bytes = Vec::new();
    Message::End { run: 1 }.write(&mut bytes);
    let read = |change: fn(&mut Vec<u8>)| {
        let mut changed = bytes.clone();
        change(&mut changed);
        Message::read(&changed).unwrap_err().to_string()
    };
    assert!(read(|bytes| bytes[0] = b'X').contains("no message of a link"));
    let other = format!("speaks protocol {}, this one {PROTOCOL}: bring both", PROTOCOL + 256);
    assert!(read(|bytes| bytes[3] += 1).contains(&other), "{other}");
    assert!(read(|bytes| bytes[4] = 99).contains("no message of kind 99"));
    // A length that the message does not have is not believed.
    let mut huge = Vec::new();
    let (mut wires, data) = (Vec::new(), [7; 8]);
    Message::Frame { run: 1, sequence: 0, number: 0, wires: Wires::of([(8, &data[..])], &mut wires) }.write(&mut huge);
    let at = huge.len() - 12;
    huge[at..at + 4].copy_from_slice(&u32::MAX.to_le_bytes());
    assert_eq!(Message::read(&huge), Err(Malformed::Short));
}
