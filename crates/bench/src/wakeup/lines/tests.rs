use super::*;

fn lines(scope: Scope) -> Lines {
    Lines::new(4, scope).unwrap()
}

#[test]
fn a_list_is_taken_whole_latest_first_and_a_wanted_stamp_sticks() {
    let lines = lines(Scope::PRIVATE);
    let own = lines.of(0);
    let none = |_, _| Ok::<_, ()>(None);
    assert_eq!(lines.wake_all(own, none), Ok(0));
    for (task, wants) in [(1, false), (2, true), (3, false)] {
        lines.of(task).block();
        lines.of(task).join(own, task, wants);
    }
    let mut order = Vec::new();
    let woken = lines.wake_all(own, |task, _| {
        order.push(task);
        Ok::<_, ()>(None)
    });
    assert_eq!((woken, order), (Ok(3), vec![3, 2, 1]));
    let stamps: Vec<u64> = (1..4).map(|task| lines.of(task).wake_ns()).collect();
    assert!(stamps[0] > 0 && stamps.iter().all(|&ns| ns == stamps[0]), "one stamp for the list: {stamps:?}");
    lines.of(1).join(own, 1, false);
    assert_eq!(lines.wake_all(own, none), Ok(1));
    assert_eq!(lines.of(1).wake_ns(), 0, "nobody wanted one");
}

#[test]
fn a_post_before_the_wait_is_not_lost_and_a_failure_stops_the_list() {
    let lines = lines(Scope::SHARED);
    lines.of(1).block();
    lines.of(1).post();
    lines.of(1).wait();
    lines.of(1).join(lines.of(0), 1, false);
    assert_eq!(lines.wake_all(lines.of(0), |_, _| Err("bad page")), Err("bad page"));
}

#[test]
fn ping_pong_through_both_scopes_loses_no_wake_up() {
    for scope in [Scope::PRIVATE, Scope::SHARED] {
        let lines = lines(scope);
        lines.of(0).set_workers(2);
        let worker = |task: usize| {
            let lines = lines.clone();
            move || {
                for _ in 0..3_000 {
                    lines.of(task).block();
                    lines.of(task).join(lines.of(0), task, false);
                    lines.of(0).post();
                    lines.of(task).wait();
                }
                lines.of(0).leave();
            }
        };
        let mut woken = 0;
        std::thread::scope(|threads| {
            threads.spawn(worker(1));
            threads.spawn(worker(2));
            loop {
                lines.of(0).block();
                woken += lines.wake_all(lines.of(0), |_, _| Ok::<_, ()>(None)).unwrap();
                if lines.of(0).workers_left() == 0 {
                    break;
                }
                lines.of(0).wait();
            }
        });
        assert_eq!(woken, 6_000);
    }
}

#[test]
fn posted_requests_are_news_and_so_is_the_end() {
    let lines = lines(Scope::SHARED);
    let line = lines.of(1);
    line.post_one();
    line.post_one();
    assert!(!line.wait_for_news(1), "one more is there: no sleep");
    std::thread::scope(|threads| {
        let waiter = threads.spawn(|| line.wait_for_news(2));
        line.close(77);
        waiter.join().unwrap();
    });
    assert_eq!((line.posted(), line.end_ns()), (2, 77));
}
