//! The execution so far: its events, their order, and the races between them.
//!
//! The events are on a stack. Each has a vector clock of the dependence order (program order,
//! conflicts on objects, spawning and joining), and links that undo what it changed, so that the
//! explorer can rewind the end of an execution and continue differently without computing the
//! prefix again. A join is no event, since it commutes with everything: it only adds to the clock
//! of the joining thread.
//!
//! This order is not the monitors' happens-before and is not shared with them. It has edges that
//! are no memory accesses: a spinning thread continues because something that it read was
//! overwritten, or a thread was joined. As happens-before such edges would give false alarms.

use fencepost_memory::{Address, LocationId, ThreadId};

use crate::dpor::footprint::{Footprint, bit_of};
use crate::program::{Condition, Intent, Round, Touch, TouchKind};

/// The missing index: of an event, a link or a row.
pub(crate) const NONE: u32 = u32::MAX;

/// The width of a row is a multiple of this, so that merging two rows has no remainder.
const CHUNK: usize = 4;

/// One touch of an object, linked to those before it.
#[derive(Clone, Debug)]
pub(crate) struct Link {
    pub(crate) touch: Touch,
    /// The event that the touch belongs to.
    pub(crate) event: u32,
    /// The previous link on the same object.
    previous: u32,
    /// The last write and the last update before it on the same object.
    previous_write: u32,
    previous_update: u32,
}

/// A race: two dependent events with no event ordered between them, of which the later one could
/// come first.
#[derive(Clone, Debug)]
pub(crate) struct Race {
    /// The positions of the two events. For an operation that is blocked at the end, the later one
    /// is the length of the execution.
    pub(crate) earlier: u32,
    pub(crate) later: u32,
    /// The object on which they race, and its state before the earlier one.
    pub(crate) object: Address,
    pub(crate) before: u64,
    /// Whether the reversed order is covered in every execution with the same prefix.
    pub(crate) is_settled: bool,
}

/// One operation of the execution.
#[derive(Clone, Debug)]
pub(crate) struct Event {
    pub(crate) thread: ThreadId,
    /// The index of the event in its thread, from 1.
    pub(crate) index: u32,
    pub(crate) intent: Intent,
    pub(crate) outcome: u32,
    pub(crate) outcomes: u32,
    /// Whether it is a hint that was performed because no thread was enabled.
    pub(crate) is_forced: bool,
    /// For a hint: how often in a row the thread has found nothing changed.
    pub(crate) repeats: u32,
    /// The source location of a hint.
    pub(crate) location: Option<LocationId>,
    /// The previous event of the same thread.
    pub(crate) previous: u32,
    /// The rows of the clock of the event, and of its thread before it.
    row: u32,
    known: u32,
    links: (u32, u32),
    /// The number of links of objects that it has touched. The others are of its learned footprint.
    own_links: u32,
    /// A filter of the objects that it touches.
    pub(crate) objects: u64,
    first_race: u32,
    /// The index in `spawns` of the first thread that it spawned.
    spawns: u32,
    /// Whether a thread began to wait for others, joined some or spawned some in this step.
    pub(crate) moves_joins: bool,
    /// Whether the thread had come back to the same state after the event.
    pub(crate) round_after: Round,
}

#[derive(Clone, Copy, Debug)]
struct LastTouches {
    last: u32,
    last_write: u32,
    last_update: u32,
}

const UNTOUCHED: LastTouches = LastTouches {
    last: NONE,
    last_write: NONE,
    last_update: NONE,
};

/// A join that was performed.
#[derive(Clone, Copy, Debug)]
struct JoinedThread {
    by: ThreadId,
    /// The row of the joining thread before the join.
    known: u32,
    /// The number of events before the join.
    events: u32,
}

/// One performed operation, for [`ExecutionLog::push`].
pub(crate) struct NewEvent<'a> {
    pub(crate) thread: ThreadId,
    pub(crate) intent: &'a Intent,
    pub(crate) outcome: u32,
    pub(crate) outcomes: u32,
    pub(crate) is_forced: bool,
    pub(crate) repeats: u32,
    pub(crate) location: Option<LocationId>,
    pub(crate) touches: &'a [Touch],
    /// The number of objects that the operation has touched. The others are of its learned
    /// footprint.
    pub(crate) own_touches: usize,
    /// For a hint: what the thread has read in its loop, with the states that it read in `after`.
    pub(crate) spin_reads: &'a [Touch],
    pub(crate) spawned: &'a [ThreadId],
    pub(crate) round_after: Round,
}

