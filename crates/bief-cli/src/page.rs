//! The live page of a run: the same option in every command that runs a chain.

use bief::{Pipeline, Planned};
use bief_page::{Page, PageAddress, Shown};
use clap::Args;

use crate::failure::{Failure, say};
use crate::interrupt::stopped_elsewhere;
use crate::status::Status;

/// The page, if one is wanted.
#[derive(Args)]
pub(crate) struct PageArgs {
    /// Show the run in a browser while it goes on, and its metrics: at port 8090 for this machine alone, or at ADDRESS, as :PORT,
    /// HOST:PORT or *:PORT for whoever reaches it
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, require_equals = true, default_missing_value = ":8090")]
    page: Option<PageAddress>,
}

impl PageArgs {
    pub(crate) fn is_given(&self) -> bool {
        self.page.is_some()
    }

    /// Takes the address, before anything long is done.
    pub(crate) fn bind(&self) -> Result<Option<Page>, Failure> {
        let bound = self.page.as_ref().map(Page::bind).transpose();
        bound.map_err(|error| Failure::from_error(error).with(Status::TryAgain))
    }
}

/// Shows a run of this name, and says where; `planned` where its plan follows it.
pub(crate) fn show(
    page: Option<Page>,
    name: impl Into<String>,
    pipeline: &mut Pipeline,
    planned: Option<&Planned>,
) -> Result<Option<Shown>, Failure> {
    let Some(page) = page else { return Ok(None) };
    let page = planned.into_iter().fold(page.title(name), |page, planned| page.replan(planned.goal_handle()));
    let url = page.url();
    let shown = page.show(pipeline).map_err(Failure::from_error)?;
    say(format_args!("page: {url}"));
    Ok(Some(shown))
}

/// Closes the page when the run is over; tells whether someone stopped it there, which counts as SIGTERM.
pub(crate) fn close(shown: Option<Shown>) -> bool {
    let was_stopped = shown.is_some_and(|shown| shown.was_stopped());
    if was_stopped {
        stopped_elsewhere();
    }
    was_stopped
}
