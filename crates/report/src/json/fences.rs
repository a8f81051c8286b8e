//! The fences that a checked program needs, as JSON.

use serde::Serialize;

use super::check::PlaceObject;

/// The schema of inferred fences.
pub const FENCES_SCHEMA: &str = "fencepost-fences/1";

/// The fences that a program needs to be store-buffer safe.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct FencesObject {
    /// [`FENCES_SCHEMA`].
    pub schema: &'static str,
    /// `fences`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// `needed`, `not-needed` or `unknown`.
    pub result: &'static str,
    /// Whether the program is verified with them.
    pub verified: bool,
    /// The fences, in the order of the source.
    pub fences: Vec<FenceObject>,
}

/// A fence that is missing.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct FenceObject {
    /// The operation before which the fence belongs.
    pub before: PlaceObject,
    /// Whether the fence belongs before each operation inside the call there.
    pub inside: bool,
    /// `fence(Ordering::SeqCst)` or `fence(Ordering::Release)`.
    pub fence: &'static str,
    /// An ordering that replaces the fence, or null.
    pub instead: Option<InsteadObject>,
}

/// A stronger ordering that replaces a fence.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct InsteadObject {
    /// `SeqCst` for `store`, or `Release` for `write`.
    pub ordering: &'static str,
    /// The store.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub store: Option<PlaceObject>,
    /// The write, which is where the fence would be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write: Option<PlaceObject>,
}
