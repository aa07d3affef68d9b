package task

import (
	"fmt"
	"testing"
)

// The machine is checked exhaustively: every event in every state that can be
// reached within these bounds.
const (
	maxGen      = 3
	maxRev      = 4
	maxReturned = 4
)

type machine func(Job, Event) (Job, Effect)

func allEvents() (out []Event) {
	for k := range kinds {
		switch k {
		case Restarted:
			out = append(out, Event{Kind: k})
			continue
		case Acknowledged:
			for g := uint32(1); g <= maxGen; g++ {
				for r := uint32(0); r <= maxRev; r++ {
					out = append(out, Event{k, g, r})
				}
			}
			continue
		}
		for g := uint32(1); g <= maxGen; g++ {
			out = append(out, Event{Kind: k, Gen: g})
		}
	}
	return out
}

// A rule must hold for every step from a to b by e with the effects fx. same
// says that the generation is the same.
type rule struct {
	name   string
	broken func(a Job, e Event, b Job, fx Effect, same bool) bool
}

var rules = []rule{
	{"an event of another generation changes nothing", func(a Job, e Event, b Job, fx Effect, _ bool) bool {
		return e.Kind != Restarted && e.Gen != a.Gen && (a != b || fx != 0)
	}},
	{"the generation moves by one, by an admitted revive of a closed task only", func(a Job, e Event, b Job, _ Effect, same bool) bool {
		return !same && (b.Gen != a.Gen+1 || e.Kind != ReviveDone || a.Lease != Reviving || !a.Phase.Closed())
	}},
	{"an end never changes inside a generation", func(a Job, _ Event, b Job, _ Effect, same bool) bool {
		return same && a.Phase.Ended() && b.Phase != a.Phase
	}},
	{"a publication for each revision, and none else", func(a Job, _ Event, b Job, fx Effect, same bool) bool {
		return same && b.Rev != a.Rev && b.Rev != a.Rev+1 || fx.Has(Publish) != (same && b.Rev == a.Rev+1)
	}},
	{"every close publishes", func(a Job, _ Event, b Job, fx Effect, _ bool) bool {
		return b.Phase.Closed() && b.Phase != a.Phase && !fx.Has(Publish)
	}},
	{"completed by explicit evidence only", func(a Job, e Event, b Job, _ Effect, _ bool) bool {
		return a.Phase != Completed && b.Phase == Completed && e.Kind != Done
	}},
	{"no completion once the time is over", func(a Job, _ Event, b Job, _ Effect, same bool) bool {
		return same && a.Deadline && (b.Phase == Completed || !b.Deadline)
	}},
	{"cancelled only if somebody wanted that", func(a Job, e Event, b Job, _ Effect, _ bool) bool {
		return a.Phase != Cancelled && b.Phase == Cancelled && !a.CancelReq && e.Kind != WantCancel
	}},
	{"stopped by two quiet looks a grace apart, or by the end of the process", func(a Job, e Event, b Job, _ Effect, _ bool) bool {
		return a.Phase != Stopped && b.Phase == Stopped && (a.Phase != Running || e.Kind != Gone && (e.Kind != Silent || a.Quiet != Ripe))
	}},
	{"no stop while a message or a cancel is in flight", func(a Job, _ Event, b Job, _ Effect, _ bool) bool {
		return a.Phase != Stopped && b.Phase == Stopped && (a.Lease == Messaging || a.Lease == Cancelling)
	}},
	{"life makes quiet start again", func(a Job, e Event, b Job, _ Effect, same bool) bool {
		return same && e.Kind == Busy && e.Gen == a.Gen && a.Phase == Running && !a.Deadline && b.Quiet != Lively
	}},
	{"only life takes a stop back, and never an acknowledged one", func(a Job, e Event, b Job, fx Effect, same bool) bool {
		back := same && a.Phase == Stopped && b.Phase == Running
		return back && (a.Acked || e.Kind != Busy && !a.LateBusy) || back != fx.Has(Retract)
	}},
	{"closed and not acknowledged means that a notice waits", func(_ Job, _ Event, b Job, _ Effect, _ bool) bool {
		return b.Phase.Closed() && !b.Acked && !b.Owed
	}},
	{"acknowledged or open means that none waits", func(_ Job, _ Event, b Job, _ Effect, _ bool) bool {
		return b.Owed && (b.Acked || !b.Phase.Closed()) || b.Acked && !b.Phase.Closed()
	}},
	{"an acknowledgement names the exact revision", func(a Job, e Event, b Job, _ Effect, _ bool) bool {
		return e.Kind == Acknowledged && e.Rev != a.Rev && a != b
	}},
	{"only an acknowledgement acknowledges", func(a Job, e Event, b Job, _ Effect, same bool) bool {
		return same && !a.Acked && b.Acked && e.Kind != Acknowledged
	}},
	{"a restart drops the lease and leaves doubt", func(a Job, e Event, b Job, _ Effect, _ bool) bool {
		return e.Kind == Restarted && (b.Lease != NoLease || (a.Lease != NoLease || a.Phase == Running || a.Phase == Queued && a.Slot) && !b.Uncertain)
	}},
	{"a lease is taken only when it is free", func(a Job, _ Event, b Job, _ Effect, _ bool) bool {
		return a.Lease != NoLease && b.Lease != NoLease && a.Lease != b.Lease
	}},
	{"a lease whose operation hangs is kept", func(a Job, e Event, b Job, _ Effect, _ bool) bool {
		hung := e.Kind == AbortHung || e.Kind == ReviveHung || e.Kind == MessageHung
		return hung && a.Lease != b.Lease || b.Lease == NoLease && b.Unknown
	}},
	{"a message is taken only by a running task that nobody cancels", func(a Job, e Event, b Job, _ Effect, _ bool) bool {
		return e.Kind == WantMessage && a.Lease == NoLease && b.Lease == Messaging && (a.Phase != Running || a.CancelReq || a.Waiting >= MaxWaiting)
	}},
	{"messages are conserved", func(a Job, e Event, b Job, _ Effect, same bool) bool {
		if !same {
			return b.Waiting != a.Waiting
		}
		in, out := 0, 0
		if e.Kind == MessageDone && a.Lease == Messaging && b.Lease == NoLease {
			in = 1
		}
		if e.Kind == MessageRead && a.Waiting > 0 && e.Gen == a.Gen {
			out = 1
		}
		return int(b.Waiting)+int(b.Returned) != int(a.Waiting)+int(a.Returned)+in-out
	}},
	{"an end keeps no message back", func(_ Job, _ Event, b Job, _ Effect, _ bool) bool {
		return b.Phase.Ended() && b.Waiting > 0
	}},
	{"running holds a slot, closed holds none", func(_ Job, _ Event, b Job, _ Effect, _ bool) bool {
		return b.Phase == Running && !b.Slot || b.Phase.Closed() && b.Slot
	}},
	{"a slot that is let go is released", func(a Job, _ Event, b Job, fx Effect, _ bool) bool {
		return fx.Has(Release) != (a.Slot && !b.Slot)
	}},
	{"what holds no slot is not taken up", func(a Job, _ Event, b Job, _ Effect, _ bool) bool {
		return a.Phase == Queued && !a.Slot && b.Phase == Running
	}},
	{"no revive in doubt", func(a Job, e Event, b Job, fx Effect, _ bool) bool {
		return e.Kind == WantRevive && e.Gen == a.Gen && (a.Uncertain || !a.Phase.Closed()) && (b.Lease != a.Lease || !fx.Has(Refuse))
	}},
	{"doubt about an end is lifted by proof of rest only", func(a Job, e Event, b Job, _ Effect, same bool) bool {
		return same && a.Phase.Ended() && a.Uncertain && !b.Uncertain && (e.Kind != Silent || a.Quiet != Ripe)
	}},
	{"late life belongs to a revive under way", func(_ Job, _ Event, b Job, _ Effect, _ bool) bool {
		return b.LateBusy && (b.Lease != Reviving || b.Phase != Stopped)
	}},
	{"an abort is asked for by a cancel or the clock", func(_ Job, e Event, _ Job, fx Effect, _ bool) bool {
		return fx.Has(Abort) && e.Kind != WantCancel && e.Kind != TimeOver
	}},
}

