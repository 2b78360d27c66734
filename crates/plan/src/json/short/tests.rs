use super::*;
use serde_json::{Value, json};

fn cut_to(value: &Value, room: Room) -> (Value, usize) {
    let text = shortened(&value.to_string(), room);
    (serde_json::from_str(&text).unwrap_or_else(|why| panic!("{why}: {text}")), text.len())
}

/// Rows with a distribution each, a text that is not a list, and a pair.
fn answer(rows: usize) -> Value {
    let row = |n: usize| json!({"name": format!("row {n}"), "pair": [1.5, 2.5], "cells": (0..100).collect::<Vec<_>>()});
    json!({"schema": "schedlab/x/1", "title": "a \"b\\", "rows": (0..rows).map(row).collect::<Vec<_>>()})
}

#[test]
fn what_fits_stays_as_it_is() {
    let small = answer(2);
    assert_eq!(cut_to(&small, Room::Bytes(USUAL_BYTES)).0, small);
    assert_eq!(cut_to(&answer(500), Room::All).0, answer(500));
}

#[test]
fn what_does_not_fit_loses_numbers_first_then_rows_from_the_end_and_says_so() {
    let (cut, bytes) = cut_to(&answer(40), Room::Bytes(USUAL_BYTES));
    assert!(bytes < USUAL_BYTES, "{bytes}");
    assert_eq!((cut["rows"].as_array().unwrap().len(), cut["rows"][0]["cells"].clone()), (40, json!([])));
    assert_eq!(cut["shortened"], json!([{"list": "rows[].cells", "entries": 4000, "kept": 0}]));
    assert_eq!(cut["rows"][39]["pair"], json!([1.5, 2.5]));
    let (cut, bytes) = cut_to(&answer(1000), Room::Bytes(USUAL_BYTES));
    let kept = cut["rows"].as_array().unwrap().len();
    assert!(bytes < USUAL_BYTES && bytes > USUAL_BYTES - FOR_SHORTENED - 200, "{bytes} {kept}");
    assert_eq!(cut["rows"][kept - 1]["name"], format!("row {}", kept - 1));
    assert_eq!(cut["shortened"], json!([{"list": "rows", "entries": 1000, "kept": kept}]));
}

/// Even if there are many rows and few numbers.
#[test]
fn the_last_list_of_numbers_goes_before_the_first_row() {
    let rows: Vec<Value> = (0..60).map(|n| json!({"name": format!("row {n}"), "what": "x".repeat(235)})).collect();
    let cells: Vec<usize> = (0..1000).collect();
    let (cut, bytes) = cut_to(&json!({"rows": rows, "cells": cells}), Room::Bytes(USUAL_BYTES));
    assert_eq!((cut["rows"].as_array().unwrap().len(), &cut["cells"]), (60, &json!([])), "{bytes}");
}

/// Such numbers say which arms a row is about.
#[test]
fn a_few_numbers_stay_with_their_row() {
    let row = |n: usize| json!({"name": format!("row {n}"), "arms": (0..9).collect::<Vec<_>>()});
    let (cut, _) = cut_to(&json!({"rows": (0..1000).map(row).collect::<Vec<_>>()}), Room::Bytes(USUAL_BYTES));
    assert!(cut["rows"].as_array().unwrap().iter().all(|row| row["arms"].as_array().unwrap().len() == 9));
}

/// Cells of a histogram are pairs.
#[test]
fn a_list_of_pairs_of_numbers_goes_before_rows_do() {
    let metric = |n: usize| {
        let cells: Vec<[usize; 2]> = (0..300).map(|cell| [cell, n]).collect();
        json!({"name": format!("metric {n}"), "cells": cells, "per_arm": [[0, 18], [1, 18]]})
    };
    let whole = json!({"arms": [{"name": "a"}, {"name": "b"}], "metrics": (0..29).map(metric).collect::<Vec<_>>()});
    let (cut, bytes) = cut_to(&whole, Room::Bytes(USUAL_BYTES));
    assert_eq!((&cut["arms"], cut["metrics"].as_array().unwrap().len()), (&whole["arms"], 29), "{bytes}");
    assert_eq!(
        (&cut["metrics"][28]["cells"], &cut["metrics"][28]["per_arm"]),
        (&json!([]), &json!([[0, 18], [1, 18]]))
    );
    assert_eq!(cut["shortened"], json!([{"list": "metrics[].cells", "entries": 29 * 300, "kept": 0}]));
}

#[test]
fn what_is_kept_of_a_list_by_name_is_counted_and_a_long_text_is_cut_before_rows() {
    let by_name: serde_json::Map<String, Value> = (0..5000).map(|n| (format!("knob{n}"), json!(n))).collect();
    let (cut, _) = cut_to(&json!({"knobs": by_name}), Room::Entries(3));
    assert_eq!(cut["shortened"], json!([{"list": "knobs", "entries": 5000, "kept": 3}]));
    let rows: Vec<Value> = (0..46).map(|n| json!({"name": format!("knob {n}")})).collect();
    let (cut, bytes) = cut_to(&json!({"text": "x".repeat(100_000), "rows": rows}), Room::Bytes(USUAL_BYTES));
    assert!(cut["rows"].as_array().unwrap().len() == 46 && cut["text"].as_str().unwrap().ends_with('…'));
    assert!(bytes > USUAL_BYTES / 2, "{bytes}");
}

#[test]
fn a_number_of_entries_is_that_of_each_list_of_rows() {
    let (cut, _) = cut_to(&answer(40), Room::Entries(3));
    let (crowd, bytes) = cut_to(&answer(400), Room::Entries(100));
    assert_eq!((cut["rows"].as_array().unwrap().len(), cut["rows"][2]["cells"].as_array().unwrap().len()), (3, 100));
    assert_eq!(cut["shortened"], json!([{"list": "rows", "entries": 40, "kept": 3}]));
    assert_eq!(cut_to(&answer(3), Room::Entries(3)).0, answer(3));
    let (rows, cells) = (crowd["rows"].as_array().unwrap().len(), &crowd["rows"][99]["cells"]);
    assert_eq!((rows, cells, bytes < USUAL_BYTES), (100, &json!([]), true), "{bytes}: numbers only while they fit");
}

#[test]
fn a_list_by_name_keeps_its_largest_and_long_texts_go_last() {
    let by_name: serde_json::Map<String, Value> = (0..3000).map(|n| (format!("f{n}"), json!(n))).collect();
    let (cut, bytes) = cut_to(&json!({"functions": by_name}), Room::Bytes(USUAL_BYTES));
    assert!(bytes < USUAL_BYTES && cut["functions"]["f2999"] == 2999 && cut["functions"]["f0"].is_null(), "{cut}");
    for text in ["x".repeat(50_000), "\\\"\n\u{1}".repeat(20_000), "ü…".repeat(20_000)] {
        let (cut, bytes) = cut_to(&json!({"plan": text, "a": 1}), Room::Bytes(USUAL_BYTES));
        assert!(bytes < USUAL_BYTES && cut["plan"].as_str().unwrap().ends_with('…') && cut["a"] == 1, "{cut}");
    }
}
