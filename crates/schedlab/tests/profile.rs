//! `schedlab profile` end to end, if perf events are permitted.

#![allow(clippy::print_stderr)] // A skip says why.

mod program;

use program::{Lab, json, schedlab};

/// Whether this process may sample its children, found out by trying.
fn permitted(test: &str) -> bool {
    let ran = schedlab(&["profile", "--json", "--", "true"]);
    if ran.code != 0 && ran.stderr.contains("perf events are refused") {
        eprintln!("schedlab-skip: {test}: needs perf events (CAP_PERFMON or kernel.perf_event_paranoid of 2)");
        return false;
    }
    ran.success();
    true
}

#[test]
fn a_workload_is_profiled_per_operation() {
    if !permitted("a_workload_is_profiled_per_operation") {
        return;
    }
    let lab = Lab::new("profile");
    let file = lab.path("pipe.folded");
    let ran =
        schedlab(&["profile", "-F", "4999", "--json", "--folded", &file, "bench", "pipe:pin=same,duration=400ms"]);
    let ran = ran.success();
    let found = json(&ran.stdout);
    assert_eq!(found["schema"], "schedlab/profile/1");
    let number = |name: &str| found[name].as_f64().unwrap_or_else(|| panic!("{name}: {found}"));
    assert!(number("samples") >= 100.0 && number("operations") > 100.0, "{found}");
    assert_eq!(found["operation"], "round trip");
    let per_operation = number("weight") / number("operations");
    assert!((number("per_operation") - per_operation).abs() < 1e-6 * per_operation);
    let functions = found["functions"].as_array().unwrap();
    let total: f64 = functions.iter().map(|f| f["share"].as_f64().unwrap()).sum();
    assert!(total > 0.0 && total < 1.0 + 1e-9, "{total}");
    assert!(ran.stderr.contains("round_trips_per_s"), "{}", ran.stderr);
    // The samples of set-up and clean-up are in neither file.
    let folded = std::fs::read_to_string(&file).unwrap();
    let samples: u64 = folded.lines().map(|line| line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap()).sum();
    assert_eq!(samples as f64, number("samples"));
    let with_kernel = !found["notes"].to_string().contains("user code only");
    if with_kernel && !found["notes"].to_string().contains("have no names") {
        assert!(folded.contains(";pipe_write") || folded.contains(";anon_pipe_write"), "{folded}");
    }
}

#[test]
fn a_command_and_its_children_are_profiled_and_their_functions_have_names() {
    if !permitted("a_command_and_its_children_are_profiled_and_their_functions_have_names") {
        return;
    }
    let lab = Lab::new("profile-command");
    let file = lab.path("cat.folded");
    // A shell whose child uses 0.3 s of CPU time; its output is not part of our result.
    let line = "echo hello; awk 'BEGIN { for (i = 0; i < 4000000; i++) x += i % 7 }'";
    let ran = schedlab(&["profile", "-F", "2000", "--folded", &file, "--", "sh", "-c", line]).success();
    assert!(ran.stderr.contains("hello") && !ran.stdout.contains("hello"), "{}", ran.stdout);
    assert!(ran.stdout.contains("of the command and its children"), "{}", ran.stdout);
    let folded = std::fs::read_to_string(&file).unwrap();
    let of_awk = folded.lines().filter(|line| line.contains("awk;"));
    let samples: u64 = of_awk.map(|line| line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap()).sum();
    assert!(samples >= 20, "{folded}");
    assert!(!folded.lines().any(|line| line.starts_with("schedlab;")), "the sampler is not sampled: {folded}");
}

