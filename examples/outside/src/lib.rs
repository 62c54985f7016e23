//! The book's chapters, whose code runs as doctests: it sees what the crates show, as a reader's does.

#[cfg(doctest)]
mod book {
    #[doc = include_str!("../../../book/src/writing-a-task.md")]
    mod writing_a_task {}
    #[doc = include_str!("../../../book/src/plan.md")]
    mod plan {}
    #[doc = include_str!("../../../book/src/devices.md")]
    mod devices {}
    #[doc = include_str!("../../../book/src/real-time.md")]
    mod real_time {}
}
