//! Known answer K6 (docs/measure/measurement-rules.md K6): one stall, and what is seen of it by those who wait their turn
//! (coordinated omission).

use sharebench_simulated::{Device, Service};

use crate::known_answers::lab::{close, histogram, load, mean_ms, millis, quantile_ms, report_figure};

/// D/D/1: 1 ms of service, 500 starts per second, one stall of 1 s in 20 s: a tenth of all is affected.
fn stalled(users: u32) -> (sharebench_model::StepResult, Vec<sharebench_simulated::Served>) {
    let device =
        Device::new(6).service_center(1, Service::Fixed(millis(1))).stalled(8_000_000_000, millis(1000));
    let pace =
        format!("users = [{users}]\narrivals = 'constant'\nrates = [500]\nwarm_up = '0s'\nmeasure = '20s'");
    load(6, &pace, device)
}

#[test]
fn k6_a_stall_is_charged_to_all_who_were_to_start_in_it() {
    for users in [1, 700] {
        let (step, log) = stalled(users);
        let response = &step.measure.response;
        let name = |what: &str| format!("K6 stall, {users} users: {what}");
        close(&name("p95 ms"), quantile_ms(response, 0.95), 500.0, 0.005);
        close(&name("p99 ms"), quantile_ms(response, 0.99), 900.0, 0.005);
        close(&name("mean ms"), mean_ms(response), 51.0, 0.005);
        if users == 1 {
            // One connection that waits for its replies: what it saw itself, and what a later correction by the
            // expected interval (HdrHistogram's) makes of it.
            let naive: Vec<u64> =
                log.iter().filter(|served| !served.write).map(|served| served.end - served.arrival).collect();
            let filled = histogram(naive.iter().flat_map(|&nanos| {
                std::iter::once(nanos).chain(
                    (1..)
                        .map(move |n| nanos.saturating_sub(n * 2_000_000))
                        .take_while(|left| *left >= 2_000_000),
                )
            }));
            let naive = histogram(naive);
            assert!(quantile_ms(&naive, 0.99) <= 10.0, "the naive figure is blind");
            assert_eq!(step.measure.service.quantile(0.99), naive.quantile(0.99), "service is that figure");
            report_figure("K6 for comparison, naive: p99 ms", quantile_ms(&naive, 0.99));
            report_figure("K6 for comparison, naive and back-filled: p95 ms", quantile_ms(&filled, 0.95));
            close(
                "K6 for comparison, naive and back-filled: p99 ms",
                quantile_ms(&filled, 0.99),
                790.0,
                0.01,
            );
        }
    }
}