type origin struct {
	job Job
	by  Event
}

// explore visits every reachable state and returns how each was first reached,
// or the first rule that a step broke.
func explore(apply machine) (map[Job]origin, int, error) {
	seen := map[Job]origin{New(): {}}
	events, steps := allEvents(), 0
	for queue := []Job{New()}; len(queue) > 0; queue = queue[1:] {
		a := queue[0]
		for _, e := range events {
			b, fx := apply(a, e)
			steps++
			for _, r := range rules {
				if r.broken(a, e, b, fx, a.Gen == b.Gen) {
					return seen, steps, fmt.Errorf("%s\n  from %+v\n  by   %+v\n  to   %+v (effects %b)%s", r.name, a, e, b, fx, trail(seen, a))
				}
			}
			if b.Gen > maxGen || b.Rev > maxRev || b.Returned > maxReturned {
				continue
			}
			if _, ok := seen[b]; !ok {
				seen[b] = origin{a, e}
				queue = append(queue, b)
			}
		}
	}
	return seen, steps, live(apply, seen)
}

func trail(seen map[Job]origin, j Job) (s string) {
	for j != New() {
		o := seen[j]
		s += fmt.Sprintf("\n  <- %+v by %+v", o.job, o.by)
		j = o.job
	}
	return s
}