/// The execution so far.
#[derive(Default)]
pub(crate) struct ExecutionLog {
    events: Vec<Event>,
    links: Vec<Link>,
    races: Vec<Race>,
    /// Threads in the order in which they were spawned, without those spawned before the first
    /// event.
    spawns: Vec<ThreadId>,
    /// One row per event and per join.
    clocks: Vec<u32>,
    /// The number of rows, and their width.
    rows: u32,
    width: usize,
    joins: Vec<JoinedThread>,
    last_of_thread: Vec<u32>,
    /// The row of the clock of each thread.
    known: Vec<u32>,
    objects: Vec<LastTouches>,
    finds_races: bool,
    /// A buffer for merging rows.
    row: Vec<u32>,
}

impl ExecutionLog {
    pub(crate) fn new(finds_races: bool) -> Self {
        ExecutionLog {
            finds_races,
            ..ExecutionLog::default()
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.events.len()
    }

    pub(crate) fn events(&self) -> &[Event] {
        &self.events
    }

    pub(crate) fn event(&self, position: u32) -> &Event {
        &self.events[position as usize]
    }

    #[inline]
    pub(crate) fn links(&self, position: u32) -> &[Link] {
        let (from, to) = self.events[position as usize].links;
        &self.links[from as usize..to as usize]
    }

    /// The links of objects that the operation has touched, without those of its learned footprint.
    pub(crate) fn own_links(&self, position: u32) -> &[Link] {
        &self.links(position)[..self.events[position as usize].own_links as usize]
    }

    /// The event that wrote the object last before this touch.
    pub(crate) fn write_before(&self, link: &Link) -> Option<u32> {
        let write = self.links.get(link.previous_write as usize)?;
        Some(write.event)
    }

    /// The thread that wrote the object last before this touch.
    pub(crate) fn writer_before(&self, link: &Link) -> Option<ThreadId> {
        let event = self.write_before(link)?;
        Some(self.event(event).thread)
    }

    #[inline]
    pub(crate) fn links_mut(&mut self, position: u32) -> &mut [Link] {
        let (from, to) = self.events[position as usize].links;
        &mut self.links[from as usize..to as usize]
    }

    pub(crate) fn race_count(&self) -> usize {
        self.races.len()
    }

    pub(crate) fn race(&self, number: usize) -> &Race {
        &self.races[number]
    }

    pub(crate) fn settle(&mut self, number: usize) {
        self.races[number].is_settled = true;
    }

    /// The last event of a thread.
    #[inline]
    pub(crate) fn last_of(&self, thread: ThreadId) -> u32 {
        self.last_of_thread
            .get(thread.index())
            .copied()
            .unwrap_or(NONE)
    }

    pub(crate) fn clock(&self, position: u32) -> &[u32] {
        self.row(self.events[position as usize].row)
    }

    #[inline]
    fn row(&self, row: u32) -> &[u32] {
        &self.clocks[row as usize * self.width..][..self.width]
    }

    /// Whether `earlier` happens before `later` or is the same event.
    #[inline]
    pub(crate) fn precedes(&self, earlier: u32, later: u32) -> bool {
        self.is_in_row(earlier, self.events[later as usize].row)
    }

    /// Returns a test whether an event happens after the one at `earlier` or is the same, to be
    /// applied to many events.
    #[inline]
    pub(crate) fn happens_after(&self, earlier: u32) -> impl Fn(&Event) -> bool + '_ {
        let earlier = &self.events[earlier as usize];
        let (thread, index) = (earlier.thread.index(), earlier.index);
        let (clocks, width) = (self.clocks.as_slice(), self.width);
        move |event| clocks[event.row as usize * width + thread] >= index
    }

    #[inline]
    fn is_in_row(&self, event: u32, row: u32) -> bool {
        let event = &self.events[event as usize];
        self.clocks[row as usize * self.width + event.thread.index()] >= event.index
    }

