package loop

// Options of the loop guard. The zero value is the default.
type Options struct {
	Enabled     *bool     `json:"enabled,omitempty" doc:"whether the guard watches at all; default true"`
	WarnAt      int       `json:"warnAt,omitempty" doc:"identical results in a row before a notice is added; default 3" min:"2" max:"100"`
	RefuseAt    int       `json:"refuseAt,omitempty" doc:"identical results in a row before the call is refused; default 5" min:"2" max:"100"`
	RefuseTools []string  `json:"refuseTools,omitempty" doc:"tools that may be refused; others only get notices; default read, grep, glob"`
	Exempt      []string  `json:"exempt,omitempty" doc:"tools that repeat by design and are not watched; default the task tools and the waits"`
	Detectors   Detectors `json:"detectors,omitzero" doc:"looser ways of noticing that nothing moves; they only ever add a notice"`
	Wait        string    `json:"wait,omitempty" doc:"what happens to a second (warn) and third (refuse) wait in one turn, though waits are exempt; default off" enum:"off,warn,refuse"`
}

// Off switches a detector off.
const Off = "off"

// Detectors add notices. The zero value is the default.
type Detectors struct {
	Stall       string `json:"stall,omitempty" doc:"the same call with the same result three times among 20, with no change of a file and no other shell command between; default warn" enum:"warn,off"`
	Cycle       string `json:"cycle,omitempty" doc:"the same two to four calls with the same results, three times over; default warn" enum:"warn,off"`
	Errors      string `json:"errors,omitempty" doc:"four failures of one tool in a row with the same error for other arguments; default warn" enum:"warn,off"`
	Paging      string `json:"paging,omitempty" doc:"forty reads of one file that have shown it more than three times over, with nothing else read or changed between; default warn" enum:"warn,off"`
	Supervision string `json:"supervision,omitempty" doc:"a task's state asked for three times and the same, though the task tools are exempt; default off" enum:"warn,off"`
}

func (o Options) withDefaults() Options {
	if o.WarnAt == 0 {
		o.WarnAt = 3
	}
	if o.RefuseAt == 0 {
		o.RefuseAt = 5
	}
	if o.RefuseTools == nil {
		o.RefuseTools = []string{"read", "grep", "glob"}
	}
	if o.Exempt == nil {
		o.Exempt = []string{
			"task", "task_status", "task_result", "task_cancel", "task_message", "task_revive",
			"wait_for_user", "wait_for_background_tasks",
		}
	}
	return o
}

// supervises reports whether anything looks at exempt calls.
func (o Options) supervises() bool {
	return o.Wait == "warn" || o.Wait == "refuse" || o.Detectors.Supervision == "warn"
}
