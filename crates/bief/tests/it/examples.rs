//! Every example runs; what it should give is in the test at its end.

#[path = "../../examples/custom_source.rs"]
mod custom_source;
#[path = "../../examples/feedback.rs"]
mod feedback;
#[path = "../../examples/hello.rs"]
mod hello;
#[path = "../../examples/live_source.rs"]
mod live_source;
#[path = "../../examples/replicated_stage.rs"]
mod replicated_stage;
#[path = "../../examples/switch.rs"]
mod switch;