// live checks what must stay possible: from every state there is a way to an
// acknowledged end, and whatever rests can be revived in the end.
func live(apply machine, seen map[Job]origin) error {
	follow := func(j Job, by ...Kind) Job {
		for _, k := range by {
			j, _ = apply(j, Event{Kind: k, Gen: j.Gen, Rev: j.Rev})
		}
		return j
	}
	for j := range seen {
		n := follow(j, AbortFailed, ReviveFailed, MessageFailed, Granted, Admitted, Done, AbortOver, Acknowledged)
		if !n.Phase.Closed() || !n.Acked {
			return fmt.Errorf("no way to an acknowledged end from %+v, only to %+v", j, n)
		}
		if j.Phase.Closed() && j.Lease == NoLease && follow(j, Silent, GraceOver, Silent, WantRevive).Lease != Reviving {
			return fmt.Errorf("it rests, and can't be revived: %+v", j)
		}
	}
	return nil
}

func TestMachine(t *testing.T) {
	seen, steps, err := explore(Apply)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d states, %d steps, %d rules", len(seen), steps, len(rules))
	if len(seen) < 5000 {
		t.Errorf("only %d states were reached: the check shows little", len(seen))
	}
}

// after makes a machine with a fault: f changes the outcome of a step.
func after(f func(a Job, e Event, b *Job, fx *Effect)) machine {
	return func(a Job, e Event) (Job, Effect) {
		b, fx := Apply(a, e)
		f(a, e, &b, &fx)
		return b, fx
	}
}

// Each of these faults must be caught, or the rules mean nothing.
func TestMachineCatchesFaults(t *testing.T) {
	for name, m := range map[string]machine{
		"old news counts": func(a Job, e Event) (Job, Effect) { e.Gen = a.Gen; return Apply(a, e) },
		"quiet is done": after(func(a Job, e Event, b *Job, _ *Effect) {
			if b.Phase == Stopped && a.Phase == Running {
				b.Phase = Completed
			}
		}),
		"one quiet look stops": func(a Job, e Event) (Job, Effect) {
			if e.Kind == Silent && a.Quiet == Candidate {
				a.Quiet = Ripe
			}
			return Apply(a, e)
		},
		"completed overwrites error": after(func(a Job, e Event, b *Job, _ *Effect) {
			if e.Kind == Done && e.Gen == a.Gen && a.Phase == Failed {
				b.Phase = Completed
			}
		}),
		"completion after the deadline": func(a Job, e Event) (Job, Effect) {
			if e.Kind == Done {
				a.Deadline = false
			}
			return Apply(a, e)
		},
		"a close forgets its notice": after(func(a Job, e Event, b *Job, _ *Effect) {
			if e.Kind == Deleted && e.Gen == a.Gen {
				b.Owed = false
			}
		}),
		"any acknowledgement counts": func(a Job, e Event) (Job, Effect) {
			if e.Kind == Acknowledged && e.Gen == a.Gen {
				e.Rev = a.Rev
			}
			return Apply(a, e)
		},
		"closing keeps the slot": after(func(_ Job, _ Event, b *Job, fx *Effect) {
			if fx.Has(Release) {
				b.Slot = true
			}
		}),
		"a slot is let go silently": after(func(_ Job, _ Event, _ *Job, fx *Effect) { *fx &^= Release }),
		"a restart keeps the lease": after(func(a Job, e Event, b *Job, _ *Effect) {
			if e.Kind == Restarted {
				b.Lease = a.Lease
			}
		}),
		"a restart leaves no doubt": after(func(_ Job, e Event, b *Job, _ *Effect) {
			if e.Kind == Restarted {
				b.Uncertain = false
			}
		}),
		"a restart is an end": after(func(a Job, e Event, b *Job, fx *Effect) {
			if e.Kind == Restarted && a.Phase == Running {
				b.Phase, b.Slot, b.Owed = Failed, false, true
			}
		}),
		"a hung abort frees the lease": after(func(_ Job, e Event, b *Job, _ *Effect) {
			if e.Kind == AbortHung {
				b.Lease, b.Unknown = NoLease, false
			}
		}),
		"messages vanish at the end": after(func(a Job, _ Event, b *Job, _ *Effect) {
			if b.Phase.Ended() {
				b.Returned = a.Returned
			}
		}),
		"a revive loses messages": after(func(a Job, _ Event, b *Job, _ *Effect) {
			if b.Gen != a.Gen {
				b.Waiting = 0
			}
		}),
		"revive in doubt": func(a Job, e Event) (Job, Effect) {
			if e.Kind == WantRevive {
				a.Uncertain = false
			}
			return Apply(a, e)
		},
		"an acknowledged stop comes back": after(func(a Job, e Event, b *Job, fx *Effect) {
			if e.Kind == Busy && e.Gen == a.Gen && a.Phase == Stopped && a.Acked {
				s := step{Job: a}
				s.Acked = false
				s.reopen()
				*b, *fx = s.Job, s.fx
			}
		}),
		"life during a revive reopens": after(func(a Job, e Event, b *Job, fx *Effect) {
			if b.LateBusy && !a.LateBusy {
				s := step{Job: a}
				s.reopen()
				*b, *fx = s.Job, s.fx
			}
		}),
		"messages to a task being cancelled": func(a Job, e Event) (Job, Effect) {
			if e.Kind == WantMessage {
				a.CancelReq = false
			}
			return Apply(a, e)
		},
		"two leases": func(a Job, e Event) (Job, Effect) {
			if e.Kind == WantCancel {
				a.Lease = NoLease
			}
			return Apply(a, e)
		},
		"doubt is never lifted": func(a Job, e Event) (Job, Effect) {
			if e.Kind == Silent && a.Phase.Closed() {
				return a, 0
			}
			return Apply(a, e)
		},
		"acknowledging is impossible": func(a Job, e Event) (Job, Effect) {
			if e.Kind == Acknowledged {
				return a, 0
			}
			return Apply(a, e)
		},
		"a stop while a message is in flight": func(a Job, e Event) (Job, Effect) {
			if e.Kind == Silent && a.Lease == Messaging {
				a.Lease = NoLease
			}
			return Apply(a, e)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, _, err := explore(m); err == nil {
				t.Error("no rule was broken")
			}
		})
	}
}

