//! Labels for the findings of a rehearsal, the same on the terminal and in JSON.

use schedlab_kernel::contract::Access;
use schedlab_kernel::needs::NeedKind;
use schedlab_kernel::{Change, Confidence, Obstacle, Outcome, Reason, Sign, Verdict};

pub(super) fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Applies => "applies",
        Verdict::Offset => "offset",
        Verdict::Fuzz => "fuzz",
        Verdict::Fails => "fails",
    }
}

/// How reliable a proposal is.
pub fn confidence(confidence: Confidence) -> &'static str {
    match confidence {
        Confidence::Sure => "sure",
        Confidence::Likely => "likely",
        Confidence::Guess => "guess",
    }
}

pub(super) fn obstacle(obstacle: Obstacle) -> &'static str {
    match obstacle {
        Obstacle::NoFile => "the tree has no such file",
        Obstacle::Exists => "the tree has that file already",
    }
}

/// The change of a whole file.
pub(super) fn change(change: Change) -> &'static str {
    match change {
        Change::Modified => "changed",
        Change::Created => "created",
        Change::Deleted => "deleted",
        Change::Renamed => "renamed",
        Change::Copied => "copied",
    }
}

pub(super) fn sign(sign: Sign) -> &'static str {
    match sign {
        Sign::Commit => "same commit",
        Sign::PatchId => "same patch-id",
        Sign::Origin => "names the same origin",
        Sign::Subject => "same subject",
    }
}

pub(super) fn kind(kind: NeedKind) -> &'static str {
    match kind {
        NeedKind::File => "file",
        NeedKind::Header => "header",
        NeedKind::Type => "type",
        NeedKind::Function => "function",
        NeedKind::Field => "field",
        NeedKind::Name => "name",
        NeedKind::Signature => "signature",
    }
}

pub(super) fn access(access: Access) -> &'static str {
    match access {
        Access::Read => "reads",
        Access::Set => "sets",
        Access::Clear => "clears",
        Access::Change => "changes",
        Access::Transfer => "transfers",
    }
}

pub(super) fn outcome(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Present => "present",
        Outcome::Clean => "clean",
        Outcome::Adapted => "adapted",
        Outcome::Part => "part",
        Outcome::LeftOut => "left out",
    }
}

pub(super) fn reason(reason: Reason) -> &'static str {
    match reason {
        Reason::NoFile => "no such file",
        Reason::Exists => "the tree has that file already",
        Reason::Twice => "defines what the file has already",
        Reason::Half => "half of a move",
        Reason::Gone => "changes what the tree lacks",
        Reason::NoPlace => "nothing like it in the file",
        Reason::Guess => "only a guess",
        Reason::Crossed => "another hunk changes the same lines",
        Reason::NoProposal => "no hunk could be made",
        Reason::NotRehearsed => "not rehearsed",
    }
}
