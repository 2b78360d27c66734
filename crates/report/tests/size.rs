//! The page is one file that people send by mail: its size must stay in proportion to the run, and it must contain
//! every trial once.

mod made;

use schedlab_analyze::compare;
use schedlab_report::{Input, html, pictures};

fn page(input: &Input<'_>) -> String {
    let mut bytes = Vec::new();
    html(input, &mut bytes).expect("a Vec takes every byte");
    String::from_utf8(bytes).expect("reports are UTF-8")
}

/// The data in the page.
fn data(page: &str) -> serde_json::Value {
    let from = page.split("<script id=\"data\" type=\"application/json\">").nth(1).expect("the page has its data");
    serde_json::from_str(from.split("</script>").next().unwrap_or_default()).expect("the data are JSON")
}

/// Two workloads, five arms, 240 trials, two dozen metrics, six distributions, 38 checks: a run that can still be
/// overviewed.
#[test]
fn a_run_of_two_workloads_is_a_small_page() {
    let (manifest, trials) = made::crowd::run(2, 5, 12, true);
    assert_eq!(trials.len(), 240);
    let findings = compare(&manifest, &trials);
    let page = page(&Input { manifest: &manifest, trials: &trials, findings: &findings });
    assert!(page.len() <= 160_000, "{} bytes", page.len());
    let data = data(&page);
    for workload in data["workloads"].as_array().unwrap() {
        assert_eq!(workload["arm"].as_array().unwrap().len(), 120);
        assert_eq!(workload["metrics"][0]["values"].as_array().unwrap().len(), 120);
    }
}

/// Ten thousand trials, one of them far from all others: the page can still be opened, and contains that trial.
#[test]
fn ten_thousand_trials_fit_and_the_one_far_out_is_there() {
    let (manifest, mut trials) = made::crowd::run(1, 2, 2_500, false);
    assert_eq!(trials.len(), 10_000);
    let far = 7_351;
    let outcome = trials[far].outcome.as_mut().unwrap();
    outcome.metrics[0].value *= 1.5;
    let value = outcome.metrics[0].value;
    let findings = compare(&manifest, &trials);
    let input = Input { manifest: &manifest, trials: &trials, findings: &findings };
    let page = page(&input);
    assert!(page.len() <= 1_500_000, "{} bytes", page.len());
    // The caption says that not every dot is drawn, and of how many.
    assert!(page.contains("10\u{202f}000 trials in the order they ran, more than there is room for"));
    let data = data(&page);
    let values = data["workloads"][0]["metrics"][0]["values"].as_array().unwrap();
    assert_eq!(values.len(), 10_000);
    let held = values[far].as_f64().unwrap() * 1e6;
    assert!((held / value - 1.0).abs() < 1e-4, "{held} for {value}");

    // This one trial makes the range of the timeline larger: the second largest value is drawn further down.
    let timeline = pictures(&input).into_iter().find(|(name, _)| name.contains("order-")).unwrap().1;
    let tops = tops(&timeline);
    assert!(tops[1] - tops[0] > 40.0, "the highest dots are at {:?}", &tops[..3]);
}

/// The upper ends of a timeline's dots, highest first, px.
fn tops(svg: &str) -> Vec<f64> {
    let mut all = Vec::new();
    for path in svg.split("<path class=\"d\"").skip(1) {
        let d = path.split(" d=\"").nth(1).and_then(|d| d.split('"').next()).unwrap();
        let mut y = 0.0;
        for step in d.split('m').skip(1) {
            let step = step.split('h').next().unwrap();
            let cut = step[1..].find([' ', '-']).unwrap() + 1;
            y += step[cut..].trim().parse::<f64>().unwrap();
            all.push(y);
        }
    }
    all.sort_by(f64::total_cmp);
    all
}
