package task

import "fmt"

// A Phase is where a task stands. Names are those of the board.
type Phase uint8

const (
	Queued    Phase = iota // not yet taken up by a backend
	Running                // taken up, no end known
	Stopped                // the backend is quiet, but nothing says how it ended
	Completed              // explicit evidence of a finished answer
	Failed                 // shown as "error"
	Cancelled
)

var phaseNames = [...]string{"queued", "running", "stopped", "completed", "error", "cancelled"}

func (p Phase) String() string { return phaseNames[p] }

// MarshalText implements [encoding.TextMarshaler].
func (p Phase) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (p *Phase) UnmarshalText(b []byte) error {
	for i, name := range phaseNames {
		if name == string(b) {
			*p = Phase(i)
			return nil
		}
	}
	return fmt.Errorf("no phase is called %q", b)
}

// Ended reports an end that is final in its generation.
func (p Phase) Ended() bool { return p >= Completed }

// Closed reports an end or a stop: nothing is running as far as is known.
func (p Phase) Closed() bool { return p >= Stopped }

// A Lease is the right to one remote operation on a task. There is at most one.
type Lease uint8

// The operations that exclude each other.
const (
	NoLease Lease = iota
	Cancelling
	Reviving
	Messaging
)

// Quiet says how far the proof of rest has come: two observations of quiet, at
// least the grace apart, with no sign of life between.
type Quiet uint8

// The steps of the proof.
const (
	Lively    Quiet = iota
	Candidate       // seen quiet once
	Ripe            // and the grace has passed since
)

// MaxWaiting is how many messages a task may have that it hasn't read yet.
const MaxWaiting = 2

// A Job is the state of a task. It is comparable, so that a checker can keep
// every reachable one in a map.
type Job struct {
	Gen       uint32 `json:"gen"` // number of the run, from 1
	Phase     Phase  `json:"phase"`
	Rev       uint32 `json:"rev"`                 // number of the publication inside the generation
	Acked     bool   `json:"acked,omitempty"`     // the parent has consumed publication Rev
	Owed      bool   `json:"owed,omitempty"`      // a notice of Rev waits for the parent
	Uncertain bool   `json:"uncertain,omitempty"` // what we show may be wrong
	CancelReq bool   `json:"cancelReq,omitempty"` // somebody wants it to end
	Deadline  bool   `json:"deadline,omitempty"`  // its time is over
	Quiet     Quiet  `json:"quiet,omitempty"`
	Lease     Lease  `json:"lease,omitempty"`
	Unknown   bool   `json:"unknown,omitempty"`  // the lease's operation never answered: quarantined
	Waiting   uint8  `json:"waiting,omitempty"`  // messages accepted and not known to be read
	Returned  uint8  `json:"returned,omitempty"` // messages handed back unread in this generation
	Slot      bool   `json:"slot,omitempty"`     // counts against the limits of concurrency
	LateBusy  bool   `json:"lateBusy,omitempty"` // life seen while a revive was under way
}

// A Kind is a kind of event.
type Kind uint8

// Events. Every one but Restarted is about one generation and changes nothing
// in another.
const (
	Granted       Kind = iota // a slot is free for it
	Admitted                  // the backend took the prompt
	Refused                   // the backend refused the prompt
	Busy                      // seen at work, or waiting for its provider
	Silent                    // seen at rest
	Unreadable                // could not be seen
	GraceOver                 // the grace has passed since the first Silent
	Gone                      // its process is known to have ended, without an end of the run
	Done                      // evidence: completed
	Erred                     // evidence: failed
	Aborted                   // evidence: aborted by somebody
	Deleted                   // its session is gone
	TimeOver                  // the wall clock limit
	AbortOver                 // the time that an abort after TimeOver may take
	WantCancel                // wants Cancelling
	AbortDone                 // aborted, and proven to rest
	AbortFailed               // the abort was refused, or it is still busy
	AbortHung                 // the abort never answered
	Settled                   // an operation that hung came to nothing
	Acknowledged              // the parent consumed publication Rev
	WantRevive                // wants Reviving
	ReviveDone                // the backend took the new prompt
	ReviveFailed              // and refused it
	ReviveHung                // and never answered
	WantMessage               // wants Messaging
	MessageDone               // the backend keeps the message
	MessageFailed             // refused it
	MessageHung               // never answered
	MessageRead               // evidence: an answer began after it
	Restarted                 // our process was killed and started again
	kinds
)

// An Event is something that happened to a task.
type Event struct {
	Kind Kind   `json:"kind"`
	Gen  uint32 `json:"gen,omitempty"`
	Rev  uint32 `json:"rev,omitempty"` // of Acknowledged
}

// An Effect is what has to be done about an event, a set of flags.
type Effect uint8

