//! Texts of tasks that leave: whatever comes is refused, or is a text that is written as it is read.
#![no_main]

use bief::kinds::{Kind, Param};
use bief::{Flow, In, Out, Registry, Result, Task};
use bief_pool::Cut;
use libfuzzer_sys::fuzz_target;

#[derive(Clone)]
struct Scale(f64);

impl Task for Scale {
    type In = In<f32>;
    type Out = Out<f32>;
    fn lens(&self, len: usize) -> Result<usize> {
        Ok(len)
    }
    fn run(&mut self, numbers: &[f32], scaled: &mut [f32]) -> Result<Flow> {
        scaled.iter_mut().zip(numbers).for_each(|(scaled, number)| *scaled = self.0 as f32 * number);
        Ok(Flow::Next)
    }
    fn replica(&self) -> Option<Self> {
        Some(self.clone())
    }
}

fuzz_target!(|text: &str| {
    let mut registry = Registry::new();
    registry.add(Kind::new("scale", "times a factor", Param::new("by", "the factor"), |by: f64| Ok(Scale(by))));
    let Ok((cut, wires)) = Cut::read(text, &registry) else { return };
    let written = cut.text(&wires);
    let (again, same) = Cut::read(&written, &registry).expect("it was read before");
    assert_eq!(same, wires);
    assert_eq!(again.text(&same), written);
});