    /// Whether an event happens before the end of a thread: before its last event, before it was
    /// spawned, or before the end of a thread that it joined.
    #[inline]
    pub(crate) fn precedes_end_of(&self, earlier: u32, thread: ThreadId) -> bool {
        match self.known_to(thread) {
            NONE => false,
            known => self.is_in_row(earlier, known),
        }
    }

    /// As [`precedes_end_of`](Self::precedes_end_of), for the thread of the event at `position`
    /// right before that event.
    #[inline]
    pub(crate) fn is_known_before(&self, earlier: u32, position: u32) -> bool {
        match self.events[position as usize].known {
            NONE => false,
            known => self.is_in_row(earlier, known),
        }
    }

    /// The row of the current clock of a thread.
    #[inline]
    fn known_to(&self, thread: ThreadId) -> u32 {
        self.known.get(thread.index()).copied().unwrap_or(NONE)
    }

    /// Whether a thread has joined another since its event at `position`, and before its next one.
    pub(crate) fn has_joined_after(&self, position: u32, next: Option<u32>) -> bool {
        let event = &self.events[position as usize];
        let known = match next {
            Some(next) => self.events[next as usize].known,
            None => self.known_to(event.thread),
        };
        known != event.row
    }

    #[inline]
    pub(crate) fn footprint(&self, position: u32) -> Footprint {
        let mut footprint = Footprint::empty(false);
        self.copy_footprint(position, &mut footprint);
        footprint
    }

    /// Copies the footprint of an event.
    #[inline]
    pub(crate) fn copy_footprint(&self, position: u32, footprint: &mut Footprint) {
        let event = &self.events[position as usize];
        footprint.clear();
        for link in self.links(position) {
            footprint.push(link.touch.object, link.touch.kind);
        }
        footprint.is_barrier = event.is_forced;
        // The footprint of a hint depends on what the thread has read.
        footprint.is_exact = !event.intent.is_hint();
    }

    /// Whether the event depends on an operation with this footprint.
    #[inline]
    pub(crate) fn depends(&self, position: u32, footprint: &Footprint) -> bool {
        let event = &self.events[position as usize];
        let conflicts = |l: &Link| footprint.conflicts_with(l.touch.object, l.touch.kind);
        footprint.is_barrier
            || event.is_forced
            || footprint.may_meet(event.objects) && self.links(position).iter().any(conflicts)
    }

    /// Reserves rows for a thread and for those that it spawns.
    #[inline]
    fn reserve(&mut self, thread: ThreadId, spawned: &[ThreadId]) {
        let highest = spawned
            .iter()
            .fold(thread, |highest, &other| highest.max(other));
        if self.known.len() <= highest.index() {
            self.reserve_threads(highest.index() + 1);
        }
    }

    /// Reserves rows for all threads below `bound`.
    #[cold]
    fn reserve_threads(&mut self, bound: usize) {
        self.last_of_thread.resize(bound, NONE);
        self.known.resize(bound, NONE);
        if bound <= self.width {
            return;
        }
        let width = bound.max(self.width * 3 / 2).next_multiple_of(CHUNK);
        let mut clocks = vec![0; self.rows as usize * width];
        if self.width > 0 {
            let old = self.clocks.chunks_exact(self.width);
            for (new, old) in clocks.chunks_exact_mut(width).zip(old) {
                new[..self.width].copy_from_slice(old);
            }
        }
        self.clocks = clocks;
        self.width = width;
    }

    #[inline]
    fn object(&self, object: Address) -> LastTouches {
        let end = self.objects.get(object.index());
        end.copied().unwrap_or(UNTOUCHED)
    }

