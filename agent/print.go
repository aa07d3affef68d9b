package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/whet-dev/whet/internal/escape"
)

// A Printer shows a run's events to a person. What comes from a model or a
// tool is never let through as control characters: a terminal obeys those.
type Printer struct {
	W      io.Writer
	Colour bool

	midline bool
	said    string // the last kind of piece, "text" or "reasoning"
}

const (
	bold = "\x1b[1m"
	dim  = "\x1b[2m"
	red  = "\x1b[31m"
	blue = "\x1b[34m"
)

// Paint returns s in the colour, an escape sequence such as "\x1b[31m".
func (p *Printer) Paint(colour, s string) string {
	if !p.Colour {
		return s
	}
	return colour + s + "\x1b[0m"
}

// Event prints one event.
func (p *Printer) Event(e Event) {
	switch e.Type {
	case "start":
		p.line(p.Paint(dim, escape.Lines(fmt.Sprintf("%s as %s in %s", e.Model, e.Agent, e.Dir))))
	case "text", "reasoning":
		if p.said != e.Type {
			p.fresh()
		}
		p.piece(e)
	case "retry":
		p.line(p.Paint(red, fmt.Sprintf("! %s; trying again in %v", escape.Lines(e.Error), time.Duration(e.Wait*float64(time.Second)).Round(100*time.Millisecond))))
	case "message":
		p.fresh()
	case "call":
		p.line(p.Paint(bold+blue, "› "+escape.Lines(e.Call.Name)) + " " + escape.Lines(brief(e.Call.Args)))
	case "result":
		colour := dim
		if e.Result.Failed {
			colour = red
		}
		p.line(p.Paint(colour, indent(escape.Lines(e.Result.Text))))
	case "end":
		p.line(p.Paint(dim, e.Outcome.summary()))
	}
}

func (p *Printer) piece(e Event) {
	s := escape.Lines(e.Text)
	p.midline, p.said = !strings.HasSuffix(s, "\n"), e.Type
	if e.Type == "reasoning" {
		s = p.Paint(dim, s)
	}
	_, _ = io.WriteString(p.W, s)
}

// fresh ends a line that pieces of text have begun.
func (p *Printer) fresh() {
	if p.midline {
		_, _ = io.WriteString(p.W, "\n")
	}
	p.midline, p.said = false, ""
}

func (p *Printer) line(s string) {
	p.fresh()
	_, _ = io.WriteString(p.W, s+"\n")
}

func (o *Outcome) summary() string {
	u := o.Usage
	steps := "steps"
	if o.Steps == 1 {
		steps = "step"
	}
	s := fmt.Sprintf("%d %s, %d tokens in, %d out", o.Steps, steps, u.Input+u.CacheRead+u.CacheWrite, u.Output)
	if u.CacheRead > 0 {
		s += fmt.Sprintf(" (%d from the cache)", u.CacheRead)
	}
	if u.Cost != nil {
		s += fmt.Sprintf(", $%.4f", *u.Cost)
	}
	return s
}

// brief shows arguments on one line.
func brief(args string) string {
	const width = 160
	var b bytes.Buffer
	if json.Compact(&b, []byte(args)) == nil {
		args = b.String()
	}
	if short := cutAt(args, width); short != args {
		return short + "…"
	}
	return args
}

// indent shows the beginning of a result.
func indent(s string) string {
	const most, width = 12, 400
	lines := strings.Split(strings.TrimRight(s, "\n"), "\n")
	var b strings.Builder
	for i, l := range lines {
		if i == most {
			fmt.Fprintf(&b, "  … %d more lines", len(lines)-most)
			break
		}
		if short := cutAt(l, width); short != l {
			l = short + "…"
		}
		b.WriteString("  " + l + "\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}