#[test]
fn a_function_is_annotated_or_the_nearest_is_named() {
    if !permitted("a_function_is_annotated_or_the_nearest_is_named") {
        return;
    }
    let spec = "pipe:pin=same,duration=200ms";
    let ran = schedlab(&["profile", "-F", "4999", "--json", "bench", spec]).success();
    let found = json(&ran.stdout);
    let mut names = found["functions"].as_array().unwrap().iter().filter_map(|f| f["name"].as_str());
    let name = names.find(|name| !name.is_empty()).expect("a test binary has symbols");
    let ran = schedlab(&["profile", "-F", "4999", "--json", "--annotate", name, "bench", spec]).success();
    let annotation = &json(&ran.stdout)["annotations"][0];
    let rows = annotation["rows"].as_array().unwrap();
    let samples: u64 = rows.iter().map(|row| row["samples"].as_u64().unwrap()).sum();
    assert!(samples > 0 && annotation["samples"] == samples, "{annotation}");
    let typo = "no_such_function_at_all";
    let ran = schedlab(&["profile", "--annotate", typo, "bench", spec]).failure();
    let last = ran.stderr.lines().last().unwrap_or_default();
    assert!(last.contains(&format!("--annotate: no sample is in a function `{typo}`")), "{}", ran.stderr);
    assert!(ran.stdout.contains("round trip") && ran.stdout.lines().count() > 5, "the table is lost: {}", ran.stdout);
    let ran = schedlab(&["profile", "--annotate", typo, "--json", "bench", spec]).failure();
    assert!(!json(&ran.stdout)["functions"].as_array().unwrap().is_empty());
}

/// The example in docs/profile.md, on every kernel.
#[test]
fn the_example_of_the_page_is_annotated() {
    let test = "the_example_of_the_page_is_annotated";
    if !permitted(test) {
        return;
    }
    let spec = "pipe:pin=same,duration=400ms";
    // Samples of a clock are taken where interrupts are enabled; on some virtual machines none is taken there in a run.
    for _ in 0..8 {
        let ran = schedlab(&["profile", "-F", "4999", "--json", "--annotate", "pipe_write", "bench", spec]);
        let found = json(&ran.stdout);
        let notes = found["notes"].to_string();
        if notes.contains("user code only") || notes.contains("have no names") {
            eprintln!("schedlab-skip: {test}: needs root ({notes})");
            return;
        }
        let is_meant = |name: &str| ["pipe_write", "anon_pipe_write"].contains(&name);
        let annotated = found["annotations"][0]["name"].as_str().is_some_and(is_meant);
        let mut functions = found["functions"].as_array().unwrap().iter().filter_map(|f| f["name"].as_str());
        assert_eq!(ran.code == 0, annotated, "{}", ran.stderr);
        if annotated {
            return;
        }
        // Since 6.15 two functions have this ending: a write to a named pipe is fifo_pipe_write.
        let one_of_two = ran.stderr.contains("did you mean");
        assert!(one_of_two || !functions.any(is_meant), "it is in the table: {}{}", ran.stdout, ran.stderr);
    }
    panic!("no sample of eight runs is in the function that writes to pipes");
}

#[test]
fn what_cannot_be_profiled_is_said_in_one_line_and_nothing_runs() {
    for (arguments, expected) in [
        (&["profile", "-d", "1s", "--", "true"][..], "profiled to its end"),
        (&["profile", "-d", "1s", "bench", "pipe"], "has its own length"),
        (&["profile", "-d", "soon"], "--duration"),
        (&["profile", "bench", "pipe:copies=1,2"], "one value instead of a list"),
        (&["profile", "bench", "pipe", "--json", "-"], "put them before `bench`"),
        (&["profile", "--json", "--folded", "-", "true"], "both write to standard output"),
        (&["profile", "--folded", "/no/such/dir/file", "true"], "/no/such/dir/file cannot be written"),
        (&["profile", "bench", "pipf"], "pipe"),
    ] {
        let ran = schedlab(arguments).failure();
        assert!(ran.stderr.contains(expected) && ran.stderr.lines().count() == 1, "{arguments:?}: {}", ran.stderr);
        assert!(ran.stdout.is_empty());
    }
}

#[test]
fn a_dry_run_says_what_it_would_sample() {
    let ran = schedlab(&["profile", "--dry-run", "bench", "pipe:pin=same", "--copies", "2"]).success();
    let order = json(&ran.stdout);
    assert_eq!((&order["frequency_hz"], &order["sampled"]), (&997.into(), &"the command and its children".into()));
    assert!(order["beside"]["workload"]["workload"].to_string().contains("copies"), "{order}");
    let ran = schedlab(&["profile", "--dry-run", "-d", "2s"]).success();
    assert_eq!(json(&ran.stdout)["beside"]["length_ns"], 2_000_000_000u64);
}