// A story of a task, as the tables of the design tell it.
func TestStories(t *testing.T) {
	run := []Kind{Granted, Admitted, Busy}
	for _, tt := range []struct {
		name string
		by   []Kind
		want Job
	}{
		{"completed", append(run[:3:3], Done), Job{Gen: 1, Phase: Completed, Rev: 1, Owed: true}},
		{"end before the launch was answered", []Kind{Granted, Done, Admitted}, Job{Gen: 1, Phase: Completed, Rev: 1, Owed: true}},
		{"quiet is a candidate", append(run[:3:3], Silent), Job{Gen: 1, Phase: Running, Slot: true, Quiet: Candidate, Uncertain: true}},
		{"quiet then busy", append(run[:3:3], Silent, GraceOver, Busy, Silent, Busy), Job{Gen: 1, Phase: Running, Slot: true}},
		{"quiet twice", append(run[:3:3], Silent, GraceOver, Silent), Job{Gen: 1, Phase: Stopped, Rev: 1, Owed: true}},
		{"late completion after a stop", append(run[:3:3], Silent, GraceOver, Silent, Done), Job{Gen: 1, Phase: Completed, Rev: 2, Owed: true}},
		{"cancel of what nobody took up", []Kind{WantCancel}, Job{Gen: 1, Phase: Cancelled, Rev: 1, Owed: true, CancelReq: true}},
		{"abort still busy", append(run[:3:3], WantCancel, AbortFailed), Job{Gen: 1, Phase: Running, Slot: true, Uncertain: true}},
		{"aborted by another", append(run[:3:3], Aborted), Job{Gen: 1, Phase: Failed, Rev: 1, Owed: true}},
		{"message, then the end", append(run[:3:3], WantMessage, MessageDone, Done), Job{Gen: 1, Phase: Completed, Rev: 1, Owed: true, Returned: 1}},
		{"the end, then the message's answer", append(run[:3:3], WantMessage, Done, MessageDone), Job{Gen: 1, Phase: Completed, Rev: 1, Owed: true, Returned: 1}},
		{"deadline, no rest", append(run[:3:3], TimeOver, AbortOver, Done), Job{Gen: 1, Phase: Failed, Rev: 1, Owed: true, Deadline: true, CancelReq: true, Uncertain: true}},
		{"process gone", append(run[:3:3], Gone), Job{Gen: 1, Phase: Stopped, Rev: 1, Owed: true}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			j := New()
			for _, k := range tt.by {
				j, _ = Apply(j, Event{Kind: k, Gen: 1})
			}
			if j != tt.want {
				t.Errorf("\n got %+v\nwant %+v", j, tt.want)
			}
		})
	}
}
