package agent

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/whet-dev/whet"
	"github.com/whet-dev/whet/internal/plainfile"
)

const (
	readLines = 2000     // lines at a time, unless asked for
	readLine  = 2000     // bytes of a line that are shown
	readBytes = 64 << 10 // bytes at a time
)

type readInput struct {
	Path   string `json:"path" doc:"file, relative to the project or absolute" alias:"file_path,file,filename" eg:"src/main.go"`
	Offset int    `json:"offset,omitempty" doc:"first line to read, from 1; default 1" min:"1" alias:"start_line,line"`
	Limit  int    `json:"limit,omitempty" doc:"number of lines; default 2000" min:"1" max:"10000" alias:"lines,num_lines"`
}

func readTool() whet.Tool {
	t := whet.New("read", `Read a text file with line numbers
The result has a number, a tab and the text for each line. Long files are read in
parts: go on with the offset that the end of the result names.`, runRead)
	t.ReadOnly, t.Idempotent, t.PathArg = true, true, "path"
	return t
}

type readOutput struct {
	Path  string `json:"path"`
	First int    `json:"first"`
	Last  int    `json:"last"`
	More  bool   `json:"more"` // whether lines follow
	Text  string `json:"text"`
}

func (o readOutput) String() string { return o.Text }

func runRead(ctx context.Context, c *whet.Call, in readInput) (readOutput, error) {
	f, err := open(ctx, c.Session, in.Path, "read")
	if err != nil {
		return readOutput{}, err
	}
	defer f.close()
	info, err := f.stat()
	if err != nil {
		return readOutput{}, err
	}
	r, err := plainfile.OpenIn(f.root, f.name)
	if err != nil {
		return readOutput{}, fmt.Errorf("reading %s: %w", f.show, plainfile.Cause(err))
	}
	defer r.Close()
	br := bufio.NewReaderSize(r, 64<<10)
	head, err := br.Peek(min(8<<10, int(info.Size())))
	if err != nil && !errors.Is(err, io.EOF) {
		return readOutput{}, fmt.Errorf("reading %s: %w", f.show, plainfile.Cause(err))
	}
	if binary(head) {
		return readOutput{}, fmt.Errorf("%s is not a text file (%d bytes); look at it with bash", f.show, info.Size())
	}
	if in.Offset == 0 {
		in.Offset = 1
	}
	if in.Limit == 0 {
		in.Limit = readLines
	}
	p := reading{in: in, out: readOutput{Path: f.show, First: in.Offset}}
	if err := p.read(ctx, br); err != nil {
		return readOutput{}, fmt.Errorf("reading %s: %w", f.show, plainfile.Cause(err))
	}
	return p.finish(f.show)
}

// reading is the state of one read: it never holds more than it shows.
type reading struct {
	in   readInput
	out  readOutput
	text strings.Builder
	line int // number of the last line that was met
	crlf bool
}

func (p *reading) read(ctx context.Context, br *bufio.Reader) error {
	for {
		if p.line%10000 == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		want := p.line+1 >= p.in.Offset
		line, over, err := readUpTo(br, readLine)
		if err != nil && (!errors.Is(err, io.EOF) || len(line) == 0 && over == 0) {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		p.line++
		if want {
			if p.out.Last-p.in.Offset+1 >= p.in.Limit && p.out.Last > 0 || p.text.Len() >= readBytes {
				p.out.More = true
				return nil
			}
			p.show(line, over)
		}
		if err != nil {
			return nil
		}
	}
}

func (p *reading) show(line []byte, over int) {
	s := strings.TrimSuffix(string(line), "\n")
	if t, ok := strings.CutSuffix(s, "\r"); ok {
		s, p.crlf = t, true
	}
	if p.line == 1 {
		s = strings.TrimPrefix(s, "\ufeff")
	}
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\ufffd")
	}
	fmt.Fprintf(&p.text, "%6d\t%s", p.line, s)
	if over > 0 {
		fmt.Fprintf(&p.text, "[... %d more bytes in this line]", over)
	}
	p.text.WriteByte('\n')
	p.out.Last = p.line
}

func (p *reading) finish(show string) (readOutput, error) {
	switch {
	case p.line == 0:
		p.out.First = 0
		p.out.Text = fmt.Sprintf("%s is empty", show)
		return p.out, nil
	case p.out.Last == 0:
		return p.out, fmt.Errorf("%s has only %d lines, so there is no line %d", show, p.line, p.in.Offset)
	}
	if p.out.More {
		fmt.Fprintf(&p.text, "[lines %d to %d; there are more: go on with offset %d]\n", p.out.First, p.out.Last, p.out.Last+1)
	}
	if p.crlf {
		p.text.WriteString("[lines end in CRLF; edits keep that, write \\n only]\n")
	}
	p.out.Text = strings.TrimSuffix(p.text.String(), "\n")
	return p.out, nil
}

// readUpTo reads a line and keeps its first n bytes; over is how many it left out.
func readUpTo(br *bufio.Reader, n int) (line []byte, over int, err error) {
	for {
		part, err := br.ReadSlice('\n')
		keep := min(len(part), max(0, n-len(line)))
		line, over = append(line, part[:keep]...), over+len(part)-keep
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if over > 0 && err == nil {
			over-- // the line's end is none of its text
		}
		for range utf8.UTFMax - 1 { // no part of a character
			if r, size := utf8.DecodeLastRune(line); over > 0 && r == utf8.RuneError && size == 1 {
				line, over = line[:len(line)-1], over+1
			}
		}
		return line, over, err
	}
}
