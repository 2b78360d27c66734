use super::*;

#[test]
fn the_window_is_in_the_header() {
    let window = |descriptor, window| frame_header(&[0x28, 0xb5, 0x2f, 0xfd, descriptor, window]);
    assert_eq!(window(0x00, 0x48), Ok(Some(FrameHeader { bytes: 6, window: 512 << 10 })));
    assert_eq!(window(0x00, 0x49), Ok(Some(FrameHeader { bytes: 6, window: 576 << 10 })));
    assert_eq!(window(0x43, 0x00), Ok(Some(FrameHeader { bytes: 12, window: 1 << 10 })));
    assert_eq!(window(0x00, 0x88), Ok(Some(FrameHeader { bytes: 6, window: 128 << 20 })), "of perf record -z22");
    assert!(window(0x00, 0x89).is_err() && window(0x00, 0xff).is_err() && window(0x20, 0x00).is_err());
    assert_eq!(frame_header(&[0x28]), Ok(None));
    assert!(frame_header(&[0; 12]).is_err());
}

#[test]
fn a_few_bytes_that_stand_for_gigabytes_come_out_in_steps() {
    // 16 000 blocks of 128 kB of zeros.
    let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x00];
    for _ in 0..16_000 {
        frame.extend(&((BLOCK as u32) << 3 | 1 << 1).to_le_bytes()[..3]);
        frame.push(0);
    }
    let (mut inflate, mut bytes) = (Inflate::new(), 0);
    inflate.push(&frame).unwrap();
    for _ in 0..100 {
        assert!(inflate.step().unwrap());
        assert!(inflate.plain.len() <= STEP);
        bytes += inflate.plain.len();
        inflate.plain.clear();
    }
    assert!(bytes > 90 * BLOCK);
}

/// A frame of raw blocks, never ended: its header names a window of 1 KiB.
fn frame(content: &[u8]) -> Vec<u8> {
    let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x00];
    for block in content.chunks(1000) {
        frame.extend(&((block.len() as u32) << 3).to_le_bytes()[..3]);
        frame.extend(block);
    }
    frame
}

#[test]
fn pieces_come_out_whole_and_the_end_gives_the_rest() {
    let content: Vec<u8> = (0..300_000u32).map(|i| (i * 7) as u8).collect();
    for window in [0x00, 0x30, 0x88] {
        let mut frame = frame(&content);
        frame[WINDOW_AT] = window;
        let (mut inflate, mut out) = (Inflate::new(), Vec::new());
        for piece in frame.chunks(777) {
            inflate.push(piece).unwrap();
            while inflate.step().unwrap() {
                out.append(&mut inflate.plain);
            }
        }
        assert!(out.len() < content.len() && content.starts_with(&out));
        assert_eq!(inflate.end(), 0);
        while inflate.step().unwrap() {
            out.append(&mut inflate.plain);
        }
        assert!(out == content);
    }
}

#[test]
fn a_round_ends_after_exactly_the_bytes_before_it() {
    let content: Vec<u8> = (0..100_000u32).map(|i| (i * 7) as u8).collect();
    let frame = frame(&content);
    let (mut inflate, mut out, mut ends) = (Inflate::new(), 0, Vec::new());
    let mut drain = |inflate: &mut Inflate| {
        while inflate.step().unwrap() {
            out += std::mem::take(&mut inflate.plain).len();
            while inflate.round_ended() {
                ends.push(out);
            }
        }
    };
    // A round of 40 blocks, of 1, of none, and of all others.
    let at = |blocks: usize| 6 + blocks * 1003;
    for (from, to) in [(0, at(40)), (at(40), at(41)), (at(41), at(41)), (at(41), frame.len())] {
        inflate.push(&frame[from..to]).unwrap();
        drain(&mut inflate);
        inflate.end_of_round();
    }
    inflate.end();
    drain(&mut inflate);
    assert_eq!(ends, [40_000, 41_000, 41_000, 100_000]);
}

#[test]
fn what_was_whole_before_a_spoilt_block_comes_out() {
    let content: Vec<u8> = (0..50_000u32).map(|i| (i * 7) as u8).collect();
    let (mut inflate, mut out) = (Inflate::new(), Vec::new());
    // A compressed block of three bytes that cannot be one.
    inflate.push(&[frame(&content), vec![0x1c, 0, 0, 0xff, 0xff, 0xff]].concat()).unwrap();
    let error = loop {
        match inflate.step() {
            Ok(true) => out.append(&mut inflate.plain),
            Ok(false) => panic!("the spoilt block is met"),
            Err(error) => break error,
        }
    };
    assert!(error.starts_with("the zstd stream cannot be inflated"), "{error}");
    inflate.end();
    while inflate.step().unwrap() {
        out.append(&mut inflate.plain);
    }
    assert!(out == content);
}

#[test]
fn nonsense_is_an_error() {
    let mut inflate = Inflate::new();
    assert!(inflate.push(&[1, 2, 3, 4, 5, 6, 7]).is_err());
    let mut inflate = Inflate::new();
    inflate.push(&[0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x00, 0x07, 0x00, 0x00]).unwrap();
    assert!(inflate.step().unwrap(), "the header is good");
    assert!(inflate.step().is_err());
}
