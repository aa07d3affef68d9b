package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/whet-dev/whet"
	"github.com/whet-dev/whet/internal/atomicfile"
	"github.com/whet-dev/whet/internal/plainfile"
)

type editInput struct {
	Path string `json:"path" doc:"file, relative to the project or absolute" alias:"file_path,file,filename" eg:"src/main.go"`
	Old  string `json:"old_string" doc:"the text to replace, exactly as it stands in the file, without line numbers" alias:"old_str,old,old_text"`
	New  string `json:"new_string" doc:"the text to put in its place" alias:"new_str,new,new_text"`
	All  bool   `json:"replace_all,omitempty" doc:"replace every occurrence; without it there must be exactly one"`
}

func editTool() whet.Tool {
	t := whet.New("edit", `Replace a text in a file
old_string must occur exactly once, unless replace_all is set: give as many lines
around the change as that takes. Line endings and mode of the file are kept.`, runEdit)
	t.Destructive, t.PathArg = true, "path"
	return t
}

func runEdit(ctx context.Context, c *whet.Call, in editInput) (changed, error) {
	f, err := open(ctx, c.Session, in.Path, "edit")
	if err != nil {
		return changed{}, err
	}
	defer f.close()
	text, err := f.load()
	if err != nil {
		return changed{}, err
	}
	out, lines, err := replace(text, in.Old, in.New, in.All)
	if err != nil {
		return changed{}, fmt.Errorf("%s was not changed: %w", f.show, err)
	}
	if err := atomicfile.Write(f.root, f.name, []byte(out)); err != nil {
		return changed{}, fmt.Errorf("writing %s: %w; it is as it was", f.show, plainfile.Cause(err))
	}
	return changed{f.show, fmt.Sprintf("edited %s at %s", f.show, lineList(lines)), f.abs}, nil
}

// replace puts repl in the place of old. lines are the numbers of the lines
// where old began. In a file with CRLF line ends, texts may have plain ones.
func replace(text, old, repl string, all bool) (out string, lines []int, err error) {
	switch {
	case old == "":
		return "", nil, errors.New("old_string is empty; to write a whole file use write")
	case old == repl:
		return "", nil, errors.New("old_string and new_string are the same")
	}
	if crlf := strings.Count(text, "\r\n"); crlf > 0 && crlf == strings.Count(text, "\n") {
		repl = toCRLF(repl)
		if !strings.Contains(text, old) {
			old = toCRLF(old)
		}
	}
	lines = occurrences(text, old)
	switch {
	case len(lines) == 0:
		return "", nil, errors.New("old_string was not found in it" + nearly(text, old))
	case len(lines) > 1 && !all:
		return "", nil, fmt.Errorf("old_string occurs %d times, at %s; give more lines around the one you mean, or set replace_all", len(lines), lineList(lines))
	}
	return strings.ReplaceAll(text, old, repl), lines, nil
}

func toCRLF(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\n", "\r\n")
}

func occurrences(text, old string) (lines []int) {
	line := 1
	for {
		before, after, ok := strings.Cut(text, old)
		if !ok {
			return lines
		}
		line += strings.Count(before, "\n")
		lines = append(lines, line)
		line += strings.Count(old, "\n")
		text = after
	}
}

// nearly says where the same lines stand with other white space, which is
// what a model gets wrong most.
func nearly(text, old string) string {
	want := strings.Split(strings.TrimSpace(old), "\n")
	have := strings.Split(text, "\n")
	for i := range len(have) - len(want) + 1 {
		same := strings.TrimSpace(want[0]) != ""
		for j, w := range want {
			if strings.Join(strings.Fields(have[i+j]), " ") != strings.Join(strings.Fields(w), " ") {
				same = false
				break
			}
		}
		if same {
			return fmt.Sprintf("; the same text with other white space is at line %d: read it and copy it exactly", i+1)
		}
	}
	return "; read the file again and copy the text exactly"
}

func lineList(lines []int) string {
	const most = 10
	var b strings.Builder
	for i, n := range lines {
		switch {
		case i == 0:
			b.WriteString("line ")
			if len(lines) > 1 {
				b.Reset()
				b.WriteString("lines ")
			}
		case i == most:
			fmt.Fprintf(&b, " and %d more", len(lines)-most)
			return b.String()
		default:
			b.WriteString(", ")
		}
		fmt.Fprint(&b, n)
	}
	return b.String()
}
