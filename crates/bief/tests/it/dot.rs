//! Chains and pipelines as graphs.

use crate::common::{Act, Add, Count, Pair, Probe};
use bief::{Chain, Flow, In, InVar, OutVar, Result, Task, VarFrame, sink};

/// A name that needs quotes; frames of any length up to 4.
struct Odd;

impl Task for Odd {
    type In = In<u64>;
    type Out = OutVar<u64>;
    fn name(&self) -> String {
        "an \"odd\"\\name".to_owned()
    }
    fn lens(&self, _: usize) -> Result<usize> {
        Ok(4)
    }
    fn run(&mut self, _: &[u64], _: VarFrame<'_, u64>) -> Result<Flow> {
        Ok(Flow::Next)
    }
}

struct Drain;

impl Task for Drain {
    type In = InVar<u64>;
    type Out = ();
    fn lens(&self, _: usize) -> Result<()> {
        Ok(())
    }
    fn run(&mut self, _: &[u64], (): ()) -> Result<Flow> {
        Ok(Flow::Next)
    }
}

fn chain() -> Chain {
    let mut chain = Chain::new();
    let mut a = chain.add(Count::to(20), ()); // 0
    let always = chain.constant(&[true]);
    let offset = chain.constant(&[5_u64]);
    let _unused = chain.constant(&[1.0_f32]);
    chain.stage("work").threads(2);
    chain.add(Add(1), &mut a); // 1
    let b = chain.add(Pair, (&a, &offset)); // 2
    // 3
    chain.repeat(2, |chain| {
        chain.add(Add(1), &mut a);
        chain.add(Add(1), &mut a);
        chain.leave_if(&always);
    });
    chain.stage("out \"here\"");
    let odd = chain.add(Odd, &a); // 4
    chain.add(Drain, &odd); // 5
    chain.add(Probe::sequential(Act::Pass), &a); // 6
    chain.add(sink::for_each(|_: &[[u64; 2]]| Ok(Flow::Next)), &b); // 7
    chain
}

fn edges(dot: &str) -> Vec<&str> {
    dot.lines().map(str::trim).filter(|line| line.contains("->")).collect()
}

#[test]
fn wires_come_from_whoever_wrote_them_last() {
    let dot = chain().build().unwrap().dot();
    assert!(dot.starts_with("digraph bief {\n") && dot.ends_with("}\n"), "{dot}");
    let mut found = edges(&dot);
    found.sort_unstable();
    let expected = [
        "c2 -> t3 [style=dashed];",
        "c3 -> t2 [style=dashed];",
        "t0 -> t1 [label=\"1 x u64\"];",
        "t1 -> t2 [label=\"1 x u64\"];",
        "t1 -> t3 [label=\"1 x u64\"];",
        "t2 -> t7 [label=\"1 x [u64; 2]\"];",
        "t3 -> t4 [label=\"1 x u64\"];",
        "t3 -> t6 [label=\"1 x u64\"];",
        "t4 -> t5 [label=\"up to 4 x u64\"];",
    ];
    let mut expected = expected.map(str::to_owned);
    // Constants are numbered as wires are.
    let number = |label: &str| {
        let line = dot.lines().find(|line| line.contains(label)).expect("the constant is drawn");
        line.trim().split(' ').next().unwrap().to_owned()
    };
    expected[0] = format!("{} -> t3 [style=dashed];", number("constant\\n1 x bool"));
    expected[1] = format!("{} -> t2 [style=dashed];", number("constant\\n1 x u64"));
    assert_eq!(found, expected, "{dot}");
    assert!(!dot.contains("f32"), "what nobody uses is not drawn");
    assert!(dot.contains("t3 [label=\"repeat(Add 2, Add 3, leave_if)\", style=rounded];"), "{dot}");
    assert!(dot.contains("t0 [label=\"Count\"];"), "{dot}");
    assert!(dot.contains(r#"t4 [label="an \"odd\"\\name"];"#), "{dot}");
}

#[test]
fn stages_are_frames_around_their_tasks() {
    let mut pipeline = chain().build().unwrap().pipeline_as_marked().unwrap();
    let before = pipeline.dot();
    assert_eq!(edges(&before), edges(&chain().build().unwrap().dot()));
    assert!(before.contains(r#"label="out \"here\"\n1 thread(s)";"#), "{before}");
    let clusters: Vec<&str> = before.split("subgraph ").skip(1).collect();
    assert_eq!(clusters.len(), 3);
    let tasks = |cluster: &str| cluster.matches(" [label=").count() - cluster.matches("->").count();
    assert!(clusters[0].starts_with("cluster_0 {") && clusters[0].contains("t0 [") && tasks(clusters[0]) == 1);
    assert!(clusters[1].contains("work\\n2 thread(s)") && clusters[1].contains("t3 [") && tasks(clusters[1]) == 3);
    assert!(!before.contains("measured"));
    assert_eq!(before.matches('{').count(), before.matches('}').count());

    pipeline.run().unwrap();
    assert_eq!(pipeline.dot().matches("\\nmeasured ").count(), 3);
}

#[test]
fn a_schedule_tells_kinds_and_plans() {
    use bief::schedule::strategy::{Exact, Strategy};
    use bief::schedule::{CoreKind, Platform};
    let profile = chain().build().unwrap().profile(10).unwrap();
    let platform = Platform::new([CoreKind::new(&profile.kinds()[0], 2)]).unwrap();
    let schedule = Exact.schedule(&profile, &platform).unwrap();
    let pipeline = chain().build().unwrap().pipeline(&schedule).unwrap().compare_with(&profile).unwrap();
    let dot = pipeline.dot();
    assert_eq!(
        dot.matches(&format!(" on {}\\nplanned ", profile.kinds()[0])).count(),
        schedule.stages().len(),
        "{dot}"
    );
}
