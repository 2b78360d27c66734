use super::*;

/// As 6.18 prints it, without the repetition of the mask.
const NEW: &str = r#""prev_state=%s%s", (REC->prev_state & ((((0x00000000 | 0x00000001 | 0x00000040) + 1) << 1) - 1)) ? __print_flags(REC->prev_state & ((((0x00000000 | 0x00000001 | 0x00000040) + 1) << 1) - 1), "|", { 0x00000001, "S" }, { 0x00000002, "D" }, { 0x00000010, "X" }, { 0x00000080, "I" }) : "R", REC->prev_state & (((0x00000000 | 0x00000001 | 0x00000002 | 0x00000004 | 0x00000008 | 0x00000010 | 0x00000020 | 0x00000040) + 1) << 1) ? "+" : "", REC->next_comm"#;

/// As a 4.4 kernel for Arm Juno prints it.
const OLD: &str = r#""x", REC->prev_pid, REC->prev_state & (2048-1) ? __print_flags(REC->prev_state & (2048-1), "|", { 1, "S"} , { 2, "D" }, { 4, "T" }, { 16, "Z" }, { 32, "X" }, { 128, "K" }, { 1024, "N" }) : "R", REC->prev_state & 2048 ? "+" : "", REC->next_comm"#;

fn check(print_fmt: &str, raw: u64, letters: &str, class: StateClass) {
    let mut states = PrevStates::new(StateBits::parse(print_fmt).expect("has flags"));
    let id = states.of_raw(raw).unwrap();
    assert_eq!((states.letters(id), states.class(id)), (letters, class), "{raw:#x}");
    assert_eq!(states.of_raw(raw), Some(id));
}

#[test]
fn letters_are_those_of_the_kernel_that_traced() {
    check(NEW, 0, "R", StateClass::Runnable);
    check(NEW, 0x100, "R+", StateClass::Preempted);
    check(NEW, 1, "S", StateClass::Interruptible);
    check(NEW, 0x80, "I", StateClass::Idle);
    check(NEW, 0x10, "X", StateClass::Dead);
    check(OLD, 0x800, "R+", StateClass::Preempted);
    check(OLD, 0x10, "Z", StateClass::Dead);
    check(OLD, 0x82, "D|K", StateClass::Uninterruptible);
    check(OLD, 0x402, "D|N", StateClass::Idle);
}

#[test]
fn two_bits_of_a_kernel_that_writes_one_are_damage() {
    let of = |print_fmt: &str, raw| PrevStates::new(StateBits::parse(print_fmt).unwrap()).of_raw(raw).is_some();
    assert!([0, 1, 2, 0x10, 0x80, 0x100].iter().all(|raw| of(NEW, *raw)));
    assert!([3, 0x101, 0x200, 0x2001, 1 << 40].iter().all(|raw| !of(NEW, *raw)));
    // Older kernels add the `+` to the state into which the thread was going when it was preempted.
    assert!([0x801, 0x82, 0x402].iter().all(|raw| of(OLD, *raw)));
}

#[test]
fn a_bit_without_a_letter_is_printed_as_the_kernel_does() {
    let odd = OLD.replace("\"X\"", "").replace("\"K\"", "\"\u{1b}[2J\"");
    check(&odd, 0x20, "0x20", StateClass::Other);
    check(&odd, 0x80, "[2J", StateClass::Other);
}

#[test]
fn a_format_without_flags_is_not_guessed_at() {
    assert_eq!(StateBits::parse("\"prev_state=%ld\", REC->prev_state"), None);
    assert_eq!(StateBits::parse("__print_flags(REC->prev_state, \"|\", { x, \"S\" })"), None);
    assert_eq!(StateBits::parse("__print_flags(REC->prev_state, \"|\", { 1, \"S\""), None);
    let bits = StateBits::parse("__print_flags(REC->prev_state, \"|\", { 1, \"S\" }) : \"R\"").unwrap();
    assert_eq!((bits.letters(1), bits.letters(0), bits.letters(0x100)), ("S".into(), "R".into(), "R".into()));
}

#[test]
fn numbers_of_4_14_come_back_as_letters() {
    let mut states = PrevStates::new(StateBits::since_4_14());
    for letters in ["R", "R+", "S", "D", "T", "t", "X", "Z", "P", "I", "S+"] {
        let id = states.of_raw(StateBits::number_since_4_14(letters).unwrap()).unwrap();
        assert_eq!(states.letters(id), letters);
    }
    assert_eq!(StateBits::number_since_4_14("D|N"), Some(0x80));
    let older = ["x", "D|K"].map(StateBits::number_since_4_14);
    assert_eq!(older, ["X", "D"].map(StateBits::number_since_4_14));
    assert_eq!((StateBits::number_since_4_14("?"), StateBits::number_since_4_14("K")), (None, None));
}

#[test]
fn text_keeps_its_letters() {
    let mut states = PrevStates::default();
    for (letters, class) in [("R+", StateClass::Preempted), ("t", StateClass::Stopped), ("K", StateClass::Other)] {
        let id = states.of_letters(letters);
        assert_eq!((states.letters(id), states.class(id)), (letters, class));
    }
    for n in 0..300 {
        states.of_letters(&format!("q{n}"));
    }
    assert_eq!(states.of_letters("one too many"), StateId::UNKNOWN);
    assert_eq!(states.letters(StateId::UNKNOWN), "?");
}
