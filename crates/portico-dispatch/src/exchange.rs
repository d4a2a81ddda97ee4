//! A request that has not been answered completely: where it is, and its records as long as another member may get them.

use std::sync::Arc;

use crate::QueueId;
use crate::client::{Hold, MemberIndex};
use crate::flow::Flow;
use crate::framing::AnswerState;
use crate::host_wide::{MemberLoad, Place};
use crate::request::RequestTraits;
use crate::uploads::Upload;

/// A request that has not been answered completely.
#[derive(Debug)]
pub(crate) struct Exchange {
    pub(crate) sequence: u32,
    pub(crate) queue: QueueId,
    pub(crate) traits: RequestTraits,
    stage: Stage,
    /// Whether more of its body is to come.
    receiving: bool,
    /// Who wants no more of it for now.
    hold: Hold,
    /// Since when its member owes the head of the answer: it was given the request, or a part of its body, then.
    since_ms: u64,
    /// How far its answer is.
    pub(crate) answer: AnswerState,
    /// Output that has been taken for it.
    pub(crate) flow: Flow,
    /// Its records: all while it waits, only the head's where it may be tried again, else none.
    records: Vec<u8>,
    /// Its place among the requests that no member has taken, while it waits.
    place: Option<Place>,
    /// Its place among the requests whose body has not arrived.
    upload: Option<Upload>,
}

/// Where a request is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// In its queue.
    Waiting,
    /// An upgrade, which no member gets before all earlier requests are answered: from then on the connection may be its
    /// bytes'.
    Behind,
    /// Dispatched to a member.
    With(MemberIndex),
}

impl Exchange {
    /// A request that has come, and waits for a member.
    pub(crate) fn new(sequence: u32, queue: QueueId, traits: RequestTraits, now_ms: u64) -> Self {
        Self {
            sequence,
            queue,
            traits,
            stage: Stage::Waiting,
            receiving: !traits.complete,
            hold: Hold::default(),
            since_ms: now_ms,
            answer: AnswerState::Awaited,
            flow: Flow::default(),
            records: Vec::new(),
            place: None,
            upload: None,
        }
    }

    /// The same of an upgrade, until all earlier requests are answered.
    pub(crate) fn behind_others(self, records: &[u8]) -> Self {
        Self {
            stage: Stage::Behind,
            records: records.to_vec(),
            ..self
        }
    }

    /// Where it is.
    pub(crate) fn stage(&self) -> Stage {
        self.stage
    }

    /// The member that has it.
    pub(crate) fn member(&self) -> Option<MemberIndex> {
        match self.stage {
            Stage::With(index) => Some(index),
            Stage::Waiting | Stage::Behind => None,
        }
    }

    /// Whether this member has it.
    pub(crate) fn is_with(&self, index: MemberIndex) -> bool {
        self.stage == Stage::With(index)
    }

    /// Whether it is in its queue, or on its way there.
    pub(crate) fn is_waiting(&self) -> bool {
        self.stage == Stage::Waiting
    }

    /// All earlier requests are answered: it waits for a member now. Returns its records.
    pub(crate) fn come_forward(&mut self) -> Vec<u8> {
        self.stage = Stage::Waiting;
        self.take_records()
    }

    /// A member gets it.
    pub(crate) fn give_to(
        &mut self,
        index: MemberIndex,
        load: Option<&Arc<MemberLoad>>,
        now_ms: u64,
    ) {
        self.stage = Stage::With(index);
        self.since_ms = now_ms;
        self.records = Vec::new();
        if let (Some(upload), Some(load)) = (&mut self.upload, load) {
            upload.is_with(load);
        }
    }

    /// Since when its member owes the head of the answer.
    pub(crate) fn since_ms(&self) -> u64 {
        self.since_ms
    }

    /// Whether more of its body is to come.
    pub(crate) fn is_receiving(&self) -> bool {
        self.receiving
    }

    /// A part of its body has come: its member owes the answer's head since now.
    pub(crate) fn note_body(&mut self, now_ms: u64) {
        self.since_ms = now_ms;
    }

    /// Who wants no more of its body for now; `None` if none is to come.
    pub(crate) fn body_hold(&mut self) -> Option<&mut Hold> {
        self.receiving.then_some(&mut self.hold)
    }

    /// Its hold, for the rest of its body.
    pub(crate) fn hold(&self) -> Hold {
        self.hold
    }

    /// Nothing holds its body any more.
    pub(crate) fn forget_hold(&mut self) {
        self.hold = Hold::default();
    }

    /// It has a place among those that no member has taken.
    pub(crate) fn take_place(&mut self, place: Place) {
        self.place = Some(place);
    }

    /// That place is free.
    pub(crate) fn release_place(&mut self) {
        self.place = None;
    }

    /// It has a place among those whose body has not arrived.
    pub(crate) fn take_upload(&mut self, place: Option<Upload>) {
        self.upload = place;
    }

    /// Whether it has one.
    pub(crate) fn is_upload(&self) -> bool {
        self.upload.is_some()
    }

    /// That place is free.
    pub(crate) fn release_upload(&mut self) {
        self.upload = None;
    }

    /// Its member is gone: another may have it, with the records that the member had not taken, or with those that are
    /// kept. False: it is lost.
    pub(crate) fn take_back(&mut self, untaken: Option<Vec<u8>>) -> bool {
        if let Some(records) = untaken {
            self.records = records;
        } else if self.records.is_empty() {
            return false;
        }
        self.stage = Stage::Waiting;
        self.answer = AnswerState::Awaited;
        self.flow = Flow::default();
        true
    }

    /// Keeps the records that make it known to a member.
    pub(crate) fn keep_records(&mut self, records: Vec<u8>) {
        self.records = records;
    }

    /// Adds a part of its body to them. Returns how many bytes they are.
    pub(crate) fn append_record(&mut self, record: &[u8]) -> usize {
        self.records.extend_from_slice(record);
        self.records.len()
    }

    pub(crate) fn take_records(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.records)
    }

    /// No more of its body comes: nothing holds that, and its place among uploads is free.
    pub(crate) fn end_body(&mut self) {
        self.receiving = false;
        self.forget_hold();
        self.release_upload();
    }
}