    /// Adds the next event and finds its races.
    // Called from one place, where most fields are constants.
    #[inline(always)]
    pub(crate) fn push(&mut self, new: NewEvent<'_>) {
        self.reserve(new.thread, new.spawned);
        let position = self.events.len() as u32;
        let previous = self.last_of(new.thread);
        let index = match previous {
            NONE => 1,
            previous => self.events[previous as usize].index + 1,
        };
        let first_link = self.links.len() as u32;
        let first_race = self.races.len() as u32;
        // A hint that is forced now could have continued earlier, while what it read had another
        // state.
        if self.finds_races {
            let touches = match new.intent {
                Intent::SpinHint => new.spin_reads,
                _ => new.touches,
            };
            self.find_races(new.thread, new.intent, touches);
        }
        // The clock: that of its thread, merged with those of its dependencies.
        let (row, known) = (self.rows, self.known_to(new.thread));
        self.push_row(known);
        let own = row as usize * self.width + new.thread.index();
        self.clocks[own] = index;
        if new.is_forced {
            for thread in 0..self.known.len() {
                self.join_into_last(self.known[thread]);
            }
        }
        for touch in new.touches {
            let link = self.last_link(touch.object, touch.kind);
            if link != NONE {
                self.join_dependencies(touch, link);
            }
        }
        let mut objects = 0;
        for &touch in new.touches {
            objects |= bit_of(touch.object);
            self.link(position, touch);
        }
        let spawns = self.spawns.len() as u32;
        for &thread in new.spawned {
            self.spawns.push(thread);
            self.known[thread.index()] = row;
        }
        self.last_of_thread[new.thread.index()] = position;
        self.known[new.thread.index()] = row;
        self.events.push(Event {
            thread: new.thread,
            index,
            intent: *new.intent,
            outcome: new.outcome,
            outcomes: new.outcomes,
            is_forced: new.is_forced,
            repeats: new.repeats,
            location: new.location,
            previous,
            row,
            known,
            links: (first_link, self.links.len() as u32),
            own_links: new.own_touches as u32,
            objects,
            first_race,
            spawns,
            moves_joins: false,
            round_after: new.round_after,
        });
    }

    /// Adds a join: a thread has joined others, and then spawned these threads.
    pub(crate) fn join(&mut self, by: ThreadId, ended: &[ThreadId], spawned: &[ThreadId]) {
        self.reserve(by, spawned);
        let (row, known) = (self.rows, self.known_to(by));
        self.push_row(known);
        for &ended in ended {
            self.join_into_last(self.known_to(ended));
        }
        self.joins.push(JoinedThread {
            by,
            known,
            events: self.events.len() as u32,
        });
        self.known[by.index()] = row;
        for &thread in spawned {
            self.spawns.push(thread);
            self.known[thread.index()] = row;
        }
    }

    /// Adds a copy of a row.
    #[inline]
    fn push_row(&mut self, known: u32) {
        self.rows += 1;
        match known {
            NONE => self.clocks.resize(self.clocks.len() + self.width, 0),
            known => {
                let from = known as usize * self.width;
                self.clocks.extend_from_within(from..from + self.width);
            }
        }
    }

    #[inline]
    fn link(&mut self, event: u32, touch: Touch) {
        let index = touch.object.index();
        if self.objects.len() <= index {
            self.objects.resize(index + 1, UNTOUCHED);
        }
        let end = &mut self.objects[index];
        let number = self.links.len() as u32;
        self.links.push(Link {
            touch,
            event,
            previous: end.last,
            previous_write: end.last_write,
            previous_update: end.last_update,
        });
        end.last = number;
        match touch.kind {
            TouchKind::Read => {}
            TouchKind::Update => end.last_update = number,
            TouchKind::Write => end.last_write = number,
        }
    }

    /// Sets [`Event::moves_joins`] of the last event.
    pub(crate) fn note_moved_joins(&mut self) {
        let event = self.events.last_mut().expect("there is an event");
        event.moves_joins = true;
    }

    /// Removes the last event.
    pub(crate) fn pop(&mut self) {
        self.truncate(self.events.len() - 1);
    }

    /// Removes all events after the first `length`.
    pub(crate) fn truncate(&mut self, length: usize) {
        let Some(first) = self.events.get(length) else {
            return;
        };
        let (row, first_race, (first_link, _)) = (first.row, first.first_race, first.links);
        for position in (length..self.events.len()).rev() {
            let event = &self.events[position];
            let (from, to) = event.links;
            for link in self.links[from as usize..to as usize].iter().rev() {
                self.objects[link.touch.object.index()] = LastTouches {
                    last: link.previous,
                    last_write: link.previous_write,
                    last_update: link.previous_update,
                };
            }
            while let Some(join) = self.joins.last() {
                if join.events <= position as u32 {
                    break;
                }
                self.known[join.by.index()] = join.known;
                self.joins.pop();
            }
            while self.spawns.len() > event.spawns as usize {
                let thread = self.spawns.pop().expect("it is longer");
                self.known[thread.index()] = NONE;
            }
            self.last_of_thread[event.thread.index()] = event.previous;
            self.known[event.thread.index()] = event.known;
        }
        self.events.truncate(length);
        self.links.truncate(first_link as usize);
        self.races.truncate(first_race as usize);
        self.rows = row;
        self.clocks.truncate(row as usize * self.width);
    }

