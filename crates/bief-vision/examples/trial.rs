//! scratch
use bief_vision::*;
use std::io::Read;
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let (w, h, fps): (usize, usize, f64) = (a[1].parse().unwrap(), a[2].parse().unwrap(), a[3].parse().unwrap());
    let size = Size::new(w, h).unwrap();
    let mut det = Detector::new(
        size,
        Detection {
            threshold: match std::env::var("TH") {
                Ok(t) => {
                    let v: Vec<f32> = t.split(',').map(|x| x.parse().unwrap()).collect();
                    Threshold::Sky { noise: v[0], levels: v[1] }
                }
                _ => Threshold::default(),
            },
            least: std::env::var("SM").map_or(2, |s| s.parse().unwrap()),
            ..Detection::default()
        },
    );
    let mut tr = Tracker::new(size, fps);
    let mut buf = vec![0; w * h];
    let mut f = std::fs::File::open(&a[4]).unwrap();
    let mut n = 0;
    let (mut td, mut tt, mut nc) = (0.0, 0.0, 0);
    let mut all = vec![];
    let mut tc = 0.0;
    let mut comps = vec![];
    let dump = a.get(6).map(|x| x.parse::<u64>().unwrap());
    while f.read_exact(&mut buf).is_ok() {
        let t = bief::machine::clock::process_time();
        comps.clear();
        comps.extend(det.components(&buf));
        td += (bief::machine::clock::process_time() - t).as_secs_f64();
        nc += comps.len();
        let t = bief::machine::clock::process_time();
        all.extend(tr.follow(&comps, n, (n as f64 * 1e6 / fps) as i64));
        tt += (bief::machine::clock::process_time() - t).as_secs_f64();
        if std::env::var("C").is_ok() {
            let t = bief::machine::clock::process_time();
            let c = std::hint::black_box(buf.clone());
            tc += (bief::machine::clock::process_time() - t).as_secs_f64();
            std::hint::black_box(c);
        }
        if std::env::var("M").is_ok() {
            let m = tr.motion();
            eprintln!(
                "{n}: {:.2} {:.2} {:.5} stars {} comps {}",
                m.shift()[0],
                m.shift()[1],
                m.turn(),
                tr.stars(),
                comps.len()
            );
        }
        if dump == Some(n) {
            eprintln!("{:?} stars {}", tr.motion(), tr.stars());
            for c in &comps {
                println!("{c:?}");
            }
        }
        n += 1;
    }
    all.extend(tr.finish());
    eprintln!("copy {:.0}", tc / n as f64 * 1e6);
    eprintln!(
        "{n} frames, {:.0} comps/frame, detect {:.0} us, track {:.0} us, stars {} unreg {}",
        nc as f64 / n as f64,
        td / n as f64 * 1e6,
        tt / n as f64 * 1e6,
        tr.stars(),
        tr.unregistered()
    );
    let mut out = String::from("track,type,frame,x,y\n");
    for t in &all {
        for s in &t.sightings {
            out += &format!("{},{},{},{:.2},{:.2}\n", t.id, t.kind, s.frame, s.x, s.y);
        }
        if std::env::var("V").is_ok() {
            eprintln!(
                "{} {} {}..{} speed {:.2} n {} light {:.0}",
                t.id,
                t.kind,
                t.begin(),
                t.end(),
                t.speed,
                t.sightings.len(),
                t.light()
            );
        }
    }
    std::fs::write(&a[5], out).unwrap();
}
