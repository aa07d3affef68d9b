package agent

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/whet-dev/whet"
	"github.com/whet-dev/whet/internal/proc"
)

const (
	bashSeconds = 120
	bashOutput  = 32 << 10
)

type bashInput struct {
	Command string `json:"command" doc:"what to run; it starts in the project directory" alias:"cmd,script" eg:"go test ./..."`
	Seconds int    `json:"timeout_s,omitempty" doc:"seconds before it is stopped; default 120" min:"1" max:"3600"`
}

func bashTool() whet.Tool {
	t := whet.New("bash", `Run a shell command and return what it printed
Standard output and error come together. There is no input and no terminal, so use
flags that make programs ask nothing. Everything that the command starts is ended with
it: a server can't be left running.`, runBash)
	t.Destructive, t.OpenWorld = true, true
	return t
}

type bashOutcome struct {
	Output   string  `json:"output"`
	Code     int     `json:"code"`
	TimedOut bool    `json:"timed_out,omitempty"`
	Seconds  float64 `json:"seconds"`
	text     string
}

func (o bashOutcome) String() string { return o.text }
func (o bashOutcome) Failed() bool   { return o.Code != 0 || o.TimedOut }

func runBash(ctx context.Context, c *whet.Call, in bashInput) (bashOutcome, error) {
	if strings.TrimSpace(in.Command) == "" {
		return bashOutcome{}, errors.New("the command is empty")
	}
	sh, err := Shell()
	if err != nil {
		return bashOutcome{}, err
	}
	if err := c.Session.Allow(ctx, whet.Permission{Action: "bash", Subject: in.Command}); err != nil {
		return bashOutcome{}, err
	}
	if in.Seconds == 0 {
		in.Seconds = bashSeconds
	}
	limit := time.Duration(in.Seconds) * time.Second
	r, err := proc.Run(ctx, proc.Command{
		Path: sh, Args: []string{"-c", in.Command}, Dir: c.Session.Dir,
		Timeout: limit, MaxOutput: bashOutput,
	})
	if ctx.Err() != nil {
		return bashOutcome{}, errors.New("stopped by the person before it ended; what it printed:\n" + string(r.Output))
	}
	if err != nil {
		return bashOutcome{}, fmt.Errorf("running bash: %w", err)
	}
	return bashResult(r, limit), nil
}

func bashResult(r proc.Result, limit time.Duration) bashOutcome {
	o := bashOutcome{Output: strings.ToValidUTF8(string(r.Output), "\ufffd"), Code: r.Code, TimedOut: r.TimedOut, Seconds: r.Took.Seconds()}
	o.text = strings.TrimRight(o.Output, "\n")
	note := func(format string, a ...any) {
		o.text = strings.TrimPrefix(o.text+"\n", "\n") + fmt.Sprintf(format, a...)
	}
	switch {
	case r.TimedOut:
		note("[stopped after %v, with everything it had started]", limit)
	case r.Code != 0:
		note("[exit code %d]", r.Code)
	case o.text == "":
		note("[no output, exit code 0]")
	}
	if r.Cut > 0 {
		note("[%d bytes in the middle were cut out; write to a file and read parts of it]", r.Cut)
	}
	if r.Left > 0 && !r.TimedOut {
		note("[it left processes running in the background; they were ended]")
	}
	return o
}

// Shell finds bash, or the plain shell where there is none.
func Shell() (string, error) {
	for _, name := range []string{"bash", "sh"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errors.New("there is no bash on this machine (on Windows, Git for Windows brings one); do without commands")
}
