//! What StreamPU 1.8.1 reaches: figures that ship, each measured as the case of the same name.

const STREAMPU: &str = include_str!("../../data/streampu.csv");

/// Where the figures are from.
pub(super) const SOURCE: &str = "StreamPU 1.8.1: 2 vCPU of an AMD EPYC (Zen 4), g++ 12.2 -O3 -march=native, checks off; its \
                                 probe was 100 to 200 ns.";

/// The figure for a case, or for all variants of it alike.
pub(super) fn streampu(case: &str) -> Option<f64> {
    let of = |name: &str| {
        STREAMPU.lines().skip(1).find_map(|line| match line.split(',').collect::<Vec<_>>()[..] {
            [case, _unit, value] if case == name => value.parse().ok(),
            _ => None,
        })
    };
    of(case).or_else(|| of(case.rsplit_once('/')?.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::runtime;

    #[test]
    fn every_figure_is_that_of_a_case_with_its_unit() {
        let cases = runtime::cases().unwrap();
        for line in STREAMPU.lines().skip(1) {
            let [name, unit, value] = line.split(',').collect::<Vec<_>>()[..] else { panic!("{line}") };
            let of_it: Vec<_> =
                cases.iter().filter(|case| format!("{}/", case.name).starts_with(&format!("{name}/"))).collect();
            assert!(!of_it.is_empty(), "{line}");
            for case in of_it {
                assert_eq!((streampu(&case.name), case.unit), (value.parse().ok(), unit), "{line}");
            }
        }
        assert_eq!([streampu("idle/4"), streampu("handover/1/adaptive"), streampu("speedup/threads")], [None; 3]);
    }
}
