//! Which class the results of a network are of, written down.

use std::io::Write;

use bief::{Error, Flow, In, Result, Task};

/// Writes the class of the largest value as a line of CSV: the number of the first frame, the class, its label, the value. Values are means over a number of
/// frames, the last of which may be fewer.
///
/// # Sockets
/// In: f32, a value for each class.
///
/// # Errors
/// A writer that fails.
///
/// # Example
/// ```
/// use bief::{Chain, sink, source};
/// use bief_nn::WriteClasses;
///
/// # let path = std::env::temp_dir().join(format!("bief-classes-{}.csv", std::process::id()));
/// let mut chain = Chain::new();
/// let values = chain.add(source::from_slice(&[1.0_f32, 2.0, 4.0, 1.0, 0.0, 5.0], 2), ());
/// let labels = vec!["left".to_owned(), "right".to_owned()];
/// chain.add(WriteClasses::new(Box::new(std::fs::File::create(&path)?), labels, 2), &values);
/// chain.build()?.run()?;
/// assert_eq!(std::fs::read_to_string(&path)?, "frame,class,label,value\n0,0,left,2.5\n2,1,right,5\n");
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), bief::Error>(())
/// ```
pub struct WriteClasses {
    writer: Box<dyn Write + Send>,
    labels: Vec<String>,
    mean_of: u64,
    sums: Vec<f64>,
    frames: u64,
    is_begun: bool,
}

impl WriteClasses {
    /// Writes means over so many frames, at least 1, with these names of classes; one without a name has none.
    pub fn new(writer: Box<dyn Write + Send>, labels: Vec<String>, mean_of: u64) -> Self {
        Self { writer, labels, mean_of: mean_of.max(1), sums: Vec::new(), frames: 0, is_begun: false }
    }

    /// Frames of the mean that is not written yet.
    fn summed(&self) -> u64 {
        match self.frames % self.mean_of {
            0 if self.frames > 0 => self.mean_of,
            part => part,
        }
    }

    fn write(&mut self) -> Result<()> {
        if !std::mem::replace(&mut self.is_begun, true) {
            self.writer.write_all(b"frame,class,label,value\n").map_err(Error::from_source)?;
        }
        let frames = self.summed();
        let largest = (0..self.sums.len()).max_by(|&a, &b| self.sums[a].total_cmp(&self.sums[b]).then(b.cmp(&a)));
        let Some(class) = largest else { return Ok(()) };
        let label = self.labels.get(class).map_or("", String::as_str);
        let (first, value) = (self.frames - frames, self.sums[class] / frames as f64);
        self.sums.fill(0.0);
        writeln!(self.writer, "{first},{class},{label},{value}")
            .and_then(|()| self.writer.flush())
            .map_err(Error::from_source)
    }
}

impl Task for WriteClasses {
    type In = In<f32>;
    type Out = ();

    fn lens(&self, classes: usize) -> Result<()> {
        match classes {
            0 => Err(Error::new("there is no class")),
            _ => Ok(()),
        }
    }

    fn run(&mut self, values: &[f32], (): ()) -> Result<Flow> {
        self.sums.resize(values.len(), 0.0);
        self.sums.iter_mut().zip(values).for_each(|(sum, &value)| *sum += f64::from(value));
        self.frames += 1;
        if self.frames.is_multiple_of(self.mean_of) {
            self.write()?;
        }
        Ok(Flow::Next)
    }

    fn finish(&mut self) -> Result<()> {
        if self.frames.is_multiple_of(self.mean_of) { Ok(()) } else { self.write() }
    }

    fn reset(&mut self) -> Result<()> {
        self.sums.fill(0.0);
        self.frames = 0;
        Ok(())
    }
}