    /// Removes all events.
    pub(crate) fn clear(&mut self) {
        self.events.clear();
        self.links.clear();
        self.races.clear();
        self.spawns.clear();
        self.clocks.clear();
        self.rows = 0;
        self.last_of_thread.fill(NONE);
        self.joins.clear();
        self.known.fill(NONE);
        self.objects.fill(UNTOUCHED);
    }

    /// Merges a row into the last one.
    #[inline]
    fn join_into_last(&mut self, row: u32) {
        if row == NONE {
            return;
        }
        let last_row = self.clocks.len() - self.width;
        let (rows, last) = self.clocks.split_at_mut(last_row);
        let from = &rows[row as usize * self.width..][..self.width];
        let chunks = last.chunks_exact_mut(CHUNK).zip(from.chunks_exact(CHUNK));
        for (into, from) in chunks {
            let into: &mut [u32; CHUNK] = into.try_into().expect("a chunk of that length");
            let from: &[u32; CHUNK] = from.try_into().expect("a chunk of that length");
            *into = std::array::from_fn(|i| into[i].max(from[i]));
        }
    }

    /// The last link on an object on which a touch of this kind may depend.
    #[inline]
    fn last_link(&self, object: Address, kind: TouchKind) -> u32 {
        let end = self.object(object);
        match kind {
            // A read depends on updates and writes only, and most objects have no updates.
            TouchKind::Read if end.last_update == NONE => end.last_write,
            _ => end.last,
        }
    }

    /// Merges the clocks of the events on which a touch depends into the last row: those with the
    /// link `last` and the links before it.
    fn join_dependencies(&mut self, touch: &Touch, last: u32) {
        let mut link = last;
        while link != NONE {
            let Link {
                touch: earlier,
                event,
                previous,
                ..
            } = self.links[link as usize];
            if touch.kind.conflicts_with(earlier.kind) {
                let by = &self.events[event as usize];
                let last_row = self.clocks.len() - self.width;
                if self.clocks[last_row + by.thread.index()] < by.index {
                    self.join_into_last(by.row);
                }
            }
            if earlier.kind == TouchKind::Write {
                break;
            }
            link = previous;
        }
    }
}

/// Finding races.
impl ExecutionLog {
    /// Adds the races of the next operation, or of one that is blocked at the end.
    // In most cases there is one object without races.
    #[inline(always)]
    fn find_races(&mut self, thread: ThreadId, intent: &Intent, touches: &[Touch]) {
        let first = self.races.len();
        match *intent {
            Intent::Local | Intent::Join(_) | Intent::Stopped => return,
            Intent::SpinHint => self.find_races_of_hint(thread, touches),
            Intent::Access { awaits, object, .. } => {
                for touch in touches {
                    let link = self.last_link(touch.object, touch.kind);
                    if link != NONE {
                        let awaits = awaits.filter(|_| touch.object == object);
                        self.find_races_on(thread, touch.kind, awaits, link);
                    }
                }
            }
        }
        if self.races.len() > first + 1 {
            self.drop_ordered_races(first);
        }
    }

    /// The races of the operation that a blocked thread is about to do.
    pub(crate) fn races_of_blocked(
        &mut self,
        thread: ThreadId,
        intent: Intent,
        spin_reads: &[Touch],
    ) -> Vec<Race> {
        let first = self.races.len();
        match intent {
            Intent::SpinHint => self.find_races(thread, &intent, spin_reads),
            Intent::Access { object, effect, .. } => {
                let touch = Touch {
                    object,
                    kind: effect.strongest_touch(),
                    before: 0,
                    after: 0,
                };
                self.find_races(thread, &intent, &[touch]);
            }
            Intent::Local | Intent::Join(_) | Intent::Stopped => {}
        }
        self.races.split_off(first)
    }

