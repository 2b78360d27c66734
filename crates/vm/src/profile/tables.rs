//! Profiles as tables for the terminal: one, two side by side, and one by leg.

use super::{LEGS, Leg, Profiled, differences};
use schedlab_plan::InOrder;
use std::collections::BTreeMap;
use std::io::{self, Write};

/// The first leg is what belongs to no leg; it is shown last.
const OUTSIDE: usize = 0;

/// The `top` functions with the most instructions; if there are legs, the legs first.
pub fn alone(one: &Profiled, top: usize, out: &mut dyn Write) -> io::Result<()> {
    headline(one, out)?;
    if let Some(legs) = &one.legs {
        return by_leg(one, legs, top, out);
    }
    writeln!(out, "\n{:>12} {:>8}  function", "per op", "share")?;
    let (profile, kernel) = (one.profile(), one.per_operation(one.instructions.kernel));
    let rows = profile.per_operation(one.operations);
    let mut row = |count: f64, name: &str| writeln!(out, "{count:>12.2} {:>6.1} %  {name}", 100.0 * count / kernel);
    rows.iter().take(top).try_for_each(|(name, count)| row(*count, name))?;
    let rest: f64 = rows.iter().skip(top).map(|(_, count)| count).sum();
    if rest > 0.0 { row(rest, &format!("{} others", rows.len() - top)) } else { Ok(()) }
}

/// The `top` functions that differ most.
pub fn compared(against: &Profiled, this: &Profiled, top: usize, out: &mut dyn Write) -> io::Result<()> {
    headline(against, out)?;
    headline(this, out)?;
    if against.guest != this.guest {
        writeln!(out, "not the same guest, and that is in the difference: {}; {}", against.guest, this.guest)?;
    }
    if against.operation != this.operation {
        let [a, b] = [against, this].map(|one| one.operation.as_str());
        writeln!(out, "not the same operation: instructions of a {a} beside those of a {b}")?;
    }
    let [before, after] = [against, this].map(|one| one.per_operation(one.instructions.kernel));
    write!(out, "{:+.2} instructions per operation in the kernel", after - before)?;
    let profiles = [against, this].map(Profiled::profile);
    let rows = differences((&profiles[0], against.operations), (&profiles[1], this.operations));
    if let Some(most) = rows.first().filter(|row| row.a != row.b) {
        write!(out, "; {:+.2} in {}", most.b - most.a, most.name)?;
    }
    writeln!(out, "\n\n{:>12} {:>12} {:>12}  function", "against", "this", "difference")?;
    for row in rows.iter().take(top) {
        writeln!(out, "{:>12.2} {:>12.2} {:>+12.2}  {}", row.a, row.b, row.b - row.a, row.name)?;
    }
    let rest: f64 = rows.iter().skip(top).map(|row| row.b - row.a).sum();
    if rows.len() > top {
        writeln!(out, "{:>12} {:>12} {rest:>+12.2}  {} others", "", "", rows.len() - top)?;
    }
    Ok(())
}

fn headline(one: &Profiled, out: &mut dyn Write) -> io::Result<()> {
    let (kernel, programs) = (one.instructions.kernel, one.instructions.programs);
    let [all, kernel, programs] = [kernel + programs, kernel, programs].map(|count| one.per_operation(count));
    let Profiled { kernel: name, command, operations, .. } = one;
    writeln!(
        out,
        "{name}, {command}: {operations} operations, {all:.1} instructions each: {kernel:.1} in the kernel, {programs:.1} in programs"
    )
}

/// The legs, then the functions with the most instructions in each of them.
fn by_leg(one: &Profiled, legs: &[Leg], top: usize, out: &mut dyn Write) -> io::Result<()> {
    // For a workload that uses no pipes, everything is outside.
    let has_some = |leg: &usize| legs[*leg].instructions.kernel > 0;
    let in_order = || (0..legs.len()).filter(|leg| *leg != OUTSIDE).chain([OUTSIDE]).filter(has_some);
    writeln!(out, "\n{:>12} {:>12} {:>12}  leg", "calls per op", "instr per op", "per call")?;
    for at in in_order() {
        let Leg { calls, instructions, leg, .. } = &legs[at];
        let (shown, each) = match (at, *calls) {
            (OUTSIDE, _) | (_, 0) => (String::new(), String::new()),
            (_, calls) => {
                let each = instructions.kernel as f64 / calls as f64;
                (format!("{:.2}", one.per_operation(calls)), format!("{each:.1}"))
            }
        };
        writeln!(out, "{shown:>12} {:>12.1} {each:>12}  {leg}", one.per_operation(instructions.kernel))?;
    }
    writeln!(out, "\nper op:")?;
    let short = ["outside", "write", "that wakes", "read", "that waits"];
    writeln!(out, "{}  function", in_order().map(|leg| format!("{:>11}", short[leg])).collect::<String>())?;
    let rows = by_function(legs);
    let mut show = |counts: &[u64], name: &str| {
        let cells = in_order().map(|leg| format!("{:>11.2}", one.per_operation(counts[leg])));
        writeln!(out, "{}  {name}", cells.collect::<String>())
    };
    rows.iter().take(top).try_for_each(|(name, counts)| show(counts, name))?;
    if rows.len() > top {
        let of = |leg: usize| rows.iter().skip(top).map(|(_, counts)| counts[leg]).sum();
        let rest: Vec<u64> = (0..legs.len()).map(of).collect();
        show(&rest, &format!("{} others", rows.len() - top))?;
    }
    Ok(())
}

