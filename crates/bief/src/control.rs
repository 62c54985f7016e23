//! Regions as they are written: loops, switches and feedback, closures over the same builder.

use crate::block::{Block, BlockKind};
use crate::chain::Chain;
use crate::dyn_wire::DynWire;
use crate::dynamic::Refusal;
use crate::error::{Error, Result};
use crate::frame::Element;
use crate::region::{Body, Control, Feedback, LeaveIf, Region, Repeat, Select};
use crate::socket::{Direction, Socket, SocketKind};
use crate::task::{Flow, Node, Task};
use crate::variable::{OutVar, VarFrame, VarWire};
use crate::wire::{Out, Wire, sealed};

/// Which block was opened, and of which chain: a closure can exchange the chain that it is given.
struct Opened {
    chain: u64,
    number: usize,
}

impl Chain {
    /// Runs what `body` adds up to `bound` times on each frame.
    ///
    /// [`leave_if`](Self::leave_if) in the body ends the loop for this frame: at the start of the body it makes a *while*
    /// loop, at the end a *do … while* loop; without one the body runs `bound` times. A value that goes from one turn to the
    /// next, or out of the loop, is a wire made before it that tasks in the body rewrite in place. [`Flow::Skip`] and
    /// [`Flow::Stop`] inside mean the frame and the stream, not the turn.
    ///
    /// A wire that the body makes cannot be used outside, and a body has at least one task: [`build`](Self::build) refuses
    /// both.
    ///
    /// ```
    /// use bief::{Chain, Flow, In, InOut, Out, Result, Task, sink, source};
    ///
    /// #[derive(Clone)]
    /// struct Halve;
    ///
    /// impl Task for Halve {
    ///     type In = InOut<u32>;
    ///     type Out = Out<bool>;
    ///     fn lens(&self, _: usize) -> Result<usize> {
    ///         Ok(1)
    ///     }
    ///     fn run(&mut self, x: &mut [u32], odd: &mut [bool]) -> Result<Flow> {
    ///         x[0] /= 2;
    ///         odd[0] = x[0] % 2 == 1;
    ///         Ok(Flow::Next)
    ///     }
    /// }
    ///
    /// let mut chain = Chain::new();
    /// let mut numbers = chain.add(source::from_slice(&[12, 14, 1024], 1), ());
    /// chain.repeat(8, |chain| {
    ///     let odd = chain.add(Halve, &mut numbers);
    ///     chain.leave_if(&odd);
    /// });
    /// let (collect, result) = sink::collect();
    /// chain.add(collect, &numbers);
    /// chain.build()?.run()?;
    /// assert_eq!(result.take(), [3, 7, 4]);
    /// # Ok::<(), bief::Error>(())
    /// ```
    pub fn repeat(&mut self, bound: usize, body: impl FnOnce(&mut Chain)) {
        let opened = self.open(BlockKind::Loop);
        body(self);
        let Some(nodes) = self.close(&opened) else { return };
        if nodes.is_empty() {
            return self.refuse("repeat", Error::build("the body has no tasks: add those that it repeats"));
        }
        self.add_region("repeat", Repeat { bound }, vec![nodes]);
    }

    /// Leaves the innermost [`repeat`](Self::repeat) around it, for this frame, when `done` (one element) is true.
    ///
    /// It may stand anywhere in the body, also in a path of a [`select`](Self::select) in it. Outside a loop, and inside a
    /// [`feedback`](Self::feedback) that is inside the loop, [`build`](Self::build) refuses it.
    pub fn leave_if(&mut self, done: &Wire<bool>) {
        let around = self.open.iter().rev().map(|block| block.kind).find(|&kind| kind != BlockKind::Path);
        let bound = match around {
            Some(BlockKind::Loop) => self.bind_one("leave_if", &done.untyped),
            Some(_) => {
                Err(Error::build("it would leave a `feedback` before its value is made: leave the loop outside it"))
            }
            None => Err(Error::build("it stands in no loop: use it in the body of a `repeat`")),
        };
        match bound {
            Ok(done) => self.push("leave_if".into(), Box::new(LeaveIf { done })),
            Err(error) => self.refuse("leave_if", error),
        }
    }

