//! The names of a trace file, for reports.

use fencepost_memory::{Address, LocationId, ThreadId};
use fencepost_report::Naming;
use fencepost_trace::Names;

/// The names of a trace file.
pub struct TraceNames<'a>(pub &'a Names);

impl Naming for TraceNames<'_> {
    fn thread(&self, thread: ThreadId) -> String {
        self.0.thread_name(thread)
    }

    fn address(&self, address: Address) -> String {
        self.0.address_name(address).into_owned()
    }

    fn location(&self, location: LocationId) -> Option<String> {
        self.0.location_name(location).map(str::to_string)
    }
}