// Effects.
const (
	Publish Effect = 1 << iota // tell the parent of Rev
	Abort                      // end the run
	Refuse                     // the wish is not granted
	Release                    // the slot is free
	Retract                    // the notice told of before is void
)

// Has reports whether x is among the effects.
func (e Effect) Has(x Effect) bool { return e&x != 0 }

// New returns the state of a task that nobody has taken up yet.
func New() Job { return Job{Gen: 1} }

// Apply returns the state after e and what has to be done. It is total: every
// event in every state gives a state.
func Apply(j Job, e Event) (Job, Effect) {
	s := step{Job: j}
	switch {
	case e.Kind == Restarted:
		s.restarted()
	case e.Gen != j.Gen: // another run's news
	case e.Kind <= GraceOver:
		s.observed(e.Kind)
	case e.Kind <= AbortOver:
		s.evidence(e.Kind)
	case e.Kind <= AbortHung:
		s.cancel(e.Kind)
	case e.Kind == Settled:
		s.settled()
	case e.Kind == Acknowledged:
		if s.Owed && e.Rev == s.Rev {
			s.Acked, s.Owed = true, false
		}
	case e.Kind <= ReviveHung:
		s.revive(e.Kind)
	default:
		s.message(e.Kind)
	}
	return s.Job, s.fx
}

type step struct {
	Job
	fx Effect
}

// close ends the run as far as is known, and publishes that. What the run had
// not read by a real end rides on the notice.
func (s *step) close(p Phase) {
	s.Phase, s.Acked, s.Owed, s.Quiet, s.LateBusy = p, false, true, Lively, false
	s.Rev++
	if p.Ended() {
		s.Returned, s.Waiting = s.Returned+s.Waiting, 0
	}
	if s.Slot {
		s.Slot = false
		s.fx |= Release
	}
	s.fx |= Publish
}

// reopen takes back a stop that was not one.
func (s *step) reopen() {
	s.Phase, s.Uncertain, s.Quiet, s.Owed, s.LateBusy, s.Slot = Running, false, Lively, false, false, true
	s.fx |= Retract
}

// restarted drops what only the process knew. An operation that was under way
// has an unknown outcome, which is never taken for an end.
func (s *step) restarted() {
	if s.Lease != NoLease || s.Phase == Running || s.Phase == Queued && s.Slot {
		s.Uncertain = true
	}
	if !s.Phase.Closed() {
		s.Quiet = Lively
	}
	s.Lease, s.Unknown, s.LateBusy = NoLease, false, false
}

// observed handles looks from outside. None of them can tell an end; the most
// that quiet gives is Stopped.
func (s *step) observed(k Kind) {
	switch k {
	case Granted:
		s.Slot = s.Slot || s.Phase == Queued
	case Admitted:
		if s.Phase == Queued && s.Slot {
			s.Phase, s.Uncertain = Running, false
		}
	case Refused:
		if s.Phase == Queued {
			s.close(Failed)
		}
	case Busy:
		s.busy()
	case Silent:
		s.silent()
	case Unreadable:
		if s.Phase == Running || s.Phase == Queued && s.Slot {
			s.Uncertain = true
		}
	case GraceOver:
		if s.Quiet == Candidate {
			s.Quiet = Ripe
		}
	}
}

func (s *step) busy() {
	switch {
	case s.Phase.Ended():
		s.Quiet = Lively // the proof of rest starts again
	case s.Deadline, s.Phase == Queued && !s.Slot:
	case s.Phase != Stopped:
		s.Phase, s.Uncertain, s.Quiet = Running, false, Lively
	case s.Acked: // the parent was told and has acted on it
	case s.Lease == Reviving: // whose life it is shows when the revive is answered
		s.LateBusy = true
	default:
		s.reopen()
	}
}

func (s *step) silent() {
	switch {
	case s.Phase.Closed() && s.Uncertain: // proof of rest makes it safe to revive
		if s.Quiet == Lively {
			s.Quiet = Candidate
		} else if s.Quiet == Ripe {
			s.Uncertain, s.Quiet = false, Lively
		}
	case s.Phase != Running || s.Deadline:
	case s.Quiet == Lively:
		s.Quiet, s.Uncertain = Candidate, true
	case s.Quiet == Ripe && s.Lease != Messaging && s.Lease != Cancelling:
		s.Uncertain = false
		s.close(Stopped)
	}
}

// end returns how a run ends that was aborted or lost its session.
func (s *step) end() Phase {
	if s.CancelReq && !s.Deadline {
		return Cancelled
	}
	return Failed
}