    /// Adds a race with the event of this link. It may be dropped later.
    fn add_candidate(&mut self, link: u32) {
        let Link { touch, event, .. } = self.links[link as usize];
        self.races.push(Race {
            earlier: event,
            later: self.events.len() as u32,
            object: touch.object,
            before: touch.before,
            is_settled: false,
        });
    }

    /// Adds the events on one object that the operation may race with, latest first: those with the
    /// link `last` and the links before it.
    fn find_races_on(
        &mut self,
        thread: ThreadId,
        kind: TouchKind,
        awaits: Option<Condition>,
        last: u32,
    ) {
        let mut link = last;
        // The links after the last write. If one of them is dependent, it orders the last write
        // before the operation.
        let mut is_write_ordered = false;
        while link != NONE && self.links[link as usize].touch.kind != TouchKind::Write {
            let Link {
                touch,
                event,
                previous,
                ..
            } = self.links[link as usize];
            let is_possible = awaits.is_none_or(|condition| condition.holds(touch.before));
            if kind.conflicts_with(touch.kind) && is_possible {
                is_write_ordered = true;
                if !self.precedes_end_of(event, thread) {
                    self.add_candidate(link);
                }
            }
            link = previous;
        }
        if is_write_ordered {
            return;
        }
        // An operation that waits could not come before the event that enabled it. It races with
        // the latest event before which it was enabled.
        while link != NONE {
            let Link {
                touch,
                event,
                previous,
                ..
            } = self.links[link as usize];
            if self.precedes_end_of(event, thread) {
                return;
            }
            if awaits.is_none_or(|condition| condition.holds(touch.before)) {
                self.add_candidate(link);
                return;
            }
            link = previous;
        }
    }

    /// A hint continues if an object that its thread has read has another state than it read
    /// (`after` of the touch). It races with a write if it could continue without that write and
    /// everything that depends on it. The state without an update is not known, so it races with
    /// each update.
    fn find_races_of_hint(&mut self, thread: ThreadId, spin_reads: &[Touch]) {
        for touch in spin_reads {
            let end = self.object(touch.object);
            if end.last_update != NONE {
                self.add_all_changes(thread, end.last);
                continue;
            }
            let mut link = end.last_write;
            while link != NONE {
                let event = self.links[link as usize].event;
                if self.precedes_end_of(event, thread) {
                    break;
                }
                if self.is_released_without(event, spin_reads) {
                    self.add_candidate(link);
                    break;
                }
                link = self.links[link as usize].previous_write;
            }
        }
    }

    /// Adds all writes and updates from the link `last` back.
    fn add_all_changes(&mut self, thread: ThreadId, last: u32) {
        let mut link = last;
        while link != NONE {
            let Link {
                touch,
                event,
                previous,
                ..
            } = self.links[link as usize];
            if touch.kind != TouchKind::Read && !self.precedes_end_of(event, thread) {
                self.add_candidate(link);
            }
            link = previous;
        }
    }

    /// Whether a hint could continue without an event and everything that depends on it.
    fn is_released_without(&self, event: u32, spin_reads: &[Touch]) -> bool {
        spin_reads.iter().any(|touch| {
            if self.object(touch.object).last_update != NONE {
                return true;
            }
            let mut link = self.object(touch.object).last_write;
            let mut state = None;
            while link != NONE {
                let write = &self.links[link as usize];
                if !self.precedes(event, write.event) {
                    state = Some(write.touch.after);
                    break;
                }
                state = Some(write.touch.before);
                link = write.previous_write;
            }
            state.is_some_and(|state| state != touch.after)
        })
    }

    /// Of the races from `first` on, drops those whose earlier event happens before that of another
    /// one.
    fn drop_ordered_races(&mut self, first: usize) {
        self.races[first..].sort_by_key(|race| std::cmp::Reverse(race.earlier));
        let mut row = std::mem::take(&mut self.row);
        row.clear();
        row.resize(self.width, 0);
        let mut kept = first;
        for number in first..self.races.len() {
            let earlier = self.races[number].earlier;
            let event = &self.events[earlier as usize];
            // This also drops a second race with the same event.
            if row[event.thread.index()] >= event.index {
                continue;
            }
            for (into, from) in row.iter_mut().zip(self.clock(earlier)) {
                *into = (*into).max(*from);
            }
            self.races.swap(kept, number);
            kept += 1;
        }
        self.races.truncate(kept);
        self.row = row;
    }
}
