use super::*;

#[test]
fn the_numbers_are_those_of_the_header() {
    // Printed by a C program that includes linux/android/binder.h.
    assert_eq!(
        [command::TRANSACTION, command::REPLY, command::FREE_BUFFER, command::ACQUIRE],
        [0x4040_6300, 0x4040_6301, 0x4008_6303, 0x4004_6305]
    );
    assert_eq!(
        [command::INCREFS_DONE, command::ACQUIRE_DONE, command::ENTER_LOOPER],
        [0x4010_6308, 0x4010_6309, 0x630c]
    );
    assert_eq!(
        [returned::ERROR, returned::TRANSACTION, returned::REPLY, returned::INCREFS, returned::ACQUIRE],
        [0x8004_7200, 0x8040_7202, 0x8040_7203, 0x8010_7207, 0x8010_7208]
    );
    assert_eq!(
        [returned::DEAD_REPLY, returned::TRANSACTION_COMPLETE, returned::NOOP, returned::FAILED_REPLY],
        [0x7205, 0x7206, 0x720c, 0x7211]
    );
    assert_eq!((TYPE_BINDER, TYPE_HANDLE), (0x7362_2a85, 0x7368_2a85));
}

#[test]
fn a_stream_is_taken_apart_as_it_was_put_together() {
    let transaction = Transaction {
        target: 3,
        cookie: 4,
        code: 5,
        flags: 6,
        sender_pid: 7,
        data_size: 8,
        offsets_size: 9,
        buffer: 10,
        offsets: 11,
    };
    let mut stream = Stream::with_room();
    stream.push(command::ENTER_LOOPER);
    stream.push_u32(command::ACQUIRE, 77);
    stream.push_u64(command::FREE_BUFFER, 1 << 40);
    stream.push_object(command::ACQUIRE_DONE, 1, 2);
    stream.push_transaction(command::TRANSACTION, transaction);
    let mut rest = stream.bytes();
    let mut next = || {
        let (element, length) = split_first(rest).unwrap();
        rest = &rest[length..];
        element
    };
    assert_eq!(next().number, command::ENTER_LOOPER);
    assert_eq!(next().u32(), 77);
    assert_eq!(next().u64(), 1 << 40);
    assert_eq!(next().object(), (1, 2));
    assert_eq!(next().transaction(), Some(transaction));
    assert_eq!(split_first(rest), None);
}

#[test]
fn every_cut_of_a_stream_ends_it() {
    let mut stream = Stream::with_room();
    stream.push_transaction(returned::REPLY, Transaction::default());
    for length in 0..stream.bytes().len() {
        assert_eq!(split_first(&stream.bytes()[..length]), None, "{length}");
    }
    let (element, _) = split_first(stream.bytes()).unwrap();
    assert_eq!((element.u32(), element.object()), (0, (0, 0)));
}

#[test]
fn an_object_lies_in_a_payload_as_the_header_says() {
    let object = FlatObject { kind: TYPE_BINDER, flags: SERVED_OBJECT_FLAGS, id: 9, cookie: 1 << 50 };
    assert_eq!(FlatObject::from_bytes(&object.to_bytes()), object);
    assert_eq!(object.to_bytes()[4..8], 0x813u32.to_ne_bytes());
}