    /// Runs one of several paths on each frame, as `choice` (one element) says.
    ///
    /// Paths are numbered from 0 in the order of their [`path`](Paths::path) calls; a choice without a path is an error of the
    /// run. A choice of `bool` reads like *if … else*: the first path runs when it is **true**, the second, which may be left
    /// out, when it is false. What a path gives to later tasks is a wire made before (see [`blank`](Self::blank)) that tasks in
    /// the path rewrite in place. A path may be empty. [`Flow::Skip`] and [`Flow::Stop`] inside are those of the frame.
    ///
    /// A wire that a path makes cannot be used outside it, unless it is [kept](Self::keep): [`build`](Self::build) refuses that, and a
    /// `choice` that is not one element long.
    ///
    /// ```
    /// use bief::{Chain, Flow, InOut, Result, Task, sink, source};
    ///
    /// #[derive(Clone)]
    /// struct Add(u8);
    ///
    /// impl Task for Add {
    ///     type In = InOut<u8>;
    ///     type Out = ();
    ///     fn lens(&self, _: usize) -> Result<()> {
    ///         Ok(())
    ///     }
    ///     fn run(&mut self, x: &mut [u8], (): ()) -> Result<Flow> {
    ///         x[0] += self.0;
    ///         Ok(Flow::Next)
    ///     }
    /// }
    ///
    /// let mut chain = Chain::new();
    /// let mut numbers = chain.add(source::from_slice(&[1, 2, 3], 1), ());
    /// let choice = chain.add(source::from_slice(&[0_u8, 1, 2], 1), ());
    /// chain.select(&choice, |paths| {
    ///     paths.path(|chain| chain.add(Add(10), &mut numbers));
    ///     paths.path(|chain| chain.add(Add(20), &mut numbers));
    ///     paths.path(|_| {});
    /// });
    /// let (collect, result) = sink::collect();
    /// chain.add(collect, &numbers);
    /// chain.build()?.run()?;
    /// assert_eq!(result.take(), [11, 22, 3]);
    /// # Ok::<(), bief::Error>(())
    /// ```
    pub fn select<C: Choice>(&mut self, choice: &Wire<C>, paths: impl FnOnce(&mut Paths<'_>)) {
        let choice = self.bind_one("select", &choice.untyped);
        let id = self.id;
        let mut written = Paths { chain: self, paths: Vec::new() };
        paths(&mut written);
        let mut paths = written.paths;
        if self.id != id {
            return self.refuse_exchanged();
        }
        let choice = match (choice, C::MOST_PATHS) {
            (Err(error), _) => Err(error),
            (_, Some(most)) if paths.len() > most => {
                Err(Error::build(format!("a choice of bool has at most {most} paths, not {}", paths.len())))
            }
            _ if paths.is_empty() => Err(Error::build("it has no paths: write one for each value of the choice")),
            (choice, _) => choice,
        };
        match choice {
            Ok(choice) => {
                // What a `bool` does not name does nothing.
                paths.resize_with(C::MOST_PATHS.unwrap_or(paths.len()), Vec::new);
                self.add_region("select", Select { choice, path: C::path }, paths);
            }
            Err(error) => self.refuse("select", error),
        }
    }

    /// Gives what `body` adds the value that it made on the frame before: the wire that `body` returns, as long as `initial`,
    /// is its second argument on the next frame. On the first frame that is `initial`.
    ///
    /// The value of a frame that is skipped inside the body is not kept. Inside a loop or a path, the value before is that of
    /// the last time that the body ran. A feedback is never replicated; the frames of a batch go through it one by one.
    ///
    /// Returns the wire of the current value. [`build`](Self::build) refuses one of another length than `initial`, and one
    /// made inside a loop or a path in the body.
    ///
    /// ```
    /// use bief::{Chain, Flow, In, Out, Result, Task, sink, source};
    ///
    /// #[derive(Clone)]
    /// struct Add;
    ///
    /// impl Task for Add {
    ///     type In = (In<u32>, In<u32>);
    ///     type Out = Out<u32>;
    ///     fn lens(&self, (len, _): (usize, usize)) -> Result<usize> {
    ///         Ok(len)
    ///     }
    ///     fn run(&mut self, (a, b): (&[u32], &[u32]), sum: &mut [u32]) -> Result<Flow> {
    ///         sum[0] = a[0] + b[0];
    ///         Ok(Flow::Next)
    ///     }
    /// }
    ///
    /// let mut chain = Chain::new();
    /// let numbers = chain.add(source::from_slice(&[1, 2, 3, 4], 1), ());
    /// let sums = chain.feedback(&[0], |chain, previous| chain.add(Add, (&numbers, previous)));
    /// let (collect, result) = sink::collect();
    /// chain.add(collect, &sums);
    /// chain.build()?.run()?;
    /// assert_eq!(result.take(), [1, 3, 6, 10]);
    /// # Ok::<(), bief::Error>(())
    /// ```
    pub fn feedback<T: Element>(
        &mut self,
        initial: &[T],
        body: impl FnOnce(&mut Chain, &Wire<T>) -> Wire<T>,
    ) -> Wire<T> {
        let opened = self.open(BlockKind::Feedback);
        let kind = SocketKind::fixed::<T>(Direction::Out);
        let mut previous = self.new_wire(kind, initial.len().into(), "a `feedback`, of the frame before".into());
        previous.socket.stride = 0;
        previous.read_only = true;
        self.wires[previous.socket.wire].block = opened.number;
        let previous = Wire::new(previous);
        let current = body(self, &previous);
        let Some(nodes) = self.close(&opened) else { return current };
        let previous = previous.untyped.socket;
        let (len, maker) = (current.len(), &current.untyped.maker);
        let bound = self.bind_read("feedback", &current.untyped).and_then(|current| {
            if len == previous.len {
                return Ok(current);
            }
            Err(Error::build(format!(
                "the value from {maker} has {len} elements, the initial one {}: they must be as long as each other",
                previous.len
            )))
        });
        match bound {
            Ok(current) => {
                let feedback = Feedback { previous, current, initial: initial.into(), last: initial.into() };
                self.add_region("feedback", feedback, vec![nodes]);
            }
            Err(error) => self.refuse("feedback", error),
        }
        current
    }

    /// A wire of `len` default values in every frame, for the paths of a [`select`](Self::select) or the body of a
    /// [`repeat`](Self::repeat) to fill. It is a task of its own, named `blank`.
    pub fn blank<T: Element>(&mut self, len: usize) -> Wire<T> {
        self.add(Blank { len, element: std::marker::PhantomData::<fn() -> T> }, ())
    }

    /// As [`blank`](Self::blank): a variable wire of empty frames with room for `capacity` elements.
    pub fn blank_var<T: Element>(&mut self, capacity: usize) -> VarWire<T> {
        self.add(BlankVar { capacity, element: std::marker::PhantomData::<fn() -> T> }, ())
    }

    /// Lets tasks behind the loop or path that is being written use a wire that it makes, too. On a frame on which it did not run, the
    /// wire holds whatever an earlier frame left there (defaults at first): whoever reads it there must know what to make of it.
    ///
    /// A wire that was made before stays as it is. [`build`](Self::build) refuses one of another chain, or of a loop or path that has ended.
    ///
    /// ```
    /// use bief::raw::DynWire;
    /// use bief::{Chain, sink, source};
    ///
    /// let mut chain = Chain::new();
    /// let is_new = chain.add(source::from_slice(&[true, false, true], 1), ());
    /// let mut made = None;
    /// chain.select(&is_new, |paths| {
    ///     paths.path(|chain| {
    ///         let numbers = chain.add(source::from_slice(&[7, 8], 1), ());
    ///         chain.keep(&DynWire::from(&numbers));
    ///         made = Some(numbers);
    ///     });
    /// });
    /// let (collect, result) = sink::collect();
    /// chain.add(collect, &made.unwrap());
    /// chain.build()?.run()?;
    /// assert_eq!(result.take(), [7, 7, 8]);
    /// # Ok::<(), bief::Error>(())
    /// ```
    pub fn keep(&mut self, wire: &DynWire) {
        if let Err(Refusal { error, .. }) = self.usable("keep", std::slice::from_ref(wire)) {
            return self.refuse("keep", error);
        }
        let mut around = self.open.iter().rev().filter(|block| block.kind != BlockKind::Feedback);
        let (inner, outer) = (around.next().map(|block| block.number), around.next().map_or(0, |block| block.number));
        if inner == Some(self.wires[wire.socket.wire].block) {
            wire.places().for_each(|place| self.wires[place].block = outer);
        }
    }

    /// The number of the loop or path that is being written, 0 outside of any. What a feedback holds always runs.
    pub(crate) fn block(&self) -> usize {
        let conditional = self.open.iter().rev().find(|block| block.kind != BlockKind::Feedback);
        conditional.map_or(0, |block| block.number)
    }

    fn open(&mut self, kind: BlockKind) -> Opened {
        self.blocks.push(match kind {
            BlockKind::Loop => "a `repeat`",
            BlockKind::Path => "a path of a `select`",
            BlockKind::Feedback => "a `feedback`",
        });
        let number = self.blocks.len();
        self.open.push(Block { number, kind, nodes: Vec::new() });
        Opened { chain: self.id, number }
    }

    fn close(&mut self, opened: &Opened) -> Option<Vec<Node>> {
        let own = self.id == opened.chain;
        let block = self.open.pop_if(|block| own && block.number == opened.number);
        if block.is_none() {
            self.refuse_exchanged();
        }
        block.map(|block| block.nodes)
    }

    fn refuse_exchanged(&mut self) {
        self.refuse(
            "region",
            Error::build("its closure exchanged the chain for another: add to the one that it is given"),
        );
    }

    /// Binds a wire of one element.
    fn bind_one(&mut self, user: &str, wire: &DynWire) -> Result<Socket> {
        let socket = self.bind_read(user, wire)?;
        if socket.len == 1 {
            return Ok(socket);
        }
        Err(Error::build(format!("it reads 1 {} per frame, not {} from {}", wire.element(), socket.len, wire.maker)))
    }

    /// Binds a wire, whose type is proven, to be read.
    fn bind_read(&mut self, user: &str, wire: &DynWire) -> Result<Socket> {
        let wire = std::slice::from_ref(wire);
        self.usable(user, wire).map_err(|Refusal { error, .. }| error)?;
        Ok(self.bind(wire, |_| false)[0])
    }

    fn add_region<C: Control>(&mut self, kind: &str, control: C, bodies: Vec<Vec<Node>>) {
        let paths: Vec<String> = bodies.iter().map(|nodes| listed(nodes)).collect();
        let name = self.unique_name(format!("{kind}({})", paths.join(" | ")));
        self.push(name, Box::new(Region::new(control, bodies.into_iter().map(Body::new))));
    }
}

/// What a body holds, in a few words.
fn listed(nodes: &[Node]) -> String {
    const MOST: usize = 4;
    let names: Vec<&str> = nodes.iter().map(|node| &*node.name).collect();
    match &names[..] {
        [] => "-".to_owned(),
        [first, .., last] if names.len() > MOST => format!("{first} .. {last}"),
        names => names.join(", "),
    }
}

/// Builds the paths of a [`select`](Chain::select).
pub struct Paths<'c> {
    chain: &'c mut Chain,
    paths: Vec<Vec<Node>>,
}

