//! A slow task on several threads: it counts primes, and the counts arrive in order all the same.
//!
//! `cargo run --release --example replicated_stage`

use bief::{Chain, Flow, In, Out, Report, Result, Task, sink, source};

/// How many of the numbers of a frame are prime.
#[derive(Clone)]
struct CountPrimes;

impl Task for CountPrimes {
    type In = In<u32>;
    type Out = Out<u32>;

    fn lens(&self, _numbers: usize) -> Result<usize> {
        Ok(1)
    }

    fn run(&mut self, numbers: &[u32], count: &mut [u32]) -> Result<Flow> {
        let prime = |n: u32| n > 1 && (2..).take_while(|d| d * d <= n).all(|d| !n.is_multiple_of(d));
        count[0] = numbers.iter().filter(|&&n| prime(n)).count() as u32;
        Ok(Flow::Next)
    }

    /// It remembers nothing from frame to frame, so copies of it may work side by side.
    fn replica(&self) -> Option<Self> {
        Some(self.clone())
    }
}

fn count(blocks: usize, threads: usize) -> Result<(Report, Vec<u32>)> {
    let numbers: Vec<u32> = (0..1000 * blocks as u32).collect();

    let mut chain = Chain::new();
    let numbers = chain.add(source::from_slice(&numbers, 1000), ());
    chain.stage("count").threads(threads);
    let count = chain.add(CountPrimes, &numbers);
    chain.stage("collect");
    let (collect, counts) = sink::collect();
    chain.add(collect, &count);
    let report = chain.build()?.pipeline_as_marked()?.run()?;
    Ok((report, counts.take()))
}

fn main() -> Result<()> {
    let threads = std::thread::available_parallelism().map_or(1, |cores| cores.get());
    let (report, counts) = count(400, threads)?;
    println!("{report}");
    println!("primes in the first blocks of 1000 numbers: {:?}", &counts[..8]);
    println!("primes below {}: {}", 1000 * counts.len(), counts.iter().sum::<u32>());
    Ok(())
}

#[test]
fn any_number_of_threads_counts_the_same() {
    main().unwrap();
    let (_, one) = count(100, 1).unwrap();
    let (report, three) = count(100, 3).unwrap();
    assert_eq!(one, three);
    assert_eq!((one[0], one.iter().sum::<u32>()), (168, 9592));
    assert_eq!(report.stages[1].threads, 3);
}