/// By function, the largest first: the counts of all legs.
fn by_function(legs: &[Leg]) -> Vec<(&str, Vec<u64>)> {
    let mut rows: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
    for (at, leg) in legs.iter().enumerate() {
        let functions = leg.functions.iter().map(|(name, count)| (name.as_str(), *count));
        let others = leg.instructions.no_function;
        for (name, count) in functions.chain((others > 0).then_some((super::NO_FUNCTION, others))) {
            rows.entry(name).or_insert_with(|| vec![0; LEGS.len()])[at] += count;
        }
    }
    let mut rows: Vec<(&str, Vec<u64>)> = rows.into_iter().collect();
    rows.in_order_by_key(|(name, counts)| (std::cmp::Reverse(counts.iter().sum::<u64>()), *name));
    rows
}

#[cfg(test)]
mod tests {
    use super::super::{Instructions, LegCounts, Profile, legs};
    use super::*;

    fn name_of(address: u64) -> Option<&'static str> {
        [(0x10, "pick"), (0x20, "schedule")].into_iter().find(|(at, _)| *at == address).map(|(_, name)| name)
    }

    fn profiled(text: &str, with_legs: bool) -> Profiled {
        let counted = LegCounts::parse(text).unwrap();
        let profile: Profile = counted.whole().by_function(name_of);
        Profiled {
            command: "bench pipe".into(),
            guest: "virtual".into(),
            instructions: Instructions::from(&profile),
            functions: profile.functions,
            kernel: "K".into(),
            legs: with_legs.then(|| legs(&counted, name_of)),
            operation: "round trip".into(),
            operations: 2,
            state: None,
        }
    }

    fn lines(print: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Vec<String> {
        let mut out = Vec::new();
        print(&mut out).unwrap();
        String::from_utf8(out).unwrap().lines().map(|line| line.trim().to_owned()).collect()
    }

    #[test]
    fn rows_and_their_rest_are_the_kernel() {
        let one = profiled("0 6\n10 2\n20 6\n30 2\nend\n", false);
        let shown = lines(|out| alone(&one, 1, out));
        assert_eq!(shown[0], "K, bench pipe: 2 operations, 8.0 instructions each: 5.0 in the kernel, 3.0 in programs");
        assert_eq!(shown[3..], ["3.00   60.0 %  schedule", "2.00   40.0 %  2 others"]);
    }

    #[test]
    fn two_are_told_apart_by_what_differs_most() {
        let (a, mut b) = (profiled("10 2\n20 6\nend\n", false), profiled("10 12\n20 4\nend\n", false));
        b.guest = "another".into();
        let shown = lines(|out| compared(&a, &b, 1, out));
        assert_eq!(shown[2], "not the same guest, and that is in the difference: virtual; another");
        assert_eq!(shown[3], "+4.00 instructions per operation in the kernel; +5.00 in pick");
        assert_eq!(shown[6..], ["1.00         6.00        +5.00  pick", "-1.00  1 others"]);
    }

    #[test]
    fn what_is_in_no_leg_comes_last() {
        let one = profiled("calls 0 4 2 0 0\n10 8 4 0 0 0\n20 0 0 6 0 0\nend\n", true);
        let shown = lines(|out| alone(&one, 5, out));
        assert_eq!(shown[3], "2.00          2.0          1.0  write that wakes nobody");
        assert_eq!(shown[5], "4.0               outside", "legs without an instruction are left out");
        assert_eq!(shown[9], "2.00       0.00       4.00  pick");
        let text = serde_json::to_string(&one).unwrap();
        assert_eq!(serde_json::from_str::<Profiled>(&text).unwrap(), one);
    }
}