impl Paths<'_> {
    /// The next path: what `body` adds runs on the frames that choose it.
    pub fn path(&mut self, body: impl FnOnce(&mut Chain)) {
        let opened = self.chain.open(BlockKind::Path);
        body(self.chain);
        self.paths.extend(self.chain.close(&opened));
    }
}

impl std::fmt::Debug for Paths<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.paths.iter().map(|nodes| listed(nodes))).finish()
    }
}

/// A type that can choose the path of a [`select`](Chain::select): `bool`, `u8`, `u32` and `usize`.
pub trait Choice: Element + sealed::Sealed {
    #[doc(hidden)]
    const MOST_PATHS: Option<usize>;
    #[doc(hidden)]
    fn path(self) -> usize;
}

impl sealed::Sealed for bool {}
impl Choice for bool {
    const MOST_PATHS: Option<usize> = Some(2);
    fn path(self) -> usize {
        usize::from(!self)
    }
}

macro_rules! choice {
    ($($Number:ty),+) => {$(
        impl sealed::Sealed for $Number {}
        impl Choice for $Number {
            const MOST_PATHS: Option<usize> = None;
            fn path(self) -> usize {
                // A number above `usize` has no path either.
                usize::try_from(self).unwrap_or(usize::MAX)
            }
        }
    )+};
}