// evidence handles what can end a run, once in a generation.
func (s *step) evidence(k Kind) {
	open := !s.Phase.Closed() && (s.Slot || k == Deleted) || s.Phase == Stopped && !s.Acked
	switch k {
	case Gone:
		if s.Phase == Running && s.Lease != Messaging && s.Lease != Cancelling {
			s.Uncertain = false
			if s.Deadline {
				s.close(Failed)
			} else {
				s.close(Stopped)
			}
		}
	case Done:
		if open && !s.Deadline {
			s.Uncertain = false
			s.close(Completed)
		}
	case Erred:
		if open {
			s.Uncertain = false
			s.close(Failed)
		}
	case Aborted:
		if open {
			s.Uncertain = false
			s.close(s.end())
		}
	case Deleted:
		if !s.Phase.Ended() {
			s.Uncertain = false
			s.close(s.end())
		}
	case TimeOver:
		if s.Phase == Running && !s.Deadline {
			s.Deadline, s.CancelReq = true, true
			s.fx |= Abort
		}
	case AbortOver:
		if s.Phase == Running && s.Deadline {
			s.Uncertain = true
			s.close(Failed)
		}
	}
}

func (s *step) cancel(k Kind) {
	if k == WantCancel {
		switch {
		case s.Lease != NoLease || s.Phase.Closed():
			s.fx |= Refuse
		case s.Phase == Queued && !s.Slot: // nobody knows of it yet
			s.CancelReq = true
			s.close(Cancelled)
		default:
			s.Lease, s.CancelReq = Cancelling, true
			s.fx |= Abort
		}
		return
	}
	if s.Lease != Cancelling {
		return
	}
	open := !s.Phase.Closed()
	if k == AbortHung {
		s.Unknown, s.Uncertain = true, s.Uncertain || open
		return
	}
	s.Lease, s.Unknown = NoLease, false
	switch {
	case !open:
	case k == AbortDone:
		s.Uncertain = false
		s.close(s.end())
	default:
		s.Uncertain, s.CancelReq = true, s.Deadline
	}
}

func (s *step) settled() {
	switch {
	case !s.Unknown:
	case s.Lease == Reviving:
		s.dropRevive()
	default:
		if s.Lease == Cancelling && !s.Phase.Closed() {
			s.CancelReq = s.Deadline
		}
		s.Lease, s.Unknown = NoLease, false
	}
}

func (s *step) revive(k Kind) {
	switch {
	case k == WantRevive:
		if !s.Phase.Closed() || s.Lease != NoLease || s.Uncertain {
			s.fx |= Refuse
		} else {
			s.Lease = Reviving
		}
	case s.Lease != Reviving:
	case k == ReviveDone:
		// What belonged to the last run is reset. Messages that it had not read
		// when it stopped go along with the new prompt.
		s.Job = Job{Gen: s.Gen + 1, Phase: Running, Slot: true, Waiting: s.Waiting}
	case k == ReviveFailed:
		s.dropRevive()
	default:
		s.Unknown = true
	}
}

// dropRevive ends a revive that came to nothing. Life seen meanwhile was then
// the old run's.
func (s *step) dropRevive() {
	late := s.LateBusy
	s.Lease, s.Unknown, s.LateBusy = NoLease, false, false
	if late && s.Phase == Stopped && !s.Acked {
		s.reopen()
	}
}

func (s *step) message(k Kind) {
	switch {
	case k == WantMessage:
		if s.Phase != Running || s.CancelReq || s.Lease != NoLease || s.Waiting >= MaxWaiting {
			s.fx |= Refuse
		} else {
			s.Lease = Messaging
		}
	case k == MessageRead:
		if s.Waiting > 0 {
			s.Waiting--
		}
	case s.Lease != Messaging:
	case k == MessageHung:
		s.Unknown = true
	default:
		s.Lease, s.Unknown = NoLease, false
		switch {
		case k == MessageFailed:
		case s.Phase == Running:
			s.Waiting++
		default: // it ended first
			s.Returned++
		}
	}
}

var kindNames = [...]string{
	"granted a slot", "taken up", "refused", "busy", "silent", "unreadable", "grace over", "gone", "done", "failed", "aborted", "session deleted",
	"time over", "abort not confirmed in time", "cancel wanted", "aborted and at rest", "abort failed", "abort hangs", "settled", "acknowledged",
	"revive wanted", "revived", "revive failed", "revive hangs", "message offered", "message kept", "message refused", "message hangs", "message read", "restarted",
}

// String says what happened, for a person.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("event %d", uint8(k))
}

// MarshalText implements [encoding.TextMarshaler].
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (k *Kind) UnmarshalText(b []byte) error {
	for i, name := range kindNames {
		if name == string(b) {
			*k = Kind(i)
			return nil
		}
	}
	return fmt.Errorf("no event is called %q", b)
}
