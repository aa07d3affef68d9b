package loop

// Options of the loop guard. The zero value is the default.
type Options struct {
	Enabled     *bool    `json:"enabled,omitempty" doc:"whether the guard watches at all; default true"`
	WarnAt      int      `json:"warnAt,omitempty" doc:"identical results in a row before a notice is added; default 3" min:"2" max:"100"`
	RefuseAt    int      `json:"refuseAt,omitempty" doc:"identical results in a row before the call is refused; default 5" min:"2" max:"100"`
	RefuseTools []string `json:"refuseTools,omitempty" doc:"tools that may be refused; others only get notices; default read, grep, glob"`
	Exempt      []string `json:"exempt,omitempty" doc:"tools that repeat by design and are not watched; default the task tools and the waits"`
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