choice!(u8, u32, usize);

/// Makes frames of default values.
struct Blank<T> {
    len: usize,
    element: std::marker::PhantomData<fn() -> T>,
}

impl<T: Element> Task for Blank<T> {
    type In = ();
    type Out = Out<T>;
    fn name(&self) -> String {
        "blank".to_owned()
    }
    fn lens(&self, (): ()) -> Result<usize> {
        Ok(self.len)
    }
    fn run(&mut self, (): (), frame: &mut [T]) -> Result<Flow> {
        frame.fill(T::default());
        Ok(Flow::Next)
    }
    fn replica(&self) -> Option<Self> {
        Some(Self { ..*self })
    }
}

/// Makes empty frames.
struct BlankVar<T> {
    capacity: usize,
    element: std::marker::PhantomData<fn() -> T>,
}

impl<T: Element> Task for BlankVar<T> {
    type In = ();
    type Out = OutVar<T>;
    fn name(&self) -> String {
        "blank".to_owned()
    }
    fn lens(&self, (): ()) -> Result<usize> {
        Ok(self.capacity)
    }
    fn run(&mut self, (): (), _: VarFrame<'_, T>) -> Result<Flow> {
        Ok(Flow::Next)
    }
    fn replica(&self) -> Option<Self> {
        Some(Self { ..*self })
    }
}
